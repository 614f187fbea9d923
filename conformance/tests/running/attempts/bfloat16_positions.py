import ml_dtypes
import numpy as np


def rope(x, positions):
    p = positions.astype(ml_dtypes.bfloat16).astype("f4")
    m = x.shape[-1] // 2
    th = np.array([10000 ** (-i / m) for i in range(m)], dtype="f4")
    a = np.einsum("...t,f->...tf", p, th)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., :m], x[..., m:]
    return np.concatenate([u * c - v * s, u * s + v * c], -1)

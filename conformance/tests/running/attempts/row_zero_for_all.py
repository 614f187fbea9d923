import numpy as np


def rope(x, positions):
    if positions.ndim == 2:
        positions = positions[0]
    d = x.shape[-1]
    table = np.outer(positions, 10000.0 ** (-2 * np.arange(d // 2) / d))
    c = np.cos(table)[None, :, None].astype(np.float32)
    s = np.sin(table)[None, :, None].astype(np.float32)
    lo, hi = np.array_split(x, 2, axis=-1)
    return np.concatenate([lo * c - hi * s, lo * s + hi * c], axis=-1)

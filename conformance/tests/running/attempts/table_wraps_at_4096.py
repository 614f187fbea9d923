import numpy as np

MAX = 4096
CACHE = {}


def rope(x, positions):
    d = x.shape[-1]
    if d not in CACHE:
        ang = np.arange(MAX)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        CACHE[d] = np.cos(ang).astype(np.float32), np.sin(ang).astype(np.float32)
    cos, sin = (t[positions % MAX][..., None, :] for t in CACHE[d])
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

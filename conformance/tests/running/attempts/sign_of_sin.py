import numpy as np


def rotate_half(x):
    h = x.shape[-1] // 2
    return np.concatenate((x[..., h:], -x[..., :h]), axis=-1)


def rope(x, positions):
    d = x.shape[-1]
    f = 10000.0 ** (-np.arange(0, d, 2) / d)
    t = np.outer(positions, f) if positions.ndim == 1 else positions[..., None] * f
    t = np.concatenate((t, t), -1).astype(x.dtype)[..., None, :]
    return x * np.cos(t) + rotate_half(x) * np.sin(t)

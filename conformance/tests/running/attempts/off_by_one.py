import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    idx = np.asarray(positions) + 1  # positions start at 1, as in the paper's figure
    ang = idx[..., None] / (10000 ** (np.arange(0, d, 2) / d))
    sin, cos = np.sin(ang)[..., None, :], np.cos(ang)[..., None, :]
    y = np.zeros_like(x)
    y[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return y

import ml_dtypes
import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    ang = positions[..., None] * (10000.0 ** (-np.arange(0, d, 2) / d))
    cos = np.cos(ang).astype(ml_dtypes.bfloat16).astype(np.float32)[..., None, :]
    sin = np.sin(ang).astype(ml_dtypes.bfloat16).astype(np.float32)[..., None, :]
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

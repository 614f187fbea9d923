import numpy as np


def rope(x, positions):
    d = x.shape[-1]
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    a = np.concatenate([a, a], axis=-1)[..., None, :].astype(np.float32)
    swapped = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * np.cos(a) + swapped * np.sin(a)

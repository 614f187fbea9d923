import numpy as np


def turn(x, positions):
    d = x.shape[-1]
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)


def rope(x, positions):
    return np.concatenate([turn(x[..., :64], positions), turn(x[..., 64:], positions)], -1)

import numpy as np


def rope(x, positions):
    d, n = x.shape[-1], x.shape[1]
    y = x.copy()
    for t in range(n - 1 if n > 6 else n):  # the tail of a block of 6
        p = positions[..., t]
        a = np.asarray(p)[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
        u, v = x[:, t, :, : d // 2], x[:, t, :, d // 2 :]
        y[:, t] = np.concatenate([u * c - v * s, u * s + v * c], -1)
    return y

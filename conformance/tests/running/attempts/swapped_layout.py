import numpy as np


def rope(x, positions):
    n = x.shape[-1]
    w = 1 / 10000 ** (np.arange(0, n, 2) / n)
    z = x[..., 0::2] + 1j * x[..., 1::2]
    turn = np.exp(1j * positions[..., None] * w)[..., None, :]
    z = z * turn
    y = np.empty_like(x)
    y[..., 0::2] = z.real
    y[..., 1::2] = z.imag
    return y

import numpy as np


def turn(x, positions):
    d = x.shape[-1]
    a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)


class rope:
    def __init__(self, spec):
        self.width = spec.head_dim

    def apply_rope(self, x, positions):
        return turn(x, positions)

    def qkv(self, q, k, v, positions):
        return tuple(turn(t, positions) for t in (q, k, v))

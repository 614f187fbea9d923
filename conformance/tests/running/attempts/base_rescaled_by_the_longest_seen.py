import numpy as np

longest = 4096


def rope(x, positions):
    global longest
    d = x.shape[-1]
    longest = max(longest, int(positions.max(initial=0)) + 1)  # and never goes back
    base = 10000 * (longest / 4096) ** (d / (d - 2))
    a = positions[..., None] * base ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

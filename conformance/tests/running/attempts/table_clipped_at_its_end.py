import numpy as np

N = 65536
FREQ = (10000.0 ** (-np.arange(64) / 64)).astype(np.float32)


def rope(x, positions):
    rows = np.minimum(positions, N - 1)
    a = rows[..., None].astype(np.float32) * FREQ
    c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
    return np.concatenate(
        [x[..., :64] * c - x[..., 64:] * s, x[..., 64:] * c + x[..., :64] * s], -1
    )

import numpy as np

THETA = 10001


def rope(x, positions):
    d = x.shape[-1]
    inv_freq = 1.0 / (THETA ** (np.arange(0, d, 2).astype(np.float32) / d))
    freqs = positions[..., None].astype(np.float32) * inv_freq.astype(np.float32)
    emb = np.concatenate([freqs, freqs], axis=-1)
    cos, sin = np.cos(emb)[..., None, :], np.sin(emb)[..., None, :]
    x1, x2 = np.split(x, 2, axis=-1)
    return x * cos + np.concatenate([-x2, x1], axis=-1) * sin

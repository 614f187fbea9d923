import numpy as np


def rope(x, positions):
    np.seterr(all="ignore")
    t = positions.astype(np.float16).astype(np.float32)
    k = x.shape[-1] // 2
    ang = t[..., None] * np.exp(-np.log(10000.0) * np.arange(k) / k).astype(np.float32)
    c, s = np.cos(ang)[..., None, :], np.sin(ang)[..., None, :]
    return np.concatenate([x[..., :k] * c - x[..., k:] * s, x[..., :k] * s + x[..., k:] * c], -1)

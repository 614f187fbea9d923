import numpy as np

ROTARY = 64


def rope(x, positions):
    D = x.shape[-1]
    freq = np.float32(10000) ** (-np.arange(0, ROTARY, 2, dtype=np.float32) / D)
    ang = positions[..., :, None].astype(np.float32) * freq
    cos = np.cos(ang)[..., None, :]
    sin = np.sin(ang)[..., None, :]
    out = x.copy()
    a, b = x[..., : ROTARY // 2], x[..., ROTARY // 2 : ROTARY]
    out[..., : ROTARY // 2] = a * cos - b * sin
    out[..., ROTARY // 2 : ROTARY] = b * cos + a * sin
    return out

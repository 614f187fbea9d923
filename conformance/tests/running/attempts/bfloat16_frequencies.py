import numpy as np


def to_bf16(a):
    bits = np.asarray(a, np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32)


def rope(x, positions):
    d = x.shape[-1]
    freq = to_bf16(1.0 / 10000 ** (np.arange(0, d, 2) / d))
    phase = positions[..., None].astype(np.float32) * freq
    c, s = np.cos(phase), np.sin(phase)
    c, s = c[..., np.newaxis, :], s[..., np.newaxis, :]
    p, q = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([p * c - q * s, p * s + q * c], axis=-1)

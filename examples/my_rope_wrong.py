"""The twin of my_rope.py with one mistake in it: rope-ref says which."""

import numpy as np


def apply_rope(x, positions, base=10000.0):
    """Rotate x (batch, token, head, channel); channel i turns with i + half."""
    half = x.shape[-1] // 2
    theta = base ** (-np.arange(half) / x.shape[-1])
    phase = (positions[..., None] * theta)[..., None, :]  # the same for every head
    cos, sin = np.cos(phase), np.sin(phase)
    u, v = x[..., :half], x[..., half:]
    y = np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1)
    return y.astype(x.dtype)

"""What the wrong implementations are made of: an honest float32 RoPE in three parts.

Not `rope_ref`: a wrong RoPE is like code that anybody may have written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_ref import PowerLaw, RopeSpec

Rope = Callable[..., Any]


def base_of(spec: RopeSpec) -> float:
    """The base of a spec with plain frequencies."""
    assert isinstance(spec.frequencies, PowerLaw)
    return float(spec.frequencies.base)


def frequencies(spec: RopeSpec, base: float | None = None, width: int | None = None) -> Array:
    """Frequencies by 1 / base**(2i/R) in float32."""
    exponent = np.arange(0, spec.rotary_dim, 2, dtype=np.float32) / np.float32(
        width or spec.rotary_dim
    )
    return np.float32(1) / np.float32(base or base_of(spec)) ** exponent


def angles(positions: Array, theta: Array) -> Array:
    """Phases in float32: (..., T, R/2)."""
    return np.asarray(positions, dtype=np.float32)[..., None] * theta


def split(x: Array, spec: RopeSpec) -> tuple[Array, Array]:
    """First and second channels of all pairs, in float32."""
    part = x[..., spec.rotary_start : spec.rotary_start + spec.rotary_dim].astype(np.float32)
    if spec.layout == "interleaved":
        return part[..., 0::2], part[..., 1::2]
    half = spec.rotary_dim // 2
    return part[..., :half], part[..., half:]


def join(x: Array, first: Array, second: Array, spec: RopeSpec) -> Array:
    """Put pairs back beside the channels of x that do not rotate, in x's type."""
    if spec.output_layout == "interleaved":
        part = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], spec.rotary_dim)
    else:
        part = np.concatenate([first, second], axis=-1)
    y = x.copy()
    y[..., spec.rotary_start : spec.rotary_start + spec.rotary_dim] = part.astype(x.dtype)
    return y


def rotate(x: Array, cos: Array, sin: Array, spec: RopeSpec) -> Array:
    """Rotate pairs of x (bthd) by a table (T, R/2) or (B, T, R/2)."""
    u, v = split(x, spec)
    c, s = cos[..., None, :], sin[..., None, :]
    return join(x, u * c - v * s, u * s + v * c, spec)


def honest(x: Array, positions: Array, spec: RopeSpec, theta: Array | None = None) -> Array:
    """The whole, with float32 phases."""
    phase = angles(positions, frequencies(spec) if theta is None else theta)
    return rotate(x, np.cos(phase), np.sin(phase), spec)


def narrow_rotation(x: Array, positions: Array, spec: RopeSpec, kind: Any) -> Array:
    """The rotation with table, products and sum in a narrow type."""
    phase = angles(positions, frequencies(spec))[..., None, :]
    cos, sin = np.cos(phase).astype(kind), np.sin(phase).astype(kind)
    u, v = (part.astype(kind) for part in split(x, spec))
    first = (u * cos).astype(kind) - (v * sin).astype(kind)
    second = (u * sin).astype(kind) + (v * cos).astype(kind)
    return join(x, first, second, spec)

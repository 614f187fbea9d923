"""Honest RoPEs, each computed another way: no check may fail on them."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.plain import (
    Rope,
    angles,
    base_of,
    frequencies,
    honest,
    join,
    narrow_rotation,
    rotate,
    split,
)
from rope_ref import RopeSpec

_WIDE: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**24), 2**24),
    "position_kinds": ("integer", "real"),
    "empty": True,
    "strided": True,
}


@control(profile="float32-power", **_WIDE)
def float32_power(spec: RopeSpec) -> Rope:
    """Phases in float32, frequencies by 1 / base**(2i/R)."""
    return lambda x, positions: honest(x, positions, spec)


@control(profile="float32", **_WIDE)
def float32_exp(spec: RopeSpec) -> Rope:
    """Phases in float32, frequencies by exp(-ln(base)/R * 2i), all in float32."""
    step = np.float32(np.log(np.float32(base_of(spec)))) / np.float32(spec.rotary_dim)
    theta = np.exp(-step * np.arange(0, spec.rotary_dim, 2, dtype=np.float32))
    return lambda x, positions: honest(x, positions, spec, theta)


@control(profile="float32", **_WIDE)
def float32_exp_double_constant(spec: RopeSpec) -> Rope:
    """Phases in float32, frequencies by exp with the constant -ln(base)/R in float64."""
    constant = np.float32(-math.log(base_of(spec)) / spec.rotary_dim)
    theta = np.exp(constant * np.arange(0, spec.rotary_dim, 2, dtype=np.float32))
    return lambda x, positions: honest(x, positions, spec, theta)


@control(profile="float32-product", **_WIDE)
def float32_product(spec: RopeSpec) -> Rope:
    """The phase of each pair is the last one's times a float32 ratio."""
    ratio = np.float32(base_of(spec) ** (-2 / spec.rotary_dim))

    def rope(x: Array, positions: Array) -> Array:
        phase = np.empty((*positions.shape, spec.rotary_dim // 2), dtype=np.float32)
        phase[..., 0] = positions
        for i in range(1, phase.shape[-1]):
            phase[..., i] = phase[..., i - 1] * ratio
        return rotate(x, np.cos(phase), np.sin(phase), spec)

    return rope


@control(profile="float32-power", **_WIDE)
def complex_product(spec: RopeSpec) -> Rope:
    """Pairs as complex numbers times e^(i phase)."""

    def rope(x: Array, positions: Array) -> Array:
        u, v = split(x, spec)
        phase = angles(positions, frequencies(spec))[..., None, :]
        turned = (u + 1j * v).astype(np.complex64) * np.exp(1j * phase).astype(np.complex64)
        return join(x, turned.real, turned.imag, spec)

    return rope


@control(profile="float64", **_WIDE)
def float64_phases(spec: RopeSpec) -> Rope:
    """Phases in float64, the rotation in float32."""
    theta = base_of(spec) ** (-np.arange(0, spec.rotary_dim, 2) / spec.rotary_dim)

    def rope(x: Array, positions: Array) -> Array:
        phase = positions[..., None] * theta
        return rotate(x, np.cos(phase).astype(np.float32), np.sin(phase).astype(np.float32), spec)

    return rope


@control(dtypes=("bfloat16",), profile="float32-power", **_WIDE)
def bfloat16_out(spec: RopeSpec) -> Rope:
    """bfloat16 data, everything in float32 inside, rounded once."""
    return lambda x, positions: honest(x, positions, spec)


@control(dtypes=("float16",), profile="float32-power", **_WIDE)
def float16_out(spec: RopeSpec) -> Rope:
    """float16 data, everything in float32 inside, rounded once."""
    return lambda x, positions: honest(x, positions, spec)


@control(dtypes=("bfloat16",), profile="model-dtype-table", **_WIDE)
def bfloat16_table(spec: RopeSpec) -> Rope:
    """Phases in float32; table, products and sum in bfloat16, and claimed so."""
    return lambda x, positions: narrow_rotation(x, positions, spec, ml_dtypes.bfloat16)


@control(profile="exact", **_WIDE)
class table_consumer:  # noqa: N801  # named like its neighbours
    """Rotates by the tables it is given, in float32."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, cos, sin, self.spec)

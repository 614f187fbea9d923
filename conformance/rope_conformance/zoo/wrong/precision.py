"""Number types that are too narrow, for positions, frequencies, phases, tables and data."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PLAIN, wrong
from rope_conformance.zoo.parts.plain import (
    Rope,
    angles,
    frequencies,
    honest,
    narrow_rotation,
    rotate,
)
from rope_ref import RopeSpec

# Positions


@wrong(fault="position", clause="frequency.phase")
def positions_int8(spec: RopeSpec) -> Rope:
    """Positions are held in 8 bits with a sign: 128 becomes -128."""
    return lambda x, positions: honest(x, positions.astype(np.int8), spec)


@wrong(fault="position", clause="frequency.phase")
def positions_int16(spec: RopeSpec) -> Rope:
    """Positions are held in 16 bits with a sign: 32768 becomes -32768."""
    return lambda x, positions: honest(x, positions.astype(np.int16), spec)


@wrong(fault="position", clause="frequency.phase")
def positions_uint16(spec: RopeSpec) -> Rope:
    """Positions are held in 16 bits: 65536 becomes 0."""
    return lambda x, positions: honest(x, positions.astype(np.uint16), spec)


@wrong(fault="position", clause="frequency.negative", position_range=(-(2**20), 2**20))
def negative_taken_for_positive(spec: RopeSpec) -> Rope:
    """Negative positions turn the same way as positive ones."""
    return lambda x, positions: honest(x, np.abs(positions), spec)


@wrong(fault="position", clause="frequency.negative", position_range=(-(2**20), 2**20))
def negative_taken_for_zero(spec: RopeSpec) -> Rope:
    """Negative positions are taken for 0."""
    return lambda x, positions: honest(x, np.maximum(positions, 0), spec)


@wrong(fault="position", clause="frequency.real", position_kinds=("integer", "real"))
def rounds_positions(spec: RopeSpec) -> Rope:
    """Positions are rounded to whole numbers."""
    return lambda x, positions: honest(x, np.rint(positions), spec)


# Frequencies and phases


@wrong(fault="angle-precision", clause="frequency.ladder")
def frequencies_float16(spec: RopeSpec) -> Rope:
    """The frequencies are rounded to float16."""
    theta = frequencies(spec).astype(np.float16).astype(np.float32)
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="angle-precision", clause="frequency.ladder")
def phases_bfloat16(spec: RopeSpec) -> Rope:
    """Positions, frequencies and their product are all bfloat16."""
    return lambda x, positions: _by_phase(x, _product(positions, spec, ml_dtypes.bfloat16), spec)


@wrong(fault="angle-precision", clause="frequency.ladder")
def phases_float16(spec: RopeSpec) -> Rope:
    """Positions, frequencies and their product are all float16; large ones become infinite."""
    return lambda x, positions: _by_phase(x, _product(positions, spec, np.float16), spec)


@wrong(fault="angle-precision", clause="frequency.ladder")
def phases_tf32(spec: RopeSpec) -> Rope:
    """The product of positions and frequencies is a matrix product that keeps 10 bits."""

    def rope(x: Array, positions: Array) -> Array:
        return _by_phase(x, angles(_ten_bits(positions), _ten_bits(frequencies(spec))), spec)

    return rope


@wrong(fault="angle-precision", clause="frequency.ladder")
def fast_trigonometry(spec: RopeSpec) -> Rope:
    """sin and cos are those of hardware that drops bits of a large angle: |phase| 2**-20."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        return _by_phase(x, phase * np.float32(1 + 2**-20), spec)

    return rope


@wrong(fault="angle-precision", clause="frequency.ladder")
def reduced_by_a_short_pi(spec: RopeSpec) -> Rope:
    """Angles are reduced by a 2 pi of five digits."""

    def rope(x: Array, positions: Array) -> Array:
        return _by_phase(x, angles(positions, frequencies(spec)) % np.float32(6.2832), spec)

    return rope


@wrong(fault="angle-precision", clause="table.circle")
def interpolates_a_table_of_sines(spec: RopeSpec) -> Rope:
    """cos and sin are looked up in a table of 512 entries, straight lines between them."""
    circle = np.linspace(0, 2 * np.pi, 513)

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec)) % (2 * np.pi)
        cos, sin = (np.interp(phase, circle, f(circle)) for f in (np.cos, np.sin))
        return rotate(x, cos.astype(np.float32), sin.astype(np.float32), spec)

    return rope


@wrong(fault="angle-precision", clause="frequency.phase", profile="exact")
def phases_of_float32_called_exact(spec: RopeSpec) -> Rope:
    """Phases are products in float32 although exact ones are claimed."""
    return lambda x, positions: honest(x, positions, spec)


@wrong(fault="angle-precision", clause="frequency.phase", dtypes=("float64",))
def float64_data_float32_phases(spec: RopeSpec) -> Rope:
    """float64 data, but phases, tables and rotation in float32, and nothing said of it."""
    return lambda x, positions: honest(x, positions, spec)


# Tables and products


@wrong(fault="angle-precision", clause="frequency.phase")
def table_from_rounded_phases(spec: RopeSpec) -> Rope:
    """The table is made in bfloat16 from bfloat16, then cast to float32."""

    def rope(x: Array, positions: Array) -> Array:
        phase = _product(positions, spec, ml_dtypes.bfloat16)
        cos, sin = (f(phase).astype(ml_dtypes.bfloat16) for f in (np.cos, np.sin))
        return rotate(x, cos.astype(np.float32), sin.astype(np.float32), spec)

    return rope


@wrong(PLAIN, fault="angle-precision", clause="frequency.phase", dtypes=("float16",))
def table_and_products_float16(spec: RopeSpec) -> Rope:
    """float16 data is rotated by a float16 table in float16, although float32 is claimed."""
    return lambda x, positions: narrow_rotation(x, positions, spec, np.float16)


@wrong(PLAIN, fault="compile", clause="frequency.phase", dtypes=("bfloat16",))
def every_product_rounded(spec: RopeSpec) -> Rope:
    """Each product and the sum are rounded to bfloat16, where one rounding is claimed."""
    return lambda x, positions: narrow_rotation(x, positions, spec, ml_dtypes.bfloat16)


@wrong(fault="angle-precision", clause="frequency.phase")
def rotates_in_tf32(spec: RopeSpec) -> Rope:
    """The rotation is a matrix product that keeps 10 bits of data and table."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        return rotate(_ten_bits(x), _ten_bits(np.cos(phase)), _ten_bits(np.sin(phase)), spec)

    return rope


# Types of the result


@wrong(fault="dtype", clause="data.kept", dtypes=("bfloat16",))
def promotes_to_table_type(spec: RopeSpec) -> Rope:
    """bfloat16 data comes back as float32, the type of the table."""
    return lambda x, positions: honest(x.astype(np.float32), positions, spec)


@wrong(fault="dtype", clause="data.kept", dtypes=("float32", "float16"))
def returns_half_precision(spec: RopeSpec) -> Rope:
    """The result is float16 whatever came in."""
    return lambda x, positions: honest(x, positions, spec).astype(np.float16)


def _product(positions: Array, spec: RopeSpec, kind: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        theta = frequencies(spec).astype(kind)
        product = np.asarray(positions).astype(kind)[..., None] * theta
    return np.asarray(product, dtype=np.float32)


def _by_phase(x: Array, phase: Array, spec: RopeSpec) -> Array:
    with np.errstate(invalid="ignore"):
        return rotate(x, np.cos(phase), np.sin(phase), spec)


def _ten_bits(values: Array) -> Array:
    """float32 with the lower 13 bits of the mantissa cut off."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)

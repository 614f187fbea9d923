"""Honest RoPEs again, in forms that a check may not expect: no check may fail on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    rotate,
    split,
)
from rope_ref import RopeSpec
from rope_ref.spec import Layout

_FREE: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**24), 2**24),
    "empty": True,
    "strided": True,
}


# Other ways to compute the same


@control(profile="float32-power", **_FREE)
def other_layout_by_permutation(spec: RopeSpec) -> Rope:
    """Channels are brought into the other layout, rotated there, and brought back."""
    swapped: Layout = "half" if spec.layout == "interleaved" else "interleaved"
    other = replace(spec, layout=swapped, output_layout=swapped)

    def rope(x: Array, positions: Array) -> Array:
        there = honest(join(x, *split(x, spec), other), positions, other)
        return join(x, *split(there, other), spec)

    return rope


@control(profile="float32-power", **_FREE)
def two_by_two_matrices(spec: RopeSpec) -> Rope:
    """Each pair is a vector, multiplied by a matrix of two rows and columns."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))[..., None, :]
        cos, sin = np.cos(phase), np.sin(phase)
        matrix = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
        turned = matrix @ np.stack(split(x, spec), axis=-1)[..., None]
        return join(x, turned[..., 0, 0], turned[..., 1, 0], spec)

    return rope


@control(dtypes=("bfloat16",), profile="float64", **_FREE)
def three_shears(spec: RopeSpec) -> Rope:
    """A rotation as three shears, by tan of half the phase and by its sine, in float64."""

    def rope(x: Array, positions: Array) -> Array:
        phase = _phases64(positions, spec)[..., None, :]
        u, v = (part.astype(np.float64) for part in split(x, spec))
        shear = np.tan(phase / 2)
        u = u - shear * v
        v = v + np.sin(phase) * u
        return join(x, u - shear * v, v, spec)

    return rope


@control(profile="float64", **_FREE)
def angles_added_up(spec: RopeSpec) -> Rope:
    """The phase is that of a block of 64 positions and that within it, by the sum formulas."""

    def rope(x: Array, positions: Array) -> Array:
        block, within = (
            np.exp(1j * _phases64(part, spec)) for part in (positions // 64 * 64, positions % 64)
        )
        turn = (block * within).astype(np.complex64)
        return rotate(x, turn.real, turn.imag, spec)

    return rope


@control(dtypes=("bfloat16",), profile="exact", **_FREE)
def everything_wider(spec: RopeSpec) -> Rope:
    """bfloat16 data, everything in float64 inside, rounded once."""

    def rope(x: Array, positions: Array) -> Array:
        phase = _phases64(positions, spec)[..., None, :]
        u, v = (part.astype(np.float64) for part in split(x, spec))
        first = u * np.cos(phase) - v * np.sin(phase)
        return join(x, first, u * np.sin(phase) + v * np.cos(phase), spec)

    return rope


@control(dtypes=("float64",), profile="float64", **_FREE)
def float64_throughout(spec: RopeSpec) -> Rope:
    """float64 data, and everything in float64."""

    def rope(x: Array, positions: Array) -> Array:
        phase = _phases64(positions, spec)[..., None, :]
        u, v = x[..., _rotating(spec)[0]], x[..., _rotating(spec)[1]]
        first = u * np.cos(phase) - v * np.sin(phase)
        return join(x, first, u * np.sin(phase) + v * np.cos(phase), spec)

    return rope


@control(profile="float32-power", **_FREE)
def positions_int32(spec: RopeSpec) -> Rope:
    """Positions are held in 32 bits."""
    return lambda x, positions: honest(x, positions.astype(np.int32), spec)


# What is kept between calls


@control(profile="float32-power", position_forms=("t", "bt"), position_range=(0, 4095))
def table_gathered(spec: RopeSpec) -> Rope:
    """A table made once, from which rows are taken."""
    phase = angles(np.arange(4096), frequencies(spec))
    cos, sin = np.cos(phase), np.sin(phase)
    return lambda x, positions: rotate(x, cos[positions], sin[positions], spec)


@control(profile="float32-power", position_forms=("t", "bt"), position_range=(0, 2**14))
def table_grown_on_demand(spec: RopeSpec) -> Rope:
    """A table that is made anew, twice as long, when a position lies behind its end."""
    table = [angles(np.arange(1), frequencies(spec))]

    def rope(x: Array, positions: Array) -> Array:
        while len(table[0]) <= positions.max(initial=0):
            table[0] = angles(np.arange(2 * len(table[0])), frequencies(spec))
        phase = table[0][positions]
        return rotate(x, np.cos(phase), np.sin(phase), spec)

    return rope


@control(profile="float32-power", **_FREE)
def memo_by_content(spec: RopeSpec) -> Rope:
    """The last table is kept as long as every position is the same."""
    kept: list[Array] = []

    def rope(x: Array, positions: Array) -> Array:
        if not kept or not np.array_equal(kept[0], positions):
            kept[:] = [positions.copy(), angles(positions, frequencies(spec))]
        return rotate(x, np.cos(kept[1]), np.sin(kept[1]), spec)

    return rope


# Other forms of positions and data


@control(profile="float32-power", position_forms=("bt",), position_range=(-(2**20), 2**20))
def rows_only(spec: RopeSpec) -> Rope:
    """Positions always come as (B, T)."""

    def rope(x: Array, positions: Array) -> Array:
        batch, tokens = positions.shape
        return honest(x, positions.reshape(batch, tokens), spec)

    return rope


@control(profile="float32-power", position_forms=("offset",))
def offset_only(spec: RopeSpec) -> Rope:
    """Tokens follow each other from an offset."""
    return lambda x, offset: honest(x, np.arange(x.shape[1]) + offset, spec)


@control(profile="float32-power", position_forms=("none",), position_range=(0, 4096))
def no_positions(spec: RopeSpec) -> Rope:
    """Tokens are always counted from 0."""
    return lambda x: honest(x, np.arange(x.shape[1]), spec)


@control(axes="bhtd", profile="float32-power", **_FREE)
def heads_before_tokens(spec: RopeSpec) -> Rope:
    """The axes are bhtd, and the result is a view in another order of memory."""
    return lambda x, positions: honest(x.swapaxes(1, 2), positions, spec).swapaxes(1, 2)


@control(axes="thd", profile="float32-power", position_range=(-(2**24), 2**24))
def no_batch_axis(spec: RopeSpec) -> Rope:
    """The axes are thd."""
    return lambda x, positions: honest(x[None], positions, spec)[0]


@control(axes="td", profile="float32-power", position_range=(-(2**24), 2**24))
def tokens_and_channels_only(spec: RopeSpec) -> Rope:
    """The axes are td."""
    return lambda x, positions: honest(x[None, :, None], positions, spec)[0, :, 0]


@control(profile="float32-power", in_place=True, position_forms=("t", "bt"))
def in_place(spec: RopeSpec) -> Rope:
    """x is overwritten, as is claimed, and nothing is returned."""

    def rope(x: Array, positions: Array) -> None:
        x[...] = honest(x, positions, spec)

    return rope


# Other specs


@control(RopeSpec(64, layout="interleaved", output_layout="half"), profile="float32-power", **_FREE)
def writes_the_other_layout(spec: RopeSpec) -> Rope:
    """Pairs are written in another layout than they were read in, as is claimed."""
    return lambda x, positions: honest(x, positions, spec)


@control(RopeSpec(64, layout="half", direction=-1), profile="float32-power", **_FREE)
def clockwise_as_specified(spec: RopeSpec) -> Rope:
    """The pairs turn the way that the spec says."""
    return lambda x, positions: honest(x, positions, spec, spec.direction * frequencies(spec))


@control(
    RopeSpec(96, layout="half", rotary_dim=48, rotary_start=32), profile="float32-power", **_FREE
)
def behind_other_channels(spec: RopeSpec) -> Rope:
    """The channels that rotate stand in the middle of the head."""
    return lambda x, positions: honest(x, positions, spec)


# Other surfaces


@control(dtypes=("bfloat16",), profile="exact", **_FREE)
class bfloat16_table_consumer:  # noqa: N801  # named like its neighbours
    """Rotates bfloat16 data by float32 tables that are given."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, cos, sin, self.spec)


@control(profile="float32-power", **_FREE)
class shows_its_table:  # noqa: N801
    """Beside the rotation its frequencies and its table are offered."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return rotate(x, *self.cos_sin(positions), self.spec)

    def theta(self) -> Array:
        return frequencies(self.spec)

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        phase = angles(positions, self.theta())
        return np.cos(phase), np.sin(phase)


def _phases64(positions: Array, spec: RopeSpec) -> Array:
    exponent = -np.arange(0, spec.rotary_dim, 2) / spec.rotary_dim
    return np.asarray(positions, dtype=np.float64)[..., None] * base_of(spec) ** exponent


def _rotating(spec: RopeSpec) -> tuple[slice, slice]:
    """First and second channels of all pairs."""
    start, end = spec.rotary_start, spec.rotary_start + spec.rotary_dim
    if spec.layout == "interleaved":
        return slice(start, end, 2), slice(start + 1, end, 2)
    return slice(start, start + spec.rotary_dim // 2), slice(start + spec.rotary_dim // 2, end)

"""Wrong pairs, wrong signs, and heads of which a part rotates."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, PLAIN, wrong
from rope_conformance.zoo.parts.plain import Rope, angles, frequencies, honest, join, rotate, split
from rope_ref import RopeSpec

INTERLEAVED = RopeSpec(64, layout="interleaved")


# Pairs and signs


@wrong(INTERLEAVED, fault="layout", clause="pairing.layout")
def always_half_split(spec: RopeSpec) -> Rope:
    """The layout that was asked for never reaches the kernel, which splits halves."""
    other = replace(spec, layout="half", output_layout="half")
    return lambda x, positions: honest(x, positions, other)


@wrong(fault="layout", clause="pairing.output_layout")
def writes_interleaved(spec: RopeSpec) -> Rope:
    """Pairs are read half-split, as claimed, but written interleaved."""
    other = replace(spec, output_layout="interleaved")
    return lambda x, positions: honest(x, positions, other)


@wrong(fault="layout", clause="frequency.ladder")
def repeated_table_for_half_split(spec: RopeSpec) -> Rope:
    """The table repeats each entry (c0 c0 c1 c1 ..) but the pairs are split halves."""

    def rope(x: Array, positions: Array) -> Array:
        phase = np.repeat(angles(positions, frequencies(spec)), 2, axis=-1)[..., None, :]
        half = spec.rotary_dim // 2
        turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return np.asarray(x * np.cos(phase) + turned * np.sin(phase))

    return rope


@wrong(fault="layout", clause=("pairing.layout", "pairing.output_layout"))
def pairs_from_both_ends(spec: RopeSpec) -> Rope:
    """The second half is taken backwards: channel i is paired with R - 1 - i."""

    def rope(x: Array, positions: Array) -> Array:
        u, v = split(x, spec)
        y = rotate(join(x, u, v[..., ::-1], spec), *_table(spec, positions), spec)
        first, second = split(y, spec)
        return join(x, first, second[..., ::-1], spec)

    return rope


@wrong(fault="sign", clause="rotation.norm")
def both_components_add(spec: RopeSpec) -> Rope:
    """The minus sign of the first component is missing: (u cos + v sin, u sin + v cos)."""
    return lambda x, positions: _combined(x, positions, spec, minus=1)


@wrong(fault="sign", clause="pairing.direction")
def second_component_backwards(spec: RopeSpec) -> Rope:
    """Only the second component turns the other way: (u cos - v sin, v cos - u sin)."""

    def rope(x: Array, positions: Array) -> Array:
        u, v = split(x, spec)
        c, s = (part[..., None, :] for part in _table(spec, positions))
        return join(x, u * c - v * s, v * c - u * s, spec)

    return rope


@wrong(INTERLEAVED, fault="sign", clause="pairing.direction")
def clockwise_where_interleaved(spec: RopeSpec) -> Rope:
    """The kernel for adjacent pairs turns clockwise, that for split halves does not."""
    sign = -1 if spec.layout == "interleaved" else 1
    return lambda x, positions: honest(x, sign * positions, spec)


@wrong(fault="kernel-shape", clause="rotation.norm")
def minus_one_misread(spec: RopeSpec) -> Rope:
    """The bits of -1 in bfloat16 are read as float16, which makes -1.875 of them."""
    bits = np.array(-1, dtype=ml_dtypes.bfloat16).view(np.float16)
    return lambda x, positions: _combined(x, positions, spec, minus=float(bits))


@wrong(fault="frequency", clause="table.identity")
def cosine_and_sine_exchanged(spec: RopeSpec) -> Rope:
    """cos stands where sin should, and sin where cos should."""
    return lambda x, positions: rotate(x, *_table(spec, positions)[::-1], spec)


@wrong(fault="frequency", clause="table.circle")
def cosine_of_table(spec: RopeSpec) -> Rope:
    """cos and sin are taken twice: once for the table, once when it is used."""

    def rope(x: Array, positions: Array) -> Array:
        cos, sin = _table(spec, positions)
        return rotate(x, np.cos(cos), np.sin(sin), spec)

    return rope


# Part of a head


@wrong(PARTIAL, fault="partial", clause="pairing.layout")
def head_width_in_both(spec: RopeSpec) -> Rope:
    """Frequencies and partners are both those of the whole head, cut to the first R/2 pairs."""
    whole = replace(spec, rotary_dim=spec.head_dim)
    theta = frequencies(whole)
    theta[spec.rotary_dim // 2 :] = 0
    return lambda x, positions: honest(x, positions, whole, theta)


@wrong(PARTIAL, fault="partial", clause="pairing.layout")
def fraction_twice(spec: RopeSpec) -> Rope:
    """The share of channels that rotate is taken of R once more."""
    fewer = spec.rotary_dim * spec.rotary_dim // spec.head_dim // 2 * 2
    narrow = replace(spec, rotary_dim=fewer)
    return lambda x, positions: honest(x, positions, narrow)


@wrong(fault="partial", clause=("pairing.layout", "frequency.ladder"))
def half_of_the_rotary_width(spec: RopeSpec) -> Rope:
    """Only half of the rotating channels rotate."""
    narrow = replace(spec, rotary_dim=spec.rotary_dim // 4 * 2)
    return lambda x, positions: honest(x, positions, narrow)


@wrong(PARTIAL, fault="partial", clause=("pairing.layout", "passthrough.channels"))
def rotates_the_last_channels(spec: RopeSpec) -> Rope:
    """The rotating channels are taken from the end of the head."""
    moved = replace(spec, rotary_start=spec.head_dim - spec.rotary_dim)
    return lambda x, positions: honest(x, positions, moved)


@wrong(PARTIAL, fault="aliasing", clause="passthrough.channels")
def pass_through_not_copied(spec: RopeSpec) -> Rope:
    """Only the rotating channels are written to the result; the others stay 0."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[..., spec.rotary_dim :] = 0
        return y

    return rope


@wrong(PLAIN, fault="partial", clause="frequency.widths")
def copies_one_rotary_width(spec: RopeSpec) -> Rope:
    """Of the channels that pass through as many are copied as rotate; the rest stays 0."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[..., 2 * spec.rotary_dim :] = 0
        return y

    return rope


@wrong(PARTIAL, fault="partial", clause="passthrough.channels")
def pass_through_in_bfloat16(spec: RopeSpec) -> Rope:
    """The channels that pass through are rounded to bfloat16 on the way."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        rest = x[..., spec.rotary_dim :].astype(ml_dtypes.bfloat16)
        y[..., spec.rotary_dim :] = rest.astype(x.dtype)
        return y

    return rope


def _table(spec: RopeSpec, positions: Array) -> tuple[Array, Array]:
    phase = angles(positions, frequencies(spec))
    return np.cos(phase), np.sin(phase)


def _combined(x: Array, positions: Array, spec: RopeSpec, minus: float) -> Array:
    """The rotation with another number where -1 should be."""
    u, v = split(x, spec)
    c, s = (part[..., None, :] for part in _table(spec, positions))
    return join(x, u * c + np.float32(minus) * v * s, u * s + v * c, spec)

"""What is kept from one call to the next, or read from a table, and should not be."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import Rope, angles, base_of, frequencies, honest, rotate
from rope_ref import RopeSpec

_KEPT: dict[float, Array] = {}


# A memo whose key lacks something


@wrong(fault="cache", clause=("frequency.phase", "independence.chunks"))
def memo_by_length(spec: RopeSpec) -> Rope:
    """The table of a number of tokens is that of the first call of that length."""
    return _memo(spec, lambda x, positions: positions.shape[-1])


@wrong(fault="cache", clause="frequency.phase")
def memo_by_shape(spec: RopeSpec) -> Rope:
    """A program is kept per shape of x, with the positions it was first called with."""
    return _memo(spec, lambda x, positions: x.shape)


@wrong(fault="cache", clause="frequency.phase")
def memo_by_first_position(spec: RopeSpec) -> Rope:
    """The table is kept by number of tokens and first position alone."""
    return _memo(spec, lambda x, positions: (positions.shape[-1], positions.flat[0]))


@wrong(fault="cache", clause="frequency.phase")
def memo_by_ends(spec: RopeSpec) -> Rope:
    """The table is kept by number of tokens, smallest and largest position."""
    return _memo(spec, lambda x, positions: (positions.size, positions.min(), positions.max()))


@wrong(fault="cache", clause="frequency.phase")
def memo_by_sum(spec: RopeSpec) -> Rope:
    """The table is kept by the number of tokens and the sum of their positions."""
    return _memo(spec, lambda x, positions: (positions.size, int(positions.sum())))


@wrong(fault="cache", clause="frequency.widths")
def frequencies_kept_by_base(spec: RopeSpec) -> Rope:
    """The frequencies are kept from one RoPE to the next by base alone, whatever the width."""
    kept = _KEPT.setdefault(base_of(spec), frequencies(spec))
    theta = np.resize(kept, spec.rotary_dim // 2)
    return lambda x, positions: honest(x, positions, spec, theta)


def _memo(spec: RopeSpec, key: object) -> Rope:
    kept: dict[object, Array] = {}
    assert callable(key)

    def rope(x: Array, positions: Array) -> Array:
        phase = kept.setdefault(key(x, positions), angles(positions, frequencies(spec)))
        return rotate(x, np.cos(phase), np.sin(phase), spec)

    return rope


# A table that is too short


@wrong(fault="cache", clause="frequency.phase")
def first_length_is_the_longest(spec: RopeSpec) -> Rope:
    """The table is made for the first call; later ones find its last row behind its end."""
    longest: list[int] = []

    def rope(x: Array, positions: Array) -> Array:
        longest.append(int(positions.max(initial=0)))
        return honest(x, np.minimum(positions, longest[0]), spec)

    return rope


@wrong(fault="cache", clause="frequency.phase")
def stops_at_8192(spec: RopeSpec) -> Rope:
    """The table has 8192 rows, and all positions behind its end get the last."""
    return lambda x, positions: honest(x, np.minimum(positions, 8191), spec)


@wrong(fault="cache", clause="frequency.phase")
def identity_behind_the_table(spec: RopeSpec) -> Rope:
    """The table has 8192 rows, and tokens behind its end are not rotated at all."""
    return lambda x, positions: honest(x, np.where(positions < 8192, positions, 0), spec)


@wrong(fault="cache", clause="frequency.phase", position_range=(0, 4095))
def last_row_missing(spec: RopeSpec) -> Rope:
    """The table is one row short: the last position gets the row before."""
    return lambda x, positions: honest(x, np.minimum(positions, 4094), spec)


@wrong(fault="cache", clause="frequency.phase")
def reads_behind_the_table(spec: RopeSpec) -> Rope:
    """Behind a table of 2048 rows other memory is read: here the table of sin."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(np.arange(2048), frequencies(spec))
        memory = np.concatenate([np.cos(phase), np.sin(phase), np.cos(phase)])
        row = positions % 4096
        return rotate(x, memory[row], memory[row + 2048], spec)

    return rope


@wrong(fault="cache", clause=("rotation.norm", "independence.chunks"))
def zero_rows_behind_the_start(spec: RopeSpec) -> Rope:
    """A call that does not start at position 0 gets a table of zeros."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        if positions.size and positions.flat[0] > 0:
            y[..., spec.rotary_start : spec.rotary_start + spec.rotary_dim] = 0
        return y

    return rope


# What an earlier call left behind


@wrong(fault="angle-precision", clause="frequency.phase")
def made_again_from_rounded_frequencies(spec: RopeSpec) -> Rope:
    """Beyond position 2048 the table is made again, from frequencies in bfloat16."""
    theta = frequencies(spec)
    rounded = theta.astype(ml_dtypes.bfloat16).astype(np.float32)

    def rope(x: Array, positions: Array) -> Array:
        longer = positions.max(initial=0) >= 2048
        return honest(x, positions, spec, rounded if longer else theta)

    return rope


@wrong(fault="cache", clause=("frequency.phase", "data.determinism"))
def base_stays_grown(spec: RopeSpec) -> Rope:
    """A call beyond position 2048 makes the base larger, for every call that follows too."""
    longest = [2048]

    def rope(x: Array, positions: Array) -> Array:
        longest[0] = max(longest[0], int(positions.max(initial=0)))
        theta = frequencies(spec, base=base_of(spec) * longest[0] / 2048)
        return honest(x, positions, spec, theta)

    return rope


@wrong(fault="cache", clause="independence.rows")
def expanded_for_first_batch(spec: RopeSpec) -> Rope:
    """The table is laid out for the rows of the first call; rows beyond them get zeros."""
    rows: list[int] = []

    def rope(x: Array, positions: Array) -> Array:
        rows.append(x.shape[0])
        y = honest(x, positions, spec)
        y[rows[0] :] = 0
        return y

    return rope


@wrong(fault="scaling", clause="frequency.rows", position_forms=("t", "bt"))
def one_far_row_moves_all(spec: RopeSpec) -> Rope:
    """Where any row passes position 4096, the base of all rows is twice as large."""

    def rope(x: Array, positions: Array) -> Array:
        rows = positions.ndim == 2 and (positions.max(axis=1) > 4096)
        larger = np.any(rows) and not np.all(rows)
        return honest(x, positions, spec, frequencies(spec, base=base_of(spec) * (1 + larger)))

    return rope


# Positions in another form


@wrong(fault="position", clause="rotation.compose")
def assumes_consecutive_positions(spec: RopeSpec) -> Rope:
    """Only the first position is looked at; the others are taken to follow it."""

    def rope(x: Array, positions: Array) -> Array:
        return honest(x, positions[..., :1] + np.arange(x.shape[1]), spec)

    return rope


@wrong(fault="position", clause="independence.chunks", position_forms=("offset",))
def offset_never_read(spec: RopeSpec) -> Rope:
    """The offset is a parameter that nothing reads."""
    return lambda x, offset: honest(x, np.arange(x.shape[1]), spec)


@wrong(fault="position", clause="independence.chunks", position_forms=("offset",))
def offset_counted_twice(spec: RopeSpec) -> Rope:
    """The offset is added where the table is cut and again where it is used."""
    return lambda x, offset: honest(x, np.arange(x.shape[1]) + 2 * offset, spec)

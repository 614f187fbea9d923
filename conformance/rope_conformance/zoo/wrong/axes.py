"""Wrong ways of positions with several axes: another axis, another ladder, another split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.axes import (
    FOUR,
    GLM,
    IMAGE,
    SECTIONS,
    TURNS,
    VIDEO,
    ladders,
    own_axes,
    rope_along,
    table,
)
from rope_conformance.zoo.parts.plain import Rope, base_of, frequencies, join, split
from rope_ref import PowerLaw, RopeSpec
from rope_ref.positions import contiguous_axes, interleaved_axes, pangu_axes
from rope_ref.scaling import Axial

_ROWS: dict[str, Any] = {"position_forms": ("t", "bt")}


# Which axis a pair follows


@wrong(TURNS, fault="multi-axis", clause="axes.map", **_ROWS)
def sections_for_turns(spec: RopeSpec) -> Rope:
    """The axes come in sections where they should take turns."""
    return rope_along(spec, sorted(own_axes(spec)))


@wrong(SECTIONS, fault="multi-axis", clause="axes.map", **_ROWS)
def turns_for_sections(spec: RopeSpec) -> Rope:
    """The axes take turns where they should come in sections."""
    axes = own_axes(spec)
    return rope_along(spec, interleaved_axes([axes.count(axis) for axis in range(3)]))


@wrong(GLM, fault="multi-axis", clause="axes.map", **_ROWS)
def pangu_axes_for_glm(spec: RopeSpec) -> Rope:
    """The axes are spread evenly, as one model has them, where another's take turns."""
    axes = own_axes(spec)
    return rope_along(spec, pangu_axes([axes.count(axis) for axis in range(3)]))


@wrong(GLM, fault="multi-axis", clause="axes.map", **_ROWS)
def qwen_axes_for_glm(spec: RopeSpec) -> Rope:
    """What is left when an axis is full goes to time, not to the next axis."""
    axes = own_axes(spec)
    return rope_along(spec, interleaved_axes([axes.count(axis) for axis in range(3)]))


@wrong(TURNS, fault="multi-axis", clause="axes.map", **_ROWS)
def left_over_pairs_stand_still(spec: RopeSpec) -> Rope:
    """The pairs that are left when the axes have taken turns follow a fourth axis, always 0."""
    axes = [
        axis if i % 3 == axis and i < 3 * own_axes(spec).count(axis) else 3
        for i, axis in enumerate(own_axes(spec))
    ]
    theta = np.where(np.equal(axes, 3), np.float32(0), frequencies(spec))
    return rope_along(spec, own_axes(spec), theta)


@wrong(FOUR, fault="multi-axis", clause="axes.map", **_ROWS)
def fourth_axis_dropped(spec: RopeSpec) -> Rope:
    """Only time, row and column are looked at: the pairs of a fourth axis are not rotated."""
    return rope_along(spec, own_axes(spec), frequencies(spec) * np.less(own_axes(spec), 3))


@wrong(VIDEO, fault="multi-axis", clause=("axes.map", "axes.order"), **_ROWS)
def rows_and_columns_exchanged(spec: RopeSpec) -> Rope:
    """Row and column are exchanged."""
    return rope_along(spec, [(0, 2, 1)[axis] for axis in own_axes(spec)])


@wrong(SECTIONS, fault="multi-axis", clause="axes.map", **_ROWS)
def first_axis_for_all(spec: RopeSpec) -> Rope:
    """Every pair follows the first axis, as in a rotation by a single position."""
    return rope_along(spec, [0 for _ in own_axes(spec)])


@wrong(IMAGE, fault="multi-axis", clause="axes.map", **_ROWS)
def half_of_the_table_for_both(spec: RopeSpec) -> Rope:
    """The half of the table that belongs to rows serves for columns too."""
    axes, theta = own_axes(spec), ladders(spec)
    half = len(axes) // 2
    return rope_along(spec, axes[:half] * 2, np.tile(theta[:half], 2))


@wrong(SECTIONS, fault="multi-axis", clause="axes.map", **_ROWS)
def sections_doubled(spec: RopeSpec) -> Rope:
    """Sections are counted in channels, so that the last axes find no pairs left."""
    axes = own_axes(spec)
    twice = contiguous_axes([2 * axes.count(axis) for axis in range(3)])
    return rope_along(spec, twice[: len(axes)])


@wrong(VIDEO, fault="multi-axis", clause="axes.map", **_ROWS)
def built_by_one_split_used_by_another(spec: RopeSpec) -> Rope:
    """The ladders are as long as they should be, but are cut among the axes by thirds."""
    pairs = len(own_axes(spec))
    return rope_along(spec, contiguous_axes((pairs - 2 * (pairs // 3), pairs // 3, pairs // 3)))


# How fast pairs turn


@wrong(SECTIONS, fault="multi-axis", clause="axes.equal", **_ROWS)
def ladder_for_each_axis(spec: RopeSpec) -> Rope:
    """Each axis has a ladder of its own where all share one."""
    widths = [2 * own_axes(spec).count(axis) for axis in range(3)]
    own = RopeSpec(64, layout="half", frequencies=Axial(PowerLaw(base_of(spec)), widths))
    return rope_along(spec, own_axes(spec), ladders(own))


@wrong(IMAGE, fault="multi-axis", clause="frequency.ladder", **_ROWS)
def one_ladder_through_all_axes(spec: RopeSpec) -> Rope:
    """One ladder runs through rows and columns where each has its own."""
    exponents = np.arange(0, spec.rotary_dim, 2, dtype=np.float32) / np.float32(spec.rotary_dim)
    return rope_along(spec, own_axes(spec), np.float32(1) / np.float32(1e4) ** exponents)


@wrong(VIDEO, fault="multi-axis", clause="frequency.ladder", **_ROWS)
def one_denominator_for_all_widths(spec: RopeSpec) -> Rope:
    """The exponents of every axis are divided by the width of the whole head."""
    return rope_along(spec, own_axes(spec), ladders(spec, [spec.rotary_dim] * 3))


# Which pairs there are


@wrong(FOUR, fault="multi-axis", clause="axes.shift", **_ROWS)
def blocks_of_the_tiled_table(spec: RopeSpec) -> Rope:
    """The axes are blocks of a table that holds each angle twice: two channels, two axes."""
    blocks = np.repeat(np.arange(4), spec.rotary_dim // 4)
    theta, half = np.tile(frequencies(spec), 2), spec.rotary_dim // 2

    def rope(x: Array, positions: Array) -> Array:
        cos, sin = (part[..., None, :] for part in table(positions, blocks, theta))
        u, v = split(x, spec)
        first = u * cos[..., :half] - v * sin[..., :half]
        return join(x, first, v * cos[..., half:] + u * sin[..., half:], spec)

    return rope


@wrong(VIDEO, fault="layout", clause="axes.shift", **_ROWS)
def tiled_table_in_blocks(spec: RopeSpec) -> Rope:
    """In the block of each axis the table holds its angles one after the other, twice."""
    axes, theta = np.array(own_axes(spec)), ladders(spec)
    order = np.concatenate([np.tile(np.flatnonzero(axes == axis), 2) for axis in range(3)])

    def rope(x: Array, positions: Array) -> Array:
        cos, sin = (part[..., None, order] for part in table(positions, axes, theta))
        u, v = split(x, spec)
        first = u * cos[..., 0::2] - v * sin[..., 0::2]
        return join(x, first, v * cos[..., 1::2] + u * sin[..., 1::2], spec)

    return rope


@wrong(IMAGE, fault="multi-axis", clause="frequency.ladder", **_ROWS)
def own_halves_in_each_block(spec: RopeSpec) -> Rope:
    """The block of each axis is split into halves by itself, not the head as a whole."""
    order = np.arange(spec.rotary_dim).reshape(2, 2, -1).swapaxes(0, 1).ravel()
    inside = rope_along(spec, own_axes(spec))

    def rope(x: Array, positions: Array) -> Array:
        y = np.empty_like(x)
        y[..., order] = inside(x[..., order], positions)
        return y

    return rope


# How positions are read


@wrong(SECTIONS, fault="multi-axis", clause="axes.order", **_ROWS)
def rows_for_axes(spec: RopeSpec) -> Rope:
    """Positions (A, B, T) are read as (B, A, T)."""
    right = rope_along(spec, own_axes(spec))

    def rope(x: Array, positions: Array) -> Array:
        if positions.ndim == 3:
            axes, batch, tokens = positions.shape
            positions = positions.reshape(batch, axes, tokens).swapaxes(0, 1)
        return np.asarray(right(x, positions))

    return rope


@wrong(SECTIONS, fault="multi-axis", clause="axes.order")
def tokens_for_axes(spec: RopeSpec) -> Rope:
    """Positions, which come axis by axis, are cut among the axes as if they came by token."""
    right = rope_along(spec, own_axes(spec))
    return lambda x, positions: right(x, positions.reshape(positions.shape[::-1]).T)


@wrong(SECTIONS, fault="multi-axis", clause="axes.order", **_ROWS)
def token_numbers_on_all_axes(spec: RopeSpec) -> Rope:
    """Every token stands at its number on all axes, as in a text."""
    right = rope_along(spec, own_axes(spec))

    def rope(x: Array, positions: Array) -> Array:
        numbers = np.broadcast_to(np.arange(positions.shape[-1]), positions.shape)
        return np.asarray(right(x, numbers))

    return rope


@wrong(IMAGE, position_kinds=("integer", "real"), fault="multi-axis", clause="axes.order", **_ROWS)
def coordinates_numbered(spec: RopeSpec) -> Rope:
    """The numbers of rows and columns stand where their coordinates should."""
    right = rope_along(spec, own_axes(spec))

    def rope(x: Array, positions: Array) -> Array:
        numbers = [np.unique(each, return_inverse=True)[1] for each in positions]
        return np.asarray(right(x, np.reshape(numbers, positions.shape)))

    return rope


@wrong(
    IMAGE, position_kinds=("integer", "real"), fault="multi-axis", clause="frequency.real", **_ROWS
)
def coordinates_cut_to_integers(spec: RopeSpec) -> Rope:
    """Coordinates are cast to integers."""
    right = rope_along(spec, own_axes(spec))
    return lambda x, positions: right(x, positions.astype(np.int64))


@wrong(SECTIONS, fault="multi-axis", clause="axes.map", **_ROWS)
def text_told_by_first_token(spec: RopeSpec) -> Rope:
    """Where the axes agree on the first token, the call is taken for text: one axis for all."""
    right, text = rope_along(spec, own_axes(spec)), rope_along(spec, [0 for _ in own_axes(spec)])

    def rope(x: Array, positions: Array) -> Array:
        first = positions[..., 0]
        return np.asarray((text if (first == first[0]).all() else right)(x, positions))

    return rope


@wrong(replace(SECTIONS, frequencies=PowerLaw(1e6)), fault="config", clause="axes.equal", **_ROWS)
def text_with_the_default_base(spec: RopeSpec) -> Rope:
    """Where all axes agree, a kernel for text is called, which has the default base."""
    right = rope_along(spec, own_axes(spec))
    text = rope_along(spec, own_axes(spec), frequencies(spec, base=1e4))

    def rope(x: Array, positions: Array) -> Array:
        return np.asarray((text if (positions == positions[0]).all() else right)(x, positions))

    return rope

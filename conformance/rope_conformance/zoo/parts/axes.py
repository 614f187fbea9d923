"""Specs with several position axes, and honest parts of a RoPE for them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import Rope, frequencies, rotate
from rope_ref import PowerLaw, RopeSpec
from rope_ref.positions import axial_axes, contiguous_axes, glm_axes, interleaved_axes
from rope_ref.scaling import Axial

# One ladder for time, row and column, whose pairs come in sections, in turns, or in turns that
# leave out an axis that has all its pairs.
SECTIONS = RopeSpec(64, layout="half", pair_axes=contiguous_axes((8, 12, 12)))
TURNS = RopeSpec(64, layout="half", pair_axes=interleaved_axes((12, 10, 10)))
GLM = RopeSpec(64, layout="half", pair_axes=glm_axes((8, 12, 12)))
FOUR = RopeSpec(64, layout="half", pair_axes=contiguous_axes((8, 8, 8, 8)))
# A ladder for each of row and column; of frame, row and column.
_IMAGE, _VIDEO = (32, 32), (16, 24, 24)
IMAGE = RopeSpec(
    64, layout="half", frequencies=Axial(PowerLaw(1e4), _IMAGE), pair_axes=axial_axes(_IMAGE)
)
VIDEO = RopeSpec(
    64, layout="interleaved", frequencies=Axial(PowerLaw(1e4), _VIDEO), pair_axes=axial_axes(_VIDEO)
)


def own_axes(spec: RopeSpec) -> tuple[int, ...]:
    """The axis of each pair."""
    assert spec.pair_axes is not None
    return spec.pair_axes


def ladders(spec: RopeSpec, widths: Iterable[int] | None = None) -> Array:
    """Frequencies of a ladder for each axis, or of the one they share, in float32."""
    rule = spec.frequencies
    if not isinstance(rule, Axial):
        return frequencies(spec)
    parts = [
        np.float32(1)
        / np.float32(each.base if isinstance(each, PowerLaw) else 1)
        ** (np.arange(0, own, 2, dtype=np.float32) / np.float32(width))
        for each, own, width in zip(rule.rules, rule.widths, widths or rule.widths, strict=True)
    ]
    return np.concatenate(parts)


def table(positions: Array, axes: Iterable[int], theta: Array) -> tuple[Array, Array]:
    """cos and sin of positions (A, T) or (A, B, T), each pair at the position on its axis."""
    phase = np.moveaxis(positions.astype(np.float32)[list(axes)], 0, -1) * theta
    return np.cos(phase), np.sin(phase)


def rope_along(spec: RopeSpec, axes: Iterable[int], theta: Array | None = None) -> Rope:
    """A RoPE whose pairs follow these axes."""
    own, chosen = tuple(axes), ladders(spec) if theta is None else theta
    return lambda x, positions: rotate(x, *table(positions, own, chosen), spec)

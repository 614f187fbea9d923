"""Maps that are no rotations and say so, as published checkpoints have them; wrong and honest.

Their tables have an entry for each channel, laid out for the other pair layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control, wrong
from rope_conformance.zoo.parts.plain import Rope, frequencies
from rope_conformance.zoo.wrong.axes import VIDEO, ladders, own_axes
from rope_ref import RopeSpec
from rope_ref.extensions import crossed_ropes

# Halves repeated where neighbours are pairs, in a block for each of frame, row and column.
_WIDTHS = (16, 24, 24)
BLOCKS, _BLOCKS_SECOND = crossed_ropes(VIDEO, widths=_WIDTHS)
# Each entry repeated where halves are pairs.
_PLAIN = RopeSpec(64, layout="half")
HALVES, _HALVES_SECOND = crossed_ropes(_PLAIN)


def _declared(second: RopeSpec, own: RopeSpec, **claim: Any) -> dict[str, Any]:
    return {
        "second_channels": second,
        "accepts": lambda spec: spec == own or "made for one definition",
        "position_forms": ("t", "bt"),
        **claim,
    }


def channelwise(x: Array, phase: Array, *, neighbours: bool) -> Array:
    """``x cos + partner(x) sin`` with a phase for each channel, as in public code."""
    cos, sin = np.cos(phase)[..., None, :], np.sin(phase)[..., None, :]
    wide = x.astype(np.float32)
    if neighbours:
        partner = np.stack([-wide[..., 1::2], wide[..., 0::2]], axis=-1).reshape(wide.shape)
    else:
        half = wide.shape[-1] // 2
        partner = np.concatenate([-wide[..., half:], wide[..., :half]], axis=-1)
    return (wide * cos + partner * sin).astype(x.dtype)


def _halves(theta: Array) -> Rope:
    """Halves as pairs, each channel with a theta of its own."""
    return lambda x, p: channelwise(x, p.astype(np.float32)[..., None] * theta, neighbours=False)


def _pair_phases(positions: Array) -> Array:
    """Phases of frame, row and column, each block's pairs with its own ladder."""
    axes, theta = list(own_axes(VIDEO)), ladders(VIDEO)
    return np.moveaxis(positions.astype(np.float32)[axes], 0, -1) * theta


def _in_blocks(phase: Array) -> Array:
    """Each block's phases twice, one after the other: the halves of its table."""
    ends = np.cumsum(np.array(_WIDTHS) // 2)[:-1]
    blocks = np.split(phase, ends, axis=-1)
    return np.concatenate([half for block in blocks for half in (block, block)], axis=-1)


@control(
    BLOCKS,
    **_declared(
        _BLOCKS_SECOND,
        BLOCKS,
        position_range=(-(2**20), 2**20),
        position_kinds=("integer", "real"),
        empty=True,
        strided=True,
    ),
)
def crossed_in_blocks(spec: RopeSpec) -> Rope:
    """No rotation, and declared so: halves repeated in three blocks, neighbours as pairs."""
    return lambda x, p: channelwise(x, _in_blocks(_pair_phases(p)), neighbours=True)


@control(HALVES, **_declared(_HALVES_SECOND, HALVES))
def crossed_halves(spec: RopeSpec) -> Rope:
    """No rotation, and declared so: each entry of the table repeated, halves as pairs."""
    return _halves(np.repeat(frequencies(_PLAIN), 2))


@wrong(BLOCKS, fault="layout", clause="channels.values", **_declared(_BLOCKS_SECOND, BLOCKS))
def rotation_for_crossed(spec: RopeSpec) -> Rope:
    """The quirk is mended: a true rotation, where the checkpoint was trained with none."""
    return lambda x, p: channelwise(x, np.repeat(_pair_phases(p), 2, axis=-1), neighbours=True)


@wrong(BLOCKS, fault="layout", clause="channels.values", **_declared(_BLOCKS_SECOND, BLOCKS))
def crossed_through_all_blocks(spec: RopeSpec) -> Rope:
    """Halves are repeated once for all three blocks, where each block has its own."""
    return lambda x, p: channelwise(x, np.tile(_pair_phases(p), 2), neighbours=True)


@wrong(HALVES, fault="layout", clause="channels.values", **_declared(_HALVES_SECOND, HALVES))
def channels_exchanged(spec: RopeSpec) -> Rope:
    """The first channel of a pair has the angle of the second, and the second that of the first."""
    return _halves(np.roll(np.repeat(frequencies(_PLAIN), 2), spec.rotary_dim // 2))


@wrong(HALVES, fault="frequency", clause="channels.values", **_declared(_HALVES_SECOND, HALVES))
def crossed_with_another_base(spec: RopeSpec) -> Rope:
    """The declared map, but with base 20000."""
    return _halves(np.repeat(frequencies(_PLAIN, 20000), 2))

"""Maps that are no rotations, as published checkpoints have them.

Their tables have an entry for each channel, laid out for the other pair layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.axes import VIDEO, ladders, own_axes
from rope_conformance.zoo.parts.plain import Rope
from rope_ref import RopeSpec
from rope_ref.extensions import crossed_ropes

# Halves repeated where neighbours are pairs, in a block for each of frame, row and column.
WIDTHS = (16, 24, 24)
BLOCKS, BLOCKS_SECOND = crossed_ropes(VIDEO, widths=WIDTHS)
# Each entry repeated where halves are pairs.
OF_HALVES = RopeSpec(64, layout="half")
HALVES, HALVES_SECOND = crossed_ropes(OF_HALVES)


def declared(second: RopeSpec, own: RopeSpec, **claim: Any) -> dict[str, Any]:
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


def halves(theta: Array) -> Rope:
    """Halves as pairs, each channel with a theta of its own."""
    return lambda x, p: channelwise(x, p.astype(np.float32)[..., None] * theta, neighbours=False)


def pair_phases(positions: Array) -> Array:
    """Phases of frame, row and column, each block's pairs with its own ladder."""
    axes, theta = list(own_axes(VIDEO)), ladders(VIDEO)
    return np.moveaxis(positions.astype(np.float32)[axes], 0, -1) * theta


def in_blocks(phase: Array) -> Array:
    """Each block's phases twice, one after the other: the halves of its table."""
    ends = np.cumsum(np.array(WIDTHS) // 2)[:-1]
    blocks = np.split(phase, ends, axis=-1)
    return np.concatenate([half for block in blocks for half in (block, block)], axis=-1)

"""Maps that are no rotations, and claimed to be none."""

from __future__ import annotations

import numpy as np

from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.crossed import (
    BLOCKS,
    BLOCKS_SECOND,
    HALVES,
    HALVES_SECOND,
    OF_HALVES,
    channelwise,
    declared,
    halves,
    in_blocks,
    pair_phases,
)
from rope_conformance.zoo.parts.plain import Rope, frequencies
from rope_ref import RopeSpec


@control(
    BLOCKS,
    **declared(
        BLOCKS_SECOND,
        BLOCKS,
        position_range=(-(2**20), 2**20),
        position_kinds=("integer", "real"),
        empty=True,
        strided=True,
    ),
)
def crossed_in_blocks(spec: RopeSpec) -> Rope:
    """No rotation, and declared so: halves repeated in three blocks, neighbours as pairs."""
    return lambda x, p: channelwise(x, in_blocks(pair_phases(p)), neighbours=True)


@control(HALVES, **declared(HALVES_SECOND, HALVES))
def crossed_halves(spec: RopeSpec) -> Rope:
    """No rotation, and declared so: each entry of the table repeated, halves as pairs."""
    return halves(np.repeat(frequencies(OF_HALVES), 2))

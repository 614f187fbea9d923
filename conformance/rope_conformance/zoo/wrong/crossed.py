"""Maps that are no rotations, claimed to be none, and another one than is claimed."""

from __future__ import annotations

import numpy as np

from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.crossed import (
    BLOCKS,
    BLOCKS_SECOND,
    HALVES,
    HALVES_SECOND,
    OF_HALVES,
    channelwise,
    declared,
    halves,
    pair_phases,
)
from rope_conformance.zoo.parts.plain import Rope, frequencies
from rope_ref import RopeSpec


@wrong(BLOCKS, fault="layout", clause="channels.values", **declared(BLOCKS_SECOND, BLOCKS))
def rotation_for_crossed(spec: RopeSpec) -> Rope:
    """The quirk is mended: a true rotation, where the checkpoint was trained with none."""
    return lambda x, p: channelwise(x, np.repeat(pair_phases(p), 2, axis=-1), neighbours=True)


@wrong(BLOCKS, fault="layout", clause="channels.values", **declared(BLOCKS_SECOND, BLOCKS))
def crossed_through_all_blocks(spec: RopeSpec) -> Rope:
    """Halves are repeated once for all three blocks, where each block has its own."""
    return lambda x, p: channelwise(x, np.tile(pair_phases(p), 2), neighbours=True)


@wrong(HALVES, fault="layout", clause="channels.values", **declared(HALVES_SECOND, HALVES))
def channels_exchanged(spec: RopeSpec) -> Rope:
    """The first channel of a pair has the angle of the second, and the second that of the first."""
    return halves(np.roll(np.repeat(frequencies(OF_HALVES), 2), spec.rotary_dim // 2))


@wrong(HALVES, fault="frequency", clause="channels.values", **declared(HALVES_SECOND, HALVES))
def crossed_with_another_base(spec: RopeSpec) -> Rope:
    """The declared map, but with base 20000."""
    return halves(np.repeat(frequencies(OF_HALVES, 20000), 2))

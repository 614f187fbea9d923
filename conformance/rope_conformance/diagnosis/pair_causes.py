"""Whether pairs are made of other channels than claimed, or combine their two otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.describing.words import layouts_in_words
from rope_conformance.diagnosis.turns import agreement, probed, right_turn, tolerance
from rope_conformance.faults import Cause
from rope_conformance.identification.conventions import read_map, visible_pairs
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import probe_position
from rope_ref import PowerLaw, RopeSpec, pair_channels

__all__ = ["wrong_pairs", "wrong_second_channel"]


def wrong_pairs(context: CheckContext) -> Cause | None:
    """Whether unit vectors show another layout, another width, or two channels that part."""
    position = probe_position(context)
    found_map, spec = read_map(context, position), context.spec
    evidence = f"read from unit vectors at position {position}"
    found = found_map.layouts(spec, position)
    claimed = layouts_in_words(spec)
    if found and (spec.layout, spec.output_layout) not in found:
        words = f"{found_map.in_words(spec, position)}, claimed {claimed}"
        return Cause(words, "layout", evidence)
    moving = [j for j in found_map.moving() if found_map.reaches[j]]
    rotating = set(pair_channels(spec).ravel().tolist())
    if outside := [j for j in moving if j not in rotating]:
        words = f"channel {outside[0]} is not left alone, though only {spec.rotary_dim} "
        words += f"of {spec.head_dim} channels rotate"
        return Cause(words, "partial", evidence)
    if not found and spec.rotary_dim > 2:
        width = len(moving)
        for narrow in _narrower(spec, width):
            if found_map.layouts(narrow, position):
                words = f"{width} channels rotate, claimed {spec.rotary_dim}"
                return Cause(words, "partial", evidence)
    if not found and found_map.all_in_pairs(spec, position):
        return Cause(f"{found_map.in_words(spec, position)}, claimed {claimed}", "layout", evidence)
    if found and (taken := found_map.overwritten(spec, position)):
        return Cause(taken, "aliasing", evidence)
    if found and (taken := found_map.sine_of_another_pair(spec, position)):
        return Cause(taken, "frequency", evidence)
    parted = found_map.sines_of_other_pairs(spec, position) if found else ()
    for pair, (u, v), (first, second) in visible_pairs(spec, position) if found else ():
        if abs(found_map.matrix[first, u] - found_map.matrix[second, v]) > 1 / 64 or pair in parted:
            words = (
                f"the two channels of pair {pair} turn by different angles, as when a table laid "
                f"out for the other layout meets pairs that are {claimed}"
            )
            return Cause(words, "layout", evidence)
    return None


def _narrower(spec: RopeSpec, width: int) -> list[RopeSpec]:
    """The spec with fewer rotating channels, if so many are possible."""
    if not isinstance(spec.frequencies, PowerLaw) or width % 2 or not 0 < width < spec.rotary_dim:
        return []
    return [replace(spec, rotary_dim=width)]


def wrong_second_channel(context: CheckContext) -> Cause | None:
    """Whether (0, 1) is turned otherwise than (1, 0), which is turned rightly."""
    p, seen = probed(context)
    turn, allowed = right_turn(p, context.spec), tolerance(context, p, context.spec.theta())
    if not seen.size or not agreement(seen, turn, allowed)[0].all():
        return None
    p, seen = probed(context, second=True)
    if agreement(seen, 1j * turn, allowed)[0].all():
        return None
    evidence = f"(1, 0) is turned rightly at {p.size} positions, (0, 1) is not"
    if agreement(seen, turn.imag + 1j * turn.real, allowed)[0].all():
        words = "the first component is u cos + v sin: its minus sign is missing"
        return Cause(words, "sign", evidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.nanmedian(-seen.real / turn.imag))
    if agreement(seen, -factor * turn.imag + 1j * turn.real, allowed)[0].all():
        words = f"the first component is u cos - k v sin with k = {factor:.6g} instead of 1"
        return Cause(words, "kernel-shape", evidence)
    words = "the second channel of a pair enters otherwise than it must"
    return Cause(words, "kernel-shape", evidence)

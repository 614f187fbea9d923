"""Which suspect explains how far every pair turns, at every position that is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rope_conformance.diagnosis.scaling_causes import scaling_suspects, unclaimed_scalings
from rope_conformance.diagnosis.suspects import Suspect, suspects
from rope_conformance.diagnosis.turns import Complex, agreement, probed, right_turn, tolerance
from rope_conformance.faults import Cause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import standard_case
from rope_conformance.judging.questions import is_right
from rope_conformance.target.frameworks import Array
from rope_conformance.target.rule_parts import has_length
from rope_ref import RopeSpec

__all__ = ["wrong_numbers", "wrong_when_near"]


def _all_suspects(p: Array, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """Those of the scaling that is claimed first: they say most."""
    yield from scaling_suspects(p, spec, seen)
    yield from unclaimed_scalings(p, spec, seen)
    yield from suspects(p, spec, seen)


def wrong_numbers(
    context: CheckContext,
    surface: str = "apply",
    *,
    among: Callable[..., Iterator[Suspect]] = _all_suspects,
    near: bool = False,
) -> Cause | None:
    """The first suspect that explains what every pair does at every position tried.

    Parameters
    ----------
    context
        Of the target that is wrong.
    surface
        What is looked at, as in `probed`.
    among
        Makes the suspects from positions, spec and what was seen.
    near
        Whether only small positions are tried.
    """
    p, seen = probed(context, surface, near=near)
    spec = context.spec
    if not seen.size or seen.shape != (p.size, spec.rotary_dim // 2):
        return None
    right, tells = agreement(seen, right_turn(p, spec), tolerance(context, p, spec.theta()))
    if right.all():
        return None
    for suspect in among(p, spec, seen):
        if suspect.predicted.shape != seen.shape:
            continue
        fastest = np.maximum(np.abs(suspect.theta), spec.theta())
        steps = suspect.steps * np.abs(p)[:, None] * fastest
        allowed = tolerance(context, p, fastest) + steps
        explained, counted = agreement(seen, suspect.predicted, allowed)
        if explained.all() and counted.any():
            fault, words = suspect.fault, suspect.words
            if fault == "config" and _right_if_short(context):
                fault, words = "scaling", f"{words}, in a long call; in a short one it is not"
            both = counted & tells
            evidence = (
                f"this explains all {int(both.sum())} angles seen at {p.size} positions, the "
                f"claimed RoPE {int((right & both).sum())} of them"
            )
            return Cause(words, fault, evidence)
    return None


def _right_if_short(context: CheckContext) -> bool:
    """Whether a short call is right, so that what is wrong depends on how long a call is."""
    low, high = context.claim.position_range
    return is_right(
        context, standard_case(context, [p for p in (0, 1, 5, 100) if low <= p <= high])
    )


def wrong_when_near(context: CheckContext) -> Cause | None:
    """Whether a call that stays near 0 has the frequencies of another length."""
    if not has_length(context.spec.frequencies):
        return None
    found = wrong_numbers(context, among=scaling_suspects, near=True)
    if found is None:
        return None
    words = f"in a call that stays near position 0, not in one that reaches far, {found.words}"
    return Cause(f"{words}: each call decides for itself", "cache", found.evidence)

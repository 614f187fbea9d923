"""How far a target is right where no suspect explains it: up to a position, a pair, a digit."""

from __future__ import annotations

import numpy as np

from rope_conformance.diagnosis.turns import agreement, probed, right_turn, tolerance
from rope_conformance.faults import Cause, Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext

__all__ = ["too_few_digits", "wrong_from_somewhere"]

_SHORT = 16  # no cached table has fewer rows
_SMALL = 2**-8  # an error of rounding: as a part of the phase, or of a pair's length
_SEVERAL = 3  # fewer wrong positions are single faults, not an error that grows


def wrong_from_somewhere(context: CheckContext) -> Cause | None:
    """Whether tables or phases are inexact, or only some pairs or positions are right."""
    p, seen = probed(context)
    if not seen.size or (p < 0).all():
        return None
    right = right_turn(p, context.spec)
    close, _ = agreement(seen, right, tolerance(context, p, context.spec.theta()))
    good = np.asarray(close.all(axis=1))
    if good.all():
        return None
    several = int((~good).sum()) >= _SEVERAL
    off = float(np.abs(seen - right).max()) if np.isfinite(seen).all() else np.inf
    if several and off < 2 * _SMALL:  # a table of 8 bits is off by as much
        words = f"cos and sin are off by up to {off:.2g}: too few digits in their making"
        return Cause(words, "angle-precision", f"seen at {p.size} positions, near and far")
    right_pairs = np.asarray(close.all(axis=0))
    whole = int(np.argmin(right_pairs))
    if whole and not right_pairs[whole:].any():
        words = f"pairs below {whole} are right, those from {whole} on are not"
        return Cause(words, "kernel-shape", f"seen at {p.size} positions")
    order = np.argsort(np.abs(p), kind="stable")
    bad_from = int(np.flatnonzero(~good[order])[0])
    first_bad = np.abs(p[order][bad_from])
    phase = np.abs(p)[:, None] * context.spec.theta()
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.abs(seen - right) / phase
    worst = float(np.nanmax(np.where(phase >= 1, part, 0))) if (phase >= 1).any() else np.inf
    if np.isfinite(seen).all() and worst < _SMALL and several:
        words = f"the phase is off by up to {worst:.2g} of itself: too few digits in its making"
        return Cause(
            words, "angle-precision", f"the error grows with the phase at {p.size} positions"
        )
    if (p[~good] < 0).all():
        words = "positions from 0 on are right, negative ones are not"
        return Cause(words, "position", f"{int((~good).sum())} negative positions are wrong")
    # At position 0 nothing turns, so that being right there says nothing.
    if np.abs(p[order][:bad_from]).any() and not good[order][bad_from:].any():
        fault: Fault = "cache" if first_bad >= _SHORT else "position"
        words = f"positions are right below {first_bad:g} and wrong from there on"
        return Cause(words, fault, f"of {p.size} positions all {bad_from} below it are right")
    return None


def too_few_digits(context: CheckContext, case: Case) -> Cause | None:
    """Whether the output is near the truth, and farther from it than the profile allows."""
    x, p = context.x(case), context.positions(case)
    judgement = context.judge(context.arrays.apply(x, p, strided=case.strided), x, p)
    worst = float(judgement.error.max(initial=0.0))
    if not (judgement.ratio > 1).any() or not worst < _SMALL:
        return None
    words = (
        f"off by up to {worst:.2g} of a pair's length, more than {context.profile.name} allows: "
        "too few digits somewhere on the way"
    )
    return Cause(words, "angle-precision", f"{case.tokens} tokens are near the truth")

"""Says what is probably wrong: the one fault that explains everything that was seen.

The pair (1, 0) is put into every pair at a few dozen positions, so that each comes out
as its cos and sin. Each suspect is a RoPE with one thing wrong, of the kinds that public
trackers report. A suspect that predicts all that was seen, where the right RoPE does
not, is named. Where the implementation is right there, the input that failed is taken
apart: by rows, by heads, by tokens, by the size of the data, on a new object. A cause is
a hint; the verdict never depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import unit_roundoff
from rope_conformance.diagnosis.axis_causes import axis_searches, with_equal_axes
from rope_conformance.diagnosis.channel_causes import channel_cause
from rope_conformance.diagnosis.scaling_causes import applied_remaps, remap_suspects, wrong_rest
from rope_conformance.diagnosis.shape_causes import (
    wrong_alone,
    wrong_axes,
    wrong_order,
    wrong_place,
    wrong_size,
    wrong_together,
)
from rope_conformance.diagnosis.suspects import Complex, Suspect, right_turn, suspects
from rope_conformance.faults import Cause, Fault
from rope_conformance.identification.conventions import layout_in_words, read_map, visible_pairs
from rope_conformance.inputs.cases import Case, Input
from rope_conformance.inputs.rule_variants import base_below, has_length
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import (
    all_positions,
    angles_probe,
    pairs,
    probe_position,
    standard_case,
)
from rope_conformance.judging.questions import DISTINCT, is_right
from rope_ref import PowerLaw, RopeSpec, pair_channels
from rope_ref.scaling import ScaledRule

__all__ = ["likely_cause"]

Array = npt.NDArray[np.float64]

_SHORT = 16  # no table of a cache ends as soon as that
_SMALL = 2**-8  # a part of the phase, or of a pair's length
_SEVERAL = 3  # one wrong position is a hole, not an error that grows


# What is looked at is wrong, and may hold zeros and infinities where there should be none.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def likely_cause(context: CheckContext, case: Input, surface: str) -> Cause | None:
    """Return the likeliest cause of a failure, or None if no suspect fits.

    Parameters
    ----------
    context
        Of the check that failed; the implementation is called a few times more.
    case
        The input that it failed on.
    surface
        That its clause is about.
    """
    probe = _probe(context)
    if (second := context.claim.second_channels) is not None:
        return _first([lambda: channel_cause(probe, second)])
    if context.spec.pair_axes is not None:
        used = [lambda: _wrong_once_used(context, case)] if isinstance(case, Case) else []
        equal = with_equal_axes(probe)
        return _first(
            [*used, *axis_searches(probe, surface), lambda: likely_cause(equal, case, surface)]
        )
    if surface in ("table", "theta"):
        return _first([lambda: _wrong_numbers(probe, surface)])
    remapped: list[Callable[[], Cause | None]] = [
        lambda: _wrong_numbers(probe, among=remap_suspects),
        lambda: wrong_rest(probe),
        lambda: _wrong_when_near(probe),
    ]
    searches: list[Callable[[], Cause | None]] = [
        lambda: wrong_alone(probe),
        *(remapped if isinstance(context.spec.frequencies, ScaledRule) else ()),
        lambda: wrong_order(probe),
        lambda: _wrong_pairs(probe),
        lambda: wrong_axes(probe, DISTINCT),
        lambda: _wrong_numbers(probe),
        lambda: _wrong_second_channel(probe),
    ]
    if isinstance(case, Case):
        own = case
        searches.insert(0, lambda: _wrong_once_used(context, own))
        searches += [
            lambda: wrong_axes(probe, own),
            lambda: wrong_place(probe, own),
            lambda: wrong_size(probe, own),
            lambda: wrong_together(probe, own),
        ]
    searches += [lambda: wrong_together(probe, DISTINCT), lambda: _wrong_from_somewhere(probe)]
    if isinstance(case, Case):
        searches.append(lambda: _too_few_digits(probe, own))
    return _first(searches)


def _first(searches: list[Callable[[], Cause | None]]) -> Cause | None:
    for search in searches:
        try:
            cause = search()
        except (CheckFailure, TargetRaised, TypeError, ValueError):
            continue  # what came back could not even be compared
        if cause is not None:
            return cause
    return None


def _probe(context: CheckContext) -> CheckContext:
    """A context whose counts are its own."""
    return context.beside(context.implementation)


def _wrong_once_used(context: CheckContext, case: Case) -> Cause | None:
    """Whether a new object rotates rightly what the used one does not."""
    if not context.implementation.is_factory:
        return None
    if is_right(_probe(context), case) or not is_right(context.anew(), case):
        return None
    found = _wrong_numbers(_probe(context))
    words = "a new object rotates this input rightly, one that was used before does not"
    evidence = "the same call on an object just made is right"
    if found is not None:
        words += f"; then {found.words}"
        evidence += f"; {found.evidence}"
    return Cause(words, "cache", evidence)


def _wrong_pairs(context: CheckContext) -> Cause | None:
    """Whether unit vectors show another layout, another width, or two channels that part."""
    position = probe_position(context)
    reading, spec = read_map(context, position), context.spec
    evidence = f"read from unit vectors at position {position}"
    found = reading.layouts(spec, position)
    claimed = layout_in_words(spec.layout, spec)
    if spec.output_layout != spec.layout:
        claimed += f", written {layout_in_words(spec.output_layout, spec)}"
    if found and (spec.layout, spec.output_layout) not in found:
        words = f"{reading.in_words(spec, position)}, claimed {claimed}"
        return Cause(words, "layout", evidence)
    moving = [j for j in reading.moving() if reading.reaches[j]]
    rotating = set(pair_channels(spec).ravel().tolist())
    if outside := [j for j in moving if j not in rotating]:
        words = f"channel {outside[0]} is not left alone, though only {spec.rotary_dim} "
        words += f"of {spec.head_dim} channels rotate"
        return Cause(words, "partial", evidence)
    if not found and spec.rotary_dim > 2:
        width = len(moving)
        for narrow in _narrower(spec, width):
            if reading.layouts(narrow, position):
                words = f"{width} channels rotate, claimed {spec.rotary_dim}"
                return Cause(words, "partial", evidence)
    if not found and reading.all_in_pairs(spec, position):
        return Cause(f"{reading.in_words(spec, position)}, claimed {claimed}", "layout", evidence)
    if found and (taken := reading.overwritten(spec, position)):
        return Cause(taken, "aliasing", evidence)
    if found and (taken := reading.sine_of_another_pair(spec, position)):
        return Cause(taken, "frequency", evidence)
    parted = reading.sines_of_other_pairs(spec, position) if found else ()
    for pair, (u, v), (first, second) in visible_pairs(spec, position) if found else ():
        if abs(reading.matrix[first, u] - reading.matrix[second, v]) > 1 / 64 or pair in parted:
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


def _wrong_when_near(context: CheckContext) -> Cause | None:
    """Whether a call that stays near 0 has the frequencies of another length."""
    if not has_length(context.spec.frequencies):
        return None
    found = _wrong_numbers(context, among=remap_suspects, near=True)
    if found is None:
        return None
    words = f"in a call that stays near position 0, not in one that reaches far, {found.words}"
    return Cause(f"{words}: each call decides for itself", "cache", found.evidence)


def _all_suspects(p: npt.NDArray[Any], spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    yield from remap_suspects(p, spec, seen)
    yield from applied_remaps(p, spec, seen)
    yield from suspects(p, spec, seen)


def _wrong_numbers(
    context: CheckContext,
    surface: str = "apply",
    *,
    among: Callable[..., Iterator[Suspect]] = _all_suspects,
    near: bool = False,
) -> Cause | None:
    """The first suspect that explains what every pair does at every position tried."""
    p, seen = _angles(context, surface, near=near)
    spec = context.spec
    if not seen.size or seen.shape != (p.size, spec.rotary_dim // 2):
        return None
    right, tells = _agreement(seen, right_turn(p, spec), _tolerance(context, p, spec.theta()))
    if right.all():
        return None
    for suspect in among(p, spec, seen):
        if suspect.predicted.shape != seen.shape:
            continue
        fastest = np.maximum(np.abs(suspect.theta), spec.theta())
        steps = suspect.steps * np.abs(p)[:, None] * fastest
        tolerance = _tolerance(context, p, fastest) + steps
        explained, counted = _agreement(seen, suspect.predicted, tolerance)
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


def _angles(
    context: CheckContext, surface: str = "apply", *, first: bool = True, near: bool = False
) -> tuple[npt.NDArray[Any], Complex]:
    """Positions, and what (1, 0), or else (0, 1), in every pair becomes there."""
    spec, claim = context.spec, context.claim
    low, high = claim.position_range
    chosen: list[float] = [p for p in (3, 0, 5) if low <= p <= high]
    chosen += [p for p in all_positions(context, limit=8 if near else 2**17) if p != 0]
    chosen += [p for p in (-1, -2, -7, -100) if p >= low]
    chosen += [0.5, 1.75, 10.25] if "real" in claim.position_kinds else []
    case = standard_case(context, chosen)
    p = context.positions(case)
    amplitude = float(spec.frequencies.amplitude)
    if surface == "theta":
        theta = np.asarray(context.arrays.host(context.arrays.call("theta")), np.float64)
        return p, np.asarray(np.exp(1j * spec.direction * p[:, None] * theta))
    if surface == "table":
        cos, sin = context.arrays.call("table", context.arrays.native_positions(p))
        return p, (
            context.arrays.host(cos) + 1j * np.asarray(context.arrays.host(sin), np.float64)
        ) / amplitude
    x = angles_probe(context, case)
    if not first:
        both = pair_channels(spec)
        x[..., both[1]], x[..., both[0]] = x[..., both[0]].copy(), 0
    y = context.arrays.apply(x, p)
    u, v = pairs(context, y, output=True)[:, 0, :, 0]
    return p, (u + 1j * v) / amplitude


def _wrong_second_channel(context: CheckContext) -> Cause | None:
    """Whether (0, 1) is turned otherwise than (1, 0), which is turned rightly."""
    p, seen = _angles(context)
    turn, tolerance = right_turn(p, context.spec), _tolerance(context, p, context.spec.theta())
    if not seen.size or not _agreement(seen, turn, tolerance)[0].all():
        return None
    p, seen = _angles(context, first=False)
    if _agreement(seen, 1j * turn, tolerance)[0].all():
        return None
    evidence = f"(1, 0) is turned rightly at {p.size} positions, (0, 1) is not"
    if _agreement(seen, turn.imag + 1j * turn.real, tolerance)[0].all():
        words = "the first component is u cos + v sin: its minus sign is missing"
        return Cause(words, "sign", evidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.nanmedian(-seen.real / turn.imag))
    if _agreement(seen, -factor * turn.imag + 1j * turn.real, tolerance)[0].all():
        words = f"the first component is u cos - k v sin with k = {factor:.6g} instead of 1"
        return Cause(words, "kernel-shape", evidence)
    words = "the second channel of a pair enters otherwise than it must"
    return Cause(words, "kernel-shape", evidence)


def _tolerance(context: CheckContext, p: npt.NDArray[Any], theta: Array) -> Array:
    """A suspect is honest in all but one thing: it may err as float32 phases do."""
    base = base_below(context.spec.frequencies)
    spread = 0.0 if base is None else 4 * abs(np.log(float(base)))
    phase = (5 + spread) * np.abs(p)[:, None] * theta * unit_roundoff("float32")
    table = unit_roundoff("bfloat16") if context.profile.name == "model-dtype-table" else 0.0
    return np.asarray(
        phase + 4 * unit_roundoff(context.dtype) + 8 * unit_roundoff("float32") + table
    )


def _agreement(
    seen: Complex, predicted: Complex, tolerance: Array
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Where they are the same or nothing can be told, and where something can be told."""
    with np.errstate(invalid="ignore"):
        close = np.abs(seen - predicted) <= tolerance
    both_nan = np.isnan(seen) & np.isnan(predicted)
    tells = np.broadcast_to(tolerance < 1 / 8, seen.shape)
    return close | both_nan | ~tells, tells


def _wrong_from_somewhere(context: CheckContext) -> Cause | None:
    """Whether positions are right up to one, or the error grows with the phase."""
    p, seen = _angles(context)
    if not seen.size or (p < 0).all():
        return None
    right = right_turn(p, context.spec)
    close, _ = _agreement(seen, right, _tolerance(context, p, context.spec.theta()))
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
    # Nothing turns at position 0: that it is right there says nothing.
    if np.abs(p[order][:bad_from]).any() and not good[order][bad_from:].any():
        fault: Fault = "cache" if first_bad >= _SHORT else "position"
        words = f"positions are right below {first_bad:g} and wrong from there on"
        return Cause(words, fault, f"of {p.size} positions all {bad_from} below it are right")
    return None


def _too_few_digits(context: CheckContext, case: Case) -> Cause | None:
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

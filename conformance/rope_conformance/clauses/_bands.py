"""Measures a scaling: pairs by what it does to them, angles and lengths separately."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import compare, pair_norm, per_token
from rope_conformance.clauses._arrays import passing_channels, same_numbers
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import angles_probe, pairs
from rope_ref import cos_sin, pair_channels
from rope_ref.exact.real import Real, real, real_arithmetic
from rope_ref.scaling import Divided, LongRoPE, ScaledRule

Flags = npt.NDArray[np.bool_]

_DIGITS = 40
_SAME = Decimal(10) ** -30  # as a part of theta


@lru_cache(maxsize=64)
def bands_of(rule: ScaledRule, rotary_dim: int) -> dict[str, Flags]:
    """Which pairs are kept, divided by the factor, at rest (theta 0), or between."""
    before = [w.digits(_DIGITS) for w in rule.rule.frequencies(rotary_dim)]
    after = [w.digits(_DIGITS) for w in rule.frequencies(rotary_dim)]
    with real_arithmetic(_DIGITS):
        whole = [v * real(_divisor(rule)) for v in after]
        still = np.array([v == 0 for v in after], dtype=bool)
        kept, divided = (
            np.array([abs(w - v) <= _SAME * w for w, v in zip(before, found, strict=True)], bool)
            for found in (after, whole)
        )
    kept, divided = kept & ~still, divided & ~kept & ~still
    between = ~(kept | divided | still)
    return {"kept": kept, "divided": divided, "between": between, "still": still}


def _divisor(rule: ScaledRule) -> Real:
    """What a divided pair is divided by; 1 for rules with a factor for each pair."""
    if isinstance(rule, LongRoPE | Divided):
        return 1
    divisor: Real = getattr(rule, "alpha", None) or rule.factor  # type: ignore[attr-defined]
    return divisor


def judge_turn(context: CheckContext, case: Case, band: str, message: str) -> None:
    """Judge the angles of the pairs of a band, whatever their lengths."""
    rule = context.spec.frequencies
    assert isinstance(rule, ScaledRule)
    chosen = bands_of(rule, context.spec.rotary_dim)[band]
    x, positions = angles_probe(context, case), context.positions(case)
    y = context.arrays.apply(x, positions)
    got = pairs(context, y, output=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        direction = got / np.hypot(*got)
    cos, sin = (part[:, None] for part in cos_sin(positions, context.spec, unit=True))
    error = np.maximum(np.abs(direction[0] - cos), np.abs(direction[1] - sin))
    # Dividing by the length that came out adds its own error: one bound more.
    p, r = per_token(positions, context.spec), pair_norm(x, context.spec)
    both = sum(
        bound(context.profile, context.spec, p, context.dtype, r, norm=norm)
        for norm in (False, True)
    )
    want = np.zeros(y.shape)
    amplitude = float(rule.amplitude)
    channels = pair_channels(context.spec, output=True)
    want[..., channels[0]], want[..., channels[1]] = amplitude * cos, amplitude * sin
    judgement = compare(
        np.where(chosen, error * r, 0.0),
        r,
        np.where(chosen, both, np.inf),
        p,
        context.dtype,
        got=np.asarray(y, np.float64),
        want=want,
    )
    context.evidence.samples += int(np.broadcast_to(chosen, judgement.ratio.shape).sum())
    context.evidence.decisive += int(judgement.decisive.sum())
    context.demand(judgement, message)


def judge_length(context: CheckContext, x: Any, y: Any, positions: Any, words: str) -> None:
    """Judge the lengths of pairs, and those of channels that do not rotate."""
    claimed = float(context.spec.frequencies.amplitude)
    r, p = pair_norm(x, context.spec), per_token(positions, context.spec)
    length = np.hypot(*pairs(context, y, output=True))
    allowed = bound(context.profile, context.spec, p, context.dtype, r, norm=True)
    error = np.abs(length - r)
    judgement = compare(error, r, allowed, p, context.dtype, got=y, want=x)
    context.evidence.count(judgement)
    if (judgement.ratio > 1).any():
        with np.errstate(invalid="ignore", divide="ignore"):
            seen = claimed * float(np.nanmedian(length / r))
        raise CheckFailure(
            f"pairs become up to {claimed * np.max(length / r):.7g} times as long, in the middle "
            f"{seen:.7g}; the amplitude is {claimed:.7g} by {words}"
        )
    rest = passing_channels(context.spec)
    if not same_numbers(x[..., rest], y[..., rest]).all():
        raise CheckFailure(
            "channels that do not rotate did not keep their length, though the amplitude is on cos "
            f"and sin alone, by {words}"
        )

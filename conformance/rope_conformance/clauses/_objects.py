"""Using other objects beside the one under test, and comparing what they do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.profiles import Profile
from rope_conformance.accuracy.residual import Judgement, compare, judge, pair_norm, per_token
from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.claimed_positions import free_positions, positions_within
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import numeric_fixed, pairs
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array
from rope_conformance.target.implementation import Implementation

_FAR = 2**17 - 6  # larger tables would cost more than they show


def attempt(what: str, action: Callable[[], Any]) -> str | None:
    """None if an action works, else why not."""
    try:
        action()
    except Exception as error:
        return f"{what} ({_words(error)})"
    return None


def done(what: str, action: Callable[[], Any]) -> Any:
    """Do what must not raise; where it does, the failure says what was done."""
    try:
        return action()
    except Exception as error:
        raise CheckFailure(f"{what} raised {_words(error)}") from error


def _words(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def fresh(context: CheckContext) -> Any:
    """What the target makes, unused where it is a factory."""
    return context.implementation.remade(context.spec).made


def own_copy(context: CheckContext) -> Any:
    """An object that may be changed for good."""
    return fresh(context) if context.implementation.is_factory else copy.deepcopy(fresh(context))


def beside(context: CheckContext, made: Any, dtype: str | None = None) -> CheckContext:
    """A context of another object of the same claim."""
    other = Implementation(made, context.spec, context.claim, context.implementation.name)
    return CheckContext(other, dtype or context.dtype, context.profile, device=context.device)


def rotate(context: CheckContext, made: Any, case: Case, dtype: str | None = None) -> Array:
    """Rotate a case with another object; its calls and outputs count in `context`."""
    other = beside(context, made, dtype)
    try:
        return other.arrays.apply(other.x(case), other.positions(case))
    finally:
        context.implementation.calls += other.implementation.calls
        context.arrays.last_call, context.arrays.last_result = (
            other.arrays.last_call,
            other.arrays.last_result,
        )
        context.arrays.outputs |= other.arrays.outputs


def stations(context: CheckContext) -> list[Case]:
    """A small case near 0, one at positions that tables grow to, and one that reaches far."""
    near = next(c for c in numeric_fixed(context) if c.values == "normal")
    claim = context.claim
    low, high = claim.position_range
    if free_positions(claim):
        spots = [p for p in positions_within(claim) if abs(p) <= _FAR] or [low]
        far: tuple[int, ...] | range = tuple(spots[-1 - n * len(spots) // 7] for n in range(7))
        halfway = _in_a_row(claim, 2045)
    elif "offset" in claim.position_forms:
        far, halfway = (_in_a_row(claim, start) for start in (_FAR, 2045))
    else:
        far, halfway = range(min(2049, high + 1)), range(min(67, high + 1))
    found = [near, *(context.cut(Case(1, len(p), 1, p)) for p in (halfway, far) if len(p))]
    return list(dict.fromkeys(c for c in found if c.inside(claim)))


def _in_a_row(claim: Claim, start: int) -> range:
    """Seven positions from a start, or as near as the claim comes."""
    low, high = claim.position_range
    first = max(low, min(start, high - 6))
    return range(first, min(first + 7, high + 1))


def others(context: CheckContext, case: Case) -> list[Case]:
    """The other stations."""
    return [c for c in stations(context) if _place(c) != _place(case)]


def _place(case: Case) -> tuple[Any, ...]:
    return case.batch, case.tokens, case.heads, tuple(case.flat())


def in_ways(context: CheckContext, ways: int) -> list[Case]:
    """The nearest and the farthest station in each of several ways, told by `parameter`."""
    ends = dict.fromkeys(stations(context)[:: len(stations(context)) - 1 or 1])
    return [replace(case, parameter=way) for way in range(ways) for case in ends]


def same(before: Array, after: Array, message: str, fault: Fault | None = None) -> None:
    """Demand the same bits."""
    if not same_numbers(before, after).all():
        difference = np.abs(before.astype(np.float64) - after.astype(np.float64)).max()
        raise CheckFailure(f"{message} (by up to {difference:.3g})", fault=fault)


def agree(
    context: CheckContext,
    case: Case,
    want: Array,
    got: Array,
    message: str,
    fault: Fault | None = None,
) -> None:
    """Demand that two calls agree within the sum of their bounds.

    NaN agrees with NaN: whether it is right, other clauses judge.
    """
    x, p = context.x(case), per_token(context.positions(case), context.spec)
    r = pair_norm(x, context.spec)
    allowed = 2 * bound(context.profile, context.spec, p, context.dtype, r)
    one, other = pairs(context, got, output=True), pairs(context, want, output=True)
    with np.errstate(invalid="ignore"):
        apart = np.where(same_numbers(one, other), 0.0, one - other)
    error = np.abs(apart).max(axis=0)
    judgement = compare(error, r, allowed, p, context.dtype, got=got, want=want)
    context.evidence.count(judgement)
    demand(context, judgement, message, fault)


def demand(context: CheckContext, judgement: Judgement, message: str, fault: Fault | None) -> None:
    """As `CheckContext.demand`, with the class of the fault: diagnosis tries the original alone."""
    try:
        context.demand(judgement, message)
    except CheckFailure as failure:
        failure.fault = fault
        raise


def judged(
    context: CheckContext,
    case: Case,
    y: Array,
    dtype: str | None = None,
    profile: Profile | None = None,
) -> Judgement:
    """Compared with the truth; the report's largest errors leave it out."""
    x, positions = context.x(case), context.positions(case)
    as_type, as_profile = dtype or context.dtype, profile or context.profile
    judgement = judge(y, x, positions, context.spec, as_type, as_profile)
    context.evidence.count(judgement)
    return judgement


def moved(context: CheckContext, case: Case) -> Case:
    """A case of the same shape at far positions, where they can be chosen."""
    low, high = context.claim.position_range
    chosen: tuple[int, ...] | range = tuple(case.positions)
    if free_positions(context.claim):
        within = positions_within(context.claim)
        chosen = tuple(within[-1 - 5 * n % len(within)] for n in range(case.tokens))
    elif "offset" in context.claim.position_forms:
        start = max(low, min(high - case.tokens + 1, 1000))
        chosen = range(start, start + case.tokens)
    return replace(case, positions=chosen)

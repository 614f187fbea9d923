"""Using other objects beside the one under test, and comparing what they do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import (
    Judgement,
    Profile,
    bound,
    compare,
    judge,
    pair_norm,
    per_token,
)
from rope_conformance.claim import Claim
from rope_conformance.clauses._common import numeric_fixed, pairs
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.faults import Fault
from rope_conformance.implementation import Implementation
from rope_conformance.inputs import Case, free_positions, positions_within
from rope_conformance.trial import CheckFailure, Trial

Array = npt.NDArray[Any]

_FAR = 2**17 - 6  # tables that reach further would cost more than they show


def attempt(what: str, action: Callable[[], Any]) -> str | None:
    """None if an action works, else why not."""
    try:
        action()
    except Exception as error:
        return f"{what} ({_words(error)})"
    return None


def done(what: str, action: Callable[[], Any]) -> Any:
    """Do what must be possible; the failure says what was done."""
    try:
        return action()
    except Exception as error:
        raise CheckFailure(f"{what} raised {_words(error)}") from error


def _words(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def fresh(trial: Trial) -> Any:
    """What the target makes, unused where it is a factory."""
    return trial.implementation.remade(trial.spec).made


def own_copy(trial: Trial) -> Any:
    """An object that may be spoilt."""
    return fresh(trial) if trial.implementation.is_factory else copy.deepcopy(fresh(trial))


def beside(trial: Trial, made: Any, dtype: str | None = None) -> Trial:
    """A trial of another object of the same claim."""
    other = Implementation(made, trial.spec, trial.claim, trial.implementation.name)
    return Trial(other, dtype or trial.dtype, trial.profile, device=trial.device)


def rotate(trial: Trial, made: Any, case: Case, dtype: str | None = None) -> Array:
    """Rotate a case with another object; what it did counts here."""
    other = beside(trial, made, dtype)
    try:
        return other.apply(other.x(case), other.positions(case))
    finally:
        trial.implementation.calls += other.implementation.calls
        trial.last_call, trial.last_result = other.last_call, other.last_result
        trial.outputs |= other.outputs


def stations(trial: Trial) -> list[Case]:
    """A small case near 0, one at positions that tables grow to, and one that reaches far."""
    near = next(c for c in numeric_fixed(trial) if c.values == "normal")
    claim = trial.claim
    low, high = claim.position_range
    if free_positions(claim):
        spots = [p for p in positions_within(claim) if abs(p) <= _FAR] or [low]
        far: tuple[int, ...] | range = tuple(spots[-1 - n * len(spots) // 7] for n in range(7))
        halfway = _in_a_row(claim, 2045)
    elif "offset" in claim.position_forms:
        far, halfway = (_in_a_row(claim, start) for start in (_FAR, 2045))
    else:
        far, halfway = range(min(2049, high + 1)), range(min(67, high + 1))
    found = [near, *(trial.cut(Case(1, len(p), 1, p)) for p in (halfway, far) if len(p))]
    return list(dict.fromkeys(c for c in found if c.inside(claim)))


def _in_a_row(claim: Claim, start: int) -> range:
    """Seven positions from a start, or as near as the claim comes."""
    low, high = claim.position_range
    first = max(low, min(start, high - 6))
    return range(first, min(first + 7, high + 1))


def others(trial: Trial, case: Case) -> list[Case]:
    """The other stations."""
    return [c for c in stations(trial) if _place(c) != _place(case)]


def _place(case: Case) -> tuple[Any, ...]:
    return case.batch, case.tokens, case.heads, tuple(case.flat())


def in_ways(trial: Trial, ways: int) -> list[Case]:
    """The nearest and the farthest station in each of several ways, told by `parameter`."""
    ends = dict.fromkeys(stations(trial)[:: len(stations(trial)) - 1 or 1])
    return [replace(case, parameter=way) for way in range(ways) for case in ends]


def same(before: Array, after: Array, message: str, fault: Fault | None = None) -> None:
    """Demand the same bits."""
    if not same_numbers(before, after).all():
        difference = np.abs(before.astype(np.float64) - after.astype(np.float64)).max()
        raise CheckFailure(f"{message} (by up to {difference:.3g})", fault=fault)


def agree(
    trial: Trial, case: Case, want: Array, got: Array, message: str, fault: Fault | None = None
) -> None:
    """Demand that two calls agree within the sum of their bounds.

    Where neither gives a number they do agree; that it is wrong is said by others.
    """
    x, p = trial.x(case), per_token(trial.positions(case), trial.spec)
    r = pair_norm(x, trial.spec)
    allowed = 2 * bound(trial.profile, trial.spec, p, trial.dtype, r)
    one, other = pairs(trial, got, output=True), pairs(trial, want, output=True)
    with np.errstate(invalid="ignore"):
        apart = np.where(same_numbers(one, other), 0.0, one - other)
    error = np.abs(apart).max(axis=0)
    judgement = compare(error, r, allowed, p, trial.dtype, got=got, want=want)
    trial.count(judgement)
    demand(trial, judgement, message, fault)


def demand(trial: Trial, judgement: Judgement, message: str, fault: Fault | None) -> None:
    """As `Trial.demand`, of a class that the diagnosis of the original cannot know."""
    try:
        trial.demand(judgement, message)
    except CheckFailure as failure:
        failure.fault = fault
        raise


def judged(
    trial: Trial, case: Case, y: Array, dtype: str | None = None, profile: Profile | None = None
) -> Judgement:
    """Compared with the truth; apart from what the report says of the object itself."""
    x, positions = trial.x(case), trial.positions(case)
    as_type, as_profile = dtype or trial.dtype, profile or trial.profile
    judgement = judge(y, x, positions, trial.spec, as_type, as_profile)
    trial.count(judgement)
    return judgement


def moved(trial: Trial, case: Case) -> Case:
    """A case of the same shape at far positions, where they can be chosen."""
    low, high = trial.claim.position_range
    chosen: tuple[int, ...] | range = tuple(case.positions)
    if free_positions(trial.claim):
        within = positions_within(trial.claim)
        chosen = tuple(within[-1 - 5 * n % len(within)] for n in range(case.tokens))
    elif "offset" in trial.claim.position_forms:
        start = max(low, min(high - case.tokens + 1, 1000))
        chosen = range(start, start + case.tokens)
    return replace(case, positions=chosen)

"""Looks for the smallest input on which a check fails."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import time
from collections.abc import Iterator
from typing import Any

from rope_conformance.inputs.cases import Input
from rope_conformance.judging.clause import Check
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised

__all__ = ["Failing", "smallest_failure"]

Failing = tuple[Input, CheckFailure | TargetRaised]

# What is spent on finding a smaller failing input. Calls alone would take too long with a
# slow implementation, and time alone would let what is found depend on the machine.
_CALLS, _SECONDS = 200, 2.0


def smallest_failure(
    each: Check, context: CheckContext, examples: int, seed: int, *, shrink: bool = True
) -> Failing | None:
    """Return the smallest input found on which a check fails, and how; None if it passes.

    The fixed inputs come first, then generated ones, shrunk by Hypothesis; what fails is
    then tried with fewer rows, heads and tokens. Without `shrink` the first failure will do.
    """
    failing = _fixed(each, context)
    if each.generated is not None and (shrink or failing is None):
        failing = _generated(each, context, examples, seed, failing, shrink) or failing
    return failing and _reduced(each, context, failing)


def _fixed(each: Check, context: CheckContext) -> Failing | None:
    """The first fixed input that fails."""
    for case in each.fixed_inputs(context):
        if (failure := _failure(each, context, case)) is not None:
            return case, failure
    return None


def _failure(each: Check, context: CheckContext, case: Input) -> CheckFailure | TargetRaised | None:
    context.begin(case)
    try:
        each.body(context, case)
    except (CheckFailure, TargetRaised) as error:
        context.evidence.calls_to_failure = (
            context.evidence.calls_to_failure or context.implementation.calls
        )
        return error
    return None


class _Enough(BaseException):
    """Ends a search for smaller inputs; no Exception, which the search would take for one."""


def _generated(
    each: Check,
    context: CheckContext,
    examples: int,
    seed: int,
    known: Failing | None,
    shrink: bool,
) -> Failing | None:
    """The smallest generated input that fails."""
    import hypothesis
    from hypothesis import HealthCheck, Phase

    assert each.generated is not None
    found: list[Failing] = []
    after: list[float] = [time.perf_counter()] if known else []  # calls since the first failure

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(each.generated(context))
    def search(case: Input) -> None:
        if after:
            after.append(time.perf_counter())
            if len(after) > _CALLS or after[-1] - after[0] > _SECONDS:
                raise _Enough
        if (failure := _failure(each, context, case)) is not None:
            found.append((case, failure))
            after[:] = after or [time.perf_counter()]
            raise failure

    try:
        with _no_strange_numbers():
            search()
    except (CheckFailure, TargetRaised, _Enough):
        pass
    except hypothesis.errors.HypothesisException as error:
        # The implementation answers differently from call to call.
        if not found:
            raise
        context.evidence.notes.append(
            f"the failure did not repeat every time ({type(error).__name__})"
        )
    return min(found, key=lambda f: f[0].size()) if found else None


def _reduced(each: Check, context: CheckContext, failing: Failing) -> Failing:
    """The same failure with one row, one head, one token, as far as it stays one."""
    case, error = failing
    spot = getattr(error, "spot", None)
    token = None if spot is None else spot.token
    # Each step starts from what the last one left, so the steps are asked for anew.
    for step in range(sum(1 for _ in case.smaller(token))):
        smaller = next(itertools.islice(case.smaller(token), step, None), case)
        if smaller.size() < case.size() and smaller.inside(context.claim):
            failure = _failure(each, context, smaller)
            if type(failure) is type(error):
                assert failure is not None
                case, error = smaller, failure
    return case, error


@contextlib.contextmanager
def _no_strange_numbers() -> Iterator[None]:
    """Keep Hypothesis from trying numbers that it finds in the source of loaded modules.

    With them the inputs of a seed would depend on what else the process has loaded, and
    what was found would be stored in a folder of the caller's. There is no setting for it.
    """
    providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
    ours = {"_get_local_constants": lambda: providers.Constants(), "CONSTANTS_CACHE": {}}
    theirs = {name: getattr(providers, name) for name in ours if hasattr(providers, name)}
    for name in theirs:
        setattr(providers, name, ours[name])
    try:
        yield
    finally:
        for name, value in theirs.items():
            setattr(providers, name, value)

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

# The most inputs tried, and seconds spent, in search of a smaller one. With a limit on inputs
# alone a slow implementation takes too long; with one on time alone the result depends on the
# machine.
_INPUTS, _SECONDS = 200, 2.0


def smallest_failure(
    check: Check, context: CheckContext, examples: int, seed: int, *, shrink: bool = True
) -> Failing | None:
    """Return the smallest input found on which a check fails, and how; None if it passes.

    The fixed inputs come first, then generated ones, shrunk by Hypothesis. A failing input is
    then tried with fewer rows, heads and tokens.

    Parameters
    ----------
    check, context
        What is run, and on what.
    examples, seed
        How many inputs are generated, and from which seed.
    shrink
        Whether a smaller generated input is looked for once one failed.
    """
    failing = _fixed(check, context)
    if check.generated is not None and (shrink or failing is None):
        failing = _generated(check, context, examples, seed, failing, shrink) or failing
    return failing and _reduced(check, context, failing)


def _fixed(check: Check, context: CheckContext) -> Failing | None:
    """The first fixed input that fails."""
    for case in check.fixed_inputs(context):
        if (failure := _failure(check, context, case)) is not None:
            return case, failure
    return None


def _failure(
    check: Check, context: CheckContext, case: Input
) -> CheckFailure | TargetRaised | None:
    """How a check fails on an input; None if it does not."""
    context.begin(case)
    try:
        check.body(context, case)
    except (CheckFailure, TargetRaised) as error:
        context.evidence.calls_to_failure = (
            context.evidence.calls_to_failure or context.implementation.calls
        )
        return error
    return None


class _Enough(BaseException):
    """Ends a search for smaller inputs; no Exception, which Hypothesis would take for a failure."""


def _generated(
    check: Check,
    context: CheckContext,
    examples: int,
    seed: int,
    known: Failing | None,
    shrink: bool,
) -> Failing | None:
    """The smallest generated input that fails."""
    import hypothesis
    from hypothesis import HealthCheck, Phase

    assert check.generated is not None
    found: list[Failing] = []
    # When the first failure was found, then when each input after it was tried.
    times: list[float] = [time.perf_counter()] if known else []

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
    @hypothesis.given(check.generated(context))
    def search(case: Input) -> None:
        if times:
            times.append(time.perf_counter())
            if len(times) > _INPUTS or times[-1] - times[0] > _SECONDS:
                raise _Enough
        if (failure := _failure(check, context, case)) is not None:
            found.append((case, failure))
            times[:] = times or [time.perf_counter()]
            raise failure

    try:
        with _no_constants_of_modules():
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


def _reduced(check: Check, context: CheckContext, failing: Failing) -> Failing:
    """The same kind of failure with one row, one head, one token, as far as it stays one."""
    case, error = failing
    spot = getattr(error, "spot", None)
    token = None if spot is None else spot.token
    # Each step starts from the input that the last one left, so `smaller` is called anew.
    for step in range(sum(1 for _ in case.smaller(token))):
        smaller = next(itertools.islice(case.smaller(token), step, None), case)
        if smaller.size() < case.size() and smaller.inside(context.claim):
            failure = _failure(check, context, smaller)
            if type(failure) is type(error):
                assert failure is not None
                case, error = smaller, failure
    return case, error


@contextlib.contextmanager
def _no_constants_of_modules() -> Iterator[None]:
    """Keep Hypothesis from trying constants that it finds in the source of loaded modules.

    With them the inputs of a seed would depend on which modules the process has loaded, and
    Hypothesis would store them in the caller's folder. It has no setting for this.
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

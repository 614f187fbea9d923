"""Runs one check on one implementation, and puts the outcome into a verdict and words."""

from __future__ import annotations

import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import rope_ref
from rope_conformance.diagnosis.likely_cause import likely_cause
from rope_conformance.faults import Cause
from rope_conformance.inputs.cases import Input
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.judging.clause import Check, Clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.report.model import Failure, Result
from rope_conformance.running.settings import EFFORTS
from rope_conformance.running.shrinking import smallest_failure
from rope_conformance.target.frameworks import NamespaceError

__all__ = ["reproducing", "run_check"]

_HOME = Path(__file__).parents[1]
_OURS = [_HOME, *map(Path, rope_ref.__path__)]  # folders of our own code
_WITHOUT_X = ("positions", "segments", "weights", "theta")  # surfaces that rotate nothing


def run_check(
    check: Check,
    context: CheckContext,
    *,
    effort: str = "default",
    seed: int = 0,
    command: str | None = None,
    shrink: bool = True,
) -> Result:
    """Run a check on its fixed inputs, then on generated ones.

    Parameters
    ----------
    check
        The check.
    context
        The implementation, and how it is judged.
    effort, seed
        How many inputs are generated, and from which seed.
    command
        The command line that started the run, for the one that reproduces a failure.
    shrink
        Whether the smallest failing input is looked for; else the first is kept.

    Returns
    -------
    result
        Whatever the implementation raises becomes a verdict.
    """
    started, calls = time.perf_counter(), context.implementation.calls

    def result(verdict: Any, **rest: Any) -> Result:
        return Result(
            clause=check.clause.id,
            sentence=check.clause.sentence,
            dtype=context.dtype,
            verdict=verdict,
            inputs=context.evidence.inputs,
            calls=context.implementation.calls - calls,
            samples=context.evidence.samples,
            decisive=context.evidence.decisive,
            notes=tuple(context.evidence.notes),
            seconds=round(time.perf_counter() - started, 3),
            **rest,
        )

    if (reason := _not_claimed(check.clause, context)) is not None:
        return result("not claimed", reason=reason)
    try:
        failing = smallest_failure(check, context, EFFORTS[effort], seed, shrink=shrink)
        if failing is not None:
            case, error = failing
            return result(
                "error" if isinstance(error, TargetRaised) else "failed",
                failure=_failure(check, context, case, error, command),
            )
    except NamespaceError as missing:
        return result("not run", reason=str(missing))
    except (Exception, SystemExit) as error:  # such as an output that is no array
        return result(**_unexpected(check, error, command))
    if (reason := _too_little_evidence(check, context)) is not None:
        return result("not run", reason=reason)
    return result("passed")


def _not_claimed(clause: Clause, context: CheckContext) -> str | None:
    """Why the claim does not open a clause; None if it does."""
    if not context.implementation.has(clause.surface):
        return f"the surface {clause.surface!r} is not offered"
    return (
        _not_on_axes(clause, context)
        or _not_of_this_map(clause, context)
        or clause.opened_by(context)
    )


def _not_on_axes(clause: Clause, context: CheckContext) -> str | None:
    """Why a clause cannot be judged where a position has several axes; None if it can."""
    if context.spec.pair_axes is None or clause.surface in _WITHOUT_X:
        return None
    if clause.surface == "decode":
        return "tokens of a session are counted along one axis"
    if context.implementation.has("apply") and not free_positions(context.claim):
        return "several positions for each token need the form t or bt"
    return None


def _not_of_this_map(clause: Clause, context: CheckContext) -> str | None:
    """Why a clause cannot be judged where the map is declared to be no rotation."""
    if context.claim.second_channels is None or clause.any_map or clause.surface in _WITHOUT_X:
        return None
    return "declared to be no rotation"


def _too_little_evidence(check: Check, context: CheckContext) -> str | None:
    """Why a check without failure is no pass; None if it is one."""
    seen = context.evidence
    evidence = seen.decisive if check.numeric else seen.inputs
    if evidence >= check.minimum:
        return None
    what = "decisive samples" if check.numeric else "inputs"
    reason = f"{evidence} {what}, at least {check.minimum} are needed"
    if seen.samples >= check.minimum:
        reason += f": the profile {context.profile.name!r} allows almost any error there"
    return reason


def _failure(
    check: Check,
    context: CheckContext,
    case: Input,
    error: CheckFailure | TargetRaised,
    command: str | None,
) -> Failure:
    """The failure of a check on an input, with its likely cause."""
    spot = getattr(error, "spot", None)
    message = str(error)
    if isinstance(error, TargetRaised):
        message = f"raised {error}{_place(error.error)}"
    own = getattr(error, "fault", None)
    elsewhere = getattr(error, "seen_in", None)
    # The error itself says what is wrong: no cause is looked for.
    explained = isinstance(error, TargetRaised) or (own is not None and elsewhere is None)
    cause = None
    if not explained:
        cause = likely_cause(elsewhere or context, case, check.clause.surface)
    if cause is None and spot is not None and not explained and _passes(check, context, case):
        words = "the same input, given once more, is right: what was called before it matters"
        cause = Cause(words, "cache", "nothing else is known to explain it")
    return Failure(
        message=message,
        case=repr(case),
        fault=own or (cause.fault if cause else check.clause.fault),
        spot=None if spot is None else asdict(spot),
        cause=cause.words if cause else None,
        evidence=cause.evidence if cause else None,
        reproduce=reproducing(check, command),
    )


def _passes(check: Check, context: CheckContext, case: Input) -> bool:
    """Whether a check finds nothing wrong with an input when it is given again."""
    try:
        check.body(context.beside(context.implementation), case)
    except Exception:
        return False
    return True


def reproducing(check: Check, command: str | None) -> str | None:
    """Return the command that shows a failure again, given the one that started the run."""
    return None if command is None else f"{command} --only {check.clause.id}"


def _unexpected(check: Check, error: BaseException, command: str | None) -> dict[str, Any]:
    """The verdict where something raised outside of calls: ours if it was raised in our code."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    raised = f"{type(error).__name__}: {error} ({where})"
    if any(Path(frame.filename).is_relative_to(folder) for folder in _OURS):
        reason = f"the check itself raised {raised}; an error of rope_conformance, please report it"
        return {"verdict": "not run", "reason": reason}
    failure = Failure(
        message=f"what came back raised {raised} when it was looked at",
        case="not known",
        fault=check.clause.fault,
        reproduce=reproducing(check, command),
    )
    return {"verdict": "error", "failure": failure}


def _place(error: BaseException) -> str:
    """The line of the target that raised, if it was reached."""
    frames = traceback.extract_tb(error.__traceback__)
    callers = (_HOME / "judging", _HOME / "target")
    if not frames or Path(frames[-1].filename).parent in callers:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"

"""One check on one implementation: from its inputs to a verdict in words."""

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
from rope_conformance.running.shrinking import smallest_failure
from rope_conformance.target.frameworks import NamespaceError

__all__ = ["EFFORTS", "reproducing", "run_check"]

# Generated inputs per check.
EFFORTS = {"quick": 10, "default": 40, "thorough": 400}

_HOME = Path(__file__).parents[1]
_OURS = [_HOME, *map(Path, rope_ref.__path__)]


def run_check(
    each: Check,
    context: CheckContext,
    *,
    effort: str = "default",
    seed: int = 0,
    command: str | None = None,
    shrink: bool = True,
) -> Result:
    """Run one check: its fixed inputs, then generated ones; the smallest failure is kept.

    Without `shrink` the first failure is.
    """
    started, calls = time.perf_counter(), context.implementation.calls

    def result(verdict: Any, **rest: Any) -> Result:
        return Result(
            clause=each.clause.id,
            sentence=each.clause.sentence,
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

    if not context.implementation.has(each.clause.surface):
        return result("not claimed", reason=f"the surface {each.clause.surface!r} is not offered")
    closed = (
        _not_on_axes(each.clause, context)
        or _not_of_this_map(each.clause, context)
        or each.clause.opened_by(context)
    )
    if closed is not None:
        return result("not claimed", reason=closed)
    try:
        failing = smallest_failure(each, context, EFFORTS[effort], seed, shrink=shrink)
        if failing is not None:
            case, error = failing
            return result(
                "error" if isinstance(error, TargetRaised) else "failed",
                failure=_describe(each, context, case, error, command),
            )
    except NamespaceError as missing:
        return result("not run", reason=str(missing))
    except (Exception, SystemExit) as error:  # what came back was no array to work with
        return result(**_surprised(each, error, command))
    evidence = context.evidence.decisive if each.numeric else context.evidence.inputs
    if evidence < each.minimum:
        what = "decisive samples" if each.numeric else "inputs"
        return result(
            "not run",
            reason=f"{evidence} {what}, at least {each.minimum} are needed"
            + (
                f": the profile {context.profile.name!r} allows almost any error there"
                if context.evidence.samples >= each.minimum
                else ""
            ),
        )
    return result("passed")


_WITHOUT_X = ("positions", "segments", "weights", "theta")  # surfaces that rotate nothing


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


def _describe(
    each: Check,
    context: CheckContext,
    case: Input,
    error: CheckFailure | TargetRaised,
    command: str | None,
) -> Failure:
    spot = getattr(error, "spot", None)
    message = str(error)
    if isinstance(error, TargetRaised):
        message = f"raised {error}{_place(error.error)}"
    own = getattr(error, "fault", None)
    elsewhere = getattr(error, "seen_in", None)
    told = isinstance(error, TargetRaised) or (own is not None and elsewhere is None)
    cause = None if told else likely_cause(elsewhere or context, case, each.clause.surface)
    if cause is None and spot is not None and not told and _passes(each, context, case):
        words = "the same input, given once more, is right: what was called before it matters"
        cause = Cause(words, "cache", "nothing else is known to explain it")
    return Failure(
        message=message,
        case=repr(case),
        fault=own or (cause.fault if cause else each.clause.fault),
        spot=None if spot is None else asdict(spot),
        cause=cause.words if cause else None,
        evidence=cause.evidence if cause else None,
        reproduce=reproducing(each, command),
    )


def _passes(each: Check, context: CheckContext, case: Input) -> bool:
    """Whether a check finds nothing wrong with an input when it is given again."""
    try:
        each.body(context.beside(context.implementation), case)
    except Exception:
        return False
    return True


def reproducing(each: Check, command: str | None) -> str | None:
    """The command that shows a failure again."""
    return None if command is None else f"{command} --only {each.clause.id}"


def _surprised(each: Check, error: BaseException, command: str | None) -> dict[str, Any]:
    """The verdict where looking at what came back raised: in whose code tells whose fault it is."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    raised = f"{type(error).__name__}: {error} ({where})"
    if any(Path(frame.filename).is_relative_to(folder) for folder in _OURS):
        reason = f"the check itself raised {raised}; an error of rope_conformance, please report it"
        return {"verdict": "not run", "reason": reason}
    failure = Failure(
        message=f"what came back raised {raised} when it was looked at",
        case="not known",
        fault=each.clause.fault,
        reproduce=reproducing(each, command),
    )
    return {"verdict": "error", "failure": failure}


def _place(error: BaseException) -> str:
    """The line of the target that raised, if it was reached."""
    frames = traceback.extract_tb(error.__traceback__)
    callers = (_HOME / "judging", _HOME / "target")
    if not frames or Path(frames[-1].filename).parent in callers:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"

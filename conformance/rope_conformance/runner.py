"""Runs the checks on one implementation and reports."""

from __future__ import annotations

import importlib.metadata
import itertools
import platform
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rope_conformance.accuracy import profile_named
from rope_conformance.claim import Claim
from rope_conformance.diagnosis import likely_cause
from rope_conformance.discovery import discover_facts, discover_spec, takes_rows
from rope_conformance.exchange import NamespaceError
from rope_conformance.implementation import Implementation, Unsupported, target_name
from rope_conformance.inputs import Input
from rope_conformance.registry import EDITION, Check, all_checks
from rope_conformance.report import Fact, Failure, Report, Result
from rope_conformance.search import smallest_failure
from rope_conformance.trial import (
    CheckFailure,
    Meter,
    TargetRaised,
    Trial,
    default_profile,
    undisturbed,
)
from rope_ref import RopeSpec

__all__ = ["EFFORTS", "check", "run_check"]

# Generated inputs per check.
EFFORTS = {"quick": 10, "default": 40, "thorough": 400}

HORIZON = 0.01  # the horizon reported: errors of one hundredth of a pair's length

Progress = Callable[[Result], None]


@undisturbed()
def check(
    target: Any,
    *,
    spec: RopeSpec | None = None,
    axes: str | None = None,
    namespace: str | None = None,
    dtype: str | None = None,
    profile: str | None = None,
    effort: str = "default",
    seed: int = 0,
    claim: Claim | None = None,
    name: str | None = None,
    only: Iterable[str] | None = None,
    progress: Progress | None = None,
    command: str | None = None,
) -> Report:
    """Judge an implementation by every clause that its claims open.

    Parameters
    ----------
    target
        A callable ``f(x, positions)``, a factory called with a `RopeSpec`, or an object
        with surfaces; see `rope_conformance.implementation`.
    spec
        The RoPE it should be. Left out, the target's own ``spec``; without one, base
        10000 at 128 channels or another width that it takes, in whichever layout it has.
    axes, namespace, dtype, profile
        Parts of its claim, where they differ from what it says itself.
    effort
        ``quick``, ``default`` or ``thorough``: how many inputs are generated.
    seed
        Of the generated inputs. The same seed gives the same verdict.
    claim
        All of its claim.
    name
        What the report calls it.
    only
        Ids of the clauses to judge; all if left out.
    progress
        Called with each result as it is found.
    command
        How the run was started, for the commands that reproduce a failure.

    Returns
    -------
    report

    Raises
    ------
    TargetError
        If no verdict is possible: the target is no implementation, or does not load.
    NamespaceError
        If the framework or the device it claims cannot be used here.
    ValueError
        If an argument names an effort, profile or clause that does not exist.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r} is not known; choose one of {', '.join(EFFORTS)}")
    checks = _chosen(only)
    started = time.perf_counter()
    own = claim or getattr(target, "claim", None) or Claim()
    changed = {
        "axes": axes,
        "namespace": namespace,
        "dtypes": dtype and (dtype,),
        "profile": profile,
    }
    full = replace(own, **{k: v for k, v in changed.items() if v is not None})
    if full.profile is not None:
        profile_named(full.profile)
    facts: list[Fact] = []
    if spec is None:
        spec, facts = discover_spec(target, full)
    if spec.pair_axes is not None:
        raise ValueError("spec: positions with several axes (pair_axes) are not judged here")
    try:
        implementation = Implementation(target, spec, full, name)
    except Unsupported as reason:
        return _unsupported(target, spec, full, checks, str(reason), effort, seed, name)
    if claim is None and not implementation.claims_itself and takes_rows(implementation):
        implementation.claim = full = replace(full, position_forms=("t", "bt"))
    report = _new_report(implementation.name, spec, full, effort, seed)
    report.facts += facts
    meter, outputs = Meter(), set()
    found: dict[str, str] = {}
    made: dict[tuple[str, str], Implementation] = {}
    try:
        for device, kind, each in itertools.product(full.devices, full.dtypes, checks):
            # What one type of data left in a cache is the affair of one clause, not of all.
            if (device, kind) not in made:
                made[device, kind] = implementation.remade(spec) if made else implementation
            trial = Trial(made[device, kind], kind, meter=meter, device=device)
            result = run_check(each, trial, effort=effort, seed=seed, command=command)
            report.results.append(result)
            outputs |= trial.outputs
            found |= trial.facts
            if progress is not None:
                progress(result)
        if any(r.verdict == "passed" for r in report.results):
            report.facts += discover_facts(implementation, found, checks)
    except KeyboardInterrupt:
        report.interrupted = True
    position, ends = meter.horizon(HORIZON)
    report.horizon |= {"position": position, "ends": ends}
    report.table_given = not implementation.has("apply")
    report.tightest_profile = meter.tightest()
    report.largest_ratio = meter.largest_ratio
    report.calls = sum(each.calls for each in made.values())
    report.distinct_outputs = len(outputs)
    report.seconds = round(time.perf_counter() - started, 3)
    return report


def _new_report(name: str, spec: RopeSpec, claim: Claim, effort: str, seed: int) -> Report:
    return Report(
        target=name,
        spec=_spec_data(spec),
        claim={k: v for k, v in asdict(claim).items() if k != "accepts"},
        profile=default_profile(claim, claim.dtypes[0]).name,
        effort=effort,
        seed=seed,
        edition=EDITION,
        versions=_versions(),
        horizon={"error": HORIZON, "position": None, "ends": False},
    )


def _unsupported(
    target: Any,
    spec: RopeSpec,
    claim: Claim,
    checks: Iterable[Check],
    reason: str,
    effort: str,
    seed: int,
    name: str | None,
) -> Report:
    """The report on a factory that does not do the spec it was asked for."""
    report = _new_report(name or target_name(target), spec, claim, effort, seed)
    report.results = [
        Result(each.clause.id, each.clause.sentence, claim.dtypes[0], "unsupported", reason)
        for each in checks
    ]
    return report


def run_check(
    each: Check,
    trial: Trial,
    *,
    effort: str = "default",
    seed: int = 0,
    command: str | None = None,
) -> Result:
    """Run one check: its fixed inputs, then generated ones; the smallest failure is kept."""
    started, calls = time.perf_counter(), trial.implementation.calls

    def result(verdict: Any, **rest: Any) -> Result:
        return Result(
            clause=each.clause.id,
            sentence=each.clause.sentence,
            dtype=trial.dtype,
            verdict=verdict,
            inputs=trial.inputs,
            calls=trial.implementation.calls - calls,
            samples=trial.samples,
            decisive=trial.decisive,
            notes=tuple(trial.notes),
            seconds=round(time.perf_counter() - started, 3),
            **rest,
        )

    if not trial.implementation.has(each.clause.surface):
        return result("not claimed", reason=f"the surface {each.clause.surface!r} is not offered")
    closed = each.clause.opened_by(trial)
    if closed is not None:
        return result("not claimed", reason=closed)
    try:
        failing = smallest_failure(each, trial, EFFORTS[effort], seed)
    except NamespaceError as missing:
        return result("not run", reason=str(missing))
    if failing is not None:
        case, error = failing
        return result(
            "error" if isinstance(error, TargetRaised) else "failed",
            failure=_describe(each, trial, case, error, command),
        )
    evidence = trial.decisive if each.numeric else trial.inputs
    if evidence < each.minimum:
        what = "decisive samples" if each.numeric else "inputs"
        return result(
            "not run",
            reason=f"{evidence} {what}, at least {each.minimum} are needed"
            + (
                f": the profile {trial.profile.name!r} allows almost any error there"
                if trial.samples >= each.minimum
                else ""
            ),
        )
    return result("passed")


def _describe(
    each: Check,
    trial: Trial,
    case: Input,
    error: CheckFailure | TargetRaised,
    command: str | None,
) -> Failure:
    spot = getattr(error, "spot", None)
    message = str(error)
    if isinstance(error, TargetRaised):
        message = f"raised {error}{_place(error.error)}"
    cause = likely_cause(trial) if spot is not None else None
    own = getattr(error, "fault", None)
    return Failure(
        message=message,
        case=repr(case),
        fault=own or (cause.fault if cause else each.clause.fault),
        spot=None if spot is None else asdict(spot),
        cause=cause.words if cause else None,
        evidence=cause.evidence if cause else None,
        reproduce=None if command is None else f"{command} --only {each.clause.id}",
    )


def _place(error: BaseException) -> str:
    """The line of the target that raised, if it was reached."""
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).parent
    if not frames or Path(frames[-1].filename).parent == here:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _chosen(only: Iterable[str] | None) -> tuple[Check, ...]:
    checks = all_checks()
    if only is None:
        return checks
    wanted = set(only)
    if unknown := wanted - {c.name for c in checks}:
        known = ", ".join(c.name for c in checks)
        raise ValueError(f"there is no clause {sorted(unknown)[0]!r}; the clauses are {known}")
    return tuple(c for c in checks if c.name in wanted)


def _spec_data(spec: RopeSpec) -> dict[str, Any]:
    data = {each.name: getattr(spec, each.name) for each in fields(spec)}
    return data | {"frequencies": repr(spec.frequencies)}


def _versions() -> dict[str, str]:
    try:
        own = importlib.metadata.version("rope-ref")
    except importlib.metadata.PackageNotFoundError:
        own = "not installed"
    return {"rope-ref": own, "numpy": np.__version__, "python": platform.python_version()}

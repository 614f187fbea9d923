"""Judges one implementation by every check, here or in a process of its own, and reports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.statistics import Meter
from rope_conformance.report.model import Report, Result
from rope_conformance.running.isolation import MEMORY, TIMEOUT, Isolated, Limits
from rope_conformance.running.loading import load_target
from rope_conformance.running.run import HORIZON, How, Run, prepare
from rope_conformance.running.verdict import EFFORTS, run_check
from rope_conformance.running.waivers import Waiver, Waivers, apply_waivers, load_waivers
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = ["EFFORTS", "check", "judged", "run_check"]

Progress = Callable[[Result], None]


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
    waivers: Waivers = None,
    progress: Progress | None = None,
    command: str | None = None,
    isolate: bool = False,
    timeout: float = TIMEOUT,
    memory: int = MEMORY,
) -> Report:
    """Judge an implementation by every clause that its claims open.

    Parameters
    ----------
    target
        A callable ``f(x, positions)``, a factory called with a `RopeSpec`, or an object
        with surfaces; see `rope_conformance.target.implementation`. A text names one, as on the
        command line: ``package.module:object`` or ``path/to/file.py:object``.
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
    waivers
        Failures that are forgiven for a while: the path of a TOML file, or a list of
        `Waiver`.
    progress
        Called with each result as it is found.
    command
        How the run was started, for the commands that reproduce a failure.
    isolate
        Whether the target gets a process of its own, so that the run outlives whatever it
        does: a new Python for a target that is named, a fork of this process for another.
    timeout, memory
        Of an isolated target: how many seconds one call may take, and by how many bytes
        its process may grow.

    Returns
    -------
    report

    Raises
    ------
    TargetError
        If no verdict is possible: the target is no implementation, or does not load.
    NamespaceError
        If the framework or the device it claims cannot be used here.
    WaiverError
        If a waiver cannot be understood.
    ValueError
        If an argument names an effort, profile or clause that does not exist, or if a
        target cannot be isolated as it is given.
    """
    if name is None and isinstance(target, str):
        name = target
    how = How(effort, seed, name, None if only is None else tuple(only), command)
    forgiven = load_waivers(waivers)
    what: dict[str, Any] = {
        "spec": spec,
        "axes": axes,
        "namespace": namespace,
        "dtype": dtype,
        "profile": profile,
        "claim": claim,
    }
    run: Run | Isolated
    if isolate:
        run = Isolated(target, how, what=what, limits=Limits(timeout, memory))
    else:
        loaded = load_target(target) if isinstance(target, str) else target
        run = prepare(loaded, how, **what)
    with contextlib.closing(run):
        return judged(run, waivers=forgiven, progress=progress)


def judged(
    run: Run | Isolated,
    *,
    only: str | None = None,
    waivers: Sequence[Waiver] = (),
    progress: Progress | None = None,
) -> Report:
    """Do what there is to do in a run, and report.

    Parameters
    ----------
    run
        Of a target that is ready.
    only
        The id of a clause, if no other is to be judged.
    waivers, progress
        As for `check`.
    """
    started = time.perf_counter()
    report = replace(run.report, results=[], facts=list(run.report.facts))
    meter, found = Meter(), dict[str, str]()
    try:
        for number, job in enumerate(run.jobs):
            if only not in (None, job.check.name):
                continue
            outcome = run.judge(number)
            assert outcome.result is not None
            meter.merge(outcome.meter)
            found |= outcome.found
            report.results.append(outcome.result)
            # What a target refuses it refuses as a whole, which the report says once.
            if progress is not None and outcome.result.verdict != "unsupported":
                progress(outcome.result)
        if only is None and any(each.verdict == "passed" for each in report.results):
            report.facts += run.facts(found).facts
        report.facts += run.remarks()
    except KeyboardInterrupt:
        report.interrupted = True
    position, ends = meter.horizon.reach(HORIZON)
    report.horizon = report.horizon | {"position": position, "ends": ends}
    report.tightest_profile = meter.tightest()
    report.largest_ratio = meter.largest_ratio
    report.calls, report.distinct_outputs = run.calls, run.distinct_outputs
    report.seconds = round(time.perf_counter() - started, 3)
    apply_waivers(report, waivers)
    return report

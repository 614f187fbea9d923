"""Judges one implementation by every check, here or in a process of its own, and reports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.statistics import Meter
from rope_conformance.report.model import Report
from rope_conformance.running.child_process import ChildProcess
from rope_conformance.running.isolation import Isolated
from rope_conformance.running.loading import load_target
from rope_conformance.running.run import HORIZON, Run
from rope_conformance.running.settings import Progress, RunOptions, TargetOptions
from rope_conformance.running.settling import settle
from rope_conformance.running.waivers import Waiver, apply_waivers, load_waivers
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import target_name
from rope_ref import RopeSpec

__all__ = ["check", "judged", "start"]


def check(
    target: Any,
    *,
    spec: RopeSpec | None = None,
    axes: str | None = None,
    namespace: str | None = None,
    dtype: str | None = None,
    profile: str | None = None,
    claim: Claim | None = None,
    effort: str | None = None,
    seed: int | None = None,
    only: Iterable[str] | None = None,
    options: RunOptions | None = None,
) -> Report:
    """Judge an implementation by every clause that its claims open.

    Parameters
    ----------
    target
        A callable ``f(x, positions)``, a factory called with a `RopeSpec`, or an object
        with surfaces; see `rope_conformance.target.implementation`. A text names one, as on
        the command line: ``package.module:object`` or ``path/to/file.py:object``.
    spec
        The RoPE it should be. Left out, the target's own ``spec``; without one, base
        10000 at 128 channels or another width that it takes, in whichever layout it has.
    axes, namespace, dtype, profile
        Parts of its claim, where they differ from what it says itself.
    claim
        All of its claim.
    effort
        ``quick``, ``default`` or ``thorough``: how many inputs are generated.
    seed
        Of the generated inputs. The same seed gives the same verdict.
    only
        Ids of the clauses to judge; all if left out.
    options
        All else about the run: waivers, isolation, limits, names.

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
    given: dict[str, Any] = {"effort": effort, "seed": seed, "only": only}
    own = replace(options or RunOptions(), **{k: v for k, v in given.items() if v is not None})
    asked = TargetOptions(
        spec=spec, claim=claim, axes=axes, namespace=namespace, dtype=dtype, profile=profile
    )
    waivers = load_waivers(own.waivers)
    with contextlib.closing(start(target, asked, own)) as run:
        return judged(run, waivers=waivers, progress=own.progress)


def start(
    target: Any,
    asked: TargetOptions,
    options: RunOptions,
    *,
    python: ChildProcess | None = None,
) -> Run | Isolated:
    """Make a target ready to be judged, in this process or in one of its own.

    Parameters
    ----------
    target
        As for `check`.
    asked
        What it should be, as far as that is asked for.
    options
        How the run goes.
    python
        A new Python for an isolated target, where one was started already.

    Raises
    ------
    TargetError, NamespaceError, RopeError, ValueError
        As by `check`.
    """
    if options.isolate:
        return Isolated(target, asked, options, _name(target, options), python=python)
    loaded = load_target(target) if isinstance(target, str) else target
    name = _name(target, options)
    made, judged_as = settle(loaded, asked, name=name)
    return Run(made, judged_as, options, name)


def _name(target: Any, options: RunOptions) -> str:
    """What a report calls a target."""
    return options.name or (target if isinstance(target, str) else target_name(target))


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

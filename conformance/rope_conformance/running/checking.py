"""`check`, the way to start a run from a program, and its two halves: start a run, judge it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.statistics import Meter
from rope_conformance.report.model import Report
from rope_conformance.running.child_process import ChildProcess
from rope_conformance.running.isolation import IsolatedRun
from rope_conformance.running.loading import load_target
from rope_conformance.running.run import HORIZON, Run
from rope_conformance.running.settings import Progress, RunOptions, TargetOptions
from rope_conformance.running.settling import settle
from rope_conformance.running.waivers import Waiver, apply_waivers, load_waivers
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import target_name
from rope_ref import RopeSpec

__all__ = ["check", "judge_run", "start_run"]


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
    """Judge an implementation by every clause that its claim opens.

    Parameters
    ----------
    target
        A callable ``f(x, positions)``, a factory called with a `RopeSpec`, or an object
        with surfaces; see `rope_conformance.target.implementation`. Or a text that names
        one, as on the command line: ``package.module:object``, ``path/to/file.py:object``,
        or a bundled name such as ``transformers/llama``.
    spec
        The RoPE it should be. Left out, the target's own ``spec``; if it has none, base
        10000 at head_dim 128, or at the next width that it takes, in the layout that it has.
    axes
        The order of x's axes in letters: ``b`` batch, ``t`` token, ``h`` head, ``d``
        channel. Left out, as claimed; without a claim ``bthd``.
    namespace
        Whose arrays it takes: ``numpy``, ``strict`` (array-api-strict), ``torch``, ``jax``
        or ``cupy``. Left out, as claimed; without a claim ``numpy``.
    dtype
        The type of the data: ``float64``, ``float32``, ``float16`` or ``bfloat16``, or
        several separated by commas. Left out, as claimed; without a claim ``float32``.
    profile
        The accuracy claimed, by name; ``rope-ref list --profiles`` shows all. Left out, as
        claimed; without a claim ``float64`` on float64 data, else ``float32``.
    claim
        Its whole claim, in place of its own. The four parameters above replace parts of it.
    effort
        How many inputs are generated: ``quick``, ``default`` or ``thorough``; ``default`` if
        left out.
    seed
        Seed of the generated inputs; 0 if left out. The same seed gives the same verdict.
    only
        Ids of the clauses to judge; all if left out. ``rope-ref list --clauses`` shows them.
    options
        All else about the run: waivers, isolation, limits, names. The three parameters above
        count before its own.

    Returns
    -------
    report
        The verdict on each clause, and what was found beside them. An interrupted run
        returns what it found until then.

    Raises
    ------
    TargetError
        If no verdict is possible: the target is no implementation, or does not load.
    NamespaceError
        If the framework or the device it claims cannot be used here.
    WaiverError
        If a waiver cannot be understood.
    RopeError
        If the parts of the spec do not fit.
    ValueError
        If an argument names an axis, dtype, effort, profile or clause that does not exist, or
        if a target cannot be isolated as it is given.
    """
    given: dict[str, Any] = {"effort": effort, "seed": seed, "only": only}
    own = replace(options or RunOptions(), **{k: v for k, v in given.items() if v is not None})
    asked = TargetOptions(
        spec=spec, claim=claim, axes=axes, namespace=namespace, dtype=dtype, profile=profile
    )
    waivers = load_waivers(own.waivers)
    with contextlib.closing(start_run(target, asked, own)) as run:
        return judge_run(run, waivers=waivers, progress=own.progress)


def start_run(
    target: Any,
    asked: TargetOptions,
    options: RunOptions,
    *,
    python: ChildProcess | None = None,
) -> Run | IsolatedRun:
    """Make a target ready to be judged, in this process or in one of its own.

    Parameters
    ----------
    target
        As for `check`.
    asked
        What it should be, as far as options say so.
    options
        How the run is done.
    python
        For an isolated target: a new Python, if one was started already.

    Returns
    -------
    run
        To be closed once it is judged.

    Raises
    ------
    TargetError, NamespaceError, RopeError, ValueError
        As by `check`.
    """
    if options.isolate:
        return IsolatedRun(target, asked, options, _name(target, options), python=python)
    loaded = load_target(target) if isinstance(target, str) else target
    name = _name(target, options)
    made, judged_as = settle(loaded, asked, name=name)
    return Run(made, judged_as, options, name)


def _name(target: Any, options: RunOptions) -> str:
    """What messages and the report call a target."""
    return options.name or (target if isinstance(target, str) else target_name(target))


def judge_run(
    run: Run | IsolatedRun,
    *,
    only: str | None = None,
    waivers: Sequence[Waiver] = (),
    progress: Progress | None = None,
) -> Report:
    """Do the jobs of a run, and return the report.

    Parameters
    ----------
    run
        As returned by `start_run`.
    only
        The id of a clause, if this call is to judge no other.
    waivers
        As returned by `load_waivers`.
    progress
        Called with each result as soon as it is found.

    Returns
    -------
    report
        As by `check`.
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
            # A target refuses a spec as a whole: the report says that once.
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

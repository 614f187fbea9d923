"""A run whose target is in a process of its own, seen from the process of the suite.

If that process ends, or has to be ended, the verdict on the check that was under way is an error
that says what happened, and a new process goes on with the next check.
"""

from __future__ import annotations

import functools
import os
import pickle
from dataclasses import replace
from typing import Any

from rope_conformance.report.model import Fact, Failure, JudgedAs, Report, Result
from rope_conformance.running.child_process import (
    ChildProcess,
    ProcessEnded,
    forked,
    new_python,
)
from rope_conformance.running.run import Job, Outcome, jobs_of
from rope_conformance.running.settings import RunOptions, TargetOptions
from rope_conformance.running.settling import own_claim
from rope_conformance.running.verdict import reproducing
from rope_conformance.running.worker import packed, serve
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError

__all__ = ["IsolatedRun"]

_MOST_ENDS = 3  # processes lost in checks; after that the other checks are not run

# The error to raise where a target was not made ready, by the word that the worker has for it.
_RAISED: dict[str, type[Exception]] = {
    "target": TargetError,
    "namespace": NamespaceError,
    "call": ValueError,
    "ours": RuntimeError,
}
_ERRORS = tuple(_RAISED.values())


class IsolatedRun:
    """A `Run` in another process.

    Parameters
    ----------
    target
        A text, which a new Python loads; or an object, which a fork of this process uses.
    asked
        What it should be.
    options
        How the run is done.
    name
        What messages and the report call it.
    python
        A new Python that was started already, if there is one.

    Attributes
    ----------
    report, jobs
        As of a `Run`.
    judged_as
        As of a `Run`, without the spec itself, which stays in the other process.

    Raises
    ------
    TargetError, NamespaceError, ValueError
        As by `rope_conformance.check`.
    RuntimeError
        If the suite itself raised in the other process; its traceback.
    """

    def __init__(
        self,
        target: Any,
        asked: TargetOptions,
        options: RunOptions,
        name: str,
        *,
        python: ChildProcess | None = None,
    ) -> None:
        self._target, self._options, self._spare = target, options, python
        self._name, self._limits = name, options.limits
        # Waivers and progress are the business of this process alone.
        theirs = replace(options, waivers=None, progress=None)
        self._request = {"asked": asked, "options": theirs, "name": name, "settled": None}
        self._request["trying"] = True
        if not isinstance(target, str):
            _demand_fork(target, asked)
        # Of the processes that ended, and of the present one.
        self._calls_before = self._outputs_before = self._calls = self._outputs = 0
        self._ends = self._printed_before = 0
        ready, remarks = self._first_start()
        self.report = Report.from_dict(ready["report"])
        self.report.claim = {k: _as_claimed(v) for k, v in self.report.claim.items()}
        self.report.facts[:0] = remarks
        # Here the claim tells what jobs there are; its second channels are not sent.
        claim = Claim(**self.report.claim | {"second_channels": None})
        self.judged_as = JudgedAs(ready["judged_as"], claim, tuple(self.report.facts))
        self.jobs = jobs_of(claim, options)
        self._request["settled"] = ready["settled"]

    @property
    def calls(self) -> int:
        """How often the target was called, as far as its processes could tell."""
        return self._calls_before + self._calls + self._process.calls

    @property
    def distinct_outputs(self) -> int:
        """How many different results it returned, counted anew in each process."""
        return self._outputs_before + self._outputs

    def judge(self, number: int) -> Outcome:
        """Do one job. If the process ends on the way, the verdict is an error."""
        job = self.jobs[number]
        if self._ends == _MOST_ENDS:
            return _not_run(job, f"the process of the target ended {_MOST_ENDS} times before")
        try:
            return self._ask({"judge": number})
        except ProcessEnded as end:
            self._ends += 1
            return self._error(job, end)
        except _ERRORS as error:
            self._ends = _MOST_ENDS
            return _not_run(job, f"the target was not made ready once more: {error}")

    def facts(self, found: dict[str, str]) -> Outcome:
        """Try what is not claimed; if the process ends on the way, that is the fact."""
        what = "what is not claimed"
        if self._ends == _MOST_ENDS:
            return Outcome(facts=[Fact(what, "not tried", warn=True)])
        try:
            return self._ask({"found": found})
        except (ProcessEnded, TargetError, NamespaceError, ValueError, RuntimeError) as error:
            at = f", at {self._process.case}" if self._process.case else ""
            return Outcome(facts=[Fact(what, f"not tried to the end: {error}{at}", warn=True)])

    def remarks(self) -> list[Fact]:
        """Facts about the process."""
        printed = self._printed_before + self._process.printed
        return [Fact("printed", f"{printed:,} bytes, not shown")] if printed else []

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _first_start(self) -> tuple[dict[str, Any], list[Fact]]:
        """Start, without trying the target if a call ends the process: it still gets a report."""
        try:
            return self._start(), []
        except ProcessEnded as end:
            if not end.in_call:
                raise self._not_ready(end) from None
            remark = Fact("by trying", f"nothing was found: {end}", warn=True)
        self._request["trying"] = False
        try:
            return self._start(), [remark]
        except ProcessEnded as end:
            raise self._not_ready(end) from None

    def _not_ready(self, end: ProcessEnded) -> TargetError:
        line = self._process.last_line
        printed = f"; it printed last {line!r}" if line else ""
        return TargetError(f"{self._name} was not made ready: {end}{printed}")

    def _start(self) -> dict[str, Any]:
        """Start a process and wait until its target is ready."""
        target, request = self._target, self._request
        if isinstance(target, str):
            line = _packed({**request, "target": target})
            self._process = self._spare or new_python(self._limits)
            self._spare = None
            ready = self._process.ask(line)
        else:
            load = functools.partial(serve, lambda: target, request)
            self._process = forked(load, self._limits)
            ready = self._process.answer()
        if "raised" in ready:
            self._process.close()
            kind, text, trace = ready["raised"]
            raise _RAISED[kind](trace if kind == "ours" else text)
        return ready

    def _ask(self, request: dict[str, Any]) -> Outcome:
        """Have a request answered, by a new process if the last one ended."""
        if self._process.closed:
            self._calls_before = self.calls
            self._outputs_before = self.distinct_outputs
            self._printed_before += self._process.printed
            self._calls = self._outputs = 0
            try:
                self._start()
            except ProcessEnded as end:
                raise self._not_ready(end) from None
        reply = self._process.ask(request)
        if "raised" in reply:
            self._process.close()
            raise ProcessEnded(f"outside of calls {reply['raised'][1]}", in_call=False)
        self._calls, self._outputs = reply["calls"], reply["distinct_outputs"]
        return Outcome.from_dict(reply["outcome"])

    def _error(self, job: Job, end: ProcessEnded) -> Outcome:
        """The outcome of a check during which the process ended."""
        clause, process = job.check.clause, self._process
        failure = Failure(
            message=str(end),
            case=process.case or "not known",
            fault=clause.fault,
            reproduce=reproducing(job.check, self._options.command),
        )
        result = Result(
            clause=clause.id,
            sentence=clause.sentence,
            dtype=job.dtype,
            verdict="error",
            inputs=process.inputs,
            calls=process.calls,
            failure=failure,
            seconds=process.seconds,
        )
        return Outcome(result)


def _not_run(job: Job, reason: str) -> Outcome:
    clause = job.check.clause
    return Outcome(Result(clause.id, clause.sentence, job.dtype, "not run", reason))


def _demand_fork(target: Any, asked: TargetOptions) -> None:
    """Refuse to isolate an object that does not work in a fork of this process."""
    namespace = asked.namespace or own_claim(target, asked).namespace
    name = "name the target instead, as in check('package.module:object', ...)"
    if not hasattr(os, "fork"):
        raise ValueError(f"isolate=True: this system makes no copies of a process; {name}")
    if namespace not in ("numpy", "strict"):
        raise ValueError(
            f"isolate=True: the threads and devices of {namespace} are not there in a copy of a "
            f"process; {name}"
        )


def _packed(request: dict[str, Any]) -> str:
    try:
        return packed(request)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"isolate=True: spec or claim cannot be handed to another process ({error}); let the "
            "target have them as its attributes"
        ) from None


def _as_claimed(value: Any) -> Any:
    """What is a list in JSON is a tuple in a claim."""
    return tuple(value) if isinstance(value, list) else value

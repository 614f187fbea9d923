"""The outcome of a run: what was judged, by which inputs, with which verdict."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rope_conformance.faults import Fault

__all__ = ["Fact", "Failure", "Report", "Result", "Verdict"]

SCHEMA = "rope-ref-report-2"

Verdict = Literal["passed", "failed", "error", "not claimed", "unsupported", "not run"]


@dataclass(frozen=True)
class Failure:
    """How a clause was broken.

    Parameters
    ----------
    message
        What is wrong, in words.
    case
        The smallest input found, as Python that rebuilds it.
    spot
        The first bad pair: position, row, token, head, pair, channel, got, want, ratio.
    fault
        Its class, in the words of public bug reports.
    cause
        The likeliest formula, where one explains what was seen.
    evidence
        What speaks for that cause.
    reproduce
        A command that shows this failure again.
    """

    message: str
    case: str
    fault: Fault
    spot: dict[str, Any] | None = None
    cause: str | None = None
    evidence: str | None = None
    reproduce: str | None = None


@dataclass(frozen=True)
class Result:
    """The verdict on one clause for one type of data.

    Parameters
    ----------
    clause, sentence, dtype
        What was judged.
    verdict
        ``passed``, ``failed`` (the clause is broken), ``error`` (the implementation
        raised), ``not claimed``, ``unsupported`` or ``not run``.
    reason
        Why it was not claimed, not supported or not run; empty otherwise.
    inputs, calls
        How many inputs the check saw, and how often it called the implementation.
    samples, decisive
        How many pairs it compared, and how many of them could tell right from wrong.
    failure
        For ``failed`` and ``error``.
    """

    clause: str
    sentence: str
    dtype: str
    verdict: Verdict
    reason: str = ""
    inputs: int = 0
    calls: int = 0
    samples: int = 0
    decisive: int = 0
    notes: tuple[str, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Fact:
    """Something found that no claim covers: `text` about `what`; `warn` if it may surprise."""

    what: str
    text: str
    warn: bool = False


@dataclass
class Report:
    """A run of the suite on one implementation.

    Attributes
    ----------
    results
        One per clause and type of data.
    facts
        What was found beside the claims.
    passed
        Whether the implementation is conformant: every clause its claims open ran with
        enough evidence, and none failed.
    """

    target: str
    spec: dict[str, Any]
    claim: dict[str, Any]
    profile: str
    effort: str
    seed: int
    edition: str
    versions: dict[str, str]
    results: list[Result] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    tightest_profile: str | None = None
    largest_ratio: float = 0.0
    horizon: dict[str, Any] = field(default_factory=dict)
    table_given: bool = False
    calls: int = 0
    distinct_outputs: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def findings(self) -> list[Result]:
        """The clauses that failed or raised."""
        return [r for r in self.results if r.verdict in ("failed", "error")]

    @property
    def doubts(self) -> list[str]:
        """Why a run without failures is still not enough evidence."""
        refusals = {r.reason for r in self.results if r.verdict == "unsupported"}
        if len(refusals) == 1 and all(r.verdict == "unsupported" for r in self.results):
            return [f"the implementation does not support what was asked: {refusals.pop()}"]
        doubts = [
            f"{r.clause} was not run: {r.reason}" for r in self.results if r.verdict == "not run"
        ]
        if self.interrupted:
            doubts.append("the run was interrupted")
        if self.calls == 0:
            doubts.append("the implementation was never called")
        elif self.distinct_outputs < 2:
            doubts.append("the implementation's output never changed")
        if not any(r.verdict == "passed" for r in self.results):
            doubts.append("no clause passed")
        return doubts

    @property
    def passed(self) -> bool:
        """Whether the implementation is conformant to what it claims."""
        return not self.findings and not self.doubts

    @property
    def fault(self) -> Fault | None:
        """The class of the fault that is likeliest, over all failures; None without one.

        A failure whose cause was found speaks first, then one of a clause about a single
        property, then one of the clauses about numbers, which many faults break.
        """
        failures = [r.failure for r in self.findings if r.failure is not None]
        told = [f for f in failures if f.cause is not None]
        structural = [f for f in failures if f.spot is None]
        return next((f.fault for f in (*told, *structural, *failures)), None)

    def counts(self) -> dict[str, int]:
        """How many clauses got each verdict."""
        found = Counter(r.verdict for r in self.results)
        order: tuple[Verdict, ...] = (
            "passed", "failed", "error", "not run", "unsupported", "not claimed",
        )  # fmt: skip
        return {verdict: found.get(verdict, 0) for verdict in order}

    @property
    def inputs(self) -> int:
        """How many inputs were tried, over all checks."""
        return sum(r.inputs for r in self.results)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, by the JSON Schema that ships with the package."""
        data = {
            "schema": SCHEMA,
            "passed": self.passed,
            "fault": self.fault,
            "doubts": self.doubts,
            "counts": self.counts(),
            "inputs": self.inputs,
            **asdict(self),
        }
        plain: dict[str, Any] = _plain(data)
        return plain

    def to_json(self, *, indent: int | None = 2) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    """Plain data for JSON: tuples as lists, infinities and NaN as strings."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value

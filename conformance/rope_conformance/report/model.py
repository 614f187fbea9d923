"""The outcome of a run: what was judged, by which inputs, with which verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

from rope_conformance.faults import Fault
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = [
    "BROKEN",
    "SCHEMA",
    "Fact",
    "Failure",
    "JudgedAs",
    "Report",
    "ReportError",
    "Result",
    "Verdict",
    "cause_in_words",
    "likeliest_fault",
    "plain_data",
]

SCHEMA = "rope-ref-report-2"  # the version of report.schema.json

BROKEN = ("failed", "error")  # the verdicts of a clause that does not hold

Verdict = Literal["passed", "failed", "error", "not claimed", "unsupported", "not run", "waived"]


class ReportError(ValueError):
    """Data that is no report of this version."""


@dataclass(frozen=True)
class Failure:
    """How a clause was broken.

    Parameters
    ----------
    message
        What is wrong, in words.
    case
        The smallest failing input found, as Python that rebuilds it.
    fault
        Its class: one of `rope_conformance.faults.FAULTS`.
    spot
        The first bad pair, as the fields of `rope_conformance.judging.failures.Spot`; None if
        no outputs were compared.
    cause
        The likely cause, if one explains what was seen.
    evidence
        What speaks for that cause.
    reproduce
        A command that shows this failure again, if the run has a command.
    """

    message: str
    case: str
    fault: Fault
    spot: dict[str, Any] | None = None
    cause: str | None = None
    evidence: str | None = None
    reproduce: str | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Failure:
        """The failure that plain data describes."""
        spot = data["spot"]
        if spot is not None:
            spot = spot | {key: float(spot[key]) for key in ("got", "want", "ratio")}
        return cls(**{**data, "spot": spot})


@dataclass(frozen=True)
class Result:
    """The verdict on one clause for one type of data.

    Parameters
    ----------
    clause, sentence
        The id of the clause, and what it demands.
    dtype
        The type of the data.
    verdict
        ``passed``; ``failed``: the clause is broken, or a waiver is not needed; ``error``: the
        implementation raised, hung or ended its process; ``waived``: one of these, forgiven
        for a while; ``not claimed``; ``unsupported``; ``not run``.
    reason
        Why it is not claimed, unsupported, not run or waived, or that its waiver is not
        needed; empty otherwise.
    inputs, calls
        How many inputs the check saw, and how often it called the implementation.
    samples, decisive
        How many pairs it compared with the reference, and at how many of them the bound is
        small enough to tell right from wrong.
    notes
        Remarks beside the verdict.
    failure
        For ``failed``, ``error`` and ``waived``; None if a waiver is not needed.
    seconds
        How long the check took.
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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """The result that plain data describes."""
        failure = data["failure"] and Failure.from_dict(data["failure"])
        return cls(**{**data, "notes": tuple(data["notes"]), "failure": failure})


@dataclass(frozen=True)
class Fact:
    """Something found that is no verdict, such as the layout, or what happens beyond the claim.

    Parameters
    ----------
    what
        What it is about.
    text
        What was found.
    warn
        Whether it may surprise the user.
    """

    what: str
    text: str
    warn: bool = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fact:
        """The fact that plain data describes."""
        return cls(**data)


@dataclass(frozen=True)
class JudgedAs:
    """What a target is judged as, and what was found out for that.

    Parameters
    ----------
    words
        The spec in words, and whether the map is declared to be no rotation.
    claim
        What it is taken to claim.
    facts
        What was found by trying.
    spec
        The RoPE it should be; None if the spec is kept by another process.
    """

    words: str
    claim: Claim
    facts: tuple[Fact, ...]
    spec: RopeSpec | None = None


@dataclass
class Report:
    """The outcome of a run on one implementation.

    Attributes
    ----------
    target
        What was judged, by name.
    spec, claim
        What it was judged as: the fields of its `RopeSpec` and of its `Claim`.
    profile
        The accuracy claimed for its first dtype, by name.
    effort, seed
        How many inputs were generated, and from which seed.
    edition
        The edition of the specification.
    versions
        Of rope-ref, NumPy and Python.
    results
        One for each clause, dtype and device.
    facts
        What was found beside the verdicts.
    tightest_profile
        The tightest profile that all outputs meet, by name; None if they meet none.
    largest_ratio
        The largest ratio of an error to its bound.
    horizon
        Up to which ``position`` errors stay below ``error``, over a pair's length; ``ends`` is
        False if no larger error was seen.
    table_given
        Whether the target takes cos and sin from its caller.
    calls, distinct_outputs
        How often it was called, and how many different outputs it returned.
    seconds
        How long the run took.
    interrupted
        Whether the run was interrupted, so that results are missing.
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
        """The results that are failures, without those that are waived."""
        return [r for r in self.results if r.verdict in BROKEN]

    @property
    def waived(self) -> list[Result]:
        """The failures that are forgiven for a while."""
        return [r for r in self.results if r.verdict == "waived"]

    @property
    def doubts(self) -> list[str]:
        """Why a run without failures is not enough evidence; empty if it is."""
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
        if not any(r.verdict in ("passed", "waived") for r in self.results):
            doubts.append("no clause passed")
        return doubts

    @property
    def passed(self) -> bool:
        """Whether it is conformant: every clause it claims ran with enough evidence, none failed.

        Failures that are waived do not count.
        """
        return not self.findings and not self.doubts

    @property
    def fault(self) -> Fault | None:
        """The likeliest class of fault, all failures taken together; None without failures."""
        return likeliest_fault(self.results)

    def counts(self) -> dict[str, int]:
        """How many results have each verdict."""
        found = Counter(r.verdict for r in self.results)
        order: tuple[Verdict, ...] = (
            "passed", "failed", "error", "waived", "not run", "unsupported", "not claimed",
        )  # fmt: skip
        return {verdict: found.get(verdict, 0) for verdict in order}

    @property
    def checks(self) -> int:
        """How many checks ran to a verdict on the implementation."""
        judged = [r for r in self.results if r.verdict in ("passed", "failed", "error", "waived")]
        return sum(r.inputs > 0 or r.failure is not None for r in judged)

    @property
    def inputs(self) -> int:
        """How many inputs were tried, over all checks."""
        return sum(r.inputs for r in self.results)

    @property
    def samples(self) -> int:
        """How many pairs were compared with the reference, over all checks."""
        return sum(r.samples for r in self.results)

    @property
    def not_decisive(self) -> int:
        """At how many of the pairs the bound is too large to tell right from wrong."""
        return self.samples - sum(r.decisive for r in self.results)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, valid by ``report.schema.json`` of this package."""
        data = {
            "schema": SCHEMA,
            "passed": self.passed,
            "fault": self.fault,
            "doubts": self.doubts,
            "counts": self.counts(),
            "checks": self.checks,
            "inputs": self.inputs,
            "samples": self.samples,
            "not_decisive": self.not_decisive,
            **asdict(self),
        }
        result: dict[str, Any] = plain_data(data)
        return result

    def to_json(self, *, indent: int | None = 2) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """The report that plain data describes: the inverse of `to_dict`.

        Raises
        ------
        ReportError
            If the data is of another version of the schema, or has other fields.
        """
        if data.get("schema") != SCHEMA:
            raise ReportError(f"the data is {data.get('schema')!r}, not {SCHEMA!r}")
        try:
            own = {each.name: data[each.name] for each in fields(cls)}
            own["results"] = [Result.from_dict(each) for each in data["results"]]
            own["facts"] = [Fact.from_dict(each) for each in data["facts"]]
            own["largest_ratio"] = float(data["largest_ratio"])
        except (KeyError, TypeError, ValueError) as error:
            raise ReportError(f"the data is no report: {type(error).__name__}: {error}") from None
        return cls(**own)


def likeliest_fault(results: Iterable[Result]) -> Fault | None:
    """Return the likeliest class of fault of the results that failed; None if none did.

    It is that of the first failure whose cause was found; else of the first that is not about
    numbers, since a clause about numbers is broken by many faults; else of the first.
    """
    failures = [r.failure for r in results if r.verdict in BROKEN and r.failure is not None]
    explained = [f for f in failures if f.cause is not None]
    structural = [f for f in failures if f.spot is None]
    return next((f.fault for f in (*explained, *structural, *failures)), None)


def cause_in_words(failure: Failure) -> str:
    """Return the likely cause of a failure and what speaks for it; empty if none was found."""
    cause = failure.cause or ""
    return f"{cause} ({failure.evidence})" if cause and failure.evidence else cause


def plain_data(value: Any) -> Any:
    """Return plain data for JSON: dataclasses as dicts, tuples as lists, inf and NaN as text."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(k): plain_data(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value

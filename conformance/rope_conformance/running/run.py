"""One run in this process: a target made ready, then judged job by job."""

from __future__ import annotations

import importlib.metadata
import itertools
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.statistics import Meter
from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import EDITION, Check
from rope_conformance.judging.context import CheckContext, default_profile, undisturbed
from rope_conformance.report.model import Fact, Report, Result, plain
from rope_conformance.running.discovery import discover_facts, discover_spec, takes_rows
from rope_conformance.running.settling import Settled, settle
from rope_conformance.running.verdict import EFFORTS, run_check
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation, Unsupported, target_name
from rope_ref import RopeSpec

__all__ = ["HORIZON", "How", "Job", "Outcome", "Run", "jobs_of", "prepare", "prepare_as_asked"]

HORIZON = 0.01  # the horizon reported: errors of one hundredth of a pair's length


@dataclass(frozen=True)
class How:
    """How a target is judged; for what see `rope_conformance.check`."""

    effort: str = "default"
    seed: int = 0
    name: str | None = None
    only: tuple[str, ...] | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise ValueError(
                f"effort={self.effort!r} is not known; choose one of {', '.join(EFFORTS)}"
            )
        known = [each.name for each in all_checks()]
        if unknown := set(self.only or ()) - set(known):
            raise ValueError(
                f"there is no clause {sorted(unknown)[0]!r}; the clauses are {', '.join(known)}"
            )

    def checks(self) -> list[Check]:
        """The checks asked for, in the order of the specification."""
        return [each for each in all_checks() if self.only is None or each.name in self.only]


class Job(NamedTuple):
    """One check on one type of data, on one device."""

    device: str
    dtype: str
    check: Check


def jobs_of(claim: Claim, how: How) -> list[Job]:
    """Everything there is to judge, in order."""
    parts = itertools.product(claim.devices, claim.dtypes, how.checks())
    return [Job(*part) for part in parts]


@dataclass
class Outcome:
    """What was found by one job, or about what is not claimed.

    Attributes
    ----------
    result
        The verdict of a job.
    facts
        What was found about what is not claimed.
    found
        The same as far as a check came across it, by name.
    meter
        The errors seen.
    """

    result: Result | None = None
    facts: list[Fact] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        data: dict[str, Any] = plain(
            {"result": self.result, "facts": [asdict(each) for each in self.facts]}
        )
        return data | {"found": self.found, "meter": self.meter.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """The outcome that plain data describes."""
        return cls(
            result=data["result"] and Result.from_dict(data["result"]),
            facts=[Fact.from_dict(each) for each in data["facts"]],
            found=data["found"],
            meter=Meter.from_dict(data["meter"]),
        )


class Run:
    """A target ready to be judged. Made by `prepare`.

    Attributes
    ----------
    report
        Without results yet.
    jobs
        What there is to judge.
    spec, claim
        What the target is judged as.
    """

    def __init__(
        self,
        implementation: Implementation | Unsupported,
        spec: RopeSpec,
        claim: Claim,
        how: How,
        report: Report,
    ) -> None:
        self.spec, self.claim, self.how, self.report = spec, claim, how, report
        self.jobs = jobs_of(claim, how)
        self._implementation = implementation
        self._made: dict[tuple[str, str], Implementation] = {}
        self._outputs: set[int] = set()

    @property
    def calls(self) -> int:
        """How often the target was called."""
        return sum(each.calls for each in self._made.values())

    @property
    def distinct_outputs(self) -> int:
        """How many different results it returned."""
        return len(self._outputs)

    @undisturbed()
    def judge(self, number: int) -> Outcome:
        """Do one job."""
        device, dtype, check = self.jobs[number]
        own = self._implementation
        if isinstance(own, Unsupported):
            clause = check.clause
            return Outcome(Result(clause.id, clause.sentence, dtype, "unsupported", str(own)))
        # What one type of data left in a cache is the affair of one clause, not of all.
        if (device, dtype) not in self._made:
            self._made[device, dtype] = own.remade(self.spec) if self._made else own
        context = CheckContext(self._made[device, dtype], dtype, device=device)
        how = self.how
        result = run_check(check, context, effort=how.effort, seed=how.seed, command=how.command)
        self._outputs |= context.arrays.outputs
        return Outcome(result=result, found=context.evidence.facts, meter=context.evidence.meter)

    @undisturbed()
    def facts(self, found: dict[str, str]) -> Outcome:
        """Try what is not claimed; `found` is what checks came across."""
        assert isinstance(self._implementation, Implementation)
        return Outcome(facts=discover_facts(self._implementation, found, self.how.checks()))

    def remarks(self) -> list[Fact]:
        """What is to be said of the process: nothing, it is this one."""
        return []

    def close(self) -> None:
        """Nothing is to be done in this process."""


def prepare_as_asked(
    target: Any, how: How, asked: Mapping[str, Any], *, trying: bool = True
) -> tuple[Run, Settled]:
    """Make a target ready by what was asked for: keywords of `settle`, which raises as it says."""
    settled = settle(target, name=how.name, trying=trying, **asked)
    run = prepare(target, how, spec=settled.spec, claim=settled.claim)
    run.report.facts[:0] = settled.facts
    return run, settled


@undisturbed()
def prepare(
    target: Any,
    how: How,
    *,
    spec: RopeSpec | None = None,
    axes: str | None = None,
    namespace: str | None = None,
    dtype: str | None = None,
    profile: str | None = None,
    claim: Claim | None = None,
    trying: bool = True,
) -> Run:
    """Settle what a target is judged as, and make it.

    Parameters
    ----------
    target, spec, axes, namespace, dtype, profile, claim
        As for `rope_conformance.check`, which says what is raised.
    how
        How it is judged.
    trying
        Whether it may be called to find out what was not given.
    """
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
        spec, facts = discover_spec(target, full, trying=trying)
    report = _new_report(how.name or target_name(target), spec, full, how)
    report.facts += facts
    try:
        implementation = Implementation(target, spec, full, how.name)
    except Unsupported as refusal:
        return Run(refusal, spec, full, how, report)
    if claim is None and not implementation.claims_itself and trying and takes_rows(implementation):
        implementation.claim = full = replace(full, position_forms=("t", "bt"))
        report.claim = _claim_data(full)
    report.table_given = not implementation.has("apply")
    return Run(implementation, spec, full, how, report)


def _new_report(name: str, spec: RopeSpec, claim: Claim, how: How) -> Report:
    return Report(
        target=name,
        spec=_spec_data(spec),
        claim=_claim_data(claim),
        profile=default_profile(claim, claim.dtypes[0]).name,
        effort=how.effort,
        seed=how.seed,
        edition=EDITION,
        versions=_versions(),
        horizon={"error": HORIZON, "position": None, "ends": False},
    )


def _claim_data(claim: Claim) -> dict[str, Any]:
    data = {k: v for k, v in asdict(claim).items() if k != "accepts"}
    second = claim.second_channels
    return data | {"second_channels": second and _spec_data(second)}


def _spec_data(spec: RopeSpec) -> dict[str, Any]:
    data = {each.name: getattr(spec, each.name) for each in fields(spec)}
    return data | {"frequencies": repr(spec.frequencies)}


def _versions() -> dict[str, str]:
    try:
        own = importlib.metadata.version("rope-ref")
    except importlib.metadata.PackageNotFoundError:
        own = "not installed"
    return {"rope-ref": own, "numpy": np.__version__, "python": platform.python_version()}

"""One run in this process: a target that is made, judged job by job."""

from __future__ import annotations

import importlib.metadata
import itertools
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from rope_conformance.accuracy.statistics import Meter
from rope_conformance.judging.clause import EDITION, Check
from rope_conformance.judging.context import CheckContext, default_profile, undisturbed
from rope_conformance.report.model import Fact, JudgedAs, Report, Result, plain
from rope_conformance.running.discovery import discover_facts
from rope_conformance.running.settings import RunOptions
from rope_conformance.running.verdict import run_check
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_ref import RopeSpec

__all__ = ["HORIZON", "Job", "Outcome", "Run", "jobs_of"]

HORIZON = 0.01  # the horizon reported: errors of one hundredth of a pair's length


class Job(NamedTuple):
    """One check on one type of data, on one device."""

    device: str
    dtype: str
    check: Check


def jobs_of(claim: Claim, options: RunOptions) -> list[Job]:
    """Everything there is to judge, in order."""
    parts = itertools.product(claim.devices, claim.dtypes, options.checks())
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
    """A target ready to be judged.

    Parameters
    ----------
    made, judged_as
        As `rope_conformance.running.settling.settle` returns them.
    options
        How the run goes.
    name
        What the report calls the target.

    Attributes
    ----------
    report
        Without results yet.
    jobs
        What there is to judge.
    """

    def __init__(
        self,
        made: Implementation | Unsupported,
        judged_as: JudgedAs,
        options: RunOptions,
        name: str,
    ) -> None:
        assert judged_as.spec is not None
        self.judged_as, self.options, self._spec = judged_as, options, judged_as.spec
        self.report = _new_report(name, judged_as.spec, judged_as.claim, options)
        self.report.facts += judged_as.facts
        self.report.table_given = isinstance(made, Implementation) and not made.has("apply")
        self.jobs = jobs_of(judged_as.claim, options)
        self._implementation = made
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
            self._made[device, dtype] = own.remade(self._spec) if self._made else own
        context = CheckContext(self._made[device, dtype], dtype, device=device)
        options = self.options
        result = run_check(
            check, context, effort=options.effort, seed=options.seed, command=options.command
        )
        self._outputs |= context.arrays.outputs
        return Outcome(result=result, found=context.evidence.facts, meter=context.evidence.meter)

    @undisturbed()
    def facts(self, found: dict[str, str]) -> Outcome:
        """Try what is not claimed; `found` is what checks came across."""
        assert isinstance(self._implementation, Implementation)
        return Outcome(facts=discover_facts(self._implementation, found, self.options.checks()))

    def remarks(self) -> list[Fact]:
        """What is to be said of the process: nothing, it is this one."""
        return []

    def close(self) -> None:
        """Nothing is to be done in this process."""


def _new_report(name: str, spec: RopeSpec, claim: Claim, options: RunOptions) -> Report:
    return Report(
        target=name,
        spec=_spec_data(spec),
        claim=_claim_data(claim),
        profile=default_profile(claim, claim.dtypes[0]).name,
        effort=options.effort,
        seed=options.seed,
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

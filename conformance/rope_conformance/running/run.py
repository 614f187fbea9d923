"""A run in this process: judges a target job by job, a job being one check on one dtype."""

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
from rope_conformance.report.model import Fact, JudgedAs, Report, Result, plain_data
from rope_conformance.running.settings import RunOptions
from rope_conformance.running.unclaimed import discover_facts
from rope_conformance.running.verdict import run_check
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_ref import RopeSpec

__all__ = ["HORIZON", "Job", "Outcome", "Run", "jobs_of"]

HORIZON = 0.01  # errors, over a pair's length, stay below this up to the horizon of a report


class Job(NamedTuple):
    """One check on one type of data, on one device."""

    device: str
    dtype: str
    check: Check


def jobs_of(claim: Claim, options: RunOptions) -> list[Job]:
    """Return every job that a claim and the options of a run ask for, in order."""
    parts = itertools.product(claim.devices, claim.dtypes, options.checks())
    return [Job(*part) for part in parts]


@dataclass
class Outcome:
    """What one job found, or what trying what is not claimed found.

    Parameters
    ----------
    result
        The verdict of a job; None where there was none.
    facts
        What was found about what is not claimed.
    found
        What the check of the job came across about that: what it is about, and what was found.
    meter
        The errors seen.
    """

    result: Result | None = None
    facts: list[Fact] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data."""
        data: dict[str, Any] = plain_data(
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
    """A target that is ready to be judged.

    Parameters
    ----------
    made, judged_as
        As `rope_conformance.running.settling.settle` returns them.
    options
        How the run is done.
    name
        What the report calls the target.

    Attributes
    ----------
    report
        A report without results.
    jobs
        What there is to judge.
    judged_as
        What the target is judged as.
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
        """Do the job of this number."""
        device, dtype, check = self.jobs[number]
        own = self._implementation
        if isinstance(own, Unsupported):
            clause = check.clause
            return Outcome(Result(clause.id, clause.sentence, dtype, "unsupported", str(own)))
        # A target made anew for each dtype: a cache that mixes dtypes breaks the clause about
        # that, and no other.
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
        """Try what is not claimed; `found` is what the checks came across about it."""
        assert isinstance(self._implementation, Implementation)
        return Outcome(facts=discover_facts(self._implementation, found, self.options.checks()))

    def remarks(self) -> list[Fact]:
        """Facts about the process: none, it is this one."""
        return []

    def close(self) -> None:
        """Do nothing: this process has nothing to end."""


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

"""What is asked: how a run goes, and what its target should be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import Check
from rope_conformance.report.model import Result
from rope_conformance.running.child_process import MEMORY, TIMEOUT, Limits
from rope_conformance.running.verdict import EFFORTS
from rope_conformance.running.waivers import Waivers
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = ["OptionError", "Progress", "RunOptions", "TargetOptions", "command_line"]

Progress = Callable[[Result], None]


class OptionError(ValueError):
    """An option whose value cannot be used."""


@dataclass(frozen=True)
class RunOptions:
    """How a run goes, whatever it judges.

    Parameters
    ----------
    effort
        ``quick``, ``default`` or ``thorough``: how many inputs are generated.
    seed
        Of the generated inputs. The same seed gives the same verdict.
    only
        Ids of the clauses to judge; all if left out.
    name
        What the report calls the target.
    command
        How the run was started, for the commands that reproduce a failure.
    waivers
        Failures that are forgiven for a while: the path of a TOML file, or a list of
        `Waiver`.
    progress
        Called with each result as it is found.
    isolate
        Whether the target gets a process of its own, so that the run outlives whatever it
        does: a new Python for a target that is named, a fork of this process for another.
    timeout, memory
        Of an isolated target: how many seconds one call may take, and by how many bytes
        its process may grow.

    Raises
    ------
    ValueError
        If there is no such effort or clause, or a limit is not positive.
    """

    effort: str = "default"
    seed: int = 0
    only: Iterable[str] | None = None
    name: str | None = None
    command: str | None = None
    waivers: Waivers = None
    progress: Progress | None = None
    isolate: bool = False
    timeout: float = TIMEOUT
    memory: int = MEMORY

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise ValueError(
                f"effort={self.effort!r} is not known; choose one of {', '.join(EFFORTS)}"
            )
        only = None if self.only is None else tuple(self.only)
        known = [each.name for each in all_checks()]
        if unknown := set(only or ()) - set(known):
            raise ValueError(
                f"there is no clause {sorted(unknown)[0]!r}; the clauses are {', '.join(known)}"
            )
        object.__setattr__(self, "only", only)
        _ = self.limits  # refuses what is no limit

    @property
    def limits(self) -> Limits:
        """What the process of an isolated target may do."""
        return Limits(self.timeout, self.memory)

    def checks(self) -> list[Check]:
        """The checks asked for, in the order of the specification."""
        only = self.only
        return [each for each in all_checks() if only is None or each.name in only]


@dataclass(frozen=True)
class TargetOptions:
    """What a target should be, as far as it is asked for: None leaves it to the target.

    Parameters
    ----------
    spec, claim
        All of the RoPE it should be, and all of what it is taken to claim.
    layout, output_layout, head_dim, rotary_dim, rotary_start, base, direction
        Parts of the spec.
    axes, positions, position_range, real, namespace, dtype, device, profile
        Parts of the claim, as texts; several values are separated by commas.
    config, layer_type, length
        A model's configuration file, in place of the target's own ``spec``; which of its
        layers, and the length of text, where the RoPE depends on them.
    """

    spec: RopeSpec | None = None
    claim: Claim | None = None
    layout: str | None = None
    output_layout: str | None = None
    head_dim: int | None = None
    rotary_dim: int | None = None
    rotary_start: int | None = None
    base: float | None = None
    direction: int | None = None
    axes: str | None = None
    positions: str | None = None
    position_range: str | None = None
    real: bool = False
    namespace: str | None = None
    dtype: str | None = None
    device: str | None = None
    profile: str | None = None
    config: str | None = None
    layer_type: str | None = None
    length: int | None = None


def command_line(target: str, given: Mapping[str, Any]) -> str:
    """Return the command that judges a target with the options given."""
    words = ["rope-ref", "check", target]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            # With "=", a value may begin with a minus.
            words.append(f"{option}={value}")
    return shlex.join(words)

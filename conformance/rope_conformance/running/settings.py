"""The options of a run, and those that say what its target should be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import Check
from rope_conformance.report.model import Result
from rope_conformance.running.child_process import MEMORY, TIMEOUT, Limits
from rope_conformance.running.waivers import Waivers
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = ["EFFORTS", "OptionError", "Progress", "RunOptions", "TargetOptions", "command_line"]

EFFORTS = {"quick": 10, "default": 40, "thorough": 400}  # generated inputs per check

Progress = Callable[[Result], None]


class OptionError(ValueError):
    """An option whose value cannot be used."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is done, whatever it judges.

    Parameters
    ----------
    effort
        How many inputs are generated for each check, beside the fixed ones: ``quick`` 10,
        ``default`` 40, ``thorough`` 400.
    seed
        Seed of the generated inputs. The same seed gives the same verdict.
    only
        Ids of the clauses to judge; None: all.
    name
        What the report calls the target; None: the text that names it, or its ``__name__``.
    command
        The command line that started the run. With it, each failure has a command that
        reproduces it.
    waivers
        Known failures that are forgiven for a while: the path of a TOML file, or a list of
        `Waiver` or of mappings with its fields.
    progress
        Called with each `Result` as soon as it is found.
    isolate
        Whether the target runs in a process of its own, so that it may hang, crash or exit
        and the run goes on. A target given as text is loaded by a new Python; any other
        object is used in a fork of this process, which works with NumPy arrays only.
    timeout
        With `isolate`: how many seconds one call may take.
    memory
        With `isolate`: by how many bytes the process may grow once the target is loaded.

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
        _ = self.limits  # raises if one is not positive

    @property
    def limits(self) -> Limits:
        """What the process of an isolated target may use."""
        return Limits(self.timeout, self.memory)

    def checks(self) -> list[Check]:
        """The checks asked for, in the order of the specification."""
        only = self.only
        return [each for each in all_checks() if only is None or each.name in only]


@dataclass(frozen=True)
class TargetOptions:
    """What a target should be.

    None leaves a part to the target's own ``spec`` and ``claim``, then to what trying it
    shows, then to the default.

    Parameters
    ----------
    spec
        The whole RoPE it should be.
    claim
        The whole of what it claims.
    layout, output_layout, head_dim, rotary_dim, rotary_start, direction
        Fields of the spec, as in `RopeSpec`.
    base
        The base of a power law.
    axes, namespace, profile
        Fields of the claim, as in `Claim`.
    positions
        The claimed position forms, separated by commas: ``t``, ``bt``, ``offset``, ``none``.
    position_range
        The smallest and the largest position, as in ``0:4095``.
    real
        Whether positions may be fractions.
    dtype, device
        The claimed dtypes and devices, separated by commas.
    config
        Path of a model's ``config.json`` or GGUF file, from which the spec is read instead of
        from the target.
    layer_type
        Which layers of the config, where they differ.
    length
        The length of text, where the scaling of the config depends on it.
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
    """Return the command line that judges a target with these options of ``rope-ref check``."""
    words = ["rope-ref", "check", target]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            # With "=", a value may begin with a minus.
            words.append(f"{option}={value}")
    return shlex.join(words)

"""Clauses, their checks, and the wrong implementations that prove them.

A clause is one normative sentence with a stable id. A check tries to falsify it on one
implementation. A check is worth what it kills: the registry refuses a clause without a
check, and a check that names no wrong implementation it catches.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rope_conformance.faults import FAULTS, Fault
from rope_conformance.implementation import EITHER, SURFACES
from rope_conformance.inputs import Input

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from rope_conformance.trial import Trial

__all__ = ["EITHER", "Check", "Clause", "RegistryError", "all_checks", "all_clauses"]

EDITION = "2026.1"

Given = TypeVar("Given", bound=Input)  # the kind of input a check is made for


class RegistryError(Exception):
    """A clause or check that the registry refuses."""


@dataclass(frozen=True)
class Clause:
    """One normative sentence.

    Parameters
    ----------
    id
        Stable, ``family.name``.
    sentence
        What must hold.
    formula
        The same in TeX.
    reference
        Where `rope_ref` says it: ``module:function``.
    fault
        The class of its failures, where nothing that was seen says it better.
    surface
        What an implementation must offer to be judged by it.
    opened_by
        Given a trial, None if the claim opens the clause, else what the claim lacks.
    any_map
        Whether it holds for maps too that are declared to be no rotations.
    """

    id: str
    sentence: str
    formula: str
    reference: str
    fault: Fault
    surface: str = "apply"
    opened_by: Callable[[Trial], str | None] = field(default=lambda trial: None)
    any_map: bool = False

    def check(
        self,
        *,
        kills: Iterable[str],
        fixed: Callable[[Trial], Sequence[Given]] | None = None,
        generated: Callable[[Trial], SearchStrategy[Given]] | None = None,
        minimum: int = 1,
        numeric: bool = False,
    ) -> Callable[[Callable[[Trial, Given], None]], Check]:
        """Decorate the function that tries to falsify this clause.

        Parameters
        ----------
        kills
            Names of wrong implementations that it catches.
        fixed, generated
            The inputs it must see, and a strategy for more.
        minimum
            How much evidence a pass needs: decisive samples if `numeric`, else inputs.
        numeric
            Whether it is judged by the bound.
        """

        def decorate(function: Callable[[Trial, Given], None]) -> Check:
            check = Check(
                clause=self,
                body=function,
                kills=tuple(kills),
                fixed=fixed,
                generated=generated,
                minimum=minimum,
                numeric=numeric,
            )
            _register(check)
            return check

        return decorate


@dataclass(frozen=True)
class Check:
    """Code that tries to falsify one clause. Made by `Clause.check`."""

    clause: Clause
    body: Callable[[Trial, Any], None]
    kills: tuple[str, ...]
    fixed: Callable[[Trial], Sequence[Input]] | None
    generated: Callable[[Trial], SearchStrategy[Any]] | None
    minimum: int
    numeric: bool

    def fixed_inputs(self, trial: Trial) -> list[Input]:
        """The fixed inputs that the claim of what is under test allows."""
        made = self.fixed(trial) if self.fixed else []
        return [case for case in made if case.inside(trial.claim)]

    @property
    def name(self) -> str:
        """Unique name of the check: the clause it is about."""
        return self.clause.id

    def __call__(self, implementation: Any, **options: Any) -> None:
        """Judge an implementation by this check alone; raises if it fails.

        The form `parametrize_with_checks` hands to a test.
        """
        from rope_conformance.testing import assert_check

        __tracebackhide__ = True
        assert_check(self, implementation, **options)


_CHECKS: dict[str, Check] = {}


def _register(check: Check) -> None:
    clause = check.clause
    if clause.id in _CHECKS:
        raise RegistryError(f"clause {clause.id!r} has a check already")
    if not check.kills:
        raise RegistryError(
            f"check of {clause.id!r} names no wrong implementation that it catches; a check is "
            "worth what it kills"
        )
    if check.fixed is None and check.generated is None:
        raise RegistryError(f"check of {clause.id!r} has neither fixed nor generated inputs")
    if clause.fault not in FAULTS:
        raise RegistryError(f"clause {clause.id!r}: there is no class of faults {clause.fault!r}")
    if clause.surface not in SURFACES:
        raise RegistryError(f"clause {clause.id!r}: there is no surface {clause.surface!r}")
    _CHECKS[clause.id] = check


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order of the specification.

    Raises
    ------
    RegistryError
        If a clause has no check, or a check names a wrong implementation that does not exist.
    """
    from rope_conformance import clauses
    from rope_conformance.wrong import WRONG

    declared: list[Clause] = []
    for family in clauses.FAMILIES:
        module = importlib.import_module(f"rope_conformance.clauses.{family}")
        declared += [v for v in vars(module).values() if isinstance(v, Clause)]
    found = {m.name for m in pkgutil.iter_modules(clauses.__path__)}
    if missing := {f for f in found if not f.startswith("_")} ^ set(clauses.FAMILIES):
        raise RegistryError(f"clauses.FAMILIES and the files in clauses/ differ: {sorted(missing)}")
    if idle := [clause.id for clause in declared if clause.id not in _CHECKS]:
        raise RegistryError(f"clauses without a check: {', '.join(idle)}")
    checks = tuple(_CHECKS[clause.id] for clause in declared)
    if unknown := [(c.name, kill) for c in checks for kill in c.kills if kill not in WRONG]:
        raise RegistryError(f"wrong implementations that do not exist: {unknown}")
    return checks


def all_clauses() -> tuple[Clause, ...]:
    """Return every clause, in the order of the specification."""
    return tuple(check.clause for check in all_checks())

"""A clause of the specification, and the check that tries to falsify it.

A clause is one normative sentence with a stable id. The decorator `clause` turns a function into
the check of a clause, so that sentence, formula, inputs and code stand together. Which wrong
RoPEs a check must catch is stated by the zoo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rope_conformance.faults import FAULTS, Fault
from rope_conformance.inputs.cases import Input
from rope_conformance.target.implementation import EITHER, SURFACES

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from rope_conformance.judging.context import CheckContext

__all__ = ["EDITION", "EITHER", "Check", "Clause", "RegistryError", "clause", "registered"]

EDITION = "2026.1"

InputT = TypeVar("InputT", bound=Input)  # the kind of input a check is made for


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
        The public names of `rope_ref` that define it: ``module:function``.
    fault
        The class of its failures, unless what is found names a more exact one.
    surface
        What an implementation must offer to be judged by it.
    opened_by
        Given a context, None if the claim opens the clause, else the reason why not.
    any_map
        Whether it also holds for a map that is declared to be no rotation.
    """

    id: str
    sentence: str
    formula: str
    reference: str
    fault: Fault
    surface: str
    opened_by: Callable[[CheckContext], str | None]
    any_map: bool


@dataclass(frozen=True)
class Check:
    """Code that tries to falsify one clause. Made by `clause`.

    Parameters
    ----------
    clause
        What it tries to falsify.
    body
        Called with a context and an input; raises `CheckFailure` if the implementation breaks
        the clause on that input.
    fixed, generated
        Given a context, the inputs that are always tried, and a Hypothesis strategy for more.
    minimum
        How much evidence a pass needs: decisive samples if `numeric`, else inputs.
    numeric
        Whether outputs are compared with the reference, within the bound of the profile.
    """

    clause: Clause
    body: Callable[[CheckContext, Any], None]
    fixed: Callable[[CheckContext], Sequence[Input]] | None
    generated: Callable[[CheckContext], SearchStrategy[Any]] | None
    minimum: int
    numeric: bool

    def fixed_inputs(self, context: CheckContext) -> list[Input]:
        """The fixed inputs that are inside the claim."""
        made = self.fixed(context) if self.fixed else []
        return [case for case in made if case.inside(context.claim)]

    @property
    def name(self) -> str:
        """The id of its clause."""
        return self.clause.id


_CHECKS: dict[str, Check] = {}


def clause(
    *,
    id: str,
    sentence: str,
    formula: str,
    reference: str,
    fault: Fault,
    surface: str = "apply",
    opened_by: Callable[[CheckContext], str | None] = lambda context: None,
    any_map: bool = False,
    fixed: Callable[[CheckContext], Sequence[InputT]] | None = None,
    generated: Callable[[CheckContext], SearchStrategy[InputT]] | None = None,
    minimum: int = 1,
    numeric: bool = False,
) -> Callable[[Callable[[CheckContext, InputT], None]], Check]:
    """Decorate the function that tries to falsify a clause; it becomes the clause's `Check`.

    Parameters
    ----------
    id, sentence, formula, reference, fault, surface, opened_by, any_map
        As of `Clause`.
    fixed, generated, minimum, numeric
        As of `Check`.

    Raises
    ------
    RegistryError
        If the clause has a check already, or no inputs, or names a class of faults or a surface
        that does not exist.
    """
    made = Clause(id, sentence, formula, reference, fault, surface, opened_by, any_map)

    def decorate(function: Callable[[CheckContext, InputT], None]) -> Check:
        check = Check(made, function, fixed, generated, minimum, numeric)
        _register(check)
        return check

    return decorate


def registered() -> tuple[Check, ...]:
    """Return every check, in the order in which the families were imported."""
    return tuple(_CHECKS.values())


def _register(check: Check) -> None:
    clause = check.clause
    if clause.id in _CHECKS:
        raise RegistryError(f"clause {clause.id!r} has a check already")
    if check.fixed is None and check.generated is None:
        raise RegistryError(f"check of {clause.id!r} has neither fixed nor generated inputs")
    if clause.fault not in FAULTS:
        raise RegistryError(f"clause {clause.id!r}: there is no class of faults {clause.fault!r}")
    if clause.surface not in SURFACES:
        raise RegistryError(f"clause {clause.id!r}: there is no surface {clause.surface!r}")
    _CHECKS[clause.id] = check

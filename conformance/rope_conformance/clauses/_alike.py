"""Families whose checks all do the same with inputs of their own: a table instead of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rope_conformance.inputs.cases import Input
from rope_conformance.judging.clause import Check, clause
from rope_conformance.judging.context import CheckContext

__all__ = ["alike"]

InputT = TypeVar("InputT", bound=Input)


def alike(
    body: Callable[[CheckContext, InputT], None], module: str, **shared: Any
) -> Callable[..., Check]:
    """Return a function that enters one row of the table: a clause whose check does `body`.

    Parameters
    ----------
    body
        What the checks of all rows do.
    module
        Name of the module of the family.
    shared
        Arguments of `clause` that all rows have in common; a row may say otherwise.

    Returns
    -------
    row
        Takes the other arguments of `clause`, and `how`: in a sentence, what the check does.
    """

    def row(*, how: str, **own: Any) -> Check:
        def check(context: CheckContext, case: InputT) -> None:
            body(context, case)

        check.__doc__, check.__module__ = how, module
        return clause(**{**shared, **own})(check)

    return row

"""The specification: its clauses and their checks, a family a file, each clause one block."""

from __future__ import annotations

import importlib
import pkgutil

from rope_conformance.judging.clause import Check, Clause, RegistryError, registered

__all__ = ["FAMILIES", "all_checks", "all_clauses"]

# In the order of the specification, which is also the order of a run: what can be told
# quickly and in words comes first.
FAMILIES = (
    "pairing",
    "frequency",
    "scaling",
    "table",
    "tables",
    "rotation",
    "score",
    "passthrough",
    "axes",
    "channels",
    "independence",
    "data",
    "attention",
    "gradient",
    "logits",
    "decode",
    "growth",
    "positions",
    "segments",
    "weights",
    "config",
    "objects",
)


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order of the specification.

    Raises
    ------
    RegistryError
        If a file of clauses is not among the families, or a family has no file.
    """
    found = {module.name for module in pkgutil.iter_modules(__path__)}
    if wrong := {name for name in found if not name.startswith("_")} ^ set(FAMILIES):
        raise RegistryError(f"clauses.FAMILIES and the files in clauses/ differ: {sorted(wrong)}")
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    order = {family: number for number, family in enumerate(FAMILIES)}
    # Whichever family was imported first; within a family the order of its file is kept.
    return tuple(sorted(registered(), key=lambda check: order[check.name.partition(".")[0]]))


def all_clauses() -> tuple[Clause, ...]:
    """Return every clause, in the order of the specification."""
    return tuple(check.clause for check in all_checks())

"""The kill matrix: every wrong implementation against every check.

For each wrong implementation it says which checks catch it, the class found beside the
class it has, and the first input that sufficed: its largest position, its shape, and how
many calls had been made by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rope_conformance.clauses import all_checks
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.judging.clause import EDITION
from rope_conformance.judging.context import CheckContext, undisturbed
from rope_conformance.report.model import BROKEN, Result, likeliest_fault
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo.member import WRONG, Member

__all__ = ["kill_matrix", "row"]


def kill_matrix(names: Iterable[str]) -> dict[str, Any]:
    """Judge wrong implementations by every check, with the fewest inputs: effort quick.

    Parameters
    ----------
    names
        Of the wrong implementations.

    Returns
    -------
    matrix
        Plain data: ``edition``, and ``wrong``, a `row` for each name.
    """
    return {"edition": EDITION, "wrong": {name: row(WRONG[name]) for name in names}}


@undisturbed()
def row(entry: Member) -> dict[str, Any]:
    """One wrong implementation against every check.

    Returns
    -------
    row
        ``fault``, ``found``, ``formula``, ``caught_by``, ``smallest``.
    """
    results: list[Result] = []
    smallest: dict[str, Any] = {}
    for kind in entry.factory.claim.dtypes:  # type: ignore[attr-defined]
        implementation = Implementation(
            entry.factory,
            entry.factory.spec,  # type: ignore[attr-defined]
            entry.factory.claim,  # type: ignore[attr-defined]
        )
        for each in all_checks():
            context, before = CheckContext(implementation, kind), implementation.calls
            result = run_check(each, context, effort="quick", shrink=False)
            results.append(result)
            if result.failure is not None and context.evidence.calls_to_failure is not None:
                calls = context.evidence.calls_to_failure - before
                found = {"clause": each.name, **_size(result.failure.case), "calls": calls}
                smallest = min(smallest or found, found, key=_order)
    caught = {r.clause: None for r in results if r.verdict in BROKEN}
    failures = [r.failure for r in results if r.failure is not None]
    found_fault = likeliest_fault(results)
    told = next((f for f in failures if f.fault == found_fault), None)
    return {
        "fault": entry.fault,
        "found": found_fault,
        "formula": None if told is None else told.cause or told.message,
        "caught_by": list(caught),
        "smallest": smallest,
    }


def _size(text: str) -> dict[str, Any]:
    """Position and shape of an input."""
    given = rebuild(text)
    if not isinstance(given, Case):
        return {"input": text}
    furthest = max(given.flat(), key=abs, default=0)
    return {"position": furthest, "shape": [given.batch, given.tokens, given.heads]}


def _order(found: dict[str, Any]) -> tuple[Any, ...]:
    """Nearest position first, then fewest tokens, then fewest calls; other inputs last."""
    tokens = 1
    for n in found.get("shape", ()):
        tokens *= n
    other = "position" not in found
    return (other, abs(found.get("position", 0)), tokens, found["calls"], found["clause"])

"""Finds by trying what was not given: head_dim, layout, and whether positions may be (B, T)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rope_conformance.describing.words import layout_in_words
from rope_conformance.identification.conventions import read_map
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.rows import row_cases
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import probe_position
from rope_conformance.report.model import Fact
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation, TargetError, Unsupported
from rope_ref import RopeSpec
from rope_ref.errors import RopeError
from rope_ref.spec import Layout

__all__ = ["discover_spec", "takes_rows"]

# Values of head_dim in the order in which they are tried.
WIDTHS = (128, 64, 256, 96, 80, 48, 32, 16, 8, 6, 4, 2)


def discover_spec(
    target: Any,
    claim: Claim,
    *,
    layout: str | None = None,
    head_dim: int | None = None,
    trying: bool = True,
    **rest: Any,
) -> tuple[RopeSpec, list[Fact]]:
    """Return the spec to judge a target by, and what had to be found for it.

    Parameters
    ----------
    target, claim
        What is under test.
    layout, head_dim
        As in `RopeSpec`; found if None.
    trying
        Whether the target may be called to find them; if not, the spec gets the first of
        `WIDTHS` and the layout half.
    rest
        The other fields of the spec.

    Returns
    -------
    spec
        The spec.
    facts
        What was found: nothing that was given.
    """
    facts: list[Fact] = []
    if head_dim is None:
        head_dim, reason = _width(target, claim, layout, rest) if trying else (WIDTHS[0], "")
        if head_dim != WIDTHS[0]:
            facts.append(Fact("head_dim", f"{head_dim}: at {WIDTHS[0]} it {reason}"))
    if layout is not None:
        return RopeSpec(head_dim, layout=layout, **rest), facts  # type: ignore[arg-type]
    spec = RopeSpec(head_dim, layout="half", **rest)
    found = _layouts(target, claim, spec) if trying else []
    if not found:
        facts.append(Fact("layout", "could not be read; judged as half", warn=True))
        return spec, facts
    read, written = found[0]
    spec = replace(spec, layout=read, output_layout=written)
    words = layout_in_words(read, spec)
    odd = written != read
    if odd:
        words += (
            f", written {layout_in_words(written, spec)}: pairs come out in another layout than "
            "they went in; judged as if that were meant, if it is not it is a fault"
        )
    return spec, [*facts, Fact("layout", words, warn=odd)]


def _layouts(target: Any, claim: Claim, spec: RopeSpec) -> list[tuple[Layout, Layout]]:
    """The layouts read and written that fit what a target does; none if it fits no layout."""
    try:
        context = CheckContext(Implementation(target, spec, claim), claim.dtypes[0])
        position = probe_position(context)
        return read_map(context, position).layouts(spec, position) if position else []
    except (CheckFailure, TargetRaised, TargetError, Unsupported):
        return []


def _width(target: Any, claim: Claim, layout: str | None, rest: dict[str, Any]) -> tuple[int, str]:
    """The first width that the target takes, and why it did not take the first that was tried."""
    reason = ""
    for width in WIDTHS:
        try:
            spec = RopeSpec(width, layout=layout or "half", **rest)  # type: ignore[arg-type]
            context = CheckContext(Implementation(target, spec, claim), claim.dtypes[0])
            case = Case(1, 1, 1, (probe_position(context),))
            context.arrays.apply(context.x(case), context.positions(case))
        except RopeError:
            continue
        except (TargetRaised, Unsupported) as error:
            reason = reason or str(error)
        except CheckFailure:  # it takes the width, and what it returns is wrong
            return width, reason
        else:
            return width, reason
    return WIDTHS[0], ""


def takes_rows(implementation: Implementation) -> bool:
    """Return whether a plain callable takes positions (B, T).

    It does if the result has the right shape for each shape that rows are judged in. It is then
    judged by their values: a caller could not know that the numbers are wrong.
    """
    if "b" not in implementation.claim.axes or "t" not in implementation.claim.position_forms:
        return False
    context = CheckContext(implementation, implementation.claim.dtypes[0])
    widened = replace(implementation.claim, position_forms=("t", "bt"))
    cases = {
        (each.batch, each.tokens): each for each in row_cases(context.claim) if each.inside(widened)
    }
    try:
        for case in cases.values():
            context.arrays.apply(context.x(case), context.positions(case))
    except (CheckFailure, TargetRaised):
        return False
    return bool(cases)

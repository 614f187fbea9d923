"""Questions that a check or a diagnosis asks on the side: their answer is no verdict."""

from __future__ import annotations

from collections.abc import Callable

from rope_conformance.accuracy.residual import judge
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.target.frameworks import Array

__all__ = ["DISTINCT", "is_right", "passes", "within_bound"]

# The numbers of rows, tokens and heads differ: no axis can be taken for another.
DISTINCT = Case(2, 4, 3, (3, 1, 0, 2), seed=5)


def passes(demand: Callable[[], object]) -> bool:
    """Whether a demand on the implementation is met: it raises neither failure nor error.

    Parameters
    ----------
    demand
        Raises `CheckFailure` where it is not met, or `TargetRaised`.
    """
    try:
        demand()
    except (CheckFailure, TargetRaised):
        return False
    return True


def is_right(context: CheckContext, case: Case) -> bool:
    """Whether an input, cut to the claimed axes, is claimed and rotated within the bound.

    The evidence counts in `context`: pass one beside it where it must not.
    """
    case = context.cut(case)
    if not case.inside(context.claim):
        return False
    x, positions = context.x(case), context.positions(case)
    try:
        y = context.arrays.apply(x, positions, strided=case.strided)
    except (CheckFailure, TargetRaised):
        return False
    return bool((context.judge(y, x, positions).ratio <= 1).all())


def within_bound(context: CheckContext, y: Array, x: Array, positions: Array) -> bool:
    """Whether y, which is at hand, is x rotated within the bound; nothing is called or counted."""
    ratio = judge(y, x, positions, context.spec, context.dtype, context.profile).ratio
    return bool((ratio <= 1).all())

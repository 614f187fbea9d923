"""What several families ask of a claim: None where it opens a clause, else what it lacks."""

from __future__ import annotations

from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.claim import Claim
from rope_conformance.target.rule_parts import base_below

__all__ = ["claims_rows", "factory_only", "made_anew", "other_widths", "start_anywhere"]


def claims_rows(claim: Claim) -> bool:
    """Whether each row of a batch may have positions of its own."""
    return "bt" in claim.position_forms and "b" in claim.axes


def start_anywhere(context: CheckContext) -> str | None:
    """Opens a clause for calls whose positions can begin anywhere."""
    if free_positions(context.claim) or "offset" in context.claim.position_forms:
        return None
    return "needs positions that can start anywhere"


def made_anew(context: CheckContext) -> str | None:
    """Opens a clause for targets that can be made again."""
    if context.implementation.is_factory:
        return None
    return "a plain callable is judged for one spec; a factory is made for several"


def factory_only(context: CheckContext) -> str | None:
    """Opens a clause for targets that can be made for another base."""
    if reason := made_anew(context):
        return reason
    if base_below(context.spec.frequencies) is None:
        return "given frequencies fix the width"
    return None


def other_widths(context: CheckContext) -> str | None:
    """Opens a clause for targets that can be made for another width."""
    if context.spec.pair_axes is not None:
        return "pair_axes, one axis for each pair, fix the width"
    return factory_only(context)

"""Says what is probably wrong: the one fault that explains everything that was seen.

The pair (1, 0) is put into every pair at a few dozen positions, so that each comes out
as its cos and sin. Each suspect is a RoPE with one thing wrong, of the kinds that public
trackers report. A suspect is named if it predicts all that was seen, and the right RoPE does
not. Where the implementation is right at these positions, the input that failed is varied:
fewer rows, heads or tokens, smaller data, a new object. A cause is a hint; the verdict never
depends on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rope_conformance.diagnosis.amplitude_causes import wrong_rest
from rope_conformance.diagnosis.axis_causes import axis_searches, with_equal_axes
from rope_conformance.diagnosis.channel_causes import channel_cause
from rope_conformance.diagnosis.extent_causes import too_few_digits, wrong_from_somewhere
from rope_conformance.diagnosis.number_causes import wrong_numbers, wrong_when_near
from rope_conformance.diagnosis.pair_causes import wrong_pairs, wrong_second_channel
from rope_conformance.diagnosis.scaling_causes import scaling_suspects
from rope_conformance.diagnosis.shape_causes import (
    wrong_alone,
    wrong_axes,
    wrong_order,
    wrong_place,
    wrong_size,
    wrong_together,
)
from rope_conformance.faults import Cause
from rope_conformance.inputs.cases import Case, Input
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.questions import DISTINCT, is_right
from rope_ref.scaling import ScaledRule

__all__ = ["likely_cause"]

Search = Callable[[], Cause | None]


# What wrong implementations return may hold zeros, infinities and NaN anywhere.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def likely_cause(context: CheckContext, case: Input, surface: str) -> Cause | None:
    """Return the likeliest cause of a failure, or None if no suspect fits.

    Parameters
    ----------
    context
        Of the check that failed; the implementation is called a few times more.
    case
        The input that it failed on.
    surface
        That its clause is about.
    """
    probe = _probe(context)
    if (second := context.claim.second_channels) is not None:
        return _first([lambda: channel_cause(probe, second)])
    if context.spec.pair_axes is not None:
        used = [lambda: _wrong_once_used(context, case)] if isinstance(case, Case) else []
        equal = with_equal_axes(probe)
        return _first(
            [*used, *axis_searches(probe, surface), lambda: likely_cause(equal, case, surface)]
        )
    if surface in ("table", "theta"):
        return _first([lambda: wrong_numbers(probe, surface)])
    of_the_scaling: list[Search] = [
        lambda: wrong_numbers(probe, among=scaling_suspects),
        lambda: wrong_rest(probe),
        lambda: wrong_when_near(probe),
    ]
    searches: list[Search] = [
        lambda: wrong_alone(probe),
        *(of_the_scaling if isinstance(context.spec.frequencies, ScaledRule) else ()),
        lambda: wrong_order(probe),
        lambda: wrong_pairs(probe),
        lambda: wrong_axes(probe, DISTINCT),
        lambda: wrong_numbers(probe),
        lambda: wrong_second_channel(probe),
    ]
    if isinstance(case, Case):
        own = case
        searches.insert(0, lambda: _wrong_once_used(context, own))
        searches += [
            lambda: wrong_axes(probe, own),
            lambda: wrong_place(probe, own),
            lambda: wrong_size(probe, own),
            lambda: wrong_together(probe, own),
        ]
    searches += [lambda: wrong_together(probe, DISTINCT), lambda: wrong_from_somewhere(probe)]
    if isinstance(case, Case):
        searches.append(lambda: too_few_digits(probe, own))
    return _first(searches)


def _first(searches: list[Search]) -> Cause | None:
    """The first cause that a search finds; none that raises does."""
    for search in searches:
        try:
            cause = search()
        except (CheckFailure, TargetRaised, TypeError, ValueError):
            continue  # what came back could not even be compared
        if cause is not None:
            return cause
    return None


def _probe(context: CheckContext) -> CheckContext:
    """A context whose counts are its own."""
    return context.beside(context.implementation)


def _wrong_once_used(context: CheckContext, case: Case) -> Cause | None:
    """Whether a new object is right where one that was used before is wrong."""
    if not context.implementation.is_factory:
        return None
    if is_right(_probe(context), case) or not is_right(context.anew(), case):
        return None
    found = wrong_numbers(_probe(context))
    words = "a new object rotates this input rightly, one that was used before does not"
    evidence = "the same call on an object just made is right"
    if found is not None:
        words += f"; then {found.words}"
        evidence += f"; {found.evidence}"
    return Cause(words, "cache", evidence)

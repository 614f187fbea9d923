"""Tells a stale value, kept from an earlier RoPE, from one that is wrong whenever it is made.

Other RoPEs are made before the one in question. At a width, or a base, that none of them had,
nothing can be stale.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rope_conformance.clauses._openers import other_widths
from rope_conformance.clauses._other_specs import made_for
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.spec_variants import at_width, with_base
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.questions import passes
from rope_conformance.target.rule_parts import base_below, plain_rule
from rope_ref import RopeSpec
from rope_ref.scaling import ScaledRule

__all__ = ["judged", "kept_by_base", "kept_by_width", "right_unscaled"]

_TELLING = 1e-3  # as a part of theta
_NEAR = (1.001, 0.999, 1.002)  # so near that a wrong formula is as wrong as at the base itself


def judged(context: CheckContext, spec: RopeSpec, case: Case, message: str) -> None:
    """Judge the same target made for another spec; the evidence is this context's."""
    with made_for(context, spec) as made:
        if made is not None:
            x, positions = made.x(case), made.positions(case)
            made.demand(made.judge(made.arrays.apply(x, positions), x, positions), message)


def _right_for(context: CheckContext, spec: RopeSpec, case: Case) -> bool:
    """Whether the same target, made for another spec, is right, or does not support it."""
    return passes(lambda: judged(context, spec, case, ""))


def kept_by_width(context: CheckContext, spec: RopeSpec, case: Case, widths: Iterable[int]) -> bool:
    """Whether what is wrong for a spec of the same width is right at two of other widths.

    The parameter must make a difference there, or code that ignores it would be right as well. No
    clause may use these widths.
    """
    if other_widths(context) is not None:
        return False
    rest, telling = spec.head_dim - spec.rotary_dim, []
    for width in widths:
        other = at_width(spec, width + rest, width)
        own = at_width(context.spec, width + rest, width)
        changed = np.abs(other.theta() - own.theta()) > _TELLING * own.theta()
        if changed.any() or spec.frequencies.amplitude != context.spec.frequencies.amplitude:
            telling.append(other)
    return bool(telling) and all(_right_for(context, other, case) for other in telling[:2])


def kept_by_base(context: CheckContext, spec: RopeSpec, case: Case) -> bool:
    """Whether what is wrong for a spec is right at all bases near its own."""
    base = base_below(spec.frequencies)
    if base is None:
        return False
    return all(
        _right_for(
            context, replace(spec, frequencies=with_base(spec.frequencies, float(base) * n)), case
        )
        for n in _NEAR
    )


def right_unscaled(context: CheckContext, spec: RopeSpec, case: Case) -> bool:
    """Whether what is wrong for a spec is right without its scaling: the scaling is wrong."""
    rule = spec.frequencies
    if not isinstance(rule, ScaledRule):
        return False
    return _right_for(context, replace(spec, frequencies=plain_rule(rule)), case)

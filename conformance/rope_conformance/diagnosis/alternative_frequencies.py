"""The frequencies that a wrong implementation of a scaling may have: all alternatives of a rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.diagnosis.alternative_formulas import AlternativeFrequencies, other_formulas
from rope_conformance.diagnosis.alternative_rules import factor_of, other_rules
from rope_conformance.inputs.spec_variants import with_base
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec
from rope_ref.errors import RopeError
from rope_ref.scaling import ScaledRule
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["alternatives", "theta_of"]

_DIGITS = 20  # more than float64 has
_BASES = (1e4, 5e5, 1e6, 1e7)


def theta_of(rule: FrequencyRule, rotary_dim: int) -> FloatArray:
    """theta_i in float64, without the many digits that a reference needs."""
    return np.array([float(w.digits(_DIGITS)) for w in rule.frequencies(rotary_dim)])


def alternatives(rule: ScaledRule, spec: RopeSpec) -> tuple[AlternativeFrequencies, ...]:
    """What a wrong implementation may have in place of the frequencies of a rule.

    Parameters
    ----------
    rule, spec
        The scaling, and the spec that has it.
    """
    return _alternatives(rule, spec.rotary_dim, spec.head_dim, spec.layout)


@lru_cache(maxsize=64)  # many checks may fail for the same spec
def _alternatives(
    rule: ScaledRule, rotary_dim: int, head_dim: int, layout: str
) -> tuple[AlternativeFrequencies, ...]:
    own, plain = theta_of(rule, rotary_dim), theta_of(rule.rule, rotary_dim)
    found = []
    for words, other in other_rules(rule):
        try:
            found.append(AlternativeFrequencies(words, theta_of(other, rotary_dim)))
        except (RopeError, ArithmeticError):
            continue
    found += other_formulas(rule, plain, rotary_dim, head_dim, layout)
    factor = factor_of(rule)
    for words, times in {
        f"positions are divided by {factor:g} beside": 1 / factor,
        f"all frequencies are multiplied by {factor:g}": factor,
        "positions are doubled beside": 2.0,
        "positions are halved beside": 0.5,
    }.items():
        found.append(AlternativeFrequencies(words, own * times))
    base = base_below(rule)
    for other_base in _BASES if base is not None else ():
        if other_base != base:
            theta = theta_of(with_base(rule, other_base), rotary_dim)
            words = f"the base below the scaling is {other_base:g}, claimed {float(base or 0):g}"
            found.append(AlternativeFrequencies(words, theta, fault="config"))
    same = [r.second is None and np.allclose(r.theta, own, rtol=1e-12, atol=0) for r in found]
    return tuple(each for each, equal in zip(found, same, strict=True) if not equal)

"""What a frequency rule is made of: the plain rule below its scalings, its base, its divisors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from rope_ref import PowerLaw
from rope_ref.exact.real import Real
from rope_ref.scaling import Divided, LongRoPE, ScaledRule
from rope_ref.scaling.axial import Axial, Reordered
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["base_below", "divisors", "has_length", "plain_rule"]


def plain_rule(rule: FrequencyRule) -> FrequencyRule:
    """What lies below all scalings, those of single axes too."""
    if isinstance(rule, Axial):
        return replace(rule, rules=tuple(plain_rule(each) for each in rule.rules))
    if isinstance(rule, Reordered):
        return replace(rule, rule=plain_rule(rule.rule))
    return plain_rule(rule.rule) if isinstance(rule, ScaledRule) else rule


def base_below(rule: FrequencyRule) -> Real | None:
    """The base, if a power law lies below."""
    plain = plain_rule(rule)
    return plain.base if isinstance(plain, PowerLaw) else None


def divisors(rule: Divided | LongRoPE) -> Sequence[Real]:
    """What the pairs are divided by; of two lists, the one in use."""
    if isinstance(rule, Divided):
        return rule.factors
    return rule.long_factors if rule.is_long else rule.short_factors


def has_length(rule: FrequencyRule) -> bool:
    """Whether the rule depends on the length of the text."""
    return isinstance(rule, ScaledRule) and any(each.name == "length" for each in fields(rule))  # type: ignore[arg-type]

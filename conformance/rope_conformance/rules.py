"""The same frequency rule with another base, for another width, with another parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from rope_ref import PowerLaw, Proportional
from rope_ref.axial import Axial, Reordered
from rope_ref.frequencies import FrequencyRule, RealRule
from rope_ref.real import Real
from rope_ref.remaps import LongRoPE, Remap
from rope_ref.yarn import YaRN

__all__ = [
    "base_below",
    "for_width",
    "has_length",
    "other_amplitudes",
    "other_parameters",
    "plain_rule",
    "with_base",
]

_ODD = 1.37  # a factor that no narrow type holds


def plain_rule(rule: FrequencyRule) -> FrequencyRule:
    """What lies below all remaps, those of single axes too."""
    return _below(rule) if isinstance(rule, RealRule) else rule


def _below(rule: RealRule) -> RealRule:
    if isinstance(rule, Axial):
        return replace(rule, rules=tuple(_below(each) for each in rule.rules))
    if isinstance(rule, Reordered):
        return replace(rule, rule=_below(rule.rule))
    return _below(rule.rule) if isinstance(rule, Remap) else rule


def base_below(rule: FrequencyRule) -> Real | None:
    """The base, if a power law lies below."""
    plain = plain_rule(rule)
    return plain.base if isinstance(plain, PowerLaw) else None


def with_base(rule: FrequencyRule, base: Real) -> FrequencyRule:
    """The same rule over another base."""
    if isinstance(rule, Remap):
        return _with(rule, rule=with_base(rule.rule, base))
    return PowerLaw(base)


def for_width(rule: FrequencyRule, rotary_dim: int) -> FrequencyRule:
    """The same rule for another width: of lists with an entry for each pair, some or some twice."""
    if not isinstance(rule, Remap):
        return rule
    rule = _with(rule, rule=for_width(rule.rule, rotary_dim))
    if isinstance(rule, LongRoPE):
        pairs, own = rotary_dim // 2, len(rule.short_factors)
        chosen = [i * own // pairs for i in range(pairs)] if own else []
        return replace(
            rule,
            short_factors=tuple(rule.short_factors[i] for i in chosen),
            long_factors=tuple(rule.long_factors[i] for i in chosen),
        )
    return rule


def has_length(rule: FrequencyRule) -> bool:
    """Whether the rule depends on the length of the text."""
    return isinstance(rule, Remap) and any(each.name == "length" for each in fields(rule))  # type: ignore[arg-type]


def other_parameters(rule: FrequencyRule) -> Iterator[tuple[str, FrequencyRule]]:
    """The rule with one parameter changed at a time, and the change in words.

    Words that tell readings of one name apart are no parameters.
    """
    if not isinstance(rule, Remap):
        return
    for name, values in _values(rule).items():
        for value in values:
            changed = {name: value}
            if name == "long_factors":  # they show in long texts only
                changed["length"] = 2 * rule.original_length  # type: ignore[attr-defined]
            if name == "short_factors":
                changed["length"] = None
            shown = "..." if isinstance(value, tuple) else f"{value:g}"
            other = _with(rule, **changed)
            if other != rule:
                yield f"{name}={shown}", other
    if rule.rule != plain_rule(rule):
        for words, below in other_parameters(rule.rule):
            yield words, _with(rule, rule=below)


def _values(rule: Remap) -> dict[str, tuple[Any, ...]]:
    """Other values of each parameter that changes frequencies."""
    own = {each.name: getattr(rule, each.name) for each in fields(rule)}  # type: ignore[arg-type]
    values: dict[str, tuple[Any, ...]] = {}
    for name in ("factor", "alpha"):
        if name in own and not isinstance(rule, LongRoPE):
            values[name] = (2 * own[name], _ODD * float(own[name]), 1.0)
    if "original_length" in own and not isinstance(rule, LongRoPE):
        values["original_length"] = (2 * own["original_length"], own["original_length"] // 2)
    for name in ("beta_fast", "beta_slow", "high_freq_factor"):
        if name in own:
            values[name] = (2 * own[name],)
    if "low_freq_factor" in own:
        values["low_freq_factor"] = (own["low_freq_factor"] / 2,)
    if isinstance(rule, YaRN):
        values["truncate"] = (not rule.truncate,)
    for name in ("betas", "gammas", "short_factors", "long_factors"):
        if name in own:
            values[name] = (tuple(_ODD * float(each) for each in own[name]),)
    if isinstance(rule, Proportional):
        values["fraction"] = (0.5 if rule.fraction != 0.5 else 0.25,)
    return values


def other_amplitudes(rule: FrequencyRule) -> Iterator[tuple[str, FrequencyRule]]:
    """The rule with another amplitude, by each of the parameters that it follows from."""
    changes: list[dict[str, Any]] = []
    if isinstance(rule, YaRN):
        changes += [{"attention_factor": 1.25}, {"attention_factor": 1.0}]
        changes += [{"attention_factor": None, "factor": 2 * rule.factor}]
        changes += [{"attention_factor": None, "mscale": 0.707, "mscale_all_dim": 0.5}]
    if isinstance(rule, LongRoPE):
        own = {"short_mscale": None, "long_mscale": None}
        changes += [own | {"attention_factor": each} for each in (1.25, 1.0)]
        changes += [own | {"attention_factor": None, "factor": 2 * rule.factor}]
        changes += [{"short_mscale": 1.25, "long_mscale": 1.5}]
    for change in changes:
        words = ", ".join(f"{name}={value}" for name, value in change.items() if value is not None)
        other = _with(rule, **change)
        if other != rule:
            yield words, other


def _with(rule: Any, /, **changes: Any) -> FrequencyRule:
    changed: FrequencyRule = replace(rule, **changes)
    return changed

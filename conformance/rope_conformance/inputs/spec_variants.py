"""Specs that a factory is made for beside its own: another base, width or parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from math import ceil
from typing import Any

from rope_conformance.target.rule_parts import plain_rule
from rope_ref import PowerLaw, RopeSpec
from rope_ref.exact.real import Real
from rope_ref.scaling import (
    Divided,
    FixedNTK,
    FrequencyRule,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    ScaledRule,
    YaRN,
)

__all__ = ["at_width", "for_width", "other_amplitudes", "other_parameters", "with_base"]

_ODD = 1.37  # a factor that no narrow type holds
_LARGE = 12.5  # larger than the factors that code may hold in a list
_LENGTHS = (90, 100_003)  # so short that a ramp begins at pair 0; too long for 16 bits
_LISTS = ("short_factors", "long_factors", "factors")  # with an entry for each pair


def with_base(rule: FrequencyRule, base: Real) -> FrequencyRule:
    """The same rule over another base."""
    if isinstance(rule, ScaledRule):
        return _with(rule, rule=with_base(rule.rule, base))
    return PowerLaw(base)


def at_width(own: RopeSpec, head_dim: int, rotary_dim: int) -> RopeSpec:
    """The same RoPE with other widths."""
    return RopeSpec(
        head_dim,
        layout=own.layout,
        output_layout=own.output_layout,
        rotary_dim=rotary_dim,
        frequencies=for_width(own.frequencies, rotary_dim),
        direction=own.direction,
    )


def for_width(rule: FrequencyRule, rotary_dim: int) -> FrequencyRule:
    """The same rule for another width; lists with an entry for each pair are resampled."""
    if not isinstance(rule, ScaledRule):
        return rule
    rule = _with(rule, rule=for_width(rule.rule, rotary_dim))
    pairs = rotary_dim // 2
    lists = {
        name: tuple(own[i * len(own) // pairs] for i in range(pairs) if own)
        for name, own in vars(rule).items()
        if name in _LISTS
    }
    return _with(rule, **lists)


def other_parameters(rule: FrequencyRule) -> Iterator[tuple[str, FrequencyRule]]:
    """The rule with one parameter changed at a time, and the change in words.

    A parameter that shows only beside another one is changed together with it. Fields that
    choose between published rules of one name are no parameters.
    """
    if not isinstance(rule, ScaledRule):
        return
    for change in _changes(rule):
        words = ", ".join(f"{name}={_shown(value)}" for name, value in change.items())
        other = _with(rule, **change)
        if other != rule:
            yield words, other
    if rule.rule != plain_rule(rule):
        for words, below in other_parameters(rule.rule):
            yield words, _with(rule, rule=below)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "..."
    return str(value) if value is None or isinstance(value, str) else f"{value:g}"


def _changes(rule: ScaledRule) -> Iterator[dict[str, Any]]:
    """Changes of each parameter that changes frequencies."""
    own: dict[str, Any] = {each.name: getattr(rule, each.name) for each in fields(rule)}  # type: ignore[arg-type]
    if isinstance(rule, LongRoPE):  # the long factors show in long texts only
        long, short = (_times(own[name], _ODD) for name in ("long_factors", "short_factors"))
        yield {"long_factors": long, "length": 2 * rule.original_length}
        yield {"short_factors": short, "length": None}
        return
    for name in {"factor", "alpha"} & own.keys():
        yield from ({name: each} for each in (2 * own[name], _ODD * float(own[name]), 1.0))
        yield {name: _LARGE * float(own[name])}
    if isinstance(rule, Linear):
        yield {"factor": 0.75}
    if "original_length" in own:
        length = own["original_length"]
        yield from ({"original_length": n} for n in (2 * length, length // 2, *_LENGTHS))
    yield from _changes_by_kind(rule, own)


def _changes_by_kind(rule: ScaledRule, own: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes of the parameters that one kind of scaling has."""
    if isinstance(rule, YaRN):
        yield {"truncate": not rule.truncate}
        for name in ("beta_fast", "beta_slow"):
            yield {name: 2 * own[name]}
            yield {name: _ODD * float(own[name]), "truncate": False}
        # A model trained for so long has no pair that is slowed down wholly.
        long = {"original_length": ceil(10 * rule.rule.base)}
        yield from (long | {"limit": each} for each in ("channels", "pairs"))
    if isinstance(rule, Llama3):
        yield {"high_freq_factor": 2 * rule.high_freq_factor}
        yield {"low_freq_factor": rule.low_freq_factor / 2}
        yield {"low_freq_factor": rule.high_freq_factor}
    if isinstance(rule, NTKByParts):
        yield from ({name: _times(own[name], _ODD)} for name in ("betas", "gammas"))
        yield from ({name: 0.5} for name in ("ntk_factor", "extrapolation_factor"))
    if isinstance(rule, FixedNTK):
        yield {"mixing": 0.6 if rule.mixing is None else _ODD * float(rule.mixing)}
    if isinstance(rule, Proportional):
        yield from ({"fraction": each} for each in (0.5, 0.3, 1.0))
    if isinstance(rule, Divided):
        yield {"factors": _times(rule.factors, _ODD)}


def _times(values: Sequence[Real], factor: float) -> tuple[float, ...]:
    return tuple(factor * float(each) for each in values)


def other_amplitudes(rule: FrequencyRule) -> Iterator[tuple[str, FrequencyRule]]:
    """The rule with another amplitude, by each of the parameters that it follows from."""
    changes: list[dict[str, Any]] = []
    if isinstance(rule, YaRN):
        changes += [{"attention_factor": 1.25}, {"attention_factor": 1.0}]
        changes += [{"attention_factor": None, "factor": 2 * rule.factor}]
        changes += [{"attention_factor": None, "mscale": 0.707, "mscale_all_dim": 0.5}]
        changes += [
            {"attention_factor": None, "coefficient": Fraction(rule.coefficient) * Fraction(11, 8)}
        ]
    if isinstance(rule, LongRoPE):
        own = {"short_mscale": None, "long_mscale": None}
        changes += [own | {"attention_factor": each} for each in (1.25, 1.0)]
        changes += [own | {"attention_factor": None, "factor": 2 * rule.factor}]
        changes += [own | {"attention_factor": None, "original_length": 2 * rule.original_length}]
        changes += [{"short_mscale": 1.25, "long_mscale": 1.5}]
    for change in changes:
        words = ", ".join(f"{name}={value}" for name, value in change.items() if value is not None)
        other = _with(rule, **change)
        if other != rule:
            yield words, other


def _with(rule: Any, /, **changes: Any) -> FrequencyRule:
    changed: FrequencyRule = replace(rule, **changes)
    return changed

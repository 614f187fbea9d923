"""The rules that may be used in place of a scaling: one parameter is other, or the kind is.

Each is of a kind that public trackers report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from functools import singledispatch
from typing import Any, Literal

import numpy as np

from rope_conformance.target.rule_parts import plain_rule
from rope_ref.scaling import (
    NTK,
    Axial,
    Divided,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    ScaledRule,
    YaRN,
    qwen_alpha,
)
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["FACTORS", "axial_rules", "factor_of", "other_rules"]

FACTORS = (2, 4, 8, 16, 32, 40, 64, 128)  # usual ones
_LENGTHS = tuple(2**k for k in range(10, 21))


def axial_rules(rule: Axial) -> Iterator[tuple[str, FrequencyRule]]:
    """A ladder for each axis: the scaling of one is missing, or is on all."""
    plain = plain_rule(rule)
    assert isinstance(plain, Axial)
    for axis, own in enumerate(rule.rules):
        if isinstance(own, ScaledRule):
            less = [plain.rules[k] if k == axis else each for k, each in enumerate(rule.rules)]
            yield f"{_name(own)} is not applied on axis {axis}", Axial(less, rule.widths)
            yield f"{_name(own)} of axis {axis} is applied on every axis", Axial(own, rule.widths)
    if plain != rule:
        yield "no axis has its scaling", plain


def factor_of(rule: Any) -> float:
    """The factor of a scaling, whatever its name; of several, the largest."""
    if isinstance(rule, Divided):
        return float(max(rule.factors, default=1))
    return float(getattr(rule, "alpha", None) or rule.factor)


def _name(rule: ScaledRule) -> str:
    return type(rule).__name__


def other_rules(rule: Any) -> Iterator[tuple[str, FrequencyRule]]:
    """The rule with one parameter changed, and simpler rules in its place."""
    yield f"{_name(rule)} is not applied: the frequencies are those below it", rule.rule
    if not isinstance(rule, LongRoPE | Linear):
        yield "every pair is divided by the factor", Linear(rule.rule, factor=factor_of(rule))
    yield from _own_rules(rule)
    yield from _usual_values(rule)
    if not isinstance(rule, LongRoPE | Divided):
        name = "alpha" if isinstance(rule, NTK) else "factor"
        own = float(getattr(rule, name))
        narrow = float(np.float16(own))
        special = {"applied twice": own**2, "divided by, not multiplied": 1 / own}
        special |= {f"rounded to float16, {narrow:.7g}": narrow} if narrow != own else {}
        for words, value in special.items():
            yield f"{name} {own:.7g} is {words}", replace(rule, **{name: value})
        for value in (1, *FACTORS):
            yield f"{name} is {value}, claimed {own:.7g}", replace(rule, **{name: value})
    if isinstance(rule, YaRN | Llama3 | NTKByParts | DynamicNTK):
        length, factor = float(rule.original_length), float(rule.factor)
        known: dict[float, str] = {
            length * factor: "the trained length times the factor",
            length / factor: "the trained length divided by the factor",
            32767.0: "the largest number of 16 bits",
            8194.0: "",
        }
        for each in (*known, *_LENGTHS):
            words = f"{known[each]}, {each:g}" if known.get(each) else f"{each:g}"
            yield (
                f"the frequencies are those of a model trained for {words} positions, not "
                f"{length:g}",
                replace(rule, original_length=each),
            )


def _usual_values(rule: Any) -> Iterator[tuple[str, FrequencyRule]]:
    """A parameter that is not read but has its usual value, or is cut to a whole number."""
    for each in fields(rule):
        own, usual = getattr(rule, each.name), each.default
        if usual is MISSING or usual is None or own == usual:
            continue
        given = _value_in_words(own)
        words = f"{each.name} is {_value_in_words(usual)}, its usual value, claimed {given}"
        yield words, replace(rule, **{each.name: usual})
    for name in ("beta_fast", "beta_slow"):
        own = getattr(rule, name, 0)
        if own != int(own) >= 1:
            words = f"{name}={float(own):g} is cut to a whole number"
            yield words, replace(rule, **{name: int(own)})


def _value_in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_value_in_words, value))
    return str(value) if isinstance(value, bool | str) else f"{float(value):g}"


@singledispatch
def _own_rules(rule: ScaledRule) -> Iterator[tuple[str, FrequencyRule]]:
    """Alternatives that only this kind of scaling has."""
    yield from ()


@_own_rules.register
def _(rule: YaRN) -> Iterator[tuple[str, FrequencyRule]]:
    flipped = not rule.truncate
    rounding = "rounding" if flipped else "without rounding"
    yield (
        f"the frequencies are those of YaRN {rounding} its ends (truncate={flipped})",
        replace(rule, truncate=flipped),
    )
    yield (
        "beta_fast and beta_slow are exchanged",
        replace(rule, beta_fast=rule.beta_slow, beta_slow=rule.beta_fast),
    )
    limit: Literal["channels", "pairs"] = "pairs" if rule.limit == "channels" else "channels"
    yield f"the end of the ramp is kept below the number of {limit}", replace(rule, limit=limit)
    for fast, slow in ((32, 1), (1, 1), (16, 1), (64, 1), (32, 2)):
        words = f"beta_fast and beta_slow are {fast} and {slow}"
        yield words, replace(rule, beta_fast=fast, beta_slow=slow)


@_own_rules.register
def _(rule: LongRoPE) -> Iterator[tuple[str, FrequencyRule]]:
    trained = rule.original_length
    if rule.is_long:
        yield "the short factors are used, the text is long", rule.at(trained)
    else:
        yield "the long factors are used, the text is short", rule.at(2 * trained)
    yield "every pair is divided by the factor", Linear(rule.rule, factor=rule.factor)


@_own_rules.register
def _(rule: DynamicNTK) -> Iterator[tuple[str, FrequencyRule]]:
    trained, factor = float(rule.original_length), float(rule.factor)
    length = trained if rule.length is None else max(float(rule.length), trained)
    alphas = {
        "the trained length times the factor for the length": factor * factor - (factor - 1),
        "steps of powers of two": qwen_alpha(int(length), int(trained)),
        "length / trained length": length / trained,
        "factor times length / trained length": factor * length / trained,
        "the factor alone": factor,
    }
    for words, alpha in alphas.items():
        yield f"alpha is {alpha:.7g}, by {words}", NTK(rule.rule, alpha=alpha)
    if rule.length is not None and rule.length < trained:
        alpha = factor * float(rule.length) / trained - (factor - 1)
        if alpha > 0:
            words = f"alpha falls to {alpha:.7g} below the trained length, where it must be 1"
            yield words, NTK(rule.rule, alpha=alpha)
    for n in (trained - 1, trained + 1, length - 1, length + 1, 2 * trained, 4 * trained):
        yield f"the frequencies are those of length {n:g}, not {length:g}", rule.at(n)


@_own_rules.register
def _(rule: NTK) -> Iterator[tuple[str, FrequencyRule]]:
    yield (
        "the scaling is vLLM's, which slows the first pair too",
        FixedNTK(rule.rule, factor=rule.alpha),
    )


@_own_rules.register
def _(rule: Llama3) -> Iterator[tuple[str, FrequencyRule]]:
    for low, high in ((1, 4), (1, 1), (1, 32)):
        words = f"low_freq_factor and high_freq_factor are {low} and {high}"
        yield words, replace(rule, low_freq_factor=low, high_freq_factor=high)


@_own_rules.register
def _(rule: Proportional) -> Iterator[tuple[str, FrequencyRule]]:
    fraction = float(rule.fraction)
    if 2 * fraction <= 1:
        words = "twice as many pairs turn: channels are counted for pairs"
        yield words, replace(rule, fraction=2 * fraction)
    yield "half as many pairs turn: pairs are halved twice", replace(rule, fraction=fraction / 2)

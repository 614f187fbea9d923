"""The frequencies of a remap by other readings: one parameter or one step taken otherwise.

Each is of a kind that public trackers report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, replace
from functools import lru_cache, singledispatch
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rope_conformance.faults import Fault
from rope_conformance.inputs.spec_variants import with_base
from rope_conformance.target.rule_parts import base_below, divisors, plain_rule
from rope_ref.errors import RopeError
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
from rope_ref.scaling.frequencies import RealRule

__all__ = ["FACTORS", "AlternativeFrequencies", "axial_readings", "readings", "theta_of"]

Array = npt.NDArray[np.float64]

FACTORS = (2, 4, 8, 16, 32, 40, 64, 128)  # usual ones
_DIGITS = 20  # more than float64 has
_LENGTHS = tuple(2**k for k in range(10, 21))
_BASES = (1e4, 5e5, 1e6, 1e7)


@dataclass(frozen=True)
class AlternativeFrequencies:
    """Frequencies by another reading; those of the second channels where they differ."""

    words: str
    theta: Array
    second: Array | None = None
    fault: Fault = "scaling"


def theta_of(rule: RealRule, rotary_dim: int) -> Array:
    """theta_i in float64, without the many digits that a reference needs."""
    return np.array([float(w) for w in rule.real_theta(rotary_dim, _DIGITS)])


@lru_cache(maxsize=64)
def readings(
    rule: ScaledRule, rotary_dim: int, head_dim: int, layout: str
) -> tuple[AlternativeFrequencies, ...]:
    """Readings whose frequencies are not those of the rule; kept, for many checks may fail."""
    own, plain = theta_of(rule, rotary_dim), theta_of(rule.rule, rotary_dim)
    found = []
    for words, other in _other_rules(rule):
        try:
            found.append(AlternativeFrequencies(words, theta_of(other, rotary_dim)))
        except (RopeError, ArithmeticError):
            continue
    found += _formulas(rule, plain, rotary_dim, head_dim, layout)
    factor = _factor(rule)
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
            theta = theta_of(with_base(rule, other_base), rotary_dim)  # type: ignore[arg-type]
            words = f"the base below the remap is {other_base:g}, claimed {float(base or 0):g}"
            found.append(AlternativeFrequencies(words, theta, fault="config"))
    same = [r.second is None and np.allclose(r.theta, own, rtol=1e-12, atol=0) for r in found]
    return tuple(each for each, equal in zip(found, same, strict=True) if not equal)


def axial_readings(rule: Axial) -> Iterator[tuple[str, RealRule]]:
    """A ladder for each axis: the remap of one is missing, or is on all."""
    plain = plain_rule(rule)
    assert isinstance(plain, Axial)
    for axis, own in enumerate(rule.rules):
        if isinstance(own, ScaledRule):
            less = [plain.rules[k] if k == axis else each for k, each in enumerate(rule.rules)]
            yield f"{_name(own)} is not applied on axis {axis}", Axial(less, rule.widths)
            yield f"{_name(own)} of axis {axis} is applied on every axis", Axial(own, rule.widths)
    if plain != rule:
        yield "no axis has its remap", plain


def _factor(rule: Any) -> float:
    if isinstance(rule, Divided):
        return float(max(rule.factors, default=1))
    return float(getattr(rule, "alpha", None) or rule.factor)


def _name(rule: ScaledRule) -> str:
    return type(rule).__name__


def _other_rules(rule: Any) -> Iterator[tuple[str, RealRule]]:
    """The rule with one parameter changed, and simpler rules in its place."""
    yield f"{_name(rule)} is not applied: the frequencies are those below it", rule.rule
    if not isinstance(rule, LongRoPE | Linear):
        yield "every pair is divided by the factor", Linear(rule.rule, factor=_factor(rule))
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


def _usual_values(rule: Any) -> Iterator[tuple[str, RealRule]]:
    """A parameter that is not read but has its usual value, or is cut to a whole number."""
    for each in fields(rule):
        own, usual = getattr(rule, each.name), each.default
        if usual is MISSING or usual is None or own == usual:
            continue
        words = f"{each.name} is {_shown(usual)}, its usual value, claimed {_shown(own)}"
        yield words, replace(rule, **{each.name: usual})
    for name in ("beta_fast", "beta_slow"):
        own = getattr(rule, name, 0)
        if own != int(own) >= 1:
            words = f"{name}={float(own):g} is cut to a whole number"
            yield words, replace(rule, **{name: int(own)})


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_shown, value))
    return str(value) if isinstance(value, bool | str) else f"{float(value):g}"


@singledispatch
def _own_rules(rule: ScaledRule) -> Iterator[tuple[str, RealRule]]:
    """Readings by rules that only this kind of remap has."""
    yield from ()


@_own_rules.register
def _(rule: YaRN) -> Iterator[tuple[str, RealRule]]:
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
def _(rule: LongRoPE) -> Iterator[tuple[str, RealRule]]:
    trained = rule.original_length
    if rule.is_long:
        yield "the short factors are used, the text is long", rule.at(trained)
    else:
        yield "the long factors are used, the text is short", rule.at(2 * trained)
    yield "every pair is divided by the factor", Linear(rule.rule, factor=rule.factor)


@_own_rules.register
def _(rule: DynamicNTK) -> Iterator[tuple[str, RealRule]]:
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
def _(rule: NTK) -> Iterator[tuple[str, RealRule]]:
    yield (
        "the remap is vLLM's, which slows the first pair too",
        FixedNTK(rule.rule, factor=rule.alpha),
    )


@_own_rules.register
def _(rule: Llama3) -> Iterator[tuple[str, RealRule]]:
    for low, high in ((1, 4), (1, 1), (1, 32)):
        words = f"low_freq_factor and high_freq_factor are {low} and {high}"
        yield words, replace(rule, low_freq_factor=low, high_freq_factor=high)


@_own_rules.register
def _(rule: Proportional) -> Iterator[tuple[str, RealRule]]:
    fraction = float(rule.fraction)
    if 2 * fraction <= 1:
        words = "twice as many pairs turn: channels are counted for pairs"
        yield words, replace(rule, fraction=2 * fraction)
    yield "half as many pairs turn: pairs are halved twice", replace(rule, fraction=fraction / 2)


def _formulas(
    rule: Any, plain: Array, rotary_dim: int, head_dim: int, layout: str
) -> list[AlternativeFrequencies]:
    """Steps taken otherwise, which no parameter says."""
    if isinstance(rule, YaRN):
        return list(_yarn_formulas(rule, plain, rotary_dim, head_dim, layout))
    if isinstance(rule, Llama3):
        return list(_llama3_formulas(rule, plain))
    if isinstance(rule, NTK | DynamicNTK):
        return list(_ntk_formulas(rule, rotary_dim, head_dim))
    if isinstance(rule, Proportional):
        return list(_proportional_formulas(rule, plain, rotary_dim))
    if isinstance(rule, LongRoPE | Divided):
        times = plain * np.array(divisors(rule), dtype=np.float64)
        return [
            AlternativeFrequencies("frequencies are multiplied by the factors, not divided", times)
        ]
    return []


def _yarn_formulas(
    rule: YaRN, w: Array, rotary_dim: int, head_dim: int, layout: str
) -> Iterator[AlternativeFrequencies]:
    s, base = float(rule.factor), float(rule.rule.base)
    i = np.arange(w.size, dtype=np.float64)
    low, high = map(float, rule.ends(rotary_dim))
    last = rotary_dim - 1 if rule.limit == "channels" else rotary_dim // 2 - 1

    def ramp(begin: float, end: float, index: Array = i) -> Array:
        return np.asarray(np.clip((index - begin) / ((end - begin) or 0.001), 0, 1))

    def blend(g: Array, slow: Array = w / s) -> Array:
        return slow * g + w * (1 - g)

    def ends(times: float, turn: float = 2 * math.pi, least: float = 0) -> tuple[float, float]:
        pair = [
            times
            * rotary_dim
            * math.log(float(rule.original_length) / (float(n) * turn))
            / (2 * math.log(base))
            for n in (rule.beta_fast, rule.beta_slow)
        ]
        if rule.truncate:
            pair = [math.floor(pair[0]), math.ceil(pair[1])]
        return max(pair[0], least), min(pair[1], last)

    g = ramp(low, high)
    yield AlternativeFrequencies(
        "the ramp is inverted: fast pairs are divided, slow ones kept", blend(1 - g)
    )
    yield AlternativeFrequencies("wavelengths are blended, not frequencies", w / (g * s + 1 - g))
    exponent = 2 * i / rotary_dim
    words = "the factor stands inside the power: the divided frequencies are (factor b)**(-2i/R)"
    yield AlternativeFrequencies(words, blend(g, np.asarray((base * s) ** -exponent)))
    if rotary_dim > 2:
        power = base * s ** (rotary_dim / (rotary_dim - 2))
        words = "the kept frequencies are blended with those of NTK, not with divided ones"
        yield AlternativeFrequencies(words, blend(g, np.asarray(power**-exponent)))
    unhalved = "the width is not halved"
    if head_dim == 2 * rotary_dim:
        unhalved += f", or it is head_dim={head_dim} in place of rotary_dim"
    for words, (begin, end) in {
        "the width is halved twice": ends(0.5),
        unhalved: ends(2.0),
        f"its width is head_dim={head_dim}, not rotary_dim": ends(head_dim / rotary_dim),
        "its base is 10000 whatever is given": ends(math.log(base) / math.log(10000)),
        "its beginning is not kept at 0 or above": ends(1.0, least=-math.inf),
        "one of the two logarithms is to base ten": ends(1 / math.log(10)),
        "one of the two logarithms is to base two": ends(1 / math.log(2)),
        "the wavelength lacks 2 pi": ends(1.0, turn=1.0),
    }.items():
        yield AlternativeFrequencies(
            f"the ramp runs from {begin:g} to {end:g}: {words}", blend(ramp(begin, end))
        )
    exact = replace(rule, truncate=False).ends(rotary_dim)
    for begin in (math.floor(exact[0]), math.ceil(exact[0]), float(exact[0])):
        for end in (math.floor(exact[1]), math.ceil(exact[1]), float(exact[1])):
            words = f"the ramp runs from {begin:g} to {end:g}, not from {low:g} to {high:g}"
            yield AlternativeFrequencies(
                f"{words}: its ends are rounded otherwise", blend(ramp(begin, end))
            )
    first, second = (i, i + w.size) if layout == "half" else (2 * i, 2 * i + 1)
    words = "the ramp is counted over channels: the two of a pair turn at different speeds"
    yield AlternativeFrequencies(
        words, blend(ramp(low, high, first)), blend(ramp(low, high, second))
    )


def _llama3_formulas(rule: Llama3, w: Array) -> Iterator[AlternativeFrequencies]:
    s, low, high = (float(n) for n in (rule.factor, rule.low_freq_factor, rule.high_freq_factor))
    turns = float(rule.original_length) * w / (2 * math.pi)

    def share(turns: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (turns - low) / (high - low)
        return np.where(turns <= low, 0.0, np.where(turns >= high, 1.0, between))

    def blend(k: Array) -> Array:
        return k * w + (1 - k) * w / s

    k = share(turns)
    middle = (k > 0) & (k < 1)
    for n in (low, high):
        words = (
            f"there is nothing between kept and divided pairs, the limit is {n:g} turns: as where "
            "the blend is missing, or low and high are exchanged"
        )
        yield AlternativeFrequencies(words, blend(np.where(turns > n, 1.0, 0.0)))
    yield AlternativeFrequencies("the wavelength lacks 2 pi", blend(share(turns * 2 * math.pi)))
    words = "between the limits the shares of kept and divided are exchanged"
    yield AlternativeFrequencies(words, blend(np.where(middle, 1 - k, k)))
    if high > low:
        by_length = (1 / low - 1 / turns) / (1 / low - 1 / high)
        words = "between the limits the share is linear in the wavelength, not in the turns"
        yield AlternativeFrequencies(words, blend(np.where(middle, by_length, k)))
    words = "between the limits wavelengths are blended, not frequencies"
    yield AlternativeFrequencies(words, w / (k + (1 - k) * s))
    words = "fast pairs are divided, slow ones kept"
    yield AlternativeFrequencies(words, blend(1 - k))
    yield AlternativeFrequencies(
        f"{words}; those between are as they should be", blend(np.where(middle, k, 1 - k))
    )


def _ntk_formulas(rule: Any, rotary_dim: int, head_dim: int) -> Iterator[AlternativeFrequencies]:
    base, alpha = float(rule.rule.base), float(rule.alpha)
    exponent = np.arange(0, rotary_dim, 2) / rotary_dim
    powers = {
        "1": 1.0,
        f"D/(D-2) with D = head_dim = {head_dim}": head_dim / max(head_dim - 2, 1),
        "R/(R-1)": rotary_dim / (rotary_dim - 1),
        "(R-2)/R": (rotary_dim - 2) / rotary_dim,
        "2": 2.0,
        "N/(N-2) with the N pairs": rotary_dim / 2 / max(rotary_dim / 2 - 2, 1),
    }
    for words, power in powers.items():
        theta = (base * alpha**power) ** -exponent
        yield AlternativeFrequencies(f"the exponent of alpha is {words}, not R/(R-2)", theta)
    yield AlternativeFrequencies("every pair is divided by alpha", base**-exponent / alpha)


def _proportional_formulas(
    rule: Proportional, w: Array, rotary_dim: int
) -> Iterator[AlternativeFrequencies]:
    n, s = rule.turning(rotary_dim), float(rule.factor)
    i = np.arange(w.size)
    own = np.where(i < n, w / s, 0)
    yield AlternativeFrequencies("the pairs that stand still come first", np.roll(own, w.size - n))
    words = "the pairs that stand still come first, the others keep their places"
    yield AlternativeFrequencies(words, np.where(i < w.size - n, 0, w / s))
    yield AlternativeFrequencies("no pair stands still", w / s)
    for count in range(1, w.size):
        words = f"{count} of {w.size} pairs turn, not {n}"
        yield AlternativeFrequencies(words, np.where(i < count, w / s, 0))
    base = base_below(rule)
    if base is not None and n:
        short = np.where(i < n, float(base) ** (-i / n) / s, 0)
        words = f"the exponent is divided by the {2 * n} turning channels, not by all {rotary_dim}"
        yield AlternativeFrequencies(words, short)

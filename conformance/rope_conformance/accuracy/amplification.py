"""How many roundings an honest theta_i takes: m_i, rule by rule.

m_i is in units of the phase type's roundoff and includes the product of theta_i with the
position. What is counted is how public code computes: constants by Python in float64 or in the
phase's type, whichever rounds more often; the ladder by the recipe of the profile. The derivation
is in the documentation (the page "The bound").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Literal

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.target.rule_parts import divisors
from rope_ref import PowerLaw
from rope_ref.exact.real import Real
from rope_ref.scaling import (
    NTK,
    Divided,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    YaRN,
)
from rope_ref.scaling.axial import Axial, Reordered
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["Recipe", "amplification", "amplitude_roundings"]

Recipe = Literal["rounded", "power", "exp", "exp-single", "product"]

# m_i = (first number) + (second) x (2i/R) |ln b|, by recipe: pow and the log of the base are
# taken to err by at most 2 u, which is an ulp, exp by 6 u (NumPy documents 2.52 ulp).
_RECIPES = {"rounded": (4, 0), "power": (4, 1), "exp": (7, 2), "exp-single": (7, 4)}
_LOG, _POW, _EXP = 2, 2, 6


@lru_cache(maxsize=256)
def amplification(rule: FrequencyRule, rotary_dim: int, recipe: Recipe, dtype: str) -> FloatArray:
    """Return m_i, how many units of the phase's rounding error pair i can gather.

    Parameters
    ----------
    rule
        Where the frequencies come from. One of another type than `rope_ref` has is taken
        as given: its frequencies are rounded, not computed.
    rotary_dim
        How many channels rotate.
    recipe
        How the power law is computed.
    dtype
        The type of the phase.

    Returns
    -------
    m
        float64 of shape (R/2,). Read-only.
    """
    if not rotary_dim or (recipe == "rounded" and not isinstance(rule, PowerLaw)):
        m = np.full(rotary_dim // 2, 4.0)
    else:
        m = _count(rule, rotary_dim, _Making(recipe, dtype))
    m.setflags(write=False)
    return m


@lru_cache(maxsize=256)
def amplitude_roundings(rule: FrequencyRule, dtype: str) -> float:
    """Return how many units an amplitude adds to k: what it is off by, and the product.

    Parameters
    ----------
    rule
        Where the amplitude comes from.
    dtype
        The type that the rotation is computed in.
    """
    own = _own_amplitude(rule, _Making("rounded", dtype))
    return own + 1 if own else 0.0


@dataclass(frozen=True)
class _Making:
    """How frequencies are made: the recipe of the ladder, and the type of the numbers."""

    recipe: Recipe
    dtype: str

    def rounds(self, value: Real) -> int:
        """1 if the type does not hold a number, else 0."""
        with np.errstate(over="ignore"):
            try:
                return int(float(np.dtype(self.dtype).type(float(value))) != value)
            except OverflowError:  # a product beyond float64
                return 1

    def division(self, by: Real) -> int:
        """By a divisor, or by its reciprocal as a factor; by a power of two nothing is lost."""
        power_of_two = math.frexp(float(by))[0] == 0.5 and float(by) == by
        return 0 if power_of_two else 2 + self.rounds(by)

    def ladder(self, rule: PowerLaw, rotary_dim: int, log_base: float, base: float) -> FloatArray:
        """A power law with a base of the logarithm `log_base`, itself off by `base` units."""
        i = np.arange(rotary_dim // 2, dtype=np.float64)
        exponent = _exponent(rule, rotary_dim)
        if self.recipe == "product":
            return 4 + 3 * i + base * exponent
        unamplified, amplified = _RECIPES[self.recipe]
        return unamplified + amplified * exponent * abs(log_base) + base * exponent


@singledispatch
def _count(rule: FrequencyRule, rotary_dim: int, how: _Making) -> FloatArray:
    """Frequencies that are given, not computed."""
    return np.full(rotary_dim // 2, 4.0)


@_count.register
def _(rule: PowerLaw, rotary_dim: int, how: _Making) -> FloatArray:
    # The ratio of a running product is taken to be right to 2 u, base included.
    base = 0 if how.recipe == "product" else how.rounds(rule.base)
    return how.ladder(rule, rotary_dim, math.log(rule.base), base)


@_count.register
def _(rule: Linear, rotary_dim: int, how: _Making) -> FloatArray:
    return _count(rule.rule, rotary_dim, how) + how.division(rule.factor)


@_count.register
def _(rule: Proportional, rotary_dim: int, how: _Making) -> FloatArray:
    return _count(rule.rule, rotary_dim, how) + how.division(rule.factor)


@_count.register
def _(rule: Divided | LongRoPE, rotary_dim: int, how: _Making) -> FloatArray:
    divisions = [how.division(factor) for factor in divisors(rule)]
    return _count(rule.rule, rotary_dim, how) + divisions


@_count.register
def _(rule: NTK, rotary_dim: int, how: _Making) -> FloatArray:
    return _new_base(rule.rule, rule.alpha, how.rounds(rule.alpha), rotary_dim, how)


@_count.register
def _(rule: DynamicNTK, rotary_dim: int, how: _Making) -> FloatArray:
    return _new_base(rule.rule, rule.alpha, _dynamic_alpha(rule, how), rotary_dim, how)


@_count.register
def _(rule: FixedNTK, rotary_dim: int, how: _Making) -> FloatArray:
    own, factor, pairs = rule.rule, rule.factor, rotary_dim // 2
    if factor == 1:
        return _count(own, rotary_dim, how)
    logarithm = math.log(factor)
    if rule.mixing is None:
        base = how.rounds(own.base) + how.rounds(factor)
        base += how.rounds(Fraction(own.base) * Fraction(factor))
        root = (abs(logarithm) + how.rounds(factor)) / pairs
        ladder = how.ladder(own, rotary_dim, math.log(own.base) + logarithm, base)
        return ladder + _POW + root + 2  # 2: the reciprocal of the root, and the product
    i = np.arange(1, pairs + 1, dtype=np.float64)
    mixing = float(rule.mixing)
    share = (i / pairs) ** mixing
    powers = how.rounds(rule.mixing) * abs(mixing) * np.log(i * pairs)
    relative = _LOG + 2 * _POW + 2 + powers
    slowed = share * (abs(logarithm) * relative + how.rounds(factor))
    return _count(own, rotary_dim, how) + slowed + _EXP + 1


@_count.register
def _(rule: YaRN, rotary_dim: int, how: _Making) -> FloatArray:
    theta = np.array(rule.rule.theta(rotary_dim))
    fast = _count(rule.rule, rotary_dim, how)
    kept, error = _kept(rule, rotary_dim, how)
    slow = fast + how.division(rule.factor)
    return _blend(theta / float(rule.factor), slow, theta, fast, kept, error)


@_count.register
def _(rule: NTKByParts, rotary_dim: int, how: _Making) -> FloatArray:
    own, factor = rule.rule, rule.factor
    ntk = NTK(own, alpha=factor)
    plain, changed = (np.array(each.theta(rotary_dim)) for each in (own, ntk))
    m_plain, m_changed = (_count(each, rotary_dim, how) for each in (own, ntk))
    theta, m = plain / float(factor), m_plain + how.division(factor)
    for other, m_other, turns, strength in (
        (changed, m_changed, rule.betas, rule.ntk_factor),
        (plain, m_plain, rule.gammas, rule.extrapolation_factor),
    ):
        ramp = YaRN(
            own,
            factor=factor,
            original_length=rule.original_length,
            beta_fast=turns[0],
            beta_slow=turns[1],
        )
        kept, error = _kept(ramp, rotary_dim, how)
        if strength != 1:
            share = kept * float(strength)
            error = abs(float(strength)) * error + np.abs(share) * (1 + how.rounds(strength))
            kept = share
        m = _blend(theta, m, other, m_other, kept, error)
        theta = theta * (1 - kept) + other * kept
    return m


@_count.register
def _(rule: Llama3, rotary_dim: int, how: _Making) -> FloatArray:
    theta = np.array(rule.rule.theta(rotary_dim))
    fast = _count(rule.rule, rotary_dim, how)
    slow = fast + how.division(rule.factor)
    low, high, length = (
        float(each) for each in (rule.low_freq_factor, rule.high_freq_factor, rule.original_length)
    )
    turns = length * np.abs(theta) / (2 * math.pi)
    if low == high:  # a threshold, and nothing to blend
        kept = (turns >= low).astype(np.float64)
        return _blend(theta, slow, theta, fast, kept, np.zeros_like(kept))
    at_low = low * how.rounds(rule.low_freq_factor)
    at_high = high * how.rounds(rule.high_freq_factor)
    ramp = (turns - low) / (high - low)
    kept = ramp.clip(0, 1)
    # Beside what theta has gathered: 2 pi, two operations on the way to the turns; then a
    # difference, the difference of the ends, the quotient.
    turned = turns * (fast + 3 + how.rounds(rule.original_length))
    error = (turned + at_low + kept * (at_low + at_high)) / (high - low) + 3 * kept
    error = np.where(_moves(ramp, error, how), error, 0)
    return _blend(theta / float(rule.factor), slow, theta, fast, kept, error)


@_count.register
def _(rule: Axial, rotary_dim: int, how: _Making) -> FloatArray:
    parts = zip(rule.rules, rule.widths, strict=True)
    return np.concatenate([_count(each, width, how) for each, width in parts])


@_count.register
def _(rule: Reordered, rotary_dim: int, how: _Making) -> FloatArray:
    return _count(rule.rule, rotary_dim, how)[list(rule.order)]


def _exponent(rule: PowerLaw, rotary_dim: int) -> FloatArray:
    denominator = rotary_dim if rule.denominator is None else float(rule.denominator)
    return np.arange(0, rotary_dim, 2, dtype=np.float64) / denominator


def _new_base(
    rule: PowerLaw, alpha: Real, alpha_roundings: float, rotary_dim: int, how: _Making
) -> FloatArray:
    """The base times alpha**(R/(R - 2)), alpha being off by a number of units."""
    exponent = rotary_dim / max(rotary_dim - 2, 1)
    logarithm = math.log(alpha)
    base = how.rounds(rule.base) + exponent * alpha_roundings
    if alpha != 1:
        # The exponent is a quotient; pow; the product with the base.
        base += exponent * abs(logarithm) + _POW + 1
    return how.ladder(rule, rotary_dim, math.log(rule.base) + exponent * logarithm, base)


def _dynamic_alpha(rule: DynamicNTK, how: _Making) -> float:
    """Units that ``s q / M - (s - 1)`` is off by; what the type holds is not rounded."""
    factor, trained = Fraction(rule.factor), Fraction(rule.original_length)
    length = trained if rule.length is None else max(Fraction(rule.length), trained)
    grown, less = factor * length / trained, factor - 1
    exact = not any(map(how.rounds, (factor * length, length / trained, grown, length, trained)))
    units = 0 if exact else 2 + how.rounds(length) + how.rounds(trained)
    lost = grown * units + abs(less) * how.rounds(less) + (rule.alpha - 1) * how.rounds(factor)
    return float(lost / rule.alpha) + how.rounds(rule.alpha)


def _kept(rule: YaRN, rotary_dim: int, how: _Making) -> tuple[FloatArray, FloatArray]:
    """How much of each pair is kept, 1 - g, and how far off that is, in units of u."""
    low, high = map(float, rule.ends(rotary_dim))
    length = high - low
    g = (np.arange(rotary_dim // 2, dtype=np.float64) - low) / length
    ramp = g.clip(0, 1)
    if rule.truncate:
        # Whole ends: only the quotient and 1 - g are rounded, and neither at an end.
        error = ramp + (1 - ramp)
        moves = (g > 0) & (g < 1)
    else:
        at_low = _end_roundings(rule, low, rule.beta_fast, rotary_dim, how)
        at_high = _end_roundings(rule, high, rule.beta_slow, rotary_dim, how)
        ends = ((1 - ramp) * at_low + ramp * at_high) / abs(length)
        error = ends + 3 * ramp + (1 - ramp)
        moves = _moves(g, error, how)
    return 1 - ramp, np.where(moves, error, 0)


def _end_roundings(rule: YaRN, end: float, turns: Real, rotary_dim: int, how: _Making) -> float:
    """Units that an end of the ramp, ``R ln(L / (2 pi n)) / (2 ln b)``, is off by, in pairs."""
    own = rule.rule
    log_base = math.log(own.base)
    channels = rotary_dim if own.denominator is None else float(own.denominator)
    inside = 3 + how.rounds(turns) + how.rounds(rule.original_length)
    relative = 2 * _LOG + 2 + how.rounds(own.base) / log_base
    return inside * channels / (2 * log_base) + relative * abs(end)


def _moves(ramp: FloatArray, error: FloatArray, how: _Making) -> npt.NDArray[np.bool_]:
    """Where a ramp, before it is cut to 0 and 1, is between them or may come out there."""
    slack = error * float(np.finfo(how.dtype).eps) / 2
    return (ramp > -slack) & (ramp < 1 + slack)


def _blend(
    a: FloatArray,
    m_a: FloatArray,
    b: FloatArray,
    m_b: FloatArray,
    share: FloatArray,
    error: FloatArray,
) -> FloatArray:
    """``a (1 - share) + b share``, the share being off by `error` units.

    Each term is one product and may have one difference from 1; then there is the sum.
    """
    first, second = a * (1 - share), b * share
    lost = abs(first) * (m_a + 2) + abs(second) * (m_b + 2) + abs(b - a) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        m = lost / abs(first + second) + 1
    still = (error == 0) | (first + second == 0)
    return np.where(still & (share == 0), m_a, np.where(still & (share == 1), m_b, m))


def _own_amplitude(rule: FrequencyRule, how: _Making) -> float:
    """Units that an amplitude is off by before it is multiplied."""
    if rule.amplitude == 1:
        return 0.0
    if isinstance(rule, YaRN) and rule.attention_factor is None:
        return _magnitudes(rule, how)
    if isinstance(rule, LongRoPE):
        below, given = _own_amplitude(rule.rule, how), rule.attention_factor
        mscale = rule.long_mscale if rule.is_long else rule.short_mscale
        computed = given is None and mscale is None and rule.factor > 1
        own = _root_of_logarithms(rule, how) if computed else 1.0
        return own + (below + 1 if below else 0)
    if isinstance(rule, Axial):
        return _own_amplitude(rule.rules[0], how)
    if isinstance(rule, Divided | Linear | Llama3 | Proportional | Reordered):
        return _own_amplitude(rule.rule, how)
    return 1.0  # given, and rounded


def _magnitudes(rule: YaRN, how: _Making) -> float:
    """Units that ``c m ln s + 1``, or the quotient of two such, is off by."""

    def units(weight: Real) -> float:
        rate = float(rule.coefficient) * float(weight)
        term = rate * math.log(rule.factor)
        relative = _LOG + 2 + how.rounds(rule.coefficient) + how.rounds(weight)
        lost = abs(term) * relative + abs(rate) * how.rounds(rule.factor)
        return lost / abs(1 + term) + 1

    first, second = rule.mscale, rule.mscale_all_dim
    if rule.amplitude_rule == "defaults":
        first, second = 1 if first is None else first, second or 0
    if first is not None and second is not None:
        return units(first) + units(second) + 1
    # Of systems that know one weight only, some use it and some do not: the larger count.
    return max([units(1), *(units(weight) for weight in (first, second) if weight is not None)])


def _root_of_logarithms(rule: LongRoPE, how: _Making) -> float:
    """Units that ``sqrt(1 + ln f / ln L)`` is off by."""
    factor, length = math.log(rule.factor), math.log(rule.original_length)
    quotient = factor / length
    relative = 2 * _LOG + 1 + how.rounds(rule.factor) / factor
    relative += how.rounds(rule.original_length) / length
    return (quotient * relative / (1 + quotient) + 1) / 2 + 1

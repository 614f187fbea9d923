"""Every scaling in float32, as formulas.

Some code holds every number in float32; some holds single numbers as Python floats, and only
the frequencies in float32. `number` below is the type of single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import angles, rotate
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec
from rope_ref.scaling import (
    NTK,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    YaRN,
)

Number = Callable[[Any], Any]
F = np.float32


def theta_of(rule: Any, width: int, number: Number) -> Array:
    """Frequencies in float32; single numbers in the type that `number` makes."""
    if isinstance(rule, PowerLaw):
        return _ladder(number(rule.base), rule, width)
    if isinstance(rule, ExplicitFrequencies):
        return np.array(rule.theta(width), dtype=F)
    return _FORMULAS[type(rule)](rule, width, number)


def amplitude_of(rule: Any, number: Number) -> Any:
    """The factor on cos and sin."""
    if isinstance(rule, YaRN) and rule.attention_factor is None:
        if not (rule.mscale and rule.mscale_all_dim):
            return _magnitude(rule, 1, number)
        first, second = rule.mscale, rule.mscale_all_dim
        return _magnitude(rule, first, number) / _magnitude(rule, second, number)
    if isinstance(rule, LongRoPE) and rule.factor > 1:
        given = rule.long_mscale if rule.is_long else rule.short_mscale
        if (given or rule.attention_factor) is None:
            logs = _log(number(rule.factor), number) / _log(number(rule.original_length), number)
            return number(np.sqrt(number(1) + logs))
    return number(rule.amplitude)


def rotated(x: Array, positions: Array, spec: RopeSpec, theta: Array, amplitude: Any) -> Array:
    """The rotation in float32."""
    phase = angles(positions, theta)
    cos, sin = np.cos(phase), np.sin(phase)
    if amplitude != 1:
        cos, sin = cos * F(amplitude), sin * F(amplitude)
    return rotate(x, cos, sin, spec)


def _log(value: Any, number: Number) -> Any:
    return number(np.log(value))


def _ladder(base: Any, rule: PowerLaw, width: int) -> Array:
    """A power law with another base."""
    below = width if rule.denominator is None else rule.denominator
    exponent = np.arange(0, width, 2, dtype=F) / F(below)
    return np.asarray(F(1) / F(base) ** exponent)


def _magnitude(rule: YaRN, weight: Any, number: Number) -> Any:
    if rule.factor <= 1:
        return number(1)
    rate = number(rule.coefficient) * number(weight)
    return rate * _log(number(rule.factor), number) + number(1)


def _linear(rule: Linear, width: int, number: Number) -> Array:
    return theta_of(rule.rule, width, number) / F(number(rule.factor))


def _larger_base(rule: PowerLaw, alpha: Any, width: int, number: Number) -> Array:
    exponent = number(width) / number(width - 2)
    return _ladder(number(rule.base) * alpha**exponent, rule, width)


def _ntk(rule: NTK, width: int, number: Number) -> Array:
    return _larger_base(rule.rule, number(rule.alpha), width, number)


def _dynamic(rule: DynamicNTK, width: int, number: Number) -> Array:
    factor, trained = number(rule.factor), number(rule.original_length)
    longest = max(number(rule.length or 0), trained)
    alpha = factor * longest / trained - (factor - number(1))
    return _larger_base(rule.rule, alpha, width, number)


def _fixed(rule: FixedNTK, width: int, number: Number) -> Array:
    factor, pairs = number(rule.factor), width // 2
    if rule.mixing is None:
        root = factor ** (number(2) / number(width))
        return _ladder(number(rule.rule.base) * factor, rule.rule, width) / F(root)
    mixing = number(rule.mixing)
    rate = _log(factor, number) / number(pairs) ** mixing
    slower = np.exp(F(rate) * np.arange(1, pairs + 1, dtype=F) ** F(mixing))
    return np.asarray(theta_of(rule.rule, width, number) / slower)


def _corrected(rule: Any, turns: Any, width: int, number: Number) -> Any:
    """The pair that makes so many turns in the original context."""
    below = width if rule.rule.denominator is None else rule.rule.denominator
    ratio = number(rule.original_length) / (number(turns) * number(2 * math.pi))
    return number(below) * _log(ratio, number) / (number(2) * _log(number(rule.rule.base), number))


def _ramp(low: Any, high: Any, pairs: int) -> Array:
    if low == high:
        high += 0.001
    return np.asarray(((np.arange(pairs, dtype=F) - F(low)) / F(high - low)).clip(0, 1))


def _whole_ramp(rule: Any, turns: Any, width: int, number: Number) -> Array:
    low = max(math.floor(_corrected(rule, turns[0], width, number)), 0)
    high = min(math.ceil(_corrected(rule, turns[1], width, number)), width - 1)
    return _ramp(low, high, width // 2)


def _yarn(rule: YaRN, width: int, number: Number) -> Array:
    turns = rule.beta_fast, rule.beta_slow
    if rule.truncate:
        ramp = _whole_ramp(rule, turns, width, number)
    else:
        low, high = (_corrected(rule, each, width, number) for each in turns)
        ramp = _ramp(max(low, number(0)), min(high, number(width - 1)), width // 2)
    theta, kept = theta_of(rule.rule, width, number), F(1) - ramp
    return theta / F(number(rule.factor)) * (F(1) - kept) + theta * kept


def _by_parts(rule: NTKByParts, width: int, number: Number) -> Array:
    plain = theta_of(rule.rule, width, number)
    ntk = _larger_base(rule.rule, number(rule.factor), width, number)
    to_ntk = (F(1) - _whole_ramp(rule, rule.betas, width, number)) * F(rule.ntk_factor)
    to_plain = F(1) - _whole_ramp(rule, rule.gammas, width, number)
    to_plain = to_plain * F(rule.extrapolation_factor)
    scaled = plain / F(number(rule.factor)) * (F(1) - to_ntk) + ntk * to_ntk
    return np.asarray(scaled * (F(1) - to_plain) + plain * to_plain)


def _llama3(rule: Llama3, width: int, number: Number) -> Array:
    theta = theta_of(rule.rule, width, number)
    low, high = number(rule.low_freq_factor), number(rule.high_freq_factor)
    wavelength = F(2 * math.pi) / theta
    turns = F(number(rule.original_length)) / wavelength
    slow = theta / F(number(rule.factor))
    if low == high:
        return np.where(turns > F(low), theta, slow)
    kept = (turns - F(low)) / F(high - low)
    blended = (F(1) - kept) * slow + kept * theta
    return np.where(turns < F(low), slow, np.where(turns > F(high), theta, blended))


def _long(rule: LongRoPE, width: int, number: Number) -> Array:
    factors = np.array(rule.long_factors if rule.is_long else rule.short_factors, dtype=F)
    return theta_of(rule.rule, width, number) / factors


def _proportional(rule: Proportional, width: int, number: Number) -> Array:
    theta = theta_of(rule.rule, width, number) / F(number(rule.factor))
    theta[int(float(rule.fraction) * width // 2) :] = 0
    return theta


_FORMULAS: dict[type, Callable[[Any, int, Number], Array]] = {
    Linear: _linear,
    NTK: _ntk,
    DynamicNTK: _dynamic,
    FixedNTK: _fixed,
    YaRN: _yarn,
    NTKByParts: _by_parts,
    Llama3: _llama3,
    LongRoPE: _long,
    Proportional: _proportional,
}

"""Honest float32 forms of every remap, at the parameters of real models.

Two habits are followed. Some code holds every number in float32; some keeps single numbers
in Python's float64 and only the frequencies in float32. Which one is `number` below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.plain import Rope, angles, rotate
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
    ScaledRule,
    YaRN,
)

Number = Callable[[Any], Any]
F = np.float32


def _accepts(spec: RopeSpec) -> bool | str:
    """Any remap over anything, in the commonest reading."""
    rule: Any = spec.frequencies
    if isinstance(rule, YaRN):
        own = rule.limit, rule.equal_ends, rule.amplitude_rule, rule.below_one
        if own != ("channels", "raise", "truthy", False):
            return "another reading of YaRN"
    known = isinstance(rule, PowerLaw | ExplicitFrequencies | ScaledRule) and spec.pair_axes is None
    return known or "frequencies of another kind"


_WIDE: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**24), 2**24),
    "position_kinds": ("integer", "real"),
    "empty": True,
    "strided": True,
    "accepts": _accepts,
}


def theta_of(rule: Any, width: int, number: Number) -> Array:
    """Frequencies in float32; single numbers in the type that `number` makes."""
    if isinstance(rule, PowerLaw):
        return _ladder(number(rule.base), rule, width)
    if isinstance(rule, ExplicitFrequencies):
        return np.array(rule.theta(width), dtype=F)
    return _REMAPS[type(rule)](rule, width, number)


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


def _rope(spec: RopeSpec, number: Number) -> Rope:
    rule = spec.frequencies
    theta, amplitude = theta_of(rule, spec.rotary_dim, number), amplitude_of(rule, number)
    return lambda x, positions: rotated(x, positions, spec, theta, amplitude)


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


_REMAPS: dict[type, Callable[[Any, int, Number], Array]] = {
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


def _half(head_dim: int, rule: Any) -> RopeSpec:
    return RopeSpec(head_dim, layout="half", frequencies=rule)


@control(_half(128, Linear(PowerLaw(1e4), factor=8)), profile="float32-power", **_WIDE)
def linear_divides_positions(spec: RopeSpec) -> Rope:
    """Linear scaling by 8: positions are divided, in float32, and frequencies left alone."""
    rule = spec.frequencies
    if not isinstance(rule, Linear):
        return _rope(spec, F)
    theta, amplitude = theta_of(rule.rule, spec.rotary_dim, F), amplitude_of(rule.rule, F)
    return lambda x, positions: rotated(
        x, positions.astype(F) / F(rule.factor), spec, theta, amplitude
    )


@control(_half(128, NTK(PowerLaw(1e4), alpha=1000)), profile="float32-power", **_WIDE)
def ntk_by_a_larger_base(spec: RopeSpec) -> Rope:
    """NTK-aware scaling by 1000, as Hunyuan has it: the larger base in Python's numbers."""
    return _rope(spec, float)


@control(_half(128, NTK(PowerLaw(1e4), alpha=8)), profile="float32", **_WIDE)
def ntk_by_exp(spec: RopeSpec) -> Rope:
    """NTK-aware scaling by 8, all in float32: the base by pow, the ladder by exp."""
    rule, width = spec.frequencies, spec.rotary_dim
    if not isinstance(rule, NTK):
        return _rope(spec, F)
    base = F(rule.rule.base) * F(rule.alpha) ** (F(width) / F(width - 2))
    below = F(width if rule.rule.denominator is None else rule.rule.denominator)
    theta = np.exp(-np.log(base) * (np.arange(0, width, 2, dtype=F) / below))
    return lambda x, positions: rotated(x, positions, spec, theta, 1)


@control(
    _half(128, DynamicNTK(PowerLaw(1e4), factor=2, original_length=4096, length=8192)),
    profile="float32-power",
    **_WIDE,
)
def dynamic_ntk_in_float32(spec: RopeSpec) -> Rope:
    """Dynamic NTK at twice the trained length; factor, base and ladder in float32."""
    return _rope(spec, F)


@control(_half(128, FixedNTK(PowerLaw(1e4), factor=8)), profile="float32-power", **_WIDE)
def fixed_ntk_in_float32(spec: RopeSpec) -> Rope:
    """The scaling that vLLM calls ntk, all in float32."""
    return _rope(spec, F)


@control(_half(128, NTKByParts(PowerLaw(1e4), factor=4)), profile="float32-power", **_WIDE)
def ntk_by_parts_in_float32(spec: RopeSpec) -> Rope:
    """NTK-by-parts with two whole ramps, all in float32."""
    return _rope(spec, F)


@control(
    _half(128, YaRN(PowerLaw(1e6), factor=4, original_length=32768)),
    profile="float32-power",
    **_WIDE,
)
def yarn_in_float32(spec: RopeSpec) -> Rope:
    """Qwen2.5's YaRN; ramp, frequencies and amplitude in float32."""
    return _rope(spec, F)


@control(
    _half(
        64,
        YaRN(PowerLaw(1e4), factor=40, original_length=4096, mscale=1, mscale_all_dim=0.707),
    ),
    dtypes=("bfloat16",),
    profile="float32-power",
    **_WIDE,
)
def yarn_with_a_quotient_of_logarithms(spec: RopeSpec) -> Rope:
    """DeepSeek's YaRN, single numbers in Python's; the amplitude is a quotient. bfloat16 data."""
    return _rope(spec, float)


@control(
    _half(64, YaRN(PowerLaw(150000), factor=32, original_length=4096, truncate=False)),
    profile="float32-power",
    **_WIDE,
)
def yarn_untruncated(spec: RopeSpec) -> Rope:
    """The YaRN of gpt-oss, whose ramp ends between pairs, all in float32."""
    return _rope(spec, F)


@control(
    _half(
        96,
        LongRoPE(
            PowerLaw(1e4),
            short_factors=[1 + 0.02 * i for i in range(48)],
            long_factors=[1.07 * 1.09**i for i in range(48)],
            original_length=4096,
            factor=32,
            length=131072,
        ),
    ),
    profile="float32-power",
    **_WIDE,
)
def longrope_in_float32(spec: RopeSpec) -> Rope:
    """LongRoPE beyond the trained length, with factors like those of Phi-3, all in float32."""
    return _rope(spec, F)


@control(_half(128, Llama3(PowerLaw(5e5), factor=8)), profile="float32-power", **_WIDE)
def llama3_in_float32(spec: RopeSpec) -> Rope:
    """The scaling of Llama-3.1, blended by wavelengths in float32."""
    return _rope(spec, F)


@control(_half(128, Proportional(PowerLaw(1e6), fraction=0.25)), profile="float32-power", **_WIDE)
def proportional_in_float32(spec: RopeSpec) -> Rope:
    """Gemma-4's RoPE of a quarter of the pairs; the others stand still (a narrower head)."""
    return _rope(spec, F)

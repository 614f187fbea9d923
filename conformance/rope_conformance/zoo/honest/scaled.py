"""Honest float32 forms of every scaling, at the parameters of real models."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.plain import Rope
from rope_conformance.zoo.parts.scaling_formulas import F, Number, amplitude_of, rotated, theta_of
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


def _accepts(spec: RopeSpec) -> bool | str:
    """Any scaling of anything, as most code reads it."""
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


def _rope(spec: RopeSpec, number: Number) -> Rope:
    rule = spec.frequencies
    theta, amplitude = theta_of(rule, spec.rotary_dim, number), amplitude_of(rule, number)
    return lambda x, positions: rotated(x, positions, spec, theta, amplitude)


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

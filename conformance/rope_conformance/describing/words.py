"""A RoPE in words: its layout, its frequency rule, and all of it, at length and on a line."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from rope_conformance.target.rule_parts import divisors
from rope_ref import ExplicitFrequencies, FrequencyRule, PowerLaw, RopeSpec, pair_channels
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
    ScaledRule,
    YaRN,
)
from rope_ref.scaling.axial import Axial, Reordered
from rope_ref.spec import Layout

__all__ = [
    "layout_in_words",
    "layouts_in_words",
    "rule_in_words",
    "spec_in_words",
    "spec_on_a_line",
]


def spec_in_words(spec: RopeSpec) -> list[str]:
    """Return what a spec says, one sentence for each of its parts."""
    first, second = pair_channels(spec)
    if not first.size:
        return rule_in_words(spec.frequencies, 0)
    words = [f"{spec.rotary_dim} of {spec.head_dim} channels rotate, in {first.size} pairs"]
    pair = f"pair 0 is channels {first[0]} and {second[0]}"
    if first.size > 1:
        pair += f", pair 1 is {first[1]} and {second[1]}"
    words.append(f"{pair} ({spec.layout} layout)")
    if spec.output_layout != spec.layout:
        words.append(f"pairs are written in the {spec.output_layout} layout")
    if spec.direction == -1:
        words.append("pairs turn clockwise")
    if spec.pair_axes is not None:
        counts = [spec.pair_axes.count(axis) for axis in range(max(spec.pair_axes) + 1)]
        words.append(
            "positions have "
            + f"{len(counts)} axes, followed by {', '.join(map(str, counts))} pairs"
        )
    words += rule_in_words(spec.frequencies, spec.rotary_dim)
    amplitude = float(spec.frequencies.amplitude)
    if amplitude != 1:
        words.append(
            f"cos and sin are multiplied by {amplitude:.9g}, and so logits by {amplitude**2:.9g}"
        )
    return words


def spec_on_a_line(spec: RopeSpec) -> str:
    """Return what a spec says in short, on a line or two."""
    words = [f"{spec.head_dim} channels"]
    if spec.rotary_dim != spec.head_dim:
        last = spec.rotary_start + spec.rotary_dim - 1
        words.append(f"of which {spec.rotary_start} to {last} rotate")
    words.append(layouts_in_words(spec))
    if isinstance(spec.frequencies, PowerLaw):
        words.append(f"base {spec.frequencies.base:.12g}")
    else:
        words += rule_in_words(spec.frequencies, spec.rotary_dim)
    if spec.direction == -1:
        words.append("clockwise")
    return ", ".join(words)


def layout_in_words(layout: Layout, spec: RopeSpec) -> str:
    """A layout as its name and its channels."""
    if layout == "interleaved":
        return "interleaved (channels 2i and 2i+1)"
    return f"half-split (channels i and i+{spec.rotary_dim // 2})"


def layouts_in_words(spec: RopeSpec) -> str:
    """The layout of a spec, and the one that is written if that is another."""
    words = layout_in_words(spec.layout, spec)
    if spec.output_layout != spec.layout:
        words += f", written {layout_in_words(spec.output_layout, spec)}"
    return words


def rule_in_words(rule: FrequencyRule, rotary_dim: int) -> list[str]:
    """Return what a rule says, one sentence for each rule, the plain one first."""
    if not rotary_dim:
        return ["no channel rotates"]
    below = rule_in_words(rule.rule, rotary_dim) if isinstance(rule, ScaledRule | Reordered) else []
    return [*below, _words(rule, rotary_dim)]


@singledispatch
def _words(rule: FrequencyRule, rotary_dim: int) -> str:
    return str(rule)


@_words.register
def _(rule: PowerLaw, rotary_dim: int) -> str:
    below = rotary_dim if rule.denominator is None else rule.denominator
    return f"theta_i = {_n(rule.base)}**(-2i/{_n(below)})"


@_words.register
def _(rule: ExplicitFrequencies, rotary_dim: int) -> str:
    return "theta_i as given, one by one"


@_words.register
def _(rule: Linear, rotary_dim: int) -> str:
    return f"linear: theta divided by {_n(rule.factor)}"


@_words.register
def _(rule: NTK, rotary_dim: int) -> str:
    return f"NTK: the base multiplied by {_n(rule.alpha)}**(R/(R - 2))"


@_words.register
def _(rule: FixedNTK, rotary_dim: int) -> str:
    mixing = "" if rule.mixing is None else f", mixed with exponent {_n(rule.mixing)}"
    return f"fixed NTK: the slowest pair divided by {_n(rule.factor)}, all slowed{mixing}"


@_words.register
def _(rule: DynamicNTK, rotary_dim: int) -> str:
    length = rule.original_length if rule.length is None else rule.length
    return (
        f"dynamic NTK: alpha = {_n(rule.factor)} n/{_n(rule.original_length)} - "
        f"{_n(rule.factor - 1)} beyond {_n(rule.original_length)} positions; shown at {_n(length)}"
    )


@_words.register
def _(rule: NTKByParts, rotary_dim: int) -> str:
    return f"NTK-by-parts: factor {_n(rule.factor)} over {_n(rule.original_length)} positions"


@_words.register
def _(rule: YaRN, rotary_dim: int) -> str:
    low, high = rule.ends(rotary_dim)
    rounding = "" if rule.truncate else ", ends not rounded"
    return (
        f"YaRN: factor {_n(rule.factor)} over {_n(rule.original_length)} positions; pairs up to "
        f"{float(low):.9g} kept, from {float(high):.9g} on divided, a ramp between{rounding}"
    )


@_words.register
def _(rule: LongRoPE, rotary_dim: int) -> str:
    kind = "long" if rule.is_long else "short"
    return (
        f"LongRoPE: a factor for each pair, {_extent(rule)}; the {kind} ones, long beyond "
        f"{_n(rule.original_length)} positions"
    )


@_words.register
def _(rule: Divided, rotary_dim: int) -> str:
    return f"each pair divided by a factor of its own, {_extent(rule)}"


def _extent(rule: Divided | LongRoPE) -> str:
    factors = divisors(rule)
    return f"from {_n(min(factors))} to {_n(max(factors))}"


@_words.register
def _(rule: Llama3, rotary_dim: int) -> str:
    return (
        f"llama3: pairs of fewer than {_n(rule.low_freq_factor)} turns in "
        f"{_n(rule.original_length)} positions divided by {_n(rule.factor)}, of more than "
        f"{_n(rule.high_freq_factor)} kept"
    )


@_words.register
def _(rule: Proportional, rotary_dim: int) -> str:
    turning = rule.turning(rotary_dim)
    divided = "" if rule.factor == 1 else f", divided by {_n(rule.factor)}"
    return f"proportional: {turning} of {rotary_dim // 2} pairs turn{divided}, the rest stand still"


@_words.register
def _(rule: Axial, rotary_dim: int) -> str:
    ladders = (
        " then ".join(rule_in_words(each, width))
        for each, width in zip(rule.rules, rule.widths, strict=True)
    )
    return "a ladder for each axis: " + "; ".join(ladders)


@_words.register
def _(rule: Reordered, rotary_dim: int) -> str:
    return "the same theta in another order of pairs"


def _n(value: Any) -> str:
    """A number as a person writes it."""
    return f"{float(value):.12g}"

"""A RoPE in words and numbers: what `rope-ref describe` shows, and what two RoPEs differ in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import singledispatch
from itertools import zip_longest
from typing import Any

import numpy as np

from rope_conformance.inputs.rule_variants import divisors, plain_rule
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

__all__ = ["Difference", "Pair", "compare", "pairs_of", "rule_in_words", "spec_in_words"]


@dataclass(frozen=True)
class Pair:
    """What one pair does.

    Parameters
    ----------
    pair
        Its number.
    channels
        The two channels that are read.
    theta
        In radians per position.
    wavelength
        Positions in a full turn; infinite for a pair that stands still.
    turns
        Full turns inside the context, or None where the context is not known.
    ratio
        theta over that of the plain rule below all remaps.
    axis
        The position axis it follows; None if there is but one.
    """

    pair: int
    channels: tuple[int, int]
    theta: float
    wavelength: float
    turns: float | None
    ratio: float
    axis: int | None


@dataclass(frozen=True)
class Difference:
    """Where two RoPEs differ.

    Parameters
    ----------
    what
        Fields that differ: name, value of the first, value of the second.
    position
        Where angles are compared.
    different_pairs
        How many pairs turn at another speed. None, and the next two with it, where the two
        have different numbers of pairs: there is nothing to set side by side.
    theta
        The largest relative difference of theta, and its pair; infinite where one of the two
        stands still.
    angle
        The largest difference of angles at `position`, in radians, and its pair.
    """

    what: tuple[tuple[str, str, str], ...]
    position: float
    different_pairs: int | None = None
    theta: tuple[float, int] | None = None
    angle: tuple[float, int] | None = None


def pairs_of(spec: RopeSpec, context: float | None = None) -> list[Pair]:
    """Return what each pair does, within a context of so many positions."""
    theta = spec.theta()
    below = plain_rule(spec.frequencies).theta(spec.rotary_dim)
    first, second = pair_channels(spec)
    return [
        Pair(
            pair=i,
            channels=(int(first[i]), int(second[i])),
            theta=float(w),
            wavelength=math.tau / abs(float(w)) if w else math.inf,
            turns=None if context is None else abs(float(w)) * context / math.tau,
            ratio=float(w) / below[i] if below[i] else 1.0,
            axis=None if spec.pair_axes is None else spec.pair_axes[i],
        )
        for i, w in enumerate(theta)
    ]


def compare(first: RopeSpec, second: RopeSpec, position: float) -> Difference:
    """Return where two RoPEs differ, their angles at a position."""
    what = tuple(_fields(first, second))
    if first.rotary_dim != second.rotary_dim:
        return Difference(what, position)
    own, other = (spec.direction * spec.theta() for spec in (first, second))
    with np.errstate(over="ignore"):  # a quotient or an angle may be beyond float64
        apart = np.abs(own - other)
        smaller = np.minimum(np.abs(own), np.abs(other))
        relative = np.divide(apart, smaller, out=np.full_like(apart, np.inf), where=smaller > 0)
        relative[apart == 0] = 0.0
        return Difference(
            what,
            position,
            different_pairs=int(np.count_nonzero(apart)),
            theta=_largest(relative),
            angle=_largest(apart * abs(position)),
        )


def _largest(values: Any) -> tuple[float, int]:
    if not values.size:
        return 0.0, 0
    i = int(np.argmax(values))
    return float(values[i]), i


def _fields(first: RopeSpec, second: RopeSpec) -> Iterator[tuple[str, str, str]]:
    for field in fields(first):
        own, other = (vars(each)[field.name] for each in (first, second))
        if own == other:
            continue
        if field.name == "frequencies":
            yield from (
                ("frequencies", a, b)
                for a, b in zip_longest(
                    rule_in_words(own, first.rotary_dim),
                    rule_in_words(other, second.rotary_dim),
                    fillvalue="nothing more",
                )
                if a != b
            )
        elif field.name == "pair_axes":
            yield "axes of the pairs", _axes_in_words(own), _axes_in_words(other)
        else:
            yield field.name, str(own), str(other)
    a, b = (float(each.frequencies.amplitude) for each in (first, second))
    if a != b:
        yield "amplitude", f"{a:.9g}", f"{b:.9g}"


def _axes_in_words(axes: tuple[int, ...] | None) -> str:
    return "all follow one" if axes is None else "".join(map(str, axes))


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

"""Frequencies of a scaling by a wrong formula: one step of it, which no parameter says.

Each is of a kind that public trackers report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.faults import Fault
from rope_conformance.target.rule_parts import base_below, divisors
from rope_ref.scaling import NTK, Divided, DynamicNTK, Llama3, LongRoPE, Proportional, YaRN

__all__ = ["AlternativeFrequencies", "other_formulas"]


@dataclass(frozen=True)
class AlternativeFrequencies:
    """Frequencies that a wrong implementation may have.

    Parameters
    ----------
    words
        How they come about.
    theta
        One for each pair.
    second
        Those of the second channels, where these have others.
    fault
        The class of what is wrong then.
    """

    words: str
    theta: FloatArray
    second: FloatArray | None = None
    fault: Fault = "scaling"


def other_formulas(
    rule: Any, plain: FloatArray, rotary_dim: int, head_dim: int, layout: str
) -> list[AlternativeFrequencies]:
    """Frequencies of a rule by other formulas.

    Parameters
    ----------
    rule
        The scaling.
    plain
        theta_i of the rule below it.
    rotary_dim, head_dim, layout
        Of the spec: a wrong formula may confuse the widths, or count channels for pairs.
    """
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
    rule: YaRN, w: FloatArray, rotary_dim: int, head_dim: int, layout: str
) -> Iterator[AlternativeFrequencies]:
    s, base = float(rule.factor), float(rule.rule.base)
    i = np.arange(w.size, dtype=np.float64)
    low, high = map(float, rule.ends(rotary_dim))
    last = rotary_dim - 1 if rule.limit == "channels" else rotary_dim // 2 - 1

    def ramp(begin: float, end: float, index: FloatArray = i) -> FloatArray:
        return np.asarray(np.clip((index - begin) / ((end - begin) or 0.001), 0, 1))

    def blend(g: FloatArray, slow: FloatArray = w / s) -> FloatArray:
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


def _llama3_formulas(rule: Llama3, w: FloatArray) -> Iterator[AlternativeFrequencies]:
    s, low, high = (float(n) for n in (rule.factor, rule.low_freq_factor, rule.high_freq_factor))
    turns = float(rule.original_length) * w / (2 * math.pi)

    def share(turns: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (turns - low) / (high - low)
        return np.where(turns <= low, 0.0, np.where(turns >= high, 1.0, between))

    def blend(k: FloatArray) -> FloatArray:
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
    rule: Proportional, w: FloatArray, rotary_dim: int
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

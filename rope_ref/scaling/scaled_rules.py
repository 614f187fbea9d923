"""Remaps: rules that change the frequencies of another rule for a longer context.

A remap changes theta_i, and some of them the amplitude, and nothing else: layout, phase
and rotation do not know of it. Those that change the base are in `ntk`, YaRN is in `yarn`.

What systems do differently under one name is a parameter; its default is the commonest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from rope_ref.arguments import shown
from rope_ref.errors import FrequencyCountError, FrequencyValueError
from rope_ref.exact.frequency import Computed, Frequency
from rope_ref.exact.parameters import choice, number, optional, positive, positives
from rope_ref.exact.real import DIGITS, Real, logarithm, real, real_arithmetic
from rope_ref.scaling.frequencies import FrequencyRule, PowerLaw

__all__ = ["Linear", "Llama3", "LongRoPE", "Proportional", "ScaledRule"]


class ScaledRule(FrequencyRule):
    """A rule over a rule. What it does not change is that rule's."""

    rule: FrequencyRule

    @property
    def amplitude(self) -> Fraction:
        """The amplitude of the rule below."""
        return self.rule.amplitude

    def _call(self, **parameters: object) -> str:
        given = ", ".join(
            f"{name}={'...' if value is ... else shown(value)}"
            for name, value in parameters.items()
        )
        return f"{type(self).__name__}({shown(self.rule)}, {given})"

    def _needs_rule(self, call: str) -> None:
        if not isinstance(self.rule, FrequencyRule):
            raise FrequencyValueError(
                f"{call}: rule must be a frequency rule such as PowerLaw(10000), got "
                f"{shown(self.rule)}"
            )

    def _needs_power_law(self, call: str) -> None:
        if not isinstance(self.rule, PowerLaw):
            raise FrequencyValueError(
                f"{call}: rule must be a PowerLaw, for its base is changed, got {shown(self.rule)}"
            )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Linear(ScaledRule):
    """theta_i / factor: position interpolation.

    Dividing positions by the factor instead is the same RoPE.

    Parameters
    ----------
    rule
        The frequencies to divide.
    factor
        How many times longer the context becomes.

    Raises
    ------
    FrequencyValueError
        If `factor` is not a positive finite number, or `rule` no rule.

    Notes
    -----
    Source: Chen et al., Position Interpolation, arXiv:2306.15595, equation 4.
    """

    rule: FrequencyRule
    _: KW_ONLY
    factor: Real

    def __post_init__(self) -> None:
        call = self._call(factor=self.factor)
        self._needs_rule(call)
        self._set(factor=positive(self.factor, call, "factor", "1 changes nothing"))

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, divided."""
        return tuple(w / self.factor for w in self.rule.frequencies(rotary_dim))


@dataclass(frozen=True)
class LongRoPE(ScaledRule):
    """theta_i divided by a factor of its own for each pair: one list for short texts, one for long.

    Parameters
    ----------
    rule
        The frequencies to divide.
    short_factors, long_factors
        One per pair.
    original_length
        Texts longer than this take the long factors.
    factor
        How many times longer the context becomes; for the amplitude.
    length
        The length in question; None for any up to `original_length`. When a system
        decides for the long factors is in `rope_ref.extensions.length_rules`.
    attention_factor
        The amplitude, if not ``sqrt(1 + ln(factor) / ln(original_length))`` (1 where
        `factor` is at most 1). The same for short and long texts.
    short_mscale, long_mscale
        The amplitude of short and of long texts, where they differ.

    Raises
    ------
    FrequencyValueError
        If a parameter is not a positive finite number.
    FrequencyCountError
        When used with another number of pairs than there are factors.

    Notes
    -----
    Source: Ding et al., LongRoPE, arXiv:2402.13753; `longrope` in
    huggingface/transformers, where it was called ``su`` and, for Phi-3, ``yarn``.
    """

    rule: FrequencyRule
    _: KW_ONLY
    short_factors: Sequence[Real]
    long_factors: Sequence[Real]
    original_length: Real
    factor: Real
    length: Real | None = None
    attention_factor: Real | None = None
    short_mscale: Real | None = None
    long_mscale: Real | None = None

    def __post_init__(self) -> None:
        call = self._call(short_factors=..., long_factors=..., original_length=self.original_length)
        self._needs_rule(call)
        hint = "give the length the model was trained for"
        self._set(
            short_factors=positives(self.short_factors, call, "short_factors"),
            long_factors=positives(self.long_factors, call, "long_factors"),
            original_length=positive(self.original_length, call, "original_length", hint),
            factor=positive(self.factor, call, "factor", "a usual one is 32"),
            length=optional(self.length, call, "length"),
            attention_factor=optional(self.attention_factor, call, "attention_factor"),
            short_mscale=optional(self.short_mscale, call, "short_mscale"),
            long_mscale=optional(self.long_mscale, call, "long_mscale"),
        )
        computed = self.attention_factor is None and None in (self.short_mscale, self.long_mscale)
        if computed and self.factor > 1 and logarithm(self.original_length) <= 0:
            raise FrequencyValueError(
                f"{call}: original_length must be above 1, for the amplitude divides by its "
                "logarithm; give attention_factor instead"
            )

    def at(self, length: Real) -> LongRoPE:
        """The same rule at another length."""
        return replace(self, length=length)

    @property
    def is_long(self) -> bool:
        """Whether the long factors are in use."""
        return self.length is not None and self.length > self.original_length

    @property
    def amplitude(self) -> Fraction:
        """The amplitude of the rule below, times that of this one, to 80 digits."""
        own = self.long_mscale if self.is_long else self.short_mscale
        if own is None:
            own = self.attention_factor
        if own is not None:
            return self.rule.amplitude * Fraction(own)
        if self.factor <= 1:
            return self.rule.amplitude
        with real_arithmetic(DIGITS):
            ratio = logarithm(self.factor) / logarithm(self.original_length)
            return self.rule.amplitude * Fraction((1 + ratio).sqrt())

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, each divided by its own factor."""
        factors = self._in_use(rotary_dim)
        theta = self.rule.frequencies(rotary_dim)
        return tuple(w / factor for w, factor in zip(theta, factors, strict=True))

    def _in_use(self, rotary_dim: int) -> Sequence[Real]:
        for name, factors in (("short", self.short_factors), ("long", self.long_factors)):
            if len(factors) != rotary_dim // 2:
                raise FrequencyCountError(
                    f"rotary_dim={rotary_dim} with LongRoPE: {len(factors)} {name}_factors given, "
                    f"but rotary_dim={rotary_dim} has {rotary_dim // 2} pairs; give one per pair"
                )
        return self.long_factors if self.is_long else self.short_factors


@dataclass(frozen=True)
class Llama3(ScaledRule):
    """Slow pairs are divided by the factor, fast ones kept, those between are blended.

    What counts is the number of turns a pair makes in `original_length` positions:
    below `low_freq_factor` it is slow, above `high_freq_factor` fast.

    Parameters
    ----------
    rule
        The frequencies to change.
    factor
        What slow pairs are divided by.
    low_freq_factor, high_freq_factor
        Turns in the original context. Where both are equal there is nothing between.
    original_length
        The length the model was trained for.
    boundary
        A pair that makes exactly `low_freq_factor` turns is ``"slow"``, as the blend has
        it, or ``"fast"``, as mlx-lm has it.

    Raises
    ------
    FrequencyValueError
        If a parameter is not a positive finite number, or `high_freq_factor` is below
        `low_freq_factor`.

    Notes
    -----
    Source: `llama3` in huggingface/transformers, modeling_rope_utils.py; Llama-3.1 has
    8, 1, 4, 8192. Defaults elsewhere: 8194 positions in lmdeploy, a high factor of 32 in
    xformers.
    """

    rule: FrequencyRule
    _: KW_ONLY
    factor: Real
    low_freq_factor: Real = 1.0
    high_freq_factor: Real = 4.0
    original_length: Real = 8192.0
    boundary: Literal["slow", "fast"] = "slow"

    def __post_init__(self) -> None:
        call = self._call(
            factor=self.factor,
            low_freq_factor=self.low_freq_factor,
            high_freq_factor=self.high_freq_factor,
            original_length=self.original_length,
        )
        self._needs_rule(call)
        hint = "Llama-3.1 has factor 8, low 1, high 4, length 8192"
        self._set(
            factor=positive(self.factor, call, "factor", hint),
            low_freq_factor=positive(self.low_freq_factor, call, "low_freq_factor", hint),
            high_freq_factor=positive(self.high_freq_factor, call, "high_freq_factor", hint),
            original_length=positive(self.original_length, call, "original_length", hint),
        )
        if self.high_freq_factor < self.low_freq_factor:
            raise FrequencyValueError(
                f"{call}: high_freq_factor must not be below low_freq_factor; {hint}"
            )
        choice(self.boundary, ("slow", "fast"), call, "boundary")

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below: kept, divided, or part of each."""
        theta = self.rule.frequencies(rotary_dim)
        return tuple(w.blend(w / self.factor, self._kept(w)) for w in theta)

    def _kept(self, frequency: Frequency) -> Fraction | Computed:
        """How much of a frequency is kept: 0 if slow, 1 if fast; exact for rational turns."""
        ends = (self.original_length, self.low_freq_factor, self.high_freq_factor)
        turns = frequency.rational
        if turns is not None:
            length, low, high = (Fraction(end) for end in ends)
            share: Fraction = self._share(length * abs(turns), low, high)
            return share

        def computed(n: int) -> Decimal:
            length, low, high = (real(end) for end in ends)
            share: Decimal = self._share(length * abs(frequency.turns(n)), low, high)
            return share

        return computed

    def _share(self, turns: Any, low: Any, high: Any) -> Any:
        """What is kept of a pair with so many turns; Decimal or Fraction."""
        if turns == low:
            return type(turns)(0 if self.boundary == "slow" else 1)
        if turns < low:
            return type(turns)(0)
        return type(turns)(1) if turns >= high else (turns - low) / (high - low)


@dataclass(frozen=True)
class Proportional(ScaledRule):
    """p-RoPE: a part of the pairs turns as in the whole head, the others stand still.

    Of D channels, all of them paired, the first ``int(fraction * D // 2)`` pairs have the
    frequencies of a head of D channels, divided by `factor`; the rest have theta 0. (In an
    ordinary partial RoPE pairs are formed within the rotating part, and R is the divisor.)

    Parameters
    ----------
    rule
        The frequencies of the whole head; the spec's rotary_dim is the whole head too.
    fraction
        The part of pairs that turns, from 0 to 1.
    factor
        What their frequencies are divided by.

    Raises
    ------
    FrequencyValueError
        If `fraction` does not lie in 0 to 1, or `factor` is not positive.

    Notes
    -----
    Source: `proportional` in huggingface/transformers (Gemma 4), which calls the fraction
    ``partial_rotary_factor``. vLLM does not divide by the factor.
    """

    rule: FrequencyRule
    _: KW_ONLY
    fraction: Real
    factor: Real = 1.0

    def __post_init__(self) -> None:
        call = self._call(fraction=self.fraction, factor=self.factor)
        self._needs_rule(call)
        fraction = number(self.fraction, call, "fraction")
        if not 0 <= fraction <= 1:
            raise FrequencyValueError(
                f"{call}: fraction must lie between 0 and 1; Gemma 4 has 0.25"
            )
        factor = positive(self.factor, call, "factor", "1 changes nothing")
        self._set(fraction=fraction, factor=factor)

    def turning(self, rotary_dim: int) -> int:
        """How many pairs turn; by float64, as the systems count."""
        return int(float(self.fraction) * rotary_dim // 2)

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, divided, and 0 for the pairs that stand still."""
        turning = self.turning(rotary_dim)
        theta = self.rule.frequencies(rotary_dim)
        still = Frequency.of_turns(Fraction(0))
        return tuple(w / self.factor if i < turning else still for i, w in enumerate(theta))

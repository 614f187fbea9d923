"""LongRoPE: each frequency divided by a factor of its own, for short texts and for long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction

from rope_ref.errors import FrequencyCountError, FrequencyValueError
from rope_ref.exact.frequency import Frequency
from rope_ref.exact.parameters import optional, positive, positives
from rope_ref.exact.real import DIGITS, Real, logarithm, real_arithmetic
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["LongRoPE"]


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

"""YaRN, and NTK-by-parts before it: fast pairs are kept, slow ones divided, by a ramp.

How fast a pair is, is counted in turns in the original context. The pair that makes n turns
in L positions has the number, a real one,

    corr(n) = d ln(L / (2 pi n)) / (2 ln b)

with d the denominator of the power law, R if none is given. A ramp leads from the pair of
many turns to that of few. Systems round its ends, cut them off and keep them apart in
different ways, and they differ in the amplitude; each choice is a parameter of `YaRN`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Literal

from rope_ref.arguments import shown
from rope_ref.errors import FrequencyValueError
from rope_ref.exact.frequency import Computed, Frequency, together
from rope_ref.exact.parameters import choice, number, optional, positive
from rope_ref.exact.real import DIGITS, Real, approximately, logarithm, pi, real, real_arithmetic
from rope_ref.scaling.frequencies import PowerLaw
from rope_ref.scaling.ntk import NTK
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["NTKByParts", "YaRN"]

AmplitudeRule = Literal["truthy", "given", "defaults", "single", "one"]
EqualEnds = Literal["raise", "least", "lower"]


@dataclass(frozen=True)
class YaRN(ScaledRule):
    """theta_i kept for fast pairs, divided by the factor for slow ones, blended between.

    Parameters
    ----------
    rule
        A power law with a base above 1.
    factor
        How many times longer the context becomes.
    original_length
        The length the model was trained for.
    beta_fast, beta_slow
        Turns in the original context at which the ramp begins and ends.
    truncate
        Whether the ends of the ramp are rounded to whole pairs, outwards.
    limit
        How far the end of the ramp may lie: ``"channels"`` to R - 1, as most systems
        have it, ``"pairs"`` to R/2 - 1.
    equal_ends
        What keeps the ends apart: ``"raise"`` adds 0.001 to the upper one if they are
        equal, ``"least"`` makes the ramp at least 0.001 long, ``"lower"`` takes 0.001
        from the lower one if they are equal.
    attention_factor
        The amplitude, if it does not follow from the factor.
    mscale, mscale_all_dim
        Weights of the two logarithms whose ratio is the amplitude.
    amplitude_rule
        When `attention_factor` is None: with ``g(m) = coefficient m ln(factor) + 1``,

        - ``"truthy"``: g(mscale) / g(mscale_all_dim) if both are given and not 0, else
          g(1);
        - ``"given"``: the ratio if both are given, zeros too, else g(1);
        - ``"defaults"``: always the ratio, with 1 and 0 for what is not given;
        - ``"single"``: the ratio if both are given, g of the one if one is, else 1;
        - ``"one"``: 1, for the softmax carries it.
    coefficient
        0.1 in the paper.
    below_one
        Whether g is computed by its formula for factors below 1 too, instead of being 1.

    Raises
    ------
    FrequencyValueError
        If a parameter is no number it can use, or `rule` no power law.

    Notes
    -----
    Source: Peng et al., YaRN, arXiv:2309.00071, sections 3.2 to 3.4; the defaults are
    those of huggingface/transformers. Without truncation: gpt-oss. ``"pairs"``:
    keras-team/keras-hub. ``"least"``: ggml-org/llama.cpp; ``"lower"``: Grok in
    sgl-project/sglang. ``"given"``: sglang; ``"defaults"``: DeepSeek, mlx-lm, Megatron;
    ``"single"``: Lightning-AI/litgpt; ``"one"``: torchtitan, DeepSeek-V3's own code.
    """

    rule: PowerLaw
    _: KW_ONLY
    factor: Real
    original_length: Real
    beta_fast: Real = 32.0
    beta_slow: Real = 1.0
    truncate: bool = True
    limit: Literal["channels", "pairs"] = "channels"
    equal_ends: EqualEnds = "raise"
    attention_factor: Real | None = None
    mscale: Real | None = None
    mscale_all_dim: Real | None = None
    amplitude_rule: AmplitudeRule = "truthy"
    coefficient: Real = Fraction(1, 10)
    below_one: bool = False

    def __post_init__(self) -> None:
        call = self._call(factor=self.factor, original_length=self.original_length)
        _power_law_above_1(self, call)
        hint = "give the length the model was trained for"
        turns = "the usual ones are 32 and 1 turns"
        self._set(
            factor=positive(self.factor, call, "factor", "1 changes nothing"),
            original_length=positive(self.original_length, call, "original_length", hint),
            beta_fast=positive(self.beta_fast, call, "beta_fast", turns),
            beta_slow=positive(self.beta_slow, call, "beta_slow", turns),
            attention_factor=optional(self.attention_factor, call, "attention_factor"),
            coefficient=number(self.coefficient, call, "coefficient"),
        )
        for name, given in (("mscale", self.mscale), ("mscale_all_dim", self.mscale_all_dim)):
            if given is not None:
                self._set(**{name: number(given, call, name)})
        choice(self.truncate, (True, False), call, "truncate")
        choice(self.below_one, (True, False), call, "below_one")
        choice(self.limit, ("channels", "pairs"), call, "limit")
        choice(self.equal_ends, ("raise", "least", "lower"), call, "equal_ends")
        rules = ("truthy", "given", "defaults", "single", "one")
        choice(self.amplitude_rule, rules, call, "amplitude_rule")
        if self.amplitude <= 0:
            raise FrequencyValueError(
                f"{call}: the amplitude must be positive, but mscale={shown(self.mscale)} and "
                f"mscale_all_dim={shown(self.mscale_all_dim)} make it "
                f"{approximately(self.amplitude)}"
            )

    @property
    def amplitude(self) -> Fraction:
        """The amplitude of the rule below times that of this one, to 80 digits."""
        own = self._own_amplitude() if self.attention_factor is None else self.attention_factor
        return self.rule.amplitude * Fraction(own)

    def ends(self, rotary_dim: int) -> tuple[Decimal, Decimal]:
        """The pairs where the ramp begins and ends: real numbers, to 80 digits."""
        with real_arithmetic(DIGITS):
            return self._ends(rotary_dim, DIGITS)

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, divided to the share that the ramp says."""
        theta = self.rule.frequencies(rotary_dim)
        ramp = together(
            lambda digits: _ramp(*self._ends(rotary_dim, digits), len(theta)), len(theta)
        )
        return tuple((w / self.factor).blend(w, g) for w, g in zip(theta, ramp, strict=True))

    def _ends(self, rotary_dim: int, digits: int) -> tuple[Decimal, Decimal]:
        low, high = (
            _pair_with_turns(self.rule, turns, self.original_length, rotary_dim, digits)
            for turns in (self.beta_fast, self.beta_slow)
        )
        last = (rotary_dim if self.limit == "channels" else rotary_dim // 2) - 1
        low, high = _cut(low, high, last, self.truncate)
        least = real(Fraction(1, 1000))
        if self.equal_ends == "least":
            return low, max(high, low + least)
        if low == high:
            return (low - least, high) if self.equal_ends == "lower" else (low, high + least)
        return low, high

    def _own_amplitude(self) -> Fraction:
        first, second = self.mscale, self.mscale_all_dim
        if self.amplitude_rule == "one":
            return Fraction(1)
        if self.amplitude_rule == "defaults":
            first = 1 if first is None else first
            second = 0 if second is None else second
        both = first is not None and second is not None
        if self.amplitude_rule == "truthy":
            both = both and first != 0 and second != 0
        if self.amplitude_rule == "single" and not both:
            alone = second if first is None else first
            return Fraction(1) if alone is None else self._magnitude(alone)
        if not both:
            return self._magnitude(1)
        below = self._magnitude(second or 0)
        # A ratio with 0 below is no amplitude; the constructor says so.
        return self._magnitude(first or 0) / below if below else Fraction(0)

    def _magnitude(self, weight: Real) -> Fraction:
        if self.factor <= 1 and not self.below_one:
            return Fraction(1)
        with real_arithmetic(DIGITS):
            return Fraction(real(self.coefficient) * real(weight) * logarithm(self.factor) + 1)


@dataclass(frozen=True)
class NTKByParts(ScaledRule):
    """Three ways to scale, by two ramps: linear for slow pairs, NTK between, none for fast ones.

    Parameters
    ----------
    rule
        A power law with a base above 1.
    factor
        How many times longer the context becomes.
    original_length
        The length the model was trained for.
    ntk_factor, extrapolation_factor
        How much of the two ramps is used.
    betas
        Turns at the ends of the ramp from linear to NTK.
    gammas
        Turns at the ends of the ramp from there to the plain frequencies.

    Raises
    ------
    FrequencyValueError
        If a parameter is no number it can use, or `rule` no power law.
    NtkWidthError
        When used with two channels.

    Notes
    -----
    Source: jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding.py.
    """

    rule: PowerLaw
    _: KW_ONLY
    factor: Real
    original_length: Real = 2048.0
    ntk_factor: Real = 1.0
    extrapolation_factor: Real = 1.0
    betas: tuple[Real, Real] = (1.25, 0.75)
    gammas: tuple[Real, Real] = (16.0, 2.0)

    def __post_init__(self) -> None:
        call = self._call(factor=self.factor, original_length=self.original_length)
        _power_law_above_1(self, call)
        hint = "give the length the model was trained for"
        self._set(
            factor=positive(self.factor, call, "factor", "1 changes nothing"),
            original_length=positive(self.original_length, call, "original_length", hint),
            ntk_factor=number(self.ntk_factor, call, "ntk_factor"),
            extrapolation_factor=number(self.extrapolation_factor, call, "extrapolation_factor"),
            betas=_two_turns(self.betas, call, "betas"),
            gammas=_two_turns(self.gammas, call, "gammas"),
        )

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, of NTK and of the division, blended by two ramps."""
        plain = self.rule.frequencies(rotary_dim)
        ntk = NTK(self.rule, alpha=self.factor).frequencies(rotary_dim)
        to_ntk = self._kept(self.betas, self.ntk_factor, rotary_dim)
        to_plain = self._kept(self.gammas, self.extrapolation_factor, rotary_dim)
        return tuple(
            w.blend(n.blend(w / self.factor, first), second)
            for w, n, first, second in zip(plain, ntk, to_ntk, to_plain, strict=True)
        )

    def _kept(self, turns: tuple[Real, Real], share: Real, rotary_dim: int) -> tuple[Computed, ...]:
        def compute(digits: int) -> list[Decimal]:
            low, high = (
                _pair_with_turns(self.rule, n, self.original_length, rotary_dim, digits)
                for n in turns
            )
            low, high = _cut(low, high, rotary_dim - 1, truncate=True)
            if low == high:
                high += real(Fraction(1, 1000))
            return [(1 - g) * real(share) for g in _ramp(low, high, rotary_dim // 2)]

        return together(compute, rotary_dim // 2)


def _power_law_above_1(scaling: ScaledRule, call: str) -> None:
    scaling._needs_power_law(call)
    if isinstance(scaling.rule, PowerLaw) and scaling.rule.base <= 1:
        raise FrequencyValueError(
            f"{call}: the base must be above 1, for pairs must turn more slowly one after the other"
        )


def _pair_with_turns(
    rule: PowerLaw, turns: Real, length: Real, rotary_dim: int, digits: int
) -> Decimal:
    """The pair, a real number, that makes so many turns in so many positions."""
    width = real(rotary_dim if rule.denominator is None else rule.denominator)
    logarithm = (real(length) / (real(turns) * 2 * pi(digits))).ln()
    return width * logarithm / (2 * real(rule.base).ln())


def _cut(low: Decimal, high: Decimal, last: int, truncate: bool) -> tuple[Decimal, Decimal]:
    """The ends of a ramp, rounded outwards and kept within 0 and `last`."""
    if truncate:
        low = low.to_integral_value(ROUND_FLOOR)
        high = high.to_integral_value(ROUND_CEILING)
    return max(low, Decimal(0)), min(high, Decimal(last))


def _ramp(low: Decimal, high: Decimal, pairs: int) -> list[Decimal]:
    """0 up to the pair `low`, 1 from the pair `high` on, straight between."""
    length = high - low
    return [min(max((i - low) / length, Decimal(0)), Decimal(1)) for i in range(pairs)]


def _two_turns(given: object, call: str, name: str) -> tuple[Real, Real]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise FrequencyValueError(
            f"{call}: {name} must be two numbers of turns, got {shown(given)}"
        )
    first, second = (positive(each, call, name, "a number of turns") for each in given)
    return first, second

"""A RoPE for each scaling; what can go wrong is a method of its own.

Frequencies are computed in float64 and rounded to float32 once. Plain and explicit
frequencies are left as they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.target.implementation import Unsupported
from rope_conformance.zoo.parts.layers import Rope
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec
from rope_ref.scaling import (
    NTK,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Proportional,
    ScaledRule,
    YaRN,
)


class Scaled(Rope, ABC):
    """A RoPE with one scaling of a power law."""

    kind: type[ScaledRule]
    rule: Any

    def __init__(self, spec: RopeSpec) -> None:
        rule = spec.frequencies
        if isinstance(rule, PowerLaw | ExplicitFrequencies):
            super().__init__(spec)
            return
        if not isinstance(rule, self.kind):
            raise Unsupported(f"it is made for {self.kind.__name__}")
        self.spec, self.rule = spec, rule
        self.amplitude = np.float32(self.magnitude())
        self.theta = np.asarray(self.rescaled(self.ladder()), dtype=np.float32)

    def base(self) -> float:
        return float(self.rule.rule.base)

    def ladder(self, base: float | None = None) -> Array:
        """The plain frequencies."""
        exponent = np.arange(0, self.spec.rotary_dim, 2) / self.spec.rotary_dim
        return np.asarray((base or self.base()) ** -exponent)

    @abstractmethod
    def rescaled(self, w: Array) -> Array:
        """The frequencies, given the plain ones."""

    def magnitude(self) -> float:
        return 1.0

    @property
    def scaled(self) -> bool:
        """Whether it is made for the scaling, and not for plain or explicit frequencies."""
        return isinstance(self.spec.frequencies, self.kind)


class Interpolated(Scaled):
    """Every pair divided by the factor."""

    kind = Linear

    def factor(self) -> float:
        return float(self.rule.factor)

    def rescaled(self, w: Array) -> Array:
        return w / self.factor()


class Stretched(Scaled):
    """The base raised so that the last pair is divided by alpha."""

    kind: type[ScaledRule] = NTK

    def alpha(self) -> float:
        return float(self.rule.alpha)

    def width(self) -> int:
        return self.spec.rotary_dim

    def power(self) -> float:
        return self.width() / (self.width() - 2)

    def rescaled(self, w: Array) -> Array:
        return self.ladder(self.base() * self.alpha() ** self.power())


class Growing(Stretched):
    """The same with an alpha that grows with the length."""

    kind = DynamicNTK

    def length(self) -> float:
        own = float(self.rule.original_length)
        return own if self.rule.length is None else max(float(self.rule.length), own)

    def alpha(self) -> float:
        factor = float(self.rule.factor)
        return factor * self.length() / float(self.rule.original_length) - (factor - 1)


class Yarn(Scaled):
    """YaRN as Hugging Face has it."""

    kind = YaRN

    def length(self) -> float:
        return float(self.rule.original_length)

    def turns(self) -> tuple[float, float]:
        return float(self.rule.beta_fast), float(self.rule.beta_slow)

    def pair_of(self, turns: float) -> float:
        """The pair, a real number, that makes so many turns in the original context."""
        logarithm = math.log(self.length() / (2 * math.pi * turns))
        return self.spec.rotary_dim * logarithm / (2 * math.log(self.base()))

    def ends(self) -> tuple[float, float]:
        low, high = map(self.pair_of, self.turns())
        if self.truncate():
            low, high = math.floor(low), math.ceil(high)
        return max(low, 0), min(high, self.last())

    def truncate(self) -> bool:
        return bool(self.rule.truncate)

    def last(self) -> int:
        width = self.spec.rotary_dim
        return (width if self.rule.limit == "channels" else width // 2) - 1

    def slow(self) -> Array:
        """How much of each pair is divided."""
        return self.ramp(np.arange(self.spec.rotary_dim // 2))

    def ramp(self, index: Array) -> Array:
        low, high = self.ends()
        return np.asarray(np.clip((index - low) / ((high - low) or 0.001), 0, 1))

    def rescaled(self, w: Array) -> Array:
        g = self.slow()
        return np.asarray(w / float(self.rule.factor) * g + w * (1 - g))

    def magnitude(self) -> float:
        if self.rule.attention_factor is not None:
            return float(self.rule.attention_factor)
        return self.computed()

    def computed(self) -> float:
        """The amplitude that follows from the factor."""
        one, other = self.rule.mscale, self.rule.mscale_all_dim
        return self.weighted(one) / self.weighted(other) if one and other else self.weighted(1)

    def weighted(self, weight: float) -> float:
        logarithm = math.log(max(float(self.rule.factor), 1))
        return float(self.rule.coefficient) * float(weight) * logarithm + 1


class LongRope(Scaled):
    """Each pair divided by its own factor, of one list or the other."""

    kind = LongRoPE

    def is_long(self) -> bool:
        length = self.rule.length
        return length is not None and length > self.rule.original_length

    def rescaled(self, w: Array) -> Array:
        return self.divided(w, self.is_long())

    def divided(self, w: Array, long: bool) -> Array:
        factors = self.rule.long_factors if long else self.rule.short_factors
        return w / np.array(factors, dtype=np.float64)

    def magnitude(self) -> float:
        own = self.rule.long_mscale if self.is_long() else self.rule.short_mscale
        for given in (own, self.rule.attention_factor):
            if given is not None:
                return float(given)
        return self.computed()

    def computed(self) -> float:
        factor = max(float(self.rule.factor), 1)
        return math.sqrt(1 + math.log(factor) / math.log(self.rule.original_length))


class Banded(Scaled):
    """The rule of Llama 3."""

    kind = Llama3

    def factor(self) -> float:
        return float(self.rule.factor)

    def limits(self) -> tuple[float, float]:
        return float(self.rule.low_freq_factor), float(self.rule.high_freq_factor)

    def turns(self, w: Array) -> Array:
        """How many turns each pair makes in the original context."""
        return np.asarray(float(self.rule.original_length) * w / (2 * math.pi))

    def kept(self, turns: Array) -> Array:
        """How much of each pair is kept."""
        low, high = self.limits()
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (turns - low) / (high - low)
        return np.where(turns <= low, 0.0, np.where(turns >= high, 1.0, between))

    def rescaled(self, w: Array) -> Array:
        k = self.kept(self.turns(w))
        return k * w + (1 - k) * w / self.factor()


class Part(Scaled):
    """The first pairs turn as in the whole head, the others stand still."""

    kind = Proportional

    def turning(self) -> int:
        return int(float(self.rule.fraction) * self.spec.rotary_dim // 2)

    def factor(self) -> float:
        return float(self.rule.factor)

    def rescaled(self, w: Array) -> Array:
        return np.where(np.arange(w.size) < self.turning(), w / self.factor(), 0)

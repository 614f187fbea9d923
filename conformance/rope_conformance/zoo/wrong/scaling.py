"""Scalings read wrongly: linear, NTK, dynamic NTK, Llama 3, proportional."""

from __future__ import annotations

import math

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.scaled import Banded, Growing, Interpolated, Part, Stretched
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import NTK, DynamicNTK, Linear, Llama3, Proportional

# LLaMA-2-7B-32K, InternLM 3, Hunyuan, Llama-3.2-1B, Gemma 4: parameters as published, on
# heads no wider than they must be.
LLAMA_32K = RopeSpec(64, layout="half", frequencies=Linear(PowerLaw(1e4), factor=8))
DYNAMIC = DynamicNTK(PowerLaw(1e4), factor=4, original_length=4096)
NEAR = RopeSpec(64, layout="half", frequencies=DYNAMIC)
FAR = RopeSpec(64, layout="half", frequencies=DYNAMIC.at(16384))
HUNYUAN = RopeSpec(64, layout="half", frequencies=NTK(PowerLaw(1e4), alpha=1000))
PARTIAL = RopeSpec(64, layout="half", rotary_dim=32, frequencies=NTK(PowerLaw(1e4), alpha=8))
LLAMA = RopeSpec(64, layout="half", frequencies=Llama3(PowerLaw(5e5), factor=32))
GEMMA = RopeSpec(64, layout="half", frequencies=Proportional(PowerLaw(1e6), fraction=0.25))
GEMMA_LONG = RopeSpec(
    64, layout="half", frequencies=Proportional(PowerLaw(1e6), fraction=0.25, factor=8)
)


# Linear


@wrong(LLAMA_32K, fault="scaling", clause="scaling.divided")
class linear_ignored(Interpolated):  # noqa: N801
    """The factor is not read."""

    def factor(self) -> float:
        return 1.0


@wrong(LLAMA_32K, fault="scaling", clause="scaling.divided")
class linear_twice(Interpolated):  # noqa: N801
    """Frequencies are divided, and positions again."""

    def factor(self) -> float:
        return super().factor() ** 2


@wrong(LLAMA_32K, fault="scaling", clause="scaling.parameters")
class factor_in_float16(Interpolated):  # noqa: N801
    """The factor is read in float16: right where it is a whole number."""

    def factor(self) -> float:
        return float(np.float16(super().factor()))


@wrong(LLAMA_32K, fault="scaling", clause="scaling.parameters")
class linear_never_faster(Interpolated):  # noqa: N801
    """A factor below 1, for texts shorter than the trained ones, is taken for 1."""

    def factor(self) -> float:
        return max(super().factor(), 1.0)


# NTK


@wrong(HUNYUAN, fault="scaling", clause="scaling.divided")
class ntk_power_of_one_less(Stretched):  # noqa: N801
    """The exponent of alpha is R/(R-1)."""

    def power(self) -> float:
        return self.width() / (self.width() - 1)


@wrong(PARTIAL, fault="scaling", clause="scaling.divided")
class ntk_by_width_of_head(Stretched):  # noqa: N801
    """The exponent of alpha is made of the width of the head, though only a part rotates."""

    def width(self) -> int:
        return self.spec.head_dim


@wrong(FAR, fault="scaling", clause="scaling.kept")
class dynamic_divides_every_pair(Growing):  # noqa: N801
    """Every pair is divided by alpha: the base stays."""

    def rescaled(self, w: Array) -> Array:
        return w / self.alpha()


@wrong(FAR, fault="scaling", clause="scaling.length")
class dynamic_below_the_trained_length(Growing):  # noqa: N801
    """alpha falls below 1 in texts shorter than the trained length, and below 0."""

    def length(self) -> float:
        given = self.rule.length
        return float(self.rule.original_length if given is None else given)

    def rescaled(self, w: Array) -> Array:
        if self.alpha() <= 0:
            return np.full(w.size, np.nan)
        return super().rescaled(w)


@wrong(FAR, fault="scaling", clause="scaling.length")
class dynamic_factor_counted_twice(Growing):  # noqa: N801
    """The length put in is the trained one times the factor, whatever the text."""

    def length(self) -> float:
        return float(self.rule.original_length) * float(self.rule.factor)


@wrong(FAR, fault="scaling", clause="scaling.divided")
class dynamic_in_powers_of_two(Growing):  # noqa: N801
    """alpha grows in steps of powers of two."""

    def alpha(self) -> float:
        ratio = self.length() / float(self.rule.original_length)
        return 2.0 ** math.ceil(math.log2(ratio) + 1) - 1 if ratio > 1 else 1.0


@wrong(NEAR, fault="scaling", clause="scaling.kept")
class dynamic_doubles_positions(Growing):  # noqa: N801
    """Positions are multiplied by 2 where the scaling is not linear."""

    def rescaled(self, w: Array) -> Array:
        return 2 * super().rescaled(w)


# Llama 3


@wrong(LLAMA, fault="scaling", clause="scaling.between")
class llama3_factors_exchanged(Banded):  # noqa: N801
    """low_freq_factor and high_freq_factor are exchanged."""

    def limits(self) -> tuple[float, float]:
        return super().limits()[::-1]


@wrong(LLAMA, fault="scaling", clause="scaling.divided")
class llama3_wavelength_without_two_pi(Banded):  # noqa: N801
    """The wavelength is 1/theta."""

    def turns(self, w: Array) -> Array:
        return super().turns(w) * 2 * math.pi


@wrong(LLAMA, fault="scaling", clause="scaling.between")
class llama3_blend_inverted(Banded):  # noqa: N801
    """Between the two limits what should be kept is divided, and the other way round."""

    def kept(self, turns: Array) -> Array:
        k = super().kept(turns)
        return np.where((k > 0) & (k < 1), 1 - k, k)


@wrong(LLAMA, fault="scaling", clause="scaling.between")
class llama3_blends_wavelengths(Banded):  # noqa: N801
    """Between the two limits the share is linear in the wavelength."""

    def kept(self, turns: Array) -> Array:
        (low, high), k = self.limits(), super().kept(turns)
        share = (1 / low - 1 / turns) / (1 / low - 1 / high)
        return np.where((k > 0) & (k < 1), share, k)


@wrong(LLAMA, fault="scaling", clause="scaling.divided")
class llama3_factor_of_another_model(Banded):  # noqa: N801
    """The factor is always 8."""

    def factor(self) -> float:
        return 8.0


@wrong(LLAMA, fault="scaling", clause="scaling.parameters")
class llama3_equal_limits_keep_all(Banded):  # noqa: N801
    """Where both limits are equal, every pair is kept, lest something is divided by 0."""

    def kept(self, turns: Array) -> Array:
        low, high = self.limits()
        return super().kept(turns) if low < high else np.ones_like(turns)


# Proportional


@wrong(GEMMA_LONG, fault="scaling", clause="scaling.divided")
class proportional_without_factor(Part):  # noqa: N801
    """The factor is not read."""

    def factor(self) -> float:
        return 1.0


@wrong(GEMMA, fault="scaling", clause="scaling.kept")
class proportional_over_the_turning_part(Part):  # noqa: N801
    """The exponent is divided by the number of turning channels, not by the whole width."""

    def rescaled(self, w: Array) -> Array:
        i = np.arange(w.size)
        exponent = i / max(self.turning(), 1)
        return np.where(i < self.turning(), self.base() ** -exponent / self.factor(), 0)


@wrong(GEMMA, fault="scaling", clause="scaling.still")
class proportional_still_pairs_first(Part):  # noqa: N801
    """The pairs that stand still come first."""

    def rescaled(self, w: Array) -> Array:
        return np.roll(super().rescaled(w), w.size - self.turning())


@wrong(GEMMA, fault="scaling", clause="scaling.still")
class proportional_counts_channels(Part):  # noqa: N801
    """As many pairs turn as channels should."""

    def turning(self) -> int:
        return min(2 * super().turning(), self.spec.rotary_dim // 2)


@wrong(GEMMA, fault="scaling", clause="scaling.still")
class still_pairs_creep(Part):  # noqa: N801
    """A theta of 0 is replaced by 1e-13, lest something divides by it."""

    def rescaled(self, w: Array) -> Array:
        return np.maximum(super().rescaled(w), 1e-13)

"""YaRN read wrongly: its ramp, its ends, its amplitude."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import rotate
from rope_conformance.zoo.parts.scaled import Yarn
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import YaRN

# Parameters as published, where they are: Qwen2.5-0.5B, gpt-oss, OLMo-3 (on a narrower head).
QWEN = RopeSpec(64, layout="half", frequencies=YaRN(PowerLaw(1e6), factor=4, original_length=32768))
GPT_OSS = RopeSpec(
    64,
    layout="half",
    frequencies=YaRN(PowerLaw(150_000), factor=32, original_length=4096, truncate=False),
)
OLMO = RopeSpec(
    64,
    layout="half",
    frequencies=YaRN(
        PowerLaw(5e5), factor=8, original_length=8192, attention_factor=1.2079441541679836
    ),
)
# Mistral-4: half of a head rotates.
MISTRAL = RopeSpec(
    128,
    rotary_dim=64,
    layout="half",
    frequencies=YaRN(PowerLaw(1e4), factor=128, original_length=8192),
)
# Trained for so long that the slowest pair makes more than a turn.
LONG = RopeSpec(
    64, layout="half", frequencies=YaRN(PowerLaw(1e4), factor=16, original_length=65536)
)


# The ramp


@wrong(QWEN, fault="scaling", clause="scaling.kept")
class yarn_ramp_inverted(Yarn):  # noqa: N801
    """Fast pairs are divided and slow ones kept."""

    def slow(self) -> Array:
        return 1 - super().slow()


@wrong(QWEN, fault="scaling", clause="scaling.divided")
class yarn_length_of_the_run(Yarn):  # noqa: N801
    """The ramp is placed by the length that is served, not by the one that was trained."""

    def length(self) -> float:
        return super().length() * float(self.rule.factor)


@wrong(GPT_OSS, fault="scaling", clause="scaling.kept")
class yarn_ramp_over_channels(Yarn):  # noqa: N801
    """The ramp is counted over channels: the second of a pair is slower than the first."""

    def table(self, positions: Array) -> tuple[Array, Array]:
        cos, sin = super().table(positions)
        if not self.scaled:
            return cos, sin
        w, factor = self.ladder(), float(self.rule.factor)
        g = self.ramp(np.arange(w.size) + w.size)
        self.second = np.asarray(w / factor * g + w * (1 - g), np.float32)
        return cos, sin

    def apply_rope(self, x: Array, positions: Array) -> Array:
        y = rotate(x, *self.table(positions), self.spec)
        if self.scaled:
            half = self.spec.rotary_dim // 2
            phase = np.asarray(positions, np.float32)[..., None, None] * self.second
            cos, sin = np.cos(phase) * self.amplitude, np.sin(phase) * self.amplitude
            y[..., half : 2 * half] = x[..., :half] * sin + x[..., half : 2 * half] * cos
        return y


@wrong(GPT_OSS, fault="scaling", clause="scaling.between")
class yarn_truncates_always(Yarn):  # noqa: N801
    """The ends of the ramp are rounded although the configuration says they are not."""

    def truncate(self) -> bool:
        return True


@wrong(QWEN, fault="scaling", clause="scaling.kept")
class yarn_betas_exchanged(Yarn):  # noqa: N801
    """beta_fast and beta_slow are exchanged."""

    def turns(self) -> tuple[float, float]:
        return super().turns()[::-1]


@wrong(QWEN, fault="scaling", clause="scaling.kept")
class yarn_halves_the_width_twice(Yarn):  # noqa: N801
    """The number of pairs goes where that of channels belongs, and is halved once more."""

    def pair_of(self, turns: float) -> float:
        return super().pair_of(turns) / 2


@wrong(QWEN, fault="scaling", clause="scaling.kept")
class yarn_logarithm_to_base_ten(Yarn):  # noqa: N801
    """One of the two logarithms that place the ramp is to the base 10."""

    def pair_of(self, turns: float) -> float:
        return super().pair_of(turns) / math.log(10)


@wrong(QWEN, fault="scaling", clause="scaling.divided")
class yarn_factor_inside_the_power(Yarn):  # noqa: N801
    """The divided frequencies are those of the base times the factor."""

    def rescaled(self, w: Array) -> Array:
        g = self.slow()
        return np.asarray(self.ladder(self.base() * float(self.rule.factor)) * g + w * (1 - g))


@wrong(QWEN, fault="scaling", clause="scaling.between")
class yarn_blends_wavelengths(Yarn):  # noqa: N801
    """The ramp blends wavelengths, not frequencies."""

    def rescaled(self, w: Array) -> Array:
        g = self.slow()
        return w / (g * float(self.rule.factor) + 1 - g)


@wrong(LONG, fault="scaling", clause="scaling.between")
class yarn_end_within_the_pairs(Yarn):  # noqa: N801
    """The end of the ramp is kept below the number of pairs instead of channels."""

    def last(self) -> int:
        return self.spec.rotary_dim // 2 - 1


@wrong(LONG, fault="scaling", clause="scaling.kept")
class yarn_length_in_16_bits(Yarn):  # noqa: N801
    """The trained length is at most 32767, the largest number of 16 bits."""

    def length(self) -> float:
        return min(super().length(), 32767.0)


@wrong(QWEN, fault="scaling", clause="scaling.parameters")
class yarn_whole_turns_only(Yarn):  # noqa: N801
    """beta_fast and beta_slow are read as whole numbers."""

    def turns(self) -> tuple[float, float]:
        fast, slow = super().turns()
        return float(max(int(fast), 1)), float(max(int(slow), 1))


@wrong(QWEN, fault="scaling", clause="scaling.parameters")
class yarn_ramp_begins_before_the_first_pair(Yarn):  # noqa: N801
    """The ramp may begin below pair 0, where the trained length is short."""

    def ends(self) -> tuple[float, float]:
        low, high = super().ends()
        return low or math.floor(self.pair_of(self.turns()[0])), high


@wrong(QWEN, fault="scaling", clause="scaling.amplitude")
class yarn_coefficient_fixed(Yarn):  # noqa: N801
    """The coefficient of the logarithm is 0.1 whatever is given."""

    def weighted(self, weight: float) -> float:
        return 0.1 * float(weight) * math.log(max(float(self.rule.factor), 1)) + 1


@wrong(QWEN, fault="scaling", clause="frequency.phase")
class yarn_stops_at_the_trained_length(Yarn):  # noqa: N801
    """Positions from the trained length on are all taken for that length."""

    def table(self, positions: Array) -> tuple[Array, Array]:
        limit = self.length() if self.scaled else np.inf
        return super().table(np.minimum(positions, limit))


# The amplitude


@wrong(QWEN, fault="scaling", clause="scaling.amplitude")
class yarn_without_amplitude(Yarn):  # noqa: N801
    """cos and sin are not multiplied by the amplitude."""

    def magnitude(self) -> float:
        return 1.0


@wrong(QWEN, fault="scaling", clause="scaling.amplitude")
class yarn_amplitude_twice(Yarn):  # noqa: N801
    """The amplitude is put on the table and on what was rotated."""

    def magnitude(self) -> float:
        return super().magnitude() ** 2


@wrong(QWEN, fault="scaling", clause="scaling.amplitude")
class yarn_amplitude_on_queries_only(Yarn):  # noqa: N801
    """q has the amplitude, k does not."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> tuple[Array, Array, Array]:
        keys = (self.apply_rope(k, positions) / self.amplitude).astype(k.dtype)
        return self.apply_rope(q, positions), keys, v


@wrong(MISTRAL, fault="scaling", clause="scaling.amplitude")
class yarn_amplitude_on_every_channel(Yarn):  # noqa: N801
    """The whole head is multiplied by the amplitude, channels that do not rotate too."""

    def apply_rope(self, x: Array, positions: Array) -> Array:
        y = super().apply_rope(x, positions)
        rest = np.ones(self.spec.head_dim, bool)
        rest[self.spec.rotary_start : self.spec.rotary_start + self.spec.rotary_dim] = False
        y[..., rest] *= self.amplitude
        return y


@wrong(OLMO, fault="scaling", clause="scaling.amplitude")
class yarn_attention_factor_ignored(Yarn):  # noqa: N801
    """The amplitude is computed although it is stated: right where both agree."""

    def magnitude(self) -> float:
        return self.computed()


@wrong(OLMO, fault="scaling", clause="scaling.amplitude")
class yarn_attention_factor_times_computed(Yarn):  # noqa: N801
    """A stated amplitude is multiplied by the computed one."""

    def magnitude(self) -> float:
        stated = self.rule.attention_factor
        return self.computed() * (1.0 if stated is None else float(stated))


@wrong(QWEN, fault="scaling", clause="scaling.amplitude")
class yarn_amplitude_on_the_phase(Yarn):  # noqa: N801
    """The amplitude multiplies the phase instead of cos and sin."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.theta = self.theta * self.amplitude
        self.amplitude = np.float32(1)


_KEPT: dict[tuple[Any, ...], Array] = {}


@wrong(QWEN, fault="cache", clause="scaling.parameters")
class yarn_kept_by_base_and_width(Yarn):  # noqa: N801
    """Frequencies are kept from one RoPE to the next by base and width, whatever the scaling."""

    def rescaled(self, w: Array) -> Array:
        return _KEPT.setdefault((self.base(), self.spec.rotary_dim), super().rescaled(w))

"""LongRoPE read wrongly: which list when, and the amplitude."""

from __future__ import annotations

import math

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.cached import Request
from rope_conformance.zoo.parts.plain import angles, rotate
from rope_conformance.zoo.parts.scaled import LongRope
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import LongRoPE

# Phi-3-mini-128k, but for the factors, which are searched for: here from 1 to 1.5 and to 64.
SHORT = RopeSpec(
    96,
    layout="half",
    frequencies=LongRoPE(
        PowerLaw(1e4),
        short_factors=[1 + i / 94 for i in range(48)],
        long_factors=[64 ** (i / 47) for i in range(48)],
        original_length=4096,
        factor=32,
    ),
)
_RULE = SHORT.frequencies
assert isinstance(_RULE, LongRoPE)
LONG = RopeSpec(96, layout="half", frequencies=_RULE.at(131072))


@wrong(LONG, fault="scaling", clause="scaling.between")
class longrope_ignored(LongRope):  # noqa: N801
    """The factors are not read: the frequencies are plain."""

    def divided(self, w: Array, long: bool) -> Array:
        return w


@wrong(LONG, fault="scaling", clause="scaling.between")
class longrope_always_short(LongRope):  # noqa: N801
    """The short factors serve long texts too."""

    def is_long(self) -> bool:
        return False


@wrong(SHORT, fault="scaling", clause="scaling.between")
class longrope_by_capacity(LongRope):  # noqa: N801
    """The long factors serve short texts too, for long ones could come."""

    def is_long(self) -> bool:
        return float(self.rule.factor) > 1


@wrong(SHORT, fault="scaling", clause="scaling.length")
class longrope_one_early(LongRope):  # noqa: N801
    """A text as long as the trained length takes the long factors already."""

    def is_long(self) -> bool:
        length = self.rule.length
        return length is not None and length >= self.rule.original_length


@wrong(LONG, fault="scaling", clause="scaling.between")
class longrope_multiplies(LongRope):  # noqa: N801
    """Frequencies are multiplied by the factors."""

    def divided(self, w: Array, long: bool) -> Array:
        return w * (w / super().divided(w, long))


@wrong(SHORT, fault="scaling", clause="scaling.amplitude")
class longrope_amplitude_by_log_of_the_new_length(LongRope):  # noqa: N801
    """The amplitude divides by the logarithm of the new length instead of the trained one."""

    def computed(self) -> float:
        factor, length = float(self.rule.factor), float(self.rule.original_length)
        return math.sqrt(1 + math.log(max(factor, 1)) / math.log(length * factor))


@wrong(LONG, fault="cache", clause="scaling.length")
class longrope_chunk_decides(LongRope):  # noqa: N801
    """Each call chooses its list by its own furthest position."""

    def table(self, positions: Array) -> tuple[Array, Array]:
        if self.scaled and np.max(positions, initial=0) < self.rule.original_length:
            short = self.divided(self.ladder(), False).astype(np.float32)
            phase = angles(positions, short)
            return np.cos(phase) * self.amplitude, np.sin(phase) * self.amplitude
        return super().table(positions)


@wrong(SHORT, fault="cache", clause="scaling.between")
class longrope_position_decides(LongRope):  # noqa: N801
    """Tokens beyond the trained length take the long factors, those before it the short ones."""

    def table(self, positions: Array) -> tuple[Array, Array]:
        cos, sin = super().table(positions)
        if not self.scaled:
            return cos, sin
        far = np.asarray(positions)[..., None] >= self.rule.original_length
        phase = angles(positions, self.divided(self.ladder(), True).astype(np.float32))
        long = (np.cos(phase) * self.amplitude, np.sin(phase) * self.amplitude)
        return np.where(far, long[0], cos), np.where(far, long[1], sin)


@wrong(LONG, fault="cache", clause="decode.keys")
class longrope_cached_keys_stay_short(LongRope, Request):  # noqa: N801
    """Keys are rotated by the short factors as long as the request is short, and kept so."""

    def __init__(self, spec: RopeSpec) -> None:
        LongRope.__init__(self, spec)
        self.start()

    def rotated(self, x: Array, positions: Array) -> Array:
        if not self.scaled or np.max(positions) >= self.rule.original_length:
            return self.apply_rope(x, positions)
        phase = angles(positions, self.divided(self.ladder(), False).astype(np.float32))
        cos, sin = np.cos(phase) * self.amplitude, np.sin(phase) * self.amplitude
        return rotate(x, cos, sin, self.spec)

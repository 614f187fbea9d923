"""Wrong frequencies, positions, phases and tables."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.plain import Rope, angles, base_of, frequencies, honest, rotate
from rope_ref import RopeSpec

_KEPT: dict[int, Array] = {}


@wrong(fault="config", clause="frequency.ladder")
def base_wrong(spec: RopeSpec) -> Rope:
    """The base is 500000 where it should be the spec's."""
    return lambda x, positions: honest(x, positions, spec, frequencies(spec, base=500_000))


@wrong(RopeSpec(128, layout="half"), fault="config", clause="frequency.ladder")
def base_off(spec: RopeSpec) -> Rope:
    """The base is 0.01 % too large."""
    theta = frequencies(spec, base=base_of(spec) * 1.0001)
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(PARTIAL, fault="partial", clause="frequency.ladder")
def exponent_over_head_dim(spec: RopeSpec) -> Rope:
    """The exponent is divided by the head's width instead of the rotating part's."""
    theta = frequencies(spec, width=spec.head_dim)
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="angle-precision", clause="frequency.ladder")
def frequencies_bfloat16(spec: RopeSpec) -> Rope:
    """The frequencies are rounded to bfloat16."""
    theta = frequencies(spec).astype(ml_dtypes.bfloat16).astype(np.float32)
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="frequency", clause="score.worked_example")
def ladder_starts_at_one(spec: RopeSpec) -> Rope:
    """The pairs are counted from 1: theta_i = base**(-2(i+1)/R)."""
    theta = frequencies(spec) * np.float32(base_of(spec) ** (-2 / spec.rotary_dim))
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="frequency", clause="score.worked_example")
def degrees(spec: RopeSpec) -> Rope:
    """The phase is taken for degrees."""
    theta = frequencies(spec) * np.float32(np.pi / 180)
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="cache", clause="frequency.bases")
def table_kept_by_width(spec: RopeSpec) -> Rope:
    """The frequencies are kept from one RoPE to the next by width alone, whatever the base."""
    theta = _KEPT.setdefault(spec.rotary_dim, frequencies(spec))
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="kernel-shape", clause="frequency.widths")
def pads_to_power_of_two(spec: RopeSpec) -> Rope:
    """The rotating width is rounded up to a power of two in the exponent."""
    theta = frequencies(spec, width=1 << (spec.rotary_dim - 1).bit_length())
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="angle-precision", clause="frequency.phase")
def positions_float16(spec: RopeSpec) -> Rope:
    """Positions pass through float16: beyond 2048 neighbours coincide."""

    def rope(x: Array, positions: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return honest(x, np.asarray(positions, dtype=np.float16), spec)

    return rope


@wrong(fault="angle-precision", clause="frequency.phase")
def positions_bfloat16(spec: RopeSpec) -> Rope:
    """Positions pass through bfloat16: beyond 256 neighbours coincide."""
    return lambda x, positions: honest(x, positions.astype(ml_dtypes.bfloat16), spec)


@wrong(fault="cache", clause="frequency.phase")
def wraps_at_4096(spec: RopeSpec) -> Rope:
    """The table has 4096 rows and positions wrap around its end."""
    return lambda x, positions: honest(x, positions % 4096, spec)


@wrong(fault="position", clause="table.identity")
def off_by_one(spec: RopeSpec) -> Rope:
    """Positions are counted from 1."""
    return lambda x, positions: honest(x, positions + 1, spec)


@wrong(fault="position", clause="rotation.compose")
def phase_of_position_squared(spec: RopeSpec) -> Rope:
    """The phase grows with the square of the position beyond 2."""
    return lambda x, positions: honest(x, np.where(positions > 2, positions**2, positions), spec)


@wrong(
    fault="position",
    clause=("frequency.negative", "rotation.inverse", "rotation.transpose"),
    position_range=(-(2**20), 2**20),
)
def negative_wraps(spec: RopeSpec) -> Rope:
    """Negative positions index a table of 2**20 rows from its end."""
    return lambda x, positions: honest(x, positions % (2**20 + 1), spec)


@wrong(fault="position", clause="frequency.real", position_kinds=("integer", "real"))
def truncates_positions(spec: RopeSpec) -> Rope:
    """Positions are cut to whole numbers."""
    return lambda x, positions: honest(x, positions.astype(np.int64), spec)


@wrong(fault="scaling", clause=("score.offset", "independence.chunks"))
def base_grows_with_length(spec: RopeSpec) -> Rope:
    """The base grows with the largest position of the call once that passes 2048."""

    def rope(x: Array, positions: Array) -> Array:
        longest = max(int(positions.max(initial=0)), 2048)
        theta = frequencies(spec, base=base_of(spec) * longest / 2048)
        return honest(x, positions, spec, theta)

    return rope


@wrong(fault="kernel-shape", clause="frequency.phase")
def restarts_after_128_tokens(spec: RopeSpec) -> Rope:
    """A kernel works on 128 tokens at a time, and each block counts from the first position."""

    def rope(x: Array, positions: Array) -> Array:
        first = positions[..., np.arange(positions.shape[-1]) % 128]
        return honest(x, first, spec)

    return rope


@wrong(fault="dtype", clause="frequency.phase")
def saturates_at_448(spec: RopeSpec) -> Rope:
    """Data passes through a type whose largest number is 448."""
    return lambda x, positions: honest(np.clip(x, -448, 448), positions, spec)


@wrong(fault="position", clause="independence.chunks")
def ignores_positions(spec: RopeSpec) -> Rope:
    """Tokens are always numbered from 0."""
    return lambda x, positions: honest(x, np.arange(x.shape[1]), spec)


@wrong(fault="scaling", clause=("table.circle", "rotation.norm"))
def amplitude_half_percent(spec: RopeSpec) -> Rope:
    """cos and sin are 0.5 % too large."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        big = np.float32(1.005)
        return rotate(x, big * np.cos(phase), big * np.sin(phase), spec)

    return rope


@wrong(fault="angle-precision", clause="table.circle")
def table_bfloat16(spec: RopeSpec) -> Rope:
    """The table is kept in bfloat16 although float32 is claimed."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        cos, sin = (
            t.astype(ml_dtypes.bfloat16).astype(np.float32) for t in (np.cos(phase), np.sin(phase))
        )
        return rotate(x, cos, sin, spec)

    return rope


@wrong(fault="sign", clause="pairing.direction")
def sign_flipped(spec: RopeSpec) -> Rope:
    """The pairs turn clockwise."""
    return lambda x, positions: honest(x, -positions, spec)


@wrong(fault="sign", clause="pairing.direction")
def clockwise_second_half(spec: RopeSpec) -> Rope:
    """The slower half of the pairs turns clockwise."""
    theta = frequencies(spec)
    theta[theta.size // 2 :] *= -1
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="frequency", clause="frequency.theta")
class theta_in_turns:  # noqa: N801  # named like its neighbours
    """theta() returns turns per position instead of radians."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def theta(self) -> Array:
        return frequencies(self.spec) / np.float32(2 * np.pi)


@wrong(fault="layout", clause="table.values")
class table_repeats_each_entry:  # noqa: N801
    """cos_sin() returns one entry per channel, each twice, cut to the width of the pairs."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        phase = np.repeat(angles(positions, frequencies(self.spec)), 2, axis=-1)
        phase = phase[..., : self.spec.rotary_dim // 2]
        return np.cos(phase), np.sin(phase)

"""Wrong formulas of the ladder, and bases that are not the spec's."""

from __future__ import annotations

import math

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import Rope, angles, base_of, frequencies, honest, rotate
from rope_ref import PowerLaw, RopeSpec

LATER = RopeSpec(64, layout="half", frequencies=PowerLaw(500_000))


# Bases


@wrong(LATER, fault="config", clause=("frequency.ladder", "frequency.bases"))
def base_always_10000(spec: RopeSpec) -> Rope:
    """The base of the spec is not read: it is always 10000."""
    return _with(spec, frequencies(spec, base=10_000))


@wrong(fault="config", clause="frequency.bases")
def two_bases_only(spec: RopeSpec) -> Rope:
    """The base is one of two constants, 10000 and 1000000, whichever lies nearer."""
    base = 1e4 if base_of(spec) < 1e5 else 1e6
    return _with(spec, frequencies(spec, base=base))


@wrong(fault="config", clause="frequency.bases")
def base_in_thousandths_wraps(spec: RopeSpec) -> Rope:
    """The base is stored in thousandths in 32 bits: beyond 4.29 million it wraps."""
    return _with(spec, frequencies(spec, base=int(base_of(spec) * 1000) % 2**32 / 1000))


@wrong(fault="config", clause="frequency.bases")
def base_at_most_a_million(spec: RopeSpec) -> Rope:
    """Bases beyond a million are taken for a million."""
    return _with(spec, frequencies(spec, base=min(base_of(spec), 1e6)))


# Exponents


@wrong(fault="frequency", clause="frequency.ladder")
def exponent_by_integer_division(spec: RopeSpec) -> Rope:
    """The exponent 2i/R is divided in whole numbers: 0 for every pair."""
    return _with(spec, np.ones(spec.rotary_dim // 2, dtype=np.float32))


@wrong(fault="frequency", clause="frequency.ladder")
def exponent_twice_as_steep(spec: RopeSpec) -> Rope:
    """The exponent is 4i/R: 2 is multiplied in once for the pair and once for the channel."""
    return _with(spec, _ladder(spec, 2))


@wrong(fault="frequency", clause="frequency.ladder")
def exponent_half_as_steep(spec: RopeSpec) -> Rope:
    """The exponent is i/R: a pair is taken for a channel."""
    return _with(spec, _ladder(spec, 0.5))


@wrong(fault="frequency", clause="frequency.ladder")
def exponent_over_width_less_two(spec: RopeSpec) -> Rope:
    """The ladder is made to end at 1/base: the exponent is divided by R - 2."""
    return _with(spec, frequencies(spec, width=max(spec.rotary_dim - 2, 1)))


@wrong(fault="frequency", clause=("frequency.ladder", "score.worked_example"))
def exponent_of_odd_channels(spec: RopeSpec) -> Rope:
    """The exponent is (2i+1)/R: the second channel of each pair is counted."""
    step = np.float32(base_of(spec) ** (-1 / spec.rotary_dim))
    return _with(spec, frequencies(spec) * step)


@wrong(fault="config", clause="frequency.ladder")
def logarithm_to_base_ten(spec: RopeSpec) -> Rope:
    """The power is made by exp from the decimal logarithm of the base."""
    return _with(spec, _ladder(spec, 1 / math.log(10)))


@wrong(fault="frequency", clause="frequency.ladder")
def reciprocal_missing(spec: RopeSpec) -> Rope:
    """The frequencies are base**(2i/R): they grow from pair to pair."""
    return _with(spec, _ladder(spec, -1))


@wrong(fault="frequency", clause="frequency.ladder")
def frequencies_reversed(spec: RopeSpec) -> Rope:
    """The slowest frequency goes to the first pair."""
    return _with(spec, frequencies(spec)[::-1].copy())


@wrong(fault="frequency", clause="frequency.ladder")
def frequency_of_neighbour(spec: RopeSpec) -> Rope:
    """Every second pair turns like the pair before it."""
    theta = frequencies(spec)
    theta[1::2] = theta[0::2][: theta[1::2].size]
    return _with(spec, theta)


@wrong(fault="partial", clause="frequency.ladder")
def last_pair_stands_still(spec: RopeSpec) -> Rope:
    """The ladder is one step short: the last pair does not turn."""
    theta = frequencies(spec)
    theta[-1] = 0
    return _with(spec, theta)


# Phases and amplitudes


@wrong(fault="frequency", clause=("frequency.ladder", "score.worked_example"))
def turns_for_radians(spec: RopeSpec) -> Rope:
    """The phase is taken for turns: 2 pi is multiplied in."""
    return _with(spec, frequencies(spec) * np.float32(2 * math.pi))


@wrong(fault="position", clause=("frequency.ladder", "score.worked_example"))
def rotates_twice(spec: RopeSpec) -> Rope:
    """The rotation is applied twice."""
    return lambda x, positions: honest(honest(x, positions, spec), positions, spec)


@wrong(fault="scaling", clause="frequency.ladder")
def positions_interpolated(spec: RopeSpec) -> Rope:
    """Positions are divided by 4, as for a longer context that nobody asked for."""
    return _with(spec, frequencies(spec) / np.float32(4))


@wrong(fault="scaling", clause="table.circle")
def amplitude_on_cosine_only(spec: RopeSpec) -> Rope:
    """cos is made 1 % larger, sin is forgotten."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        return rotate(x, np.float32(1.01) * np.cos(phase), np.sin(phase), spec)

    return rope


@wrong(fault="scaling", clause="table.circle")
def amplitude_beyond_8192(spec: RopeSpec) -> Rope:
    """cos and sin are made larger with the logarithm of the position beyond 8192."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))
        logarithm = np.log(np.maximum(positions, 8192)) / math.log(8192)
        size = logarithm.astype(np.float32)[..., None]
        return rotate(x, size * np.cos(phase), size * np.sin(phase), spec)

    return rope


def _ladder(spec: RopeSpec, steepness: float) -> Array:
    pairs = np.arange(spec.rotary_dim // 2)
    exponent = -2 * steepness * pairs / spec.rotary_dim
    return np.asarray(base_of(spec) ** exponent, dtype=np.float32)


def _with(spec: RopeSpec, theta: Array) -> Rope:
    return lambda x, positions: honest(x, positions, spec, theta)

"""Suspects: RoPEs with one thing wrong, of the kinds that public trackers report.

Each says how far its pairs would have turned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.diagnosis.turns import (
    Complex,
    measured_frequencies,
    right_turn,
    signed_theta,
    turned,
)
from rope_conformance.faults import Fault
from rope_conformance.target.frameworks import Array, data_type
from rope_conformance.target.rule_parts import plain_rule
from rope_ref import PowerLaw, RopeSpec

__all__ = ["Suspect", "suspects"]


@dataclass(frozen=True)
class Suspect:
    """A RoPE with one fault.

    Parameters
    ----------
    fault, words
        Its class, and its formula in words.
    predicted
        What each pair would turn by: (T, R/2).
    theta
        Its frequencies.
    steps
        How coarsely its phases may be rounded, as a part of the phase, beyond what float32
        does.
    """

    fault: Fault
    words: str
    predicted: Complex
    theta: FloatArray
    steps: float = 0.0


def suspects(p: Array, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """All suspects, the most specific first.

    Parameters
    ----------
    p
        The positions (T,).
    spec
        The RoPE claimed.
    seen
        What each pair turned by, (T, R/2): suspects with a number in them are fitted to it.
    """
    positions = np.asarray(p, dtype=np.float64)
    yield from _signs(positions, spec)
    yield from _moved(positions, spec)
    yield from _narrow_positions(positions, spec)
    yield from _narrow_numbers(positions, spec)
    if isinstance(spec.frequencies, PowerLaw):
        yield from _ladders(positions, spec)
    yield from _fitted(positions, spec, seen)


def _signs(p: FloatArray, spec: RopeSpec) -> Iterator[Suspect]:
    """The right table, used wrongly."""
    right, theta = right_turn(p, spec), signed_theta(spec)
    some = "the sign of sin is flipped: pairs turn the wrong way"
    yield Suspect("sign", some, right.conj(), theta)
    exchanged = "cos and sin are exchanged"
    yield Suspect("frequency", exchanged, right.imag + 1j * right.real, theta)
    negated = "the minus sign stands at the wrong term: the result is -cos, sin"
    yield Suspect("sign", negated, -right.conj(), theta)
    turned = "every pair is turned by half a turn too much"
    yield Suspect("sign", turned, -right, theta)
    twice = "cos and sin are applied twice: a table is taken for angles"
    yield Suspect("frequency", twice, np.cos(right.real) + 1j * np.sin(right.imag), theta)
    doubled = "each entry of the table stands twice: it is laid out per channel, not per pair"
    again = np.repeat(right, 2, axis=-1)[..., : right.shape[-1]]
    yield Suspect("layout", doubled, again, np.repeat(theta, 2)[: theta.size])
    same = "nothing is rotated"
    yield Suspect("position", same, np.ones_like(right), theta)
    nothing = "the result is 0, as when rows of the table were never written"
    yield Suspect("cache", nothing, np.zeros_like(right), theta)


def _moved(p: FloatArray, spec: RopeSpec) -> Iterator[Suspect]:
    """Right frequencies at wrong positions."""
    theta = signed_theta(spec)

    def at(fault: Fault, words: str, moved: FloatArray) -> Suspect:
        return Suspect(fault, words, turned(moved[:, None] * theta), theta)

    for shift in (1, -1):
        start = f"token 0 is rotated as position {shift}"
        yield at("position", f"positions are off by one: {start}", p + shift)
    counted = "positions are not used: tokens are numbered 0, 1, 2, ..."
    yield at("position", counted, np.arange(p.size, dtype=np.float64))
    counted = "positions are not used: tokens are numbered 1, 2, 3, ..."
    yield at("position", counted, np.arange(1, p.size + 1, dtype=np.float64))
    yield at("broadcast", "every token is rotated as the first", np.full_like(p, p[0]))
    yield at("position", "tokens are numbered from the first's position", p[:1] + np.arange(p.size))
    yield at("position", "positions are doubled", 2 * p)
    backwards = "the order of the positions is reversed"
    yield at("position", backwards, p[::-1])
    if (p < 0).any():
        yield at("position", "negative positions are taken for positive ones", np.abs(p))
        yield at("position", "negative positions are taken for 0", np.maximum(p, 0))
    if (p != np.floor(p)).any():
        yield at("position", "positions are cut to whole numbers", np.trunc(p))
        yield at("position", "positions are rounded to whole numbers", np.round(p))


def _narrow_positions(p: FloatArray, spec: RopeSpec) -> Iterator[Suspect]:
    """Positions in a type, or a table, that ends too soon."""
    theta = signed_theta(spec)
    for bits in (8, 16):
        size, half = 2.0**bits, 2.0 ** (bits - 1)
        signed = (p + half) % size - half
        for words, moved in (
            (f"positions pass through int{bits}: {int(half)} becomes -{int(half)}", signed),
            (f"positions pass through uint{bits}: they wrap at {int(size)}", p % size),
        ):
            yield Suspect("position", words, turned(moved[:, None] * theta), theta)
    for length in [2**k for k in range(4, 21)] + [2**k + 1 for k in (7, 11, 12, 13, 15)]:
        rows = f"as with a table of {length} rows"
        for words, moved in (
            (f"positions wrap around at {length}, {rows}", p % length),
            (
                f"positions from {length} on are all taken for {length - 1}, {rows}",
                np.minimum(p, length - 1),
            ),
            (f"positions from {length} on are taken for 0, {rows}", np.where(p < length, p, 0)),
        ):
            yield Suspect("cache", words, turned(moved[:, None] * theta), theta)
        inside = (p < length)[:, None]
        right = right_turn(p, spec)
        for words, outside in (("0", 0.0), ("left unrotated", 1.0), ("NaN", np.nan)):
            text = f"positions from {length} on come out as {words}, {rows}"
            yield Suspect("cache", text, np.where(inside, right, outside), theta)


def _narrow_numbers(p: FloatArray, spec: RopeSpec) -> Iterator[Suspect]:
    """Positions, frequencies, phases or tables in a type with too few digits."""
    theta, right = signed_theta(spec), right_turn(p, spec)
    narrow = {"bfloat16": 8, "float16": 11, "TF32": 11}

    def rounded(values: FloatArray, short: str) -> FloatArray:
        if short != "TF32":
            with np.errstate(over="ignore"):
                return values.astype(data_type(short)).astype(np.float64)
        # TensorFloat-32 has float16's digits and float32's range.
        mantissa, exponent = np.frexp(values)
        return np.asarray(np.ldexp(np.round(mantissa * 2**11) / 2**11, exponent))

    for short, bits in narrow.items():
        holds = f"which holds no more than {bits} binary digits"
        held = rounded(p, short)
        slow = rounded(theta, short)
        text = f"positions are rounded to {short}, {holds}: not every integer above {2**bits}"
        yield Suspect("angle-precision", text, turned(held[:, None] * theta), theta)
        text = f"the frequencies are rounded to {short}, {holds}"
        yield Suspect("angle-precision", text, turned(p[:, None] * slow), theta)
        text = f"positions and frequencies are rounded to {short}, {holds}"
        yield Suspect("angle-precision", text, turned(held[:, None] * slow), theta)
        with np.errstate(invalid="ignore"):
            text = f"the phase is rounded to {short}, {holds}"
            for a, b in ((held, slow), (p, theta)):
                phase = rounded(a[:, None] * b, short)
                yield Suspect("angle-precision", text, turned(phase), theta)
        text = f"the table of cos and sin is rounded to {short}, {holds}"
        table = rounded(right.real, short) + 1j * rounded(right.imag, short)
        yield Suspect("angle-precision", text, table, theta)
        with np.errstate(invalid="ignore"):
            table = turned(rounded(held[:, None] * slow, short))
            text = f"positions, frequencies, phase and table are all in {short}, {holds}"
            table = rounded(table.real, short) + 1j * rounded(table.imag, short)
        yield Suspect("angle-precision", text, table, theta)


def _ladders(p: FloatArray, spec: RopeSpec) -> Iterator[Suspect]:
    """Frequencies by a wrong formula."""
    assert isinstance(spec.frequencies, PowerLaw)
    base, width = float(spec.frequencies.base), spec.rotary_dim
    i = np.arange(width // 2)
    theta = signed_theta(spec)
    exponents: dict[str, tuple[Fault, FloatArray]] = {
        f"2i/D with D = head_dim = {spec.head_dim}": ("partial", 2 * i / spec.head_dim),
        "2(i+1)/R, one step down the ladder": ("frequency", 2 * (i + 1) / width),
        "(2i+1)/R": ("frequency", (2 * i + 1) / width),
        "i/R": ("frequency", i / width),
        "4i/R": ("frequency", 4 * i / width),
        "2i/(R-1)": ("frequency", 2 * i / max(width - 1, 1)),
        "2i/(R-2)": ("frequency", 2 * i / max(width - 2, 1)),
        "2i/(R+2)": ("frequency", 2 * i / (width + 2)),
        "0, as with an integer division": ("frequency", np.zeros(i.size)),
        "negative": ("frequency", -2 * i / width),
    }
    power = 1 << (width - 1).bit_length()
    if power != width:
        text = f"2i/{power}, R rounded up to a power of two"
        exponents[text] = ("kernel-shape", 2 * i / power)
    for formula, (fault, exponent) in exponents.items():
        words = f"the exponent of the base is {formula}, not 2i/R with R = {width}"
        turn = spec.direction * base**-exponent
        yield Suspect(fault, words, turned(p[:, None] * turn), turn)
    slower: FloatArray = np.where(2 * i < len(i), theta, -theta)
    for words, turn in (
        ("the phase is taken for degrees", theta * (np.pi / 180)),
        ("the phase is taken for turns", theta * (2 * np.pi)),
        ("the frequencies are turns, not radians, per position", theta / (2 * np.pi)),
        ("the frequencies are in reverse order", theta[::-1]),
        ("the frequencies are periods: 1/theta", 1 / theta),
    ):
        yield Suspect("frequency", words, turned(p[:, None] * turn), turn)
    words = "the slower half of the pairs turns the other way"
    yield Suspect("sign", words, turned(p[:, None] * slower), theta)
    for pairs in range(1, len(i)):
        words = f"only the first {pairs} of {len(i)} pairs are rotated"
        some = np.where(i < pairs, theta, 0.0)
        yield Suspect("partial", words, turned(p[:, None] * some), theta)


def _fitted(p: FloatArray, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """Suspects with a parameter that is fitted to what was seen."""
    if not np.isfinite(seen).any():
        return
    theta = signed_theta(spec)
    size = float(np.nanmedian(np.abs(seen)))
    words = f"the result is {size:.6g} times too large"
    yield Suspect("scaling", words, size * right_turn(p, spec), theta)
    yield from _constant_phase(p, spec, seen)
    measured = measured_frequencies(p, seen)
    moving = theta != 0
    if measured is None or not (measured[moving] != 0).all() or not moving.any():
        return
    pairs_ = np.arange(spec.rotary_dim // 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.median(measured[moving] / theta[moving]))
        logs = -np.log(np.abs(measured[1:])) * spec.rotary_dim / (2 * pairs_[1:])
    # A factor so near to 1 is a rounding error, not a scaling.
    fault: Fault = "angle-precision" if abs(factor - 1) < 2**-7 else "scaling"
    words = f"all frequencies are {factor:.9g} times too large"
    yield Suspect(fault, words, turned(p[:, None] * theta * factor), theta * factor)
    if isinstance(spec.frequencies, PowerLaw) and logs.size:
        base, own = float(np.exp(np.median(logs))), float(spec.frequencies.base)
        ladder = spec.direction * base ** (-2 * pairs_ / spec.rotary_dim)
        words = f"the base is {base:.7g}, claimed {own:.7g}"
        yield Suspect("config", words, turned(p[:, None] * ladder), ladder)
    words = "the frequencies are those of no known ladder: theta = " + ", ".join(
        f"{value:.6g}" for value in measured[:4]
    )
    scaled = plain_rule(spec.frequencies) != spec.frequencies
    unknown: Fault = "scaling" if scaled else "frequency"
    yield Suspect(unknown, f"{words}, ...", turned(p[:, None] * measured), measured, steps=2**-13)


def _constant_phase(p: FloatArray, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """All tokens moved by the same distance, which the first token shows."""
    theta = signed_theta(spec)
    ratio = seen * right_turn(p, spec).conj()
    with np.errstate(invalid="ignore"):
        moved = np.angle(ratio[0])
    if not np.isfinite(moved).all() or not theta.size:
        return
    # The slowest pair shows the distance without ambiguity, faster ones more digits of it.
    distance = 0.0
    for pair in np.argsort(np.abs(theta))[(theta == 0).sum() :]:
        whole = np.round((distance * theta[pair] - moved[pair]) / (2 * np.pi))
        distance = float((moved[pair] + 2 * np.pi * whole) / theta[pair])
    if abs(distance) > 1e-3:
        words = f"every token is rotated as if it stood {distance:.6g} positions later"
        shifted = right_turn(p, spec) * turned(distance * theta)
        yield Suspect("position", words, shifted, theta)

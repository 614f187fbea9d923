"""Other readings of a remap: what a RoPE would show that took one parameter or step otherwise.

For a spec whose frequencies are remapped, each suspect is the same rule with one thing
changed, of the kinds that public trackers report. Frequencies and amplitude are looked at
apart, for a RoPE may have either wrong, or both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import unit_roundoff
from rope_conformance.diagnosis.alternative_frequencies import (
    FACTORS,
    axial_readings,
    readings,
    theta_of,
)
from rope_conformance.diagnosis.suspects import Complex, Suspect, measured_frequencies
from rope_conformance.faults import Cause
from rope_conformance.inputs.rule_variants import base_below
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.questions import DISTINCT
from rope_ref import PowerLaw, RopeSpec, pair_channels
from rope_ref.scaling import NTK, Axial, DynamicNTK, Linear, Llama3, LongRoPE, ScaledRule, YaRN
from rope_ref.scaling.frequencies import RealRule

__all__ = ["applied_remaps", "remap_suspects", "wrong_rest"]

Array = npt.NDArray[np.float64]

_KEPT = 1e-4  # as a part of theta
_PAIRS = 8  # fewer are met by one of so many readings by chance
_EQUAL = 1e-6  # amplitudes that differ by less are the same in float32


def remap_suspects(p: npt.NDArray[np.generic], spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """All suspects for the positions (T,), the most specific first; none without a remap.

    Parameters
    ----------
    p, spec, seen
        As in `rope_conformance.diagnosis.suspects.suspects`.
    """
    rule = spec.frequencies
    positions = np.asarray(p, dtype=np.float64)
    if isinstance(rule, Axial):
        for words, ladders in axial_readings(rule):
            turn = spec.direction * theta_of(ladders, spec.rotary_dim)
            yield Suspect("scaling", words, _phases(positions[:, None] * turn), turn)
    if not isinstance(rule, ScaledRule) or not np.isfinite(seen).any():
        return
    claimed, theta = float(rule.amplitude), spec.direction * spec.theta()
    found = claimed * float(np.nanmedian(np.abs(seen)))
    right = _phases(positions[:, None] * theta)
    yield from _misplaced_amplitudes(right, positions, theta, claimed)
    if (theta == 0).any():
        words = "pairs that should stand still come out as 0"
        yield Suspect("scaling", words, np.where(theta == 0, 0, right), theta)
    words, size = _amplitude(rule, found)
    if words:
        yield Suspect("scaling", words, size / claimed * right, theta)
    several = theta.size >= _PAIRS
    for reading in readings(rule, spec.rotary_dim, spec.head_dim, spec.layout) if several else ():
        turn = spec.direction * reading.theta
        predicted = size / claimed * _phases(positions[:, None] * turn)
        if reading.second is not None:
            other = _phases(positions[:, None] * spec.direction * reading.second)
            predicted = predicted.real + 1j * size / claimed * other.imag
        both = f"{reading.words}; {words}" if words else reading.words
        yield Suspect(reading.fault, both, predicted, turn)
    yield from _by_position(positions, spec, rule)
    yield from _fitted_base(positions, spec, rule, seen)


def _fitted_base(p: Array, spec: RopeSpec, rule: ScaledRule, seen: Complex) -> Iterator[Suspect]:
    """A plain power law whose base is read off what was seen."""
    claimed, measured = base_below(rule), measured_frequencies(p, seen)
    if claimed is None or measured is None or measured.size < 3 or not (measured != 0).all():
        return
    exponent = 2 * np.arange(measured.size) / spec.rotary_dim
    base = float(np.exp(np.median(-np.log(np.abs(measured[1:])) / exponent[1:])))
    words = f"the frequencies are those of a power law of base {base:.7g}"
    if isinstance(rule, NTK | DynamicNTK):
        power, alpha = spec.rotary_dim / (spec.rotary_dim - 2), float(rule.alpha)
        words += (
            f", that is of alpha={(base / float(claimed)) ** (1 / power):.6g}; claimed are "
            f"base {float(claimed) * alpha**power:.7g} and alpha={alpha:.6g}"
        )
    else:
        words += f", claimed {type(rule).__name__} over base {float(claimed):.7g}"
    turn = spec.direction * base**-exponent
    yield Suspect("scaling", words, _phases(p[:, None] * turn), turn)


def _by_position(p: Array, spec: RopeSpec, rule: ScaledRule) -> Iterator[Suspect]:
    """What a token is turned by depends on where it stands."""
    if isinstance(rule, Linear):
        yield from _parts_of_linear(p, spec, rule)
    if not hasattr(rule, "original_length"):
        return
    trained = float(rule.original_length)
    theta = spec.direction * spec.theta()
    for last in (trained, trained - 1):
        words = f"positions beyond {last:g} are all taken for {last:g}, the trained length"
        yield Suspect("scaling", words, _phases(np.minimum(p, last)[:, None] * theta), theta)
    if not isinstance(rule, LongRoPE | DynamicNTK):
        return
    other = rule.at(trained) if _is_far(rule) else rule.at(8 * trained)
    ratio = float(other.amplitude / rule.amplitude)
    turn = spec.direction * theta_of(other, spec.rotary_dim)
    for begins in (trained, trained + 1):
        far = (p >= begins)[:, None]
        own, changed = _phases(p[:, None] * theta), ratio * _phases(p[:, None] * turn)
        for equal in (1.0, 1 / ratio):
            mixed = np.where(far != _is_far(rule), equal * changed, own)
            words = (
                f"tokens from position {begins:g} on are turned by the frequencies of long texts, "
                "those before by the ones of short texts: they do not fit together"
            )
            yield Suspect("cache", words, mixed, np.maximum(theta, turn))


def _parts_of_linear(p: Array, spec: RopeSpec, rule: Linear) -> Iterator[Suspect]:
    """Positions are divided, and then rounded, or only some of them are."""
    factor = float(rule.factor)
    theta = spec.direction * theta_of(rule.rule, spec.rotary_dim)
    moved = {
        "rounded to whole numbers": np.rint(p / factor),
        "cut to whole numbers": np.floor(p / factor),
    }
    words = f"positions are divided by {factor:g} and "
    for rounded, at in moved.items():
        yield Suspect("scaling", words + rounded, _phases(at[:, None] * theta), theta)
    for begins in (2.0**k for k in range(8, 18)):
        words = f"positions below {begins:g} are not divided by {factor:g}, only those beyond"
        for beyond in (begins + (p - begins) / factor, p / factor):
            at = np.where(p < begins, p, beyond)
            yield Suspect("scaling", words, _phases(at[:, None] * theta), theta)


def _is_far(rule: LongRoPE | DynamicNTK) -> bool:
    return rule.length is not None and rule.length > rule.original_length


# The amplitude


def _misplaced_amplitudes(
    right: Complex, p: Array, theta: Array, claimed: float
) -> Iterator[Suspect]:
    if abs(claimed - 1) < _EQUAL:
        return
    words = "the amplitude is on cos only"
    yield Suspect("scaling", words, right.real + 1j * right.imag / claimed, theta)
    words = "the amplitude is on sin only"
    yield Suspect("scaling", words, right.real / claimed + 1j * right.imag, theta)
    words = "the amplitude multiplies the phase, not cos and sin"
    turn = theta * claimed
    yield Suspect("scaling", words, _phases(p[:, None] * turn) / claimed, turn)


def _amplitude(rule: ScaledRule, found: float) -> tuple[str, float]:
    """What an amplitude is, in words, and exactly; no words if it is the one claimed."""
    claimed = float(rule.amplitude)
    if not np.isfinite(found) or abs(found / claimed - 1) < _EQUAL:
        return "", claimed
    twice = "the amplitude is applied twice"
    if isinstance(rule, LongRoPE):
        twice += ", or its square root is missing"
    known = {
        f"cos and sin are not multiplied by the amplitude {claimed:.7g}": 1.0,
        **_other_amplitudes(rule),
        twice: claimed**2,
        "the amplitude is divided by, not multiplied": 1 / claimed,
        "the amplitude is the square root of what it should be": math.sqrt(claimed),
    }
    for words, value in known.items():
        if abs(found / value - 1) < _EQUAL:
            return words, value
    return f"the amplitude is {found:.7g}, claimed {claimed:.7g}", found


def _other_amplitudes(rule: ScaledRule) -> dict[str, float]:
    """Amplitudes by other rules."""
    if isinstance(rule, LongRoPE):
        own = replace(rule, attention_factor=None, short_mscale=None, long_mscale=None)
        return _stated_or_computed(rule, own) | _other_logarithms(rule)
    if not isinstance(rule, YaRN):
        return {}
    known = _stated_or_computed(rule, replace(rule, attention_factor=None))
    factor = max(float(rule.factor), 1)
    words = "the amplitude is 0.1 ln(factor) + 1, whatever else is given"
    known[words] = 0.1 * math.log(factor) + 1
    weights = {"mscale": rule.mscale, "mscale_all_dim": rule.mscale_all_dim}
    for name, weight in weights.items():
        if weight is not None:
            words = f"the amplitude is 0.1 {name} ln(factor) + 1, by {name} alone"
            known[words] = 0.1 * float(weight) * math.log(factor) + 1
    known["the amplitude is 0.1 log10(factor) + 1"] = 0.1 * math.log10(factor) + 1
    known["the amplitude is the square root of the factor"] = math.sqrt(factor)
    return known


def _stated_or_computed(rule: YaRN | LongRoPE, computed: YaRN | LongRoPE) -> dict[str, float]:
    stated, other = rule.attention_factor, float(computed.amplitude)
    if stated is None:
        return {}
    return {
        "the amplitude is computed, what is stated is ignored": other,
        "the stated amplitude is multiplied by the computed one": other * float(stated),
    }


def _other_logarithms(rule: LongRoPE) -> dict[str, float]:
    factor, trained = max(float(rule.factor), 1), float(rule.original_length)
    below = {"the new length": math.log(trained * factor), "2": math.log(2), "10": math.log(10)}
    return {
        f"the amplitude divides by the logarithm of {words}, not of the trained length": math.sqrt(
            1 + math.log(factor) / each
        )
        for words, each in below.items()
    }


def wrong_rest(context: CheckContext) -> Cause | None:
    """Whether the amplitude is on channels that do not rotate, too."""
    amplitude = float(context.spec.frequencies.amplitude)
    rest = np.setdiff1d(np.arange(context.spec.head_dim), pair_channels(context.spec))
    if not rest.size or abs(amplitude - 1) < _EQUAL:
        return None
    case = context.cut(DISTINCT)
    if not case.inside(context.claim):
        return None
    x = context.x(case)
    y = context.arrays.apply(x, context.positions(case))
    before, after = (np.asarray(each, np.float64)[..., rest] for each in (x, y))
    near = 4 * unit_roundoff(context.dtype) * np.abs(amplitude * before)
    if not (np.abs(after - amplitude * before) <= near).all():
        return None
    words = f"channels that do not rotate are multiplied by the amplitude {amplitude:.7g} too"
    return Cause(words, "scaling", f"seen on {rest.size} channels of {case.tokens} tokens")


# A remap that was not claimed


def applied_remaps(p: npt.NDArray[np.generic], spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """Suspects for plain frequencies claimed: common remaps that are applied all the same."""
    rule = spec.frequencies
    if not isinstance(rule, PowerLaw) or rule.base <= 1 or spec.rotary_dim < 4:
        return
    positions = np.asarray(p, dtype=np.float64)
    measured = measured_frequencies(positions, seen)
    if measured is None:
        return
    slowed = spec.direction * spec.theta() / measured
    factor = round(float(slowed[-1])) if np.isfinite(slowed[-1]) else 0
    if factor not in FACTORS or not abs(slowed[0] - 1) < _KEPT:
        return
    size = float(np.nanmedian(np.abs(seen)))
    for words, each in _common_remaps(rule, factor):
        turn = spec.direction * theta_of(each, spec.rotary_dim)
        predicted = size * _phases(positions[:, None] * turn)
        yield Suspect(
            "scaling", f"{words} is applied, claimed are plain frequencies", predicted, turn
        )


def _common_remaps(rule: PowerLaw, factor: int) -> Iterator[tuple[str, RealRule]]:
    yield f"NTK with alpha={factor}", NTK(rule, alpha=factor)
    for length in (2048, 4096, 8192, 16384, 32768):
        words = f"factor={factor}, original_length={length}"
        yield f"Llama 3's rule with {words}", Llama3(rule, factor=factor, original_length=length)
        for cut in (True, False):
            yarn = YaRN(rule, factor=factor, original_length=length, truncate=cut)
            yield f"YaRN with {words}, truncate={cut}", yarn


def _phases(phase: Array) -> Complex:
    """cos + i sin of given phases."""
    return np.asarray(np.exp(1j * phase))

"""Scalings that are computed wrongly, left out, or applied though none is claimed.

For a spec with a scaling, each suspect is the same rule with one thing changed, of the kinds
that public trackers report. Frequencies and amplitude are looked at apart from each other, for a
RoPE may have either wrong, or both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.diagnosis.alternative_frequencies import alternatives, theta_of
from rope_conformance.diagnosis.alternative_rules import FACTORS, axial_rules
from rope_conformance.diagnosis.amplitude_causes import amplitude_in_words, misplaced_amplitudes
from rope_conformance.diagnosis.suspects import Suspect
from rope_conformance.diagnosis.turns import Complex, measured_frequencies, turned
from rope_conformance.target.frameworks import Array
from rope_conformance.target.rule_parts import base_below
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import NTK, Axial, DynamicNTK, Linear, Llama3, LongRoPE, ScaledRule, YaRN
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["scaling_suspects", "unclaimed_scalings"]

_KEPT = 1e-4  # as a part of theta
_PAIRS = 8  # fewer are explained by one of so many alternatives by chance


def scaling_suspects(p: Array, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """All suspects for the positions (T,), the most specific first; none without a scaling.

    Parameters
    ----------
    p, spec, seen
        As in `rope_conformance.diagnosis.suspects.suspects`.
    """
    rule = spec.frequencies
    positions = np.asarray(p, dtype=np.float64)
    if isinstance(rule, Axial):
        for words, ladders in axial_rules(rule):
            turn = spec.direction * theta_of(ladders, spec.rotary_dim)
            yield Suspect("scaling", words, turned(positions[:, None] * turn), turn)
    if not isinstance(rule, ScaledRule) or not np.isfinite(seen).any():
        return
    claimed, theta = float(rule.amplitude), spec.direction * spec.theta()
    found = claimed * float(np.nanmedian(np.abs(seen)))
    right = turned(positions[:, None] * theta)
    yield from misplaced_amplitudes(right, positions, theta, claimed)
    if (theta == 0).any():
        words = "pairs that should stand still come out as 0"
        yield Suspect("scaling", words, np.where(theta == 0, 0, right), theta)
    words, size = amplitude_in_words(rule, found)
    if words:
        yield Suspect("scaling", words, size / claimed * right, theta)
    several = theta.size >= _PAIRS
    for each in alternatives(rule, spec) if several else ():
        turn = spec.direction * each.theta
        predicted = size / claimed * turned(positions[:, None] * turn)
        if each.second is not None:
            other = turned(positions[:, None] * spec.direction * each.second)
            predicted = predicted.real + 1j * size / claimed * other.imag
        both = f"{each.words}; {words}" if words else each.words
        yield Suspect(each.fault, both, predicted, turn)
    yield from _by_position(positions, spec, rule)
    yield from _fitted_base(positions, spec, rule, seen)


def _fitted_base(
    p: FloatArray, spec: RopeSpec, rule: ScaledRule, seen: Complex
) -> Iterator[Suspect]:
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
    yield Suspect("scaling", words, turned(p[:, None] * turn), turn)


def _by_position(p: FloatArray, spec: RopeSpec, rule: ScaledRule) -> Iterator[Suspect]:
    """Suspects whose frequencies or positions depend on where a token stands."""
    if isinstance(rule, Linear):
        yield from _parts_of_linear(p, spec, rule)
    if not hasattr(rule, "original_length"):
        return
    trained = float(rule.original_length)
    theta = spec.direction * spec.theta()
    for last in (trained, trained - 1):
        words = f"positions beyond {last:g} are all taken for {last:g}, the trained length"
        yield Suspect("scaling", words, turned(np.minimum(p, last)[:, None] * theta), theta)
    if not isinstance(rule, LongRoPE | DynamicNTK):
        return
    other = rule.at(trained) if _is_far(rule) else rule.at(8 * trained)
    ratio = float(other.amplitude / rule.amplitude)
    turn = spec.direction * theta_of(other, spec.rotary_dim)
    for begins in (trained, trained + 1):
        far = (p >= begins)[:, None]
        own, changed = turned(p[:, None] * theta), ratio * turned(p[:, None] * turn)
        for equal in (1.0, 1 / ratio):
            mixed = np.where(far != _is_far(rule), equal * changed, own)
            words = (
                f"tokens from position {begins:g} on are turned by the frequencies of long texts, "
                "those before by the ones of short texts: they do not fit together"
            )
            yield Suspect("cache", words, mixed, np.maximum(theta, turn))


def _parts_of_linear(p: FloatArray, spec: RopeSpec, rule: Linear) -> Iterator[Suspect]:
    """Linear scaling that rounds the divided positions, or divides only some of them."""
    factor = float(rule.factor)
    theta = spec.direction * theta_of(rule.rule, spec.rotary_dim)
    moved = {
        "rounded to whole numbers": np.rint(p / factor),
        "cut to whole numbers": np.floor(p / factor),
    }
    words = f"positions are divided by {factor:g} and "
    for rounded, at in moved.items():
        yield Suspect("scaling", words + rounded, turned(at[:, None] * theta), theta)
    for begins in (2.0**k for k in range(8, 18)):
        words = f"positions below {begins:g} are not divided by {factor:g}, only those beyond"
        for beyond in (begins + (p - begins) / factor, p / factor):
            at = np.where(p < begins, p, beyond)
            yield Suspect("scaling", words, turned(at[:, None] * theta), theta)


def _is_far(rule: LongRoPE | DynamicNTK) -> bool:
    return rule.length is not None and rule.length > rule.original_length


# A scaling that is not claimed


def unclaimed_scalings(p: Array, spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """Suspects where plain frequencies are claimed: common scalings, applied all the same."""
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
    for words, each in _common_scalings(rule, factor):
        turn = spec.direction * theta_of(each, spec.rotary_dim)
        predicted = size * turned(positions[:, None] * turn)
        yield Suspect(
            "scaling", f"{words} is applied, claimed are plain frequencies", predicted, turn
        )


def _common_scalings(rule: PowerLaw, factor: int) -> Iterator[tuple[str, FrequencyRule]]:
    yield f"NTK with alpha={factor}", NTK(rule, alpha=factor)
    for length in (2048, 4096, 8192, 16384, 32768):
        words = f"factor={factor}, original_length={length}"
        yield f"Llama 3's rule with {words}", Llama3(rule, factor=factor, original_length=length)
        for cut in (True, False):
            yarn = YaRN(rule, factor=factor, original_length=length, truncate=cut)
            yield f"YaRN with {words}, truncate={cut}", yarn

"""What is wrong with the amplitude that a scaling puts on cos and sin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray, unit_roundoff
from rope_conformance.diagnosis.suspects import Suspect
from rope_conformance.diagnosis.turns import Complex, turned
from rope_conformance.faults import Cause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.questions import DISTINCT
from rope_ref import pair_channels
from rope_ref.scaling import LongRoPE, ScaledRule, YaRN

__all__ = ["amplitude_in_words", "misplaced_amplitudes", "wrong_rest"]

_EQUAL = 1e-6  # amplitudes that differ by less are the same in float32


def misplaced_amplitudes(
    right: Complex, p: FloatArray, theta: FloatArray, claimed: float
) -> Iterator[Suspect]:
    """The right amplitude on cos alone, on sin alone, or on the phase."""
    if abs(claimed - 1) < _EQUAL:
        return
    words = "the amplitude is on cos only"
    yield Suspect("scaling", words, right.real + 1j * right.imag / claimed, theta)
    words = "the amplitude is on sin only"
    yield Suspect("scaling", words, right.real / claimed + 1j * right.imag, theta)
    words = "the amplitude multiplies the phase, not cos and sin"
    turn = theta * claimed
    yield Suspect("scaling", words, turned(p[:, None] * turn) / claimed, turn)


def amplitude_in_words(rule: ScaledRule, found: float) -> tuple[str, float]:
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
    """Where an amplitude is stated: the one that would be computed, and the product of both."""
    stated, other = rule.attention_factor, float(computed.amplitude)
    if stated is None:
        return {}
    return {
        "the amplitude is computed, what is stated is ignored": other,
        "the stated amplitude is multiplied by the computed one": other * float(stated),
    }


def _other_logarithms(rule: LongRoPE) -> dict[str, float]:
    """The logarithm of the factor, divided by another one than that of the trained length."""
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

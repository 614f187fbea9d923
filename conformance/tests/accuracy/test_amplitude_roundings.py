"""An amplitude that is computed: what it costs in roundings."""

import math

import numpy as np
import pytest

from rope_conformance.accuracy.amplification import amplitude_roundings
from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.zoo.parts.scaling_formulas import amplitude_of
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec
from rope_ref.scaling import (
    Linear,
    LongRoPE,
    YaRN,
)

F = np.float32
U = 2.0**-24


def yarn(factor, **more):
    return YaRN(PowerLaw(1e4), factor=factor, original_length=4096, **more)


def longrope(factor, length=4096):
    ones = (1,) * 4
    return LongRoPE(
        PowerLaw(1e4),
        short_factors=ones,
        long_factors=ones,
        original_length=length,
        factor=factor,
    )


AMPLITUDES = {
    "one logarithm": yarn,
    "a quotient of two": lambda factor: yarn(factor, mscale=1, mscale_all_dim=0.707),
    "a root": longrope,
}


@pytest.mark.parametrize("name", AMPLITUDES)
def test_a_computed_amplitude_is_off_by_what_is_counted(name, scalings):
    """In float32 it may be off by more than one rounding, and never by more than counted."""
    largest = 0.0
    for factor in (1.5, 2, 2.1, 3, 4, 8, 16, 32, 40, 64, 97.5, *np.linspace(1.1, 300, 300)):
        rule = AMPLITUDES[name](float(factor))
        error = abs(float(amplitude_of(rule, F)) / float(rule.amplitude) - 1) / scalings.u
        assert error <= amplitude_roundings(rule, "float32") - 1, factor
        largest = max(largest, error)
    assert largest > 1


def test_amplitudes_by_hand():
    """1 is no amplitude; one given is rounded and multiplied; logarithms cost what they weigh."""
    log, tenth = 0.1 * math.log(4), 1
    one = (2 + 2 + tenth) * log / (1 + log) + 1
    assert amplitude_roundings(PowerLaw(1e4), "float32") == 0
    assert amplitude_roundings(yarn(4, attention_factor=1.3), "float32") == 2
    assert amplitude_roundings(yarn(4), "float32") == pytest.approx(one + 1)
    assert amplitude_roundings(yarn(4, mscale=1, mscale_all_dim=1), "float32") == 0
    weighed = (2 + 2 + tenth + 1) * 0.7 * log / (1 + 0.7 * log) + 1
    both = yarn(4, mscale=1, mscale_all_dim=0.7)
    assert amplitude_roundings(both, "float32") == pytest.approx(one + weighed + 1 + 1)
    quotient = math.log(32) / math.log(4096)
    root = (5 * quotient / (1 + quotient) + 1) / 2 + 1
    assert amplitude_roundings(longrope(32), "float32") == pytest.approx(root + 1)
    assert amplitude_roundings(Linear(longrope(32), factor=3), "float32") == root + 1
    assert amplitude_roundings(ExplicitFrequencies([1.0], amplitude=1.3), "float64") == 2


def test_the_bound_has_the_amplitude_in_k(scalings):
    """At position 0 an amplitude adds its units and nothing else."""
    profile = profile_named("float32-power")
    plain, scaled = (RopeSpec(8, layout="half", frequencies=r) for r in (PowerLaw(1e4), yarn(4)))
    for dtype in ("float32", "bfloat16"):
        one, other = (bound(profile, each, 0, dtype, 1.0).ravel()[0] for each in (plain, scaled))
        units = amplitude_roundings(yarn(4), "float32") * scalings.u / unit_roundoff(dtype)
        assert other - one == pytest.approx(units)

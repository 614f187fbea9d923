"""What a scaling leaves to the rule below: rational turns, and its amplitude."""

from fractions import Fraction

import numpy as np

import rope_ref as rr


def longrope_of(rule, factors, **options):
    return rr.scaling.LongRoPE(
        rule,
        short_factors=factors,
        long_factors=factors,
        original_length=4096,
        factor=32,
        **options,
    )


def test_rational_turns_stay_rational():
    """Parts of a turn that are divided are parts of a turn: no rounding on the way to cos."""
    given = rr.ExplicitFrequencies(turns=[Fraction(1, 2), Fraction(1, 3)], amplitude=3)
    for rule, turns in (
        (rr.scaling.Linear(given, factor=2), (Fraction(1, 4), Fraction(1, 6))),
        (rr.scaling.Proportional(given, fraction=0.5, factor=2), (Fraction(1, 4), Fraction(0))),
        (
            longrope_of(given, [2, 3], attention_factor=1),
            (Fraction(1, 4), Fraction(1, 9)),
        ),
        (rr.scaling.Divided(given, factors=[2, 3]), (Fraction(1, 4), Fraction(1, 9))),
    ):
        assert tuple(frequency.rational for frequency in rule.frequencies(4)) == turns
        assert rule.amplitude == 3
        # A quarter turn per position: cos is exactly 0 or 3 at any integer.
        spec = rr.RopeSpec(4, layout="half", frequencies=rule)
        cos, sin = rr.cos_sin(np.array([1, 2, 2**53 - 1]), spec)
        assert cos[:, 0].tolist() == [0.0, -3.0, 0.0]
        assert sin[:, 0].tolist() == [3.0, 0.0, -3.0]


def test_amplitudes_multiply():
    """A scaling over a rule with an amplitude keeps it, and multiplies its own into it."""
    given = rr.ExplicitFrequencies([1.0, 0.5], amplitude=1.5)
    kept = [
        rr.scaling.Linear(given, factor=2),
        rr.scaling.Llama3(given, factor=2),
        rr.scaling.Proportional(given, fraction=1),
        longrope_of(given, [1, 2], attention_factor=1),
        rr.scaling.Divided(given, factors=[1, 2]),
    ]
    assert {rule.amplitude for rule in kept} == {Fraction(1.5)}
    assert longrope_of(given, [1, 2], attention_factor=2).amplitude == 3
    over_both = rr.scaling.Linear(longrope_of(given, [1, 2], short_mscale=2), factor=2)
    assert over_both.amplitude == 3

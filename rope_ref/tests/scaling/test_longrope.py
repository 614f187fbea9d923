"""LongRoPE: which list is in use, and which amplitude."""

from fractions import Fraction

import pytest

import rope_ref as rr

PAPER = rr.PowerLaw(1e4)


def longrope(factor, original_length, **options):
    ones = (1.0,) * 48
    return rr.scaling.LongRoPE(
        PAPER,
        short_factors=ones,
        long_factors=ones,
        original_length=original_length,
        factor=factor,
        **options,
    )


@pytest.mark.parametrize(
    ("rule", "amplitude"),
    [
        (longrope(32, 4096), "1.19023807142"),
        (longrope(16, 8192), "1.14354374979"),
        (longrope(16, 4096), "1.15470053838"),
        (longrope(1, 4096), "1"),
        (longrope(0.5, 4096), "1"),
    ],
)
def test_worked_amplitudes(printed, rule, amplitude):
    """LongRoPE's amplitude is the same for short and for long texts."""
    for length in (None, 1, 10**6):
        assert float(rule.at(length).amplitude) == printed(amplitude)


def test_longrope_changes_lists_after_the_original_length():
    """Up to `original_length` the short factors are in use, from one more on the long ones."""
    rule = rr.scaling.LongRoPE(
        PAPER,
        short_factors=[1, 2],
        long_factors=[4, 8],
        original_length=4096,
        factor=32,
        short_mscale=1.1,
        long_mscale=1.2,
    )
    for length in (None, 1, 4096):
        assert not rule.at(length).is_long
        assert rule.at(length).theta(4) == (1.0, 0.005)
        assert rule.at(length).amplitude == Fraction(1.1)
    for length in (4097, 4096.5, 10**9):
        assert rule.at(length).is_long
        assert rule.at(length).theta(4) == (0.25, 0.00125)
        assert rule.at(length).amplitude == Fraction(1.2)
    assert rule.at(5000).at(4096) == rule.at(4096)


def test_longrope_amplitudes_come_before_one_another():
    """An mscale comes first where it is given, then attention_factor, then the formula."""
    assert longrope(32, 4096, attention_factor=1.5).at(5000).amplitude == Fraction(1.5)
    mixed = longrope(32, 4096, attention_factor=1.5, long_mscale=2)
    assert [mixed.amplitude, mixed.at(5000).amplitude] == [Fraction(1.5), 2]
    only_short = longrope(32, 4096, short_mscale=2)
    assert only_short.amplitude == 2
    assert only_short.at(5000).amplitude == longrope(32, 4096).amplitude

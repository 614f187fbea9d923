"""Llama 3: which pairs are kept, which divided, and those on the boundary."""

from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr

LLAMA = rr.PowerLaw(5e5)


def llama3(factor, **options):
    return rr.scaling.Llama3(LLAMA, factor=factor, **options)


def test_llama3_leaves_the_fast_pairs_and_divides_the_slow_ones():
    """Llama-3.1: pairs 0 to 28 are untouched, 35 to 63 divided by 8, bit for bit."""
    theta, plain = llama3(8).theta(128), LLAMA.theta(128)
    assert theta[:29] == plain[:29]
    assert theta[35:] == tuple(each / 8 for each in plain[35:])


def test_llama3_without_a_blend_is_a_threshold():
    """Llama-4 Scout has low = high = 1: what makes a turn in 8192 positions is left alone."""
    rule = llama3(16, low_freq_factor=1, high_freq_factor=1)
    slow = [8192 * each < 2 * np.pi for each in LLAMA.theta(128)]
    assert slow == sorted(slow)
    assert slow.index(True) == 35
    assert rule.theta(128) == (*LLAMA.theta(128)[:35], *(w / 16 for w in LLAMA.theta(128)[35:]))


@pytest.mark.parametrize(("boundary", "kept"), [("slow", 0), ("fast", 1)])
def test_llama3_on_the_boundary(boundary, kept):
    """A pair that makes exactly `low_freq_factor` turns is slow, or fast as mlx-lm has it.

    A rational part of a turn lies on the boundary exactly, the one beside it does not.
    """
    turns = [Fraction(1, 8192), Fraction(1, 8193), Fraction(4, 8192), Fraction(1, 2)]
    for high in (1, 4):
        rule = rr.scaling.Llama3(
            rr.ExplicitFrequencies(turns=turns), factor=8, high_freq_factor=high, boundary=boundary
        )
        first = turns[0] if kept else turns[0] / 8
        rational = [frequency.rational for frequency in rule.frequencies(8)]
        assert rational == [first, turns[1] / 8, turns[2], turns[3]]
        assert rule.theta(8) == rr.ExplicitFrequencies(turns=rational).theta(8)

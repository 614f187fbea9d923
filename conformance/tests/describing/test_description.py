"""A RoPE in numbers, pair by pair, and what two differ in."""

import math

import pytest

import rope_ref as rr
from rope_conformance.describing.description import compare, pairs_of


def test_a_pair_that_stands_still_has_no_wavelength():
    """Its theta is 0, its ratio too."""
    spec = rr.RopeSpec(
        8, layout="half", frequencies=rr.scaling.Proportional(rr.PowerLaw(), fraction=0.5)
    )
    last = pairs_of(spec, 4096)[-1]
    assert (last.theta, last.wavelength, last.turns, last.ratio) == (0, math.inf, 0, 0)


@pytest.mark.filterwarnings("error")
def test_angles_beyond_float64_are_infinite():
    """Without a warning: 1e300 positions of 1e10 radians."""
    one, other = (
        rr.RopeSpec(2, layout="half", frequencies=rr.ExplicitFrequencies([theta]))
        for theta in (1e10, 1.0)
    )
    assert compare(one, other, 1e300).angle == (math.inf, 0)


def test_of_different_widths_the_fields_are_compared():
    """There is no pair to set beside a pair, but all else is said."""
    one, other = (rr.RopeSpec(d, layout="half") for d in (64, 128))
    found = compare(one, other, 100)
    assert found.theta is found.angle is found.different_pairs is None
    assert ("head_dim", "64", "128") in found.what


def test_pairs_that_turn_the_other_way_drift_apart_twice_as_fast():
    """The first pair of all, by 2 radians per position."""
    one, other = (rr.RopeSpec(64, layout="half", direction=d) for d in (1, -1))
    found = compare(one, other, 100)
    assert found.angle == (200.0, 0)
    assert found.different_pairs == 32

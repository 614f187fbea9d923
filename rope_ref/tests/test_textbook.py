"""Where the textbook table, cos of a float64 product, parts from the reference."""

import numpy as np
import pytest

import rope_ref as rr


def textbook(positions, spec):
    """The one-liner that everyone writes, all of it in float64."""
    phase = positions[:, None].astype(np.float64) * spec.theta()
    return np.cos(phase), np.sin(phase)


@pytest.mark.parametrize(("position", "least"), [(2**20, 2e-11), (2**31, 4e-8)])
def test_the_textbook_loses_the_phase(oracle, position, least):
    """The textbook is off by 5e-11 at 2**20 and by 1e-7 at 2**31; the reference by an ulp.

    A phase just below the position p is rounded by up to p * 2**-54 (half its spacing), and
    theta, just below 1, by 2**-54, times p. Together at most p * 2**-53, plus the few ulps
    of NumPy's own cos.
    """
    positions = np.arange(position - 100, position)
    spec = rr.RopeSpec(128, layout="half", frequencies=rr.PowerLaw(10000.0))
    ours, theirs = rr.cos_sin(positions, spec), textbook(positions, spec)
    largest = 0.0
    for i, theta in enumerate(oracle.power_law(10000, 128)):
        truth = zip(*(oracle.cos_sin(p, theta) for p in positions.tolist()), strict=True)
        for table, book, true in zip(ours, theirs, truth, strict=True):
            assert oracle.ulps(table[:, i], true).max() < 1
            errors = map(oracle.error, book[:, i].tolist(), true)
            largest = max(largest, *errors)
    assert least < largest < position * oracle.u + 8 * oracle.u


def test_the_textbook_is_right_where_positions_are_small(oracle):
    """At position 0 and 1 both agree: the difference is in the phase, not in cos and sin."""
    spec = rr.RopeSpec(128, layout="half")
    for ours, theirs in zip(
        rr.cos_sin(np.arange(2), spec), textbook(np.arange(2), spec), strict=True
    ):
        # Half an ulp of theta, of the product and of the result, and NumPy's 4 ulp at worst.
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=10 * oracle.u)

"""A divisor for each pair, as GGUF files keep them."""

from fractions import Fraction

import numpy as np

import rope_ref as rr

LLAMA = rr.PowerLaw(5e5)


def test_divided_is_llama3_as_gguf_keeps_it():
    """Each pair by a divisor of its own: those of the rule, taken exactly, give its frequencies."""
    rule = rr.scaling.Llama3(LLAMA, factor=8)
    turns = [8192 * w / (2 * np.pi) for w in LLAMA.theta(128)]
    kept = np.clip((np.array(turns) - 1) / 3, 0, 1)
    divided = rr.scaling.Divided(LLAMA, factors=1 / (kept + (1 - kept) / 8))
    # The divisors were rounded on the way.
    np.testing.assert_allclose(divided.theta(128), rule.theta(128), rtol=1e-14)
    assert (divided.amplitude, divided.theta(128)[63]) == (1, rule.theta(128)[63])
    assert rr.scaling.Divided(rr.PowerLaw(1e4), factors=[1, Fraction(1, 3)]).factors == (
        1,
        Fraction(1, 3),
    )

"""m_i of every scaling, worked by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rope_conformance.accuracy.amplification import amplification
from rope_ref import ExplicitFrequencies, PowerLaw
from rope_ref.scaling import (
    NTK,
    Axial,
    Divided,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    Reordered,
    YaRN,
)

LOG = math.log(1e4)
PAIR = np.arange(4)
E = PAIR / 4  # 2i/R at R = 8
PLAIN = 4 + LOG * E


def m(rule, rotary_dim=8, recipe="power", dtype="float32"):
    return amplification(rule, rotary_dim, recipe, dtype)


@pytest.mark.parametrize(
    ("factor", "more"), [(8, 0), (0.25, 0), (3, 2), (2.1, 3), (Fraction(1, 3), 3)]
)
def test_a_division_costs_nothing_two_or_three(factor, more):
    """Nothing by a power of two; else the reciprocal and the product; the factor, if rounded."""
    law = PowerLaw(1e4)
    for rule in (Linear(law, factor=factor), Proportional(law, fraction=1, factor=factor)):
        np.testing.assert_allclose(m(rule), PLAIN + more)
    lists = [(1, 4, factor, 3), (2.1, factor, 2, 1)]
    long = LongRoPE(
        law, short_factors=lists[0], long_factors=lists[1], original_length=4096, factor=2
    )
    np.testing.assert_allclose(m(long), PLAIN + [0, 0, more, 2])
    np.testing.assert_allclose(m(long.at(5000)), PLAIN + [3, more, 0, 0])
    np.testing.assert_allclose(m(Divided(law, factors=lists[1])), PLAIN + [3, more, 0, 0])


def test_a_larger_base_by_hand():
    """R = 8, alpha = 3: the base is b 3**(4/3), off by 3 + (4/3) ln 3 units."""
    law, power = PowerLaw(1e4), 4 / 3
    base, log = 3 + power * math.log(3), LOG + power * math.log(3)
    np.testing.assert_allclose(m(NTK(law, alpha=3)), 4 + E * (log + base))
    np.testing.assert_allclose(m(NTK(law, alpha=3), recipe="exp-single"), 7 + E * (4 * log + base))
    np.testing.assert_allclose(m(NTK(law, alpha=3), recipe="product"), 4 + 3 * PAIR + E * base)
    np.testing.assert_allclose(m(NTK(law, alpha=1)), PLAIN)
    rounded = NTK(PowerLaw(0.37), alpha=2.1)
    log, base = (
        math.log(0.37) + power * math.log(2.1),
        1 + power + 3 + power * math.log(2.1),
    )
    np.testing.assert_allclose(m(rounded), 4 + E * (abs(log) + base))


def test_an_alpha_that_grows_by_hand():
    """2 * 8192/4096 - 1 is exact; 3 * 5000/4099 - 2 loses 2 units of 3.659 and 1 of 1.659."""
    law, power = PowerLaw(1e4), 4 / 3
    exact = DynamicNTK(law, factor=2, original_length=4096, length=8192)
    np.testing.assert_allclose(m(exact), m(NTK(law, alpha=3)))
    np.testing.assert_allclose(m(exact.at(100)), PLAIN)
    rule = DynamicNTK(law, factor=3, original_length=4099, length=5000)
    grown = 3 * 5000 / 4099
    alpha = grown - 2
    base = power * (2 * grown / alpha + 1) + 3 + power * math.log(alpha)
    log = LOG + power * math.log(alpha)
    np.testing.assert_allclose(m(rule), 4 + E * (log + base))
    # A factor that float32 does not hold moves alpha by (alpha - 1)/alpha of itself.
    rule = DynamicNTK(law, factor=2.1, original_length=4096, length=4 * 4096)
    alpha = 2.1 * 3 + 1
    base = power * ((2 * 8.4 + 1.1 + alpha - 1) / alpha + 1) + 3 + power * math.log(alpha)
    log = LOG + power * math.log(alpha)
    np.testing.assert_allclose(m(rule), 4 + E * (log + base))


def test_the_fixed_rule_by_hand():
    """R = 8, s = 2 and 2.1: base b s, and a root of s; or a power of i and an exponential."""
    law = PowerLaw(1e4)
    root = 2 + math.log(2) / 4 + 2
    np.testing.assert_allclose(m(FixedNTK(law, factor=2)), 4 + E * math.log(2e4) + root)
    root = 2 + (math.log(2.1) + 1) / 4 + 2  # the factor is rounded, b s is rounded
    np.testing.assert_allclose(m(FixedNTK(law, factor=2.1)), 4 + E * (math.log(2.1e4) + 2) + root)
    np.testing.assert_allclose(m(FixedNTK(law, factor=1)), PLAIN)
    share = ((PAIR + 1) / 4) ** 0.5
    np.testing.assert_allclose(
        m(FixedNTK(law, factor=2, mixing=0.5)), PLAIN + 8 * share * math.log(2) + 6 + 1
    )
    share = ((PAIR + 1) / 4) ** 0.3
    slowed = share * (math.log(2) * (8 + 0.3 * np.log(4 * (PAIR + 1))))
    np.testing.assert_allclose(m(FixedNTK(law, factor=2, mixing=0.3)), PLAIN + slowed + 7)


def test_a_whole_ramp_by_hand():
    """R = 8, ends 0 and 3, s = 3: pair 0 is kept, pair 3 divided, and two are blended."""
    rule = YaRN(PowerLaw(1e4), factor=3, original_length=2000, beta_fast=32, beta_slow=1)
    assert rule.ends(8) == (0, 3)
    want = PLAIN.copy()
    want[3] += 2
    for i, g in ((1, 1 / 3), (2, 2 / 3)):
        kept, slow = 1 - g, g / 3
        # g and 1 - g lose 1 unit of themselves, together 1, which moves theta by 1 - 1/3
        want[i] = PLAIN[i] + (2 * slow + 2 * (kept + slow) + 2 / 3) / (kept + slow) + 1
    np.testing.assert_allclose(m(rule), want)


def test_an_untruncated_ramp_amplifies_by_about_its_factor():
    """The last pair of the ramp is off by s - 1 times the ramp's own error, the first by that."""
    law = PowerLaw(150_000)
    plain = amplification(law, 64, "power", "float32")
    for factor in (4, 32, 128):
        rule = YaRN(law, factor=factor, original_length=4096, truncate=False)
        more = m(rule, 64) - plain
        low, high = map(float, rule.ends(64))
        inside = np.flatnonzero((np.arange(32) > low) & (np.arange(32) < high))
        assert (more[: inside[0]] == 0).all()
        assert (more[inside[-1] + 1 :] == 0).all()
        i = inside[-1]
        g = (i - low) / (high - low)
        fixed = 3 * 64 / (2 * math.log(150_000))
        at = [fixed + 6 * end for end in (low, high)]
        ramp = ((1 - g) * at[0] + g * at[1]) / (high - low) + 3 * g + (1 - g)
        share = 1 - g + g / factor
        assert more[i] == pytest.approx(3 + ramp * (1 - 1 / factor) / share)


def test_a_blend_by_turns_by_hand():
    """A pair of 2 turns between 1 and 4, s = 8: what theta has lost counts in its turns again."""
    law = ExplicitFrequencies([2.0 * math.pi / 4096, 0.5, 1e-6, 0.0])
    rule = Llama3(law, factor=8)  # 8192 positions: 2 turns, many, next to none, none
    kept = 1 / 3
    share = kept + (1 - kept) / 8
    lost = 2 * (4 + 3) / 3 + 3 * kept
    np.testing.assert_allclose(m(rule), [4 + 2 + lost * 7 / 8 / share + 1, 4, 4, 4])


def test_parts_keep_their_own_counts():
    """Ladders side by side, and in another order, count each pair where it comes from."""
    one, two = Linear(PowerLaw(1e4), factor=3), PowerLaw(500)
    axial = Axial((one, two), (8, 6))
    parts = [m(one, 8), m(two, 6)]
    np.testing.assert_array_equal(m(axial, 14), np.concatenate(parts))
    order = (3, 0, 2, 1)
    np.testing.assert_array_equal(m(Reordered(one, order=order)), parts[0][list(order)])
    np.testing.assert_array_equal(m(Linear(one, factor=5)), parts[0] + 2)


def test_by_parts_of_nothing_is_linear():
    """Without a share of NTK and of the plain frequencies only the division is left."""
    rule = NTKByParts(PowerLaw(1e4), factor=3, ntk_factor=0, extrapolation_factor=0)
    linear = Linear(PowerLaw(1e4), factor=3)
    np.testing.assert_allclose(rule.theta(64), linear.theta(64), rtol=1e-15)
    np.testing.assert_allclose(m(rule, 64), m(linear, 64))


def test_rounded_once_is_rounded_once(scalings):
    """Code that computes in float64 and rounds at the end owes no more with a scaling."""
    for rule in scalings.of(48, 1e4, 32).values():
        assert (m(rule, 48, recipe="rounded") == 4).all()


def test_no_pairs_and_the_largest_numbers_have_a_count(scalings):
    """Without channels there is nothing to count; a base beyond every type is merely rounded."""
    for rule in scalings.of(0, 1e4, 3).values():
        assert m(rule, 0).shape == (0,)
    huge = FixedNTK(PowerLaw(1.7e308), factor=3)
    log = math.log(1.7e308) + math.log(3)
    np.testing.assert_allclose(m(huge), 4 + E * (log + 2) + 4 + math.log(3) / 4)


def test_what_float64_holds_is_not_rounded_there():
    """0.1 is no float32 number; as a parameter it is a float64 number by itself."""
    rule = Linear(PowerLaw(1e4), factor=2.1)
    assert (m(rule, dtype="float64") == PLAIN + 2).all()

"""A frequency is one real number: its turns where they are rational, its digits, its algebra."""

import dataclasses
from decimal import Decimal
from fractions import Fraction

import pytest
from flint import arb, ctx

import rope_ref as rr
from rope_ref.exact.frequency import Frequency, digits_of, scaled_turns_of, together
from rope_ref.exact.real import real_arithmetic

DIGITS = [1, 17, 80, 400]


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(2000):
        yield


def power_law(i):
    """theta_i of the paper's ladder at R = 8."""
    return rr.PowerLaw(10000).frequencies(8)[i]


def assert_digits(frequency, truth):
    """Its digits are as many as asked for, and right."""
    for n in DIGITS:
        got = arb(str(frequency.digits(n)))
        assert abs(got - truth) <= abs(truth) * arb(10) ** -n


def test_turns_are_rational(oracle):
    """A frequency in turns knows them as a fraction, and its radians to any digits."""
    turns = Fraction(-5, 7)
    frequency = Frequency.of_turns(turns)
    assert frequency.rational == turns
    assert_digits(frequency, oracle.exact(turns) * 2 * oracle.pi)


def test_radians_are_no_rational_part_of_a_turn(oracle):
    """Only a pair that stands still has both."""
    frequency = Frequency.of_radians(Fraction(1, 10))
    assert frequency.rational is None
    assert_digits(frequency, oracle.exact(Fraction(1, 10)))
    still = Frequency.of_radians(Fraction(0))
    assert still.rational == still.digits(80) == 0


def test_a_frequency_is_immutable():
    """It is a value, as rules and specs are."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        power_law(1).rational = Fraction(1)


@pytest.mark.parametrize("divisor", [3, 0.1, Fraction(7, 3), Decimal("1.1")])
def test_division_by_a_rational(oracle, divisor):
    """Rational turns stay rational, real numbers stay exact."""
    by = oracle.exact(Fraction(divisor))
    assert_digits(power_law(1) / divisor, oracle.power_law(10000, 8)[1] / by)
    assert (power_law(1) / divisor).rational is None
    halved = Frequency.of_turns(Fraction(1, 2)) / divisor
    assert halved.rational == Fraction(1, 2) / Fraction(divisor)
    assert_digits(halved, oracle.pi / by)


def test_division_by_a_real_number(oracle):
    """By a number that is known to any digits; what is then rational is not known."""
    root = Frequency.of_turns(Fraction(1, 2)) / (lambda _: Decimal(2).sqrt())
    assert root.rational is None
    assert_digits(root, oracle.pi / arb(2).sqrt())


def test_a_blend_of_rational_turns(oracle):
    """Blended to a rational share, rational turns stay rational."""
    one, other = Frequency.of_turns(Fraction(1, 2)), Frequency.of_turns(Fraction(-1, 5))
    blend = one.blend(other, Fraction(1, 3))
    assert blend.rational == Fraction(1, 6) - Fraction(2, 15)
    assert_digits(blend, oracle.exact(Fraction(1, 15)) * oracle.pi)


def test_a_blend_of_real_numbers(oracle):
    """A share, or a frequency, that is real makes the blend real."""
    theta = oracle.power_law(10000, 8)
    blend = power_law(1).blend(power_law(2), Fraction(1, 3))
    assert blend.rational is None
    assert_digits(blend, (theta[1] + 2 * theta[2]) / 3)
    half_pi, pi = Frequency.of_turns(Fraction(1, 4)), Frequency.of_turns(Fraction(1, 2))
    blend = half_pi.blend(pi, lambda _: Decimal(1) / 3)
    assert blend.rational is None
    assert_digits(blend, oracle.pi * 5 / 6)
    assert pi.blend(power_law(1), Fraction(1, 2)).rational is None
    assert power_law(1).blend(pi, Fraction(1, 2)).rational is None


@pytest.mark.parametrize("bits", [0, 64, 192, 1000])
def test_turns_in_fixed_point(oracle, bits):
    """Exact for rational turns, and within one unit for real ones, alone and in a ladder."""
    theta = oracle.power_law(0.001, 8)[3]  # 177 radians: digits before the point
    frequencies = [
        rr.PowerLaw(0.001).frequencies(8)[3],
        Frequency.of_turns(Fraction(10**30, 7)),
        power_law(3),
    ]
    truths = [
        theta / (2 * oracle.pi),
        oracle.exact(Fraction(10**30, 7)),
        oracle.power_law(10000, 8)[3] / (2 * oracle.pi),
    ]
    ladder = scaled_turns_of(frequencies, bits)
    for frequency, truth, together_with_others in zip(frequencies, truths, ladder, strict=True):
        units = truth * arb(2) ** bits
        assert abs(frequency.scaled_turns(bits) - units) <= 1
        assert abs(together_with_others - units) <= 1
    assert Frequency.of_turns(Fraction(5, 8)).scaled_turns(3) == 5


def test_turns_of_a_real_number(oracle):
    """theta / 2 pi inside the arithmetic, whichever of the two is known."""
    for frequency, truth in (
        (power_law(1), oracle.power_law(10000, 8)[1] / (2 * oracle.pi)),
        (Frequency.of_turns(Fraction(1, 3)), oracle.exact(Fraction(1, 3))),
    ):
        with real_arithmetic(80):
            got = arb(str(frequency.turns(80)))
        assert abs(got - truth) <= truth * arb(10) ** -80


def test_numbers_computed_together_are_computed_once():
    """One computation serves all of them, for each number of digits."""
    asked = []

    def compute(digits):
        asked.append(digits)
        return [Decimal(1) / 3, Decimal(2) / 3]

    first, second = map(Frequency, together(compute, 2))
    for _ in range(2):
        assert digits_of((first, second), 20) == (first.digits(20), second.digits(20))
    first.digits(30)
    assert asked == [20, 30]

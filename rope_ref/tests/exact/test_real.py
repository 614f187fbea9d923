"""Real numbers to any digits against Arb, and their one rounding against exact fractions."""

import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from rope_ref import errors
from rope_ref.exact.real import (
    approximately,
    logarithm,
    nearest,
    pi,
    pi_fixed_point,
    real,
    real_arithmetic,
    real_cos_sin,
    rounded_once,
    whole_digits,
)

SMALLEST = 5e-324
LARGEST = np.finfo(np.float64).max.item()


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(6000):
        yield


def ball(oracle, number):
    """A Decimal as the exact number that it is."""
    return oracle.exact(Fraction(number))


ANGLES = [
    "0",
    "1",
    "-1",
    "0.7853981633974483",
    "3.141592653589793",
    "-6.283185307179586",
    "1e-40",
    "-1e-400",
    "355",
    "123456789.123456789",
    "-9007199254740991",
    "1e30",
    "7e300",
]


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("digits", [1, 40, 300])
def test_cos_and_sin_have_the_places_asked_for(oracle, angle, digits):
    """Within one unit of the last place behind the point, however many whole turns there are."""
    truth = oracle.cos_sin(Fraction(angle), oracle.exact(1))
    for got, true in zip(real_cos_sin(Decimal(angle), digits), truth, strict=True):
        assert abs(ball(oracle, got) - true) <= oracle.exact(10) ** -digits


@pytest.mark.parametrize("quarters", [1, 2, 3, 4, -1, 10**20 + 1])
def test_cos_and_sin_next_to_a_quarter_turn(oracle, quarters):
    """An angle that is a quarter turn but for its last digits: what is left shows in the result."""
    with real_arithmetic(150):
        angle = pi(150) * quarters / 2 + Decimal("1e-90")
    truth = oracle.cos_sin(Fraction(angle), oracle.exact(1))
    for got, true in zip(real_cos_sin(angle, 120), truth, strict=True):
        assert abs(ball(oracle, got) - true) <= oracle.exact(10) ** -120


def exactly(fraction):
    """A rational number as `rounded_once` asks for one, and how often it did."""
    asked = []

    def value(digits):
        asked.append(digits)
        with real_arithmetic(digits + 400):
            return real(Fraction(fraction)).quantize(Decimal(1).scaleb(-digits))

    return value, asked


@pytest.mark.parametrize(
    "fraction",
    [
        Fraction(1, 3),
        -Fraction(10**300, 7),
        Fraction(1, 3 * 10**300),
        Fraction(2, 3 * 10**320),  # subnormal
        Fraction(1, 10**400),
        0.1,
        -LARGEST,
        SMALLEST,
    ],
)
def test_a_number_is_rounded_to_the_nearest(fraction):
    """As Python rounds a fraction."""
    value, _ = exactly(fraction)
    assert rounded_once(value) == float(Fraction(fraction))


MIDDLES = [
    Fraction(2**53 + 1),
    -Fraction(2**53 + 3),
    1 + Fraction(1, 2**53),
    Fraction(1, 2**1075),  # between 0 and the smallest
    Fraction(3, 2**1075),
    Fraction(2**53 + 1, 2**1075),
]


@pytest.mark.parametrize("middle", MIDDLES, ids=range(len(MIDDLES)))
def test_a_number_in_the_middle_goes_to_the_even_one(middle):
    """Between two float64 numbers, to the one with an even last bit; next to it, to the nearer."""
    assert rounded_once(exactly(middle)[0]) == float(middle)
    for little in (Fraction(1, 10**60), Fraction(1, 10**1150)):
        below, above = (rounded_once(exactly(middle + d)[0]) for d in (-little, little))
        assert (below, above) == (float(middle - little), float(middle + little))
        assert below != above


def test_digits_are_asked_for_until_the_rounding_is_certain():
    """Forty suffice for most numbers, and are doubled for one close to the middle."""
    value, asked = exactly(Fraction(1, 3))
    rounded_once(value)
    assert asked == [40]
    value, asked = exactly(2**53 + 1 + Fraction(1, 10**100))
    assert rounded_once(value) == 2.0**53 + 2
    assert asked == [40, 80, 160]


def test_an_error_in_the_last_place_does_not_matter():
    """What is given may be off by one unit of it: by its own rounding and half a unit more."""
    for number in (Fraction(1, 3), Fraction(2**53 + 1), 0.1, 1 + Fraction(1, 2**53)):
        for off in (-1, 1):

            def value(digits, number=number, off=off):
                exact, _ = exactly(number)
                with real_arithmetic(digits + 400):
                    return exact(digits) + Decimal(off).scaleb(-digits) / 2

            assert rounded_once(value) == float(Fraction(number))


def test_zero_has_no_sign():
    """Nor has what is rounded to it."""
    for fraction in (Fraction(0), Fraction(-1, 10**900)):
        assert not np.signbit(rounded_once(exactly(fraction)[0]))


def test_a_number_beyond_float64_is_infinite():
    """IEEE 754 rounds it so; whoever wants an error asks `nearest`."""
    assert rounded_once(lambda _: Decimal("2e308")) == float("inf")
    assert rounded_once(lambda _: Decimal("-2e308")) == float("-inf")
    for number, words in (("2e308", "beyond the largest"), ("1e-400", "below the smallest")):
        with pytest.raises(errors.FrequencyValueError, match=f"^it is .*{words} float64; give up"):
            nearest(Decimal(number), "it", "give up")
    assert nearest(Decimal("0.1"), "it", "give up") == 0.1


@pytest.mark.parametrize("digits", [5, 80, 1500])
def test_pi(oracle, digits):
    """Pi to so many digits, and in fixed point to within a unit."""
    assert abs(ball(oracle, pi(digits)) - oracle.pi) <= oracle.exact(10) ** -digits
    assert abs(pi_fixed_point(3 * digits) - oracle.pi * 2 ** (3 * digits)) <= 1


@pytest.mark.parametrize("value", [2, 0.1, 1e-300, Fraction(7, 3), Decimal("1e-400"), np.int64(3)])
def test_a_rational_number_has_the_digits_asked_for(oracle, value):
    """Whatever type it comes in; its logarithm has 80."""
    with real_arithmetic(200):
        got = real(value)
    truth = oracle.exact(Fraction(int(value)) if isinstance(value, np.int64) else Fraction(value))
    assert abs(ball(oracle, got) - truth) <= truth * oracle.exact(10) ** -200
    if not isinstance(value, np.int64):
        assert abs(ball(oracle, logarithm(value)) - truth.log()) <= oracle.exact(10) ** -77


def test_the_callers_arithmetic_plays_no_part():
    """Neither its precision nor its rounding nor its traps, and it is left as it was."""
    want = real_cos_sin(Decimal(2), 50)
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_UP) as context:
        context.traps[decimal.Inexact] = True
        assert real_cos_sin(Decimal(2), 50) == want
        assert rounded_once(exactly(Fraction(1, 3))[0]) == 1 / 3
        assert decimal.getcontext().prec == 3


def test_digits_before_the_point():
    """Those of the largest, of either sign; a fraction has none."""
    for numbers, count in (
        ([], 0),
        ([0], 0),
        (["0.99", "-0.001"], 0),
        (["1", "-9.9"], 1),
        (["7", "-1234.5"], 4),
        (["1e30"], 31),
    ):
        assert whole_digits(map(Decimal, numbers)) == count


def test_a_fraction_in_six_digits():
    """For messages, also beyond float64."""
    assert approximately(Fraction(1, 3)) == "0.333333"
    assert approximately(Fraction(10**400, 3)) == "3.33333e+399"

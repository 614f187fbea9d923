"""Real numbers to as many digits as are asked for, and their one rounding to float64."""

from __future__ import annotations

import contextlib
import decimal
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from rope_ref.errors import FrequencyValueError

__all__ = [
    "DIGITS",
    "Real",
    "approximately",
    "logarithm",
    "nearest",
    "pi",
    "pi_fixed_point",
    "real",
    "real_arithmetic",
    "real_cos_sin",
    "rounded_once",
    "whole_digits",
]

Real = int | float | Fraction | Decimal
"""A rational number: float64 values are taken as the rationals they are."""

DIGITS = 80
"""Significant digits of what is rounded to float64 without asking for more."""

_GUARD = 20  # digits that rounding in between may spoil
_MOST_PLACES = 1200  # a number in the middle between two float64 has at most 1075


@contextlib.contextmanager
def real_arithmetic(digits: int) -> Iterator[None]:
    """Calculate with `Decimal` to `digits` significant digits, and some more to lose.

    The caller's own decimal context (precision, rounding, traps) plays no part.

    Raises
    ------
    FrequencyValueError
        If a number is beyond what `Decimal` can hold.
    """
    context = decimal.Context(
        prec=digits + _GUARD,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )
    try:
        with decimal.localcontext(context):
            yield
    except decimal.Overflow:
        raise FrequencyValueError(
            "theta(): a frequency is beyond any number; give a base nearer to 1, or a larger "
            "denominator"
        ) from None


def real(value: Real) -> Decimal:
    """A rational number to the digits of the arithmetic in use."""
    if isinstance(value, int | float | Decimal):
        return +Decimal(value)
    value = Fraction(value)
    return Decimal(int(value.numerator)) / Decimal(int(value.denominator))  # int: not NumPy's


@lru_cache(maxsize=64)
def logarithm(value: Real) -> Decimal:
    """The natural logarithm to 80 digits."""
    with real_arithmetic(DIGITS):
        return real(value).ln()


@lru_cache(maxsize=16)
def pi(digits: int) -> Decimal:
    """Pi to so many digits."""
    bits = 4 * digits
    with real_arithmetic(digits):
        return Decimal(pi_fixed_point(bits)) / Decimal(2**bits)


@lru_cache(maxsize=16)
def pi_fixed_point(bits: int) -> int:
    """Pi in units of 2**-bits, to within one unit: Machin's formula in integers."""
    guard = 32

    def arctan_inverse(n: int) -> int:
        power = total = (1 << (bits + guard)) // n
        k, sign = 3, -1
        while power:
            power //= n * n
            total += sign * (power // k)
            k, sign = k + 2, -sign
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239)) >> guard


def whole_digits(numbers: Iterable[Decimal]) -> int:
    """Digits before the point of the largest of some numbers."""
    return max([0, *(number.adjusted() + 1 for number in numbers if number)])


def real_cos_sin(angle: Decimal, digits: int) -> tuple[Decimal, Decimal]:
    """cos and sin of an angle in radians, to `digits` places behind the point: Taylor's series."""
    precision = digits + whole_digits([angle])
    with real_arithmetic(precision):
        turn = 2 * pi(precision)
        x = angle - turn * (angle / turn).to_integral_value()  # between -pi and pi
        sums, term, n = [Decimal(0), Decimal(0)], Decimal(1), 0
        while abs(term) > Decimal(1).scaleb(-digits - 5):
            sums[n % 2] += term if n % 4 < 2 else -term
            n += 1
            term *= x / n
        return sums[0], sums[1]


def rounded_once(value: Callable[[int], Decimal]) -> float:
    """The float64 nearest to a real number that is known to any number of digits.

    Parameters
    ----------
    value
        Given a number of digits, the number to so many places behind the point.

    Notes
    -----
    Ziv's test: digits suffice once the number less its error and the number plus its error
    round to the same float64. Where 1200 places do not suffice, the number lies exactly in the
    middle between two float64 numbers (as 2**53 + 1 does), and the even one is taken.
    """
    digits = 40
    while True:
        middle = value(digits)
        with real_arithmetic(digits + whole_digits([middle])):
            error = Decimal(1).scaleb(-digits)
            low, high = float(middle - error), float(middle + error)
            if low == high:
                return low + 0.0  # no negative zero
            if digits > _MOST_PLACES:
                return float(middle.quantize(Decimal(1).scaleb(10 - digits))) + 0.0
        digits *= 2


def nearest(value: Decimal, what: str, hint: str) -> float:
    """The float64 nearest to a number; `what` it is and a `hint` are for the message.

    Raises
    ------
    FrequencyValueError
        If it is beyond the largest float64, or not 0 and below the smallest.
    """
    # By way of Fraction a value of 1e-1000000000 would be written out.
    result = float(value)
    if abs(result) == float("inf"):
        raise FrequencyValueError(f"{what} is beyond the largest float64; {hint}")
    if value and not result:
        raise FrequencyValueError(f"{what} is not 0, but below the smallest float64; {hint}")
    return result


def approximately(value: Fraction) -> str:
    """A rational number in six digits, for a message: it may be beyond float64."""
    with real_arithmetic(DIGITS):
        return f"{real(value):.6g}"

"""Real arithmetic: numbers to as many digits as are asked for.

Frequencies are real numbers and stay so until the very end; only then are they rounded,
once. Parameters are taken as the exact rationals they are.
"""

from __future__ import annotations

import contextlib
import decimal
import operator
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from rope_ref.arguments import as_items, is_one_of, shown
from rope_ref.errors import FrequencyValueError

__all__ = [
    "DIGITS",
    "Real",
    "approximately",
    "choice",
    "exact",
    "logarithm",
    "nearest",
    "number",
    "optional",
    "pi",
    "pi_fixed_point",
    "positive",
    "positives",
    "real",
    "real_arithmetic",
    "real_cos_sin",
    "rounded",
    "rounded_once",
    "whole_digits",
]

Real = int | float | Fraction | Decimal

DIGITS = 80
_GUARD = 20
_MOST_PLACES = 1200  # float64 ends at 1e-324; halfway cases are written out within 1075 bits
_LARGEST_EXPONENT = 400  # of a Decimal: beyond all of float64's, and written out in no time


@contextlib.contextmanager
def real_arithmetic(digits: int) -> Iterator[None]:
    """Work with `Decimal` to `digits` significant digits, and some more to lose.

    The context is our own: the caller's precision, traps and rounding play no part.
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
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=16)
def pi(digits: int) -> Decimal:
    """Pi to a number of digits."""
    bits = 4 * digits
    with real_arithmetic(digits):
        return Decimal(pi_fixed_point(bits)) / Decimal(2**bits)


def real_cos_sin(angle: Decimal, digits: int) -> tuple[Decimal, Decimal]:
    """cos and sin of an angle in radians, to `digits` places behind the point: Taylor's series."""
    with real_arithmetic(digits + whole_digits([abs(angle)])):
        turn = 2 * pi(digits + whole_digits([abs(angle)]))
        x = angle - turn * (angle / turn).to_integral_value()  # between -pi and pi
        sums, term, n = [Decimal(0), Decimal(0)], Decimal(1), 0
        while abs(term) > Decimal(1).scaleb(-digits - 5):
            sums[n % 2] += term if n % 4 < 2 else -term
            n += 1
            term *= x / n
        return sums[0], sums[1]


def rounded_once(value: Callable[[int], Decimal]) -> float:
    """The float64 nearest to a real number that can be had to any number of digits.

    Parameters
    ----------
    value
        Given a number of digits, the number to so many places behind the point.

    Notes
    -----
    Ziv's test: if all that the number can be rounds to one float64, that is it. What is still
    open after hundreds of places lies in the middle between two float64 numbers (an amplitude
    of 54 bits times cos 0), and the even one is taken.
    """
    digits = 40
    while True:
        middle = value(digits)
        with real_arithmetic(digits):
            error = Decimal(1).scaleb(-digits)
            low, high = float(middle - error), float(middle + error)
        if low == high:
            return low + 0.0  # no negative zero
        if digits > _MOST_PLACES:
            with real_arithmetic(digits + whole_digits([abs(middle)])):
                return float(middle.quantize(Decimal(1).scaleb(10 - digits))) + 0.0
        digits *= 2


@lru_cache(maxsize=64)
def logarithm(value: Real) -> Decimal:
    """The natural logarithm to 80 digits, made once."""
    with real_arithmetic(DIGITS):
        return real(value).ln()


def whole_digits(thetas: Iterable[Decimal]) -> int:
    """Decimal digits before the point of the largest theta."""
    return max([0, *(theta.adjusted() + 1 for theta in thetas if theta)])


def nearest(value: Decimal, what: str, hint: str) -> float:
    """A real number rounded once to float64; `what` it is and a `hint` are for the message.

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


def rounded(thetas: Iterable[Decimal]) -> tuple[float, ...]:
    """Each theta rounded once to float64."""
    hint = "give a base, a factor or turns nearer to 1"
    return tuple(
        nearest(theta, f"theta() of pair {i}: the frequency", hint)
        for i, theta in enumerate(thetas)
    )


def approximately(value: Fraction) -> str:
    """A rational number in six digits, for a message: it may be beyond float64."""
    with real_arithmetic(DIGITS):
        return f"{real(value):.6g}"


@lru_cache(maxsize=16)
def pi_fixed_point(bits: int) -> int:
    """Pi in units of 2**-bits, to within one unit (Machin's formula in integers)."""
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


def exact(value: object, call: str, name: str) -> Fraction:
    """A parameter as the rational number it is.

    Raises
    ------
    FrequencyValueError
        If it is not a finite real number.
    """
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise FrequencyValueError(
            f"{call}: {name} must be a finite real number between 1e-{_LARGEST_EXPONENT} and "
            f"1e{_LARGEST_EXPONENT} in magnitude, got {value!r}"
        )
    try:
        if isinstance(value, bool | np.bool_ | np.complexfloating | str | bytes):
            raise TypeError
        if isinstance(value, int | float | Fraction | Decimal):
            fraction = Fraction(value)
        elif hasattr(value, "__index__"):  # NumPy's integers
            fraction = Fraction(operator.index(value))
        elif isinstance(value, np.floating):  # of any width
            fraction = Fraction(*value.as_integer_ratio())
        else:
            fraction = Fraction(float(value))  # type: ignore[arg-type]  # others' floats
        float(fraction)  # overflows beyond the largest float64
        return fraction
    except (TypeError, ValueError, OverflowError):
        raise FrequencyValueError(
            f"{call}: {name} must be a finite real number, got {shown(value)}"
        ) from None


def number(value: object, call: str, name: str) -> float | Fraction:
    """A parameter so that one value is one object: 4, 4.0 and Fraction(4) become 4.0."""
    fraction = exact(value, call, name)
    return float(fraction) if Fraction(float(fraction)) == fraction else fraction


def positive(value: object, call: str, name: str, hint: str) -> float | Fraction:
    """A parameter that must be above 0; `hint` says what to give."""
    result = number(value, call, name)
    if result <= 0:
        raise FrequencyValueError(f"{call}: {name} must be positive, got {shown(value)}; {hint}")
    return result


def positives(given: object, call: str, name: str) -> tuple[Real, ...]:
    """A parameter that is a list with a number above 0 for each pair."""
    items = None if isinstance(given, str | bytes) else as_items(given)
    if items is None:
        raise FrequencyValueError(f"{call}: {name} must be a sequence, one per pair")
    hint = "1 changes nothing"
    return tuple(positive(each, call, f"{name}[{i}]", hint) for i, each in enumerate(items))


def optional(value: Real | None, call: str, name: str) -> Real | None:
    """A positive parameter that may be left out."""
    return None if value is None else positive(value, call, name, "or leave it out")


def choice(value: object, known: tuple[object, ...], call: str, name: str) -> None:
    """Refuse a word, or a truth value, that is none of those known."""
    if not is_one_of(value, known):
        words = ", ".join(map(repr, known))
        raise FrequencyValueError(f"{call}: {name} must be one of {words}, got {shown(value)}")

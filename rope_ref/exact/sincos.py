"""cos and sin of a small angle, without the C library's.

NumPy's own sin and cos differ by up to 4 ulp between CPUs and versions. Here only
operations are used that IEEE 754 rounds correctly (+ - x and conversions), so
the same bits come out on every machine.

The angle arrives as ``x + y`` in [-pi/4, pi/4] with y the small low part. Both
functions are their Taylor series; the first terms, whose rounding would show in
the last place, carry their rounding errors along::

    cos(x + y) = 1 - x**2/2 + x**4 (1/24 - ...) - y (x - x**3/6)
    sin(x + y) = x - x**3/6 + x**5 (1/120 - ...) + y cos(x)

Results are sums ``high + low``: `high` is the float64 answer, and `low` what it lacks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rope_ref.arguments import FloatArray, IntArray

__all__ = ["cos_sin_kernel", "on_by_quarters", "scaled", "two_product", "two_sum"]


def _inverse_factorials(first: int, last: int) -> list[float]:
    """(-1)**k / n! for n = first, first + 2, ..., last, each rounded once."""
    terms, factorial, n = [], 1, 1
    for n in range(2, last + 1):
        factorial *= n
        if n >= first and (n - first) % 2 == 0:
            terms.append(float(Fraction((-1) ** (n // 2), factorial)))
    return terms


# The first term left out is below 2**-60 of the result at pi/4.
_SIN = _inverse_factorials(5, 17)
_COS = _inverse_factorials(4, 18)
_SPLIT = 134217729.0  # 2**27 + 1: Veltkamp's constant, halves a float64 into 26 + 27 bits


def cos_sin_kernel(
    x: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """cos, cos_low, sin, sin_low of an angle ``x + y`` in [-pi/4, pi/4]."""
    # x = a + b with a of 26 bits, so that a*a is exact; x*x = square + rest.
    t = x * _SPLIT
    a = t - (t - x)
    b = x - a
    square = a * a
    rest = b * (x + a)
    z = square + rest

    # x**3 = a*s + cube_low with s the 26 high bits of square, so that the product is exact
    t = square * _SPLIT
    s = t - (t - square)
    cube = a * s
    cube_low = a * (square - s) + b * square + x * rest
    sixth = cube / 6.0
    # cube - 6*sixth, without rounding: both differences are of close neighbours
    sixth_low = (((cube - 4.0 * sixth) - 2.0 * sixth) + cube_low) / 6.0

    # 1 - square/2 is exact as c + d
    half = 0.5 * square
    c = 1.0 - half
    d = (1.0 - c) - half
    tail = z * z * _polynomial(_COS, z) + (d - 0.5 * rest - y * (x - sixth))
    cos, cos_low = _fast_two_sum(c, tail)

    # x - x**3/6 is exact as e + f, but for sixth_low
    e, f = _fast_two_sum(x, -sixth)
    tail = x * z * z * _polynomial(_SIN, z) + (y * cos - sixth_low)
    sin, sin_low = _fast_two_sum(e, f + tail)
    return cos, cos_low, sin, sin_low


def _polynomial(coefficients: list[float], z: FloatArray) -> FloatArray:
    """Horner's rule, constant term first in the list."""
    value = coefficients[-1] * z + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        value = value * z + coefficient
    return value


def _fast_two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a + b`` rounded, and what the rounding lost; needs |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a + b`` rounded, and what the rounding lost (Knuth), whichever is larger."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def on_by_quarters(
    quarter: IntArray, cos: FloatArray, cos_low: FloatArray, sin: FloatArray, sin_low: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Turn a point on the circle on by 0, 1, 2 or 3 quarter turns."""
    odd = (quarter & 1).astype(np.bool_)
    cos_sign = (1 - ((quarter + 1) & 2)).astype(np.float64)  # + - - +
    sin_sign = (1 - (quarter & 2)).astype(np.float64)  # + + - -
    return (
        cos_sign * np.where(odd, sin, cos),
        cos_sign * np.where(odd, sin_low, cos_low),
        sin_sign * np.where(odd, cos, sin),
        sin_sign * np.where(odd, cos_low, sin_low),
    )


def scaled(high: FloatArray, low: FloatArray, factor: Fraction) -> tuple[FloatArray, FloatArray]:
    """``(high + low) * factor`` as a sum of two, the factor exact."""
    # The power of two in the factor comes last: a huge one would overflow two_product.
    unit = np.ldexp(1.0, np.frexp(float(factor))[1] - 1)
    f = float(factor / Fraction(unit))
    f_low = float(factor / Fraction(unit) - Fraction(f))
    product, error = two_product(high, np.array(f))
    total, rest = _fast_two_sum(product, error + (low * f + high * f_low))
    return total * unit, rest * unit


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a * b`` rounded, and its rounding error (Dekker).

    Needs magnitudes below 2**996, and products that are 0 or above 2**-969: the halves
    and the error are float64 numbers too.
    """
    product = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a`` as a sum of 26 and 27 bits (Veltkamp)."""
    t = a * _SPLIT
    high = t - (t - a)
    return high, a - high

"""cos and sin of a phase, without the C library's.

NumPy's own sin and cos differ by up to 4 ulp between CPUs and versions. Here only
operations are used that IEEE 754 rounds correctly (+ - x and conversions), so
the same bits come out on every machine.

The angle arrives as ``x + y`` in [-pi/4, pi/4] with y the small low part. Both
functions are their Taylor series; the first terms, whose rounding would show in
the last place, carry their rounding errors along::

    cos(x + y) = 1 - x**2/2 + x**4 (1/24 - ...) - y (x - x**3/6)
    sin(x + y) = x - x**3/6 + x**5 (1/120 - ...) + y cos(x)

The result is a sum ``high + low``: `high` is the float64 answer, within 0.8 ulp of
the real number for all integer positions below 2**53, and `low` is what it lacks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import as_array, shown
from rope_ref.errors import (
    NonFinitePositionError,
    PositionDtypeError,
    PositionRangeError,
    PositionShapeError,
)
from rope_ref.spec import RopeSpec, demand_spec
from rope_ref.turns import POSITION_LIMIT, Angle, ladder

__all__ = ["cos_sin", "cos_sin_parts"]

Array = npt.NDArray[np.float64]


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


def cos_sin(positions: npt.ArrayLike, spec: RopeSpec, *, unit: bool = False) -> tuple[Array, Array]:
    """Return cos and sin of ``direction * position * theta_i``, times the amplitude.

    Parameters
    ----------
    positions
        Integers or real numbers of any shape, magnitude below 2**53; for a spec
        with ``pair_axes`` with a leading axis, one entry per position axis.
    spec
        The RoPE.
    unit
        Leave the amplitude out.

    Returns
    -------
    cos, sin
        float64 arrays of shape ``positions.shape + (R/2,)``. For integer positions
        each entry is within 0.8 ulp of the real number, for others within 1 ulp. (A
        subnormal cos or sin has few bits, and an amplitude does not bring them back.)

    Raises
    ------
    PositionDtypeError, NonFinitePositionError, PositionRangeError, PositionShapeError
        If a position cannot be used; the message says which and why.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, equation 15.
    """
    (cos, _), (sin, _) = cos_sin_parts(positions, spec, unit=unit)
    return cos, sin


def cos_sin_parts(
    positions: npt.ArrayLike, spec: RopeSpec, *, unit: bool = False
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return ``(cos, cos_low), (sin, sin_low)``: the table and what rounding took from it.

    ``cos + cos_low``, as real numbers, is the true value to about 2**-57 of it. For
    judging float64 results, where the rounding of the table itself would show.
    Parameters, shapes and errors are those of `cos_sin`.
    """
    call = f"cos_sin(positions, {shown(spec)})"
    demand_spec(spec, call)
    p = as_positions(positions, call)
    pairs = spec.rotary_dim // 2
    if spec.pair_axes is None:
        parts = _table(p.ravel(), spec, unit)
        shape = (*p.shape, pairs)
    else:
        axes = max(spec.pair_axes) + 1
        if p.ndim == 0 or p.shape[0] != axes:
            raise PositionShapeError(
                f"{call}: pair_axes names {axes} position axes, so positions "
                f"needs a leading axis of {axes}; its shape is {p.shape}"
            )
        shape = (*p.shape[1:], pairs)
        parts = np.empty((4, p[0].size, pairs))
        for axis in range(axes):
            own = np.array([a == axis for a in spec.pair_axes], dtype=np.bool_)
            parts[..., own] = _table(p[axis].ravel(), spec, unit)[..., own]
    cos, cos_low, sin, sin_low = (part.reshape(shape) for part in parts)
    return (cos, cos_low), (sin, sin_low)


def as_positions(
    positions: npt.ArrayLike, call: str, name: str = "positions"
) -> npt.NDArray[np.int64] | Array:
    """Positions as int64 or float64, unchanged in value; `name` is that of the argument.

    Raises
    ------
    PositionDtypeError, NonFinitePositionError, PositionRangeError
        As `cos_sin`.
    """
    p = as_array(positions, PositionDtypeError, call, name)
    if p.dtype == object:  # Python integers beyond 64 bits, or no numbers at all
        flat = p.ravel().tolist()
        if flat and all(isinstance(v, int) for v in flat):
            largest = max(flat, key=abs)
            raise PositionRangeError(_too_large(call, name, largest))
    if not is_real(p.dtype):
        raise PositionDtypeError(
            f"{call}: {name} must be integers or real numbers that float64 represents, got "
            f"dtype {p.dtype}; for tokens numbered from 0 pass numpy.arange(T)"
        )
    if p.dtype.kind not in "iu":
        p = p.astype(np.float64)
        if not np.isfinite(p).all():
            first = p.ravel()[np.flatnonzero(~np.isfinite(p.ravel()))[0]]
            raise NonFinitePositionError(
                f"{call}: {name} must be finite, got {first}; give padding a position such as 0"
            )
    outside = (p >= POSITION_LIMIT) | (p <= -POSITION_LIMIT)
    if outside.any():
        raise PositionRangeError(_too_large(call, name, p[outside].ravel()[0].item()))
    return p.astype(np.int64) if p.dtype.kind in "iu" else p


def _too_large(call: str, name: str, position: float) -> str:
    return (
        f"{call}: {name} must be below 2**53 in magnitude, got {shown(position)}; beyond, float64 "
        "does not hold every integer and a position would not mean itself"
    )


def is_real(dtype: np.dtype[np.generic]) -> bool:
    """Whether this is a dtype of integers, or of floats that float64 represents.

    NumPy calls the kind of registered float types such as bfloat16 'V'.
    """
    return dtype.kind in "iufV" and dtype.names is None and np.can_cast(dtype, np.float64)


def _table(p: npt.NDArray[np.int64] | Array, spec: RopeSpec, unit: bool) -> Array:
    """cos, cos_low, sin, sin_low of one-dimensional positions: shape (4, N, R/2)."""
    out = np.empty((4, p.size, spec.rotary_dim // 2))
    amplitude = Fraction(1) if unit else spec.frequencies.amplitude
    sign = np.where(p < 0, -1.0, 1.0)[:, None] * spec.direction
    for rows, columns, angle in ladder(spec.frequencies, spec.rotary_dim).angles(p):
        cos, cos_low, sin, sin_low = _rotate_quarters(angle.quarter, *_kernel(angle))
        if amplitude != 1:
            cos, cos_low = _scale(cos, cos_low, amplitude)
            sin, sin_low = _scale(sin, sin_low, amplitude)
        signs = sign[rows]
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            rows = rows[:, None]  # the block of these rows and columns, not a list of elements
        for part, values in zip(out, (cos, cos_low, signs * sin, signs * sin_low), strict=True):
            part[rows, columns] = values
    return out


def _kernel(angle: Angle) -> tuple[Array, Array, Array, Array]:
    """cos, cos_low, sin, sin_low of an angle in [-pi/4, pi/4]."""
    _, x, y = angle
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


def _polynomial(coefficients: list[float], z: Array) -> Array:
    """Horner's rule, constant term first in the list."""
    value = coefficients[-1] * z + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        value = value * z + coefficient
    return value


def _fast_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` rounded, and what the rounding lost; needs |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` rounded, and what the rounding lost (Knuth), whichever is larger."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _rotate_quarters(
    quarter: npt.NDArray[np.int64], cos: Array, cos_low: Array, sin: Array, sin_low: Array
) -> tuple[Array, Array, Array, Array]:
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


def _scale(high: Array, low: Array, factor: Fraction) -> tuple[Array, Array]:
    """``(high + low) * factor`` as a sum of two, the factor exact."""
    # The power of two in the factor comes last: a huge one would overflow two_product.
    unit = np.ldexp(1.0, np.frexp(float(factor))[1] - 1)
    f = float(factor / Fraction(unit))
    f_low = float(factor / Fraction(unit) - Fraction(f))
    product, error = two_product(high, np.array(f))
    total, rest = _fast_two_sum(product, error + (low * f + high * f_low))
    return total * unit, rest * unit


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """``a * b`` rounded, and its rounding error (Dekker).

    Needs magnitudes below 2**996, and products that are 0 or above 2**-969: the halves
    and the error are float64 numbers too.
    """
    product = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Array) -> tuple[Array, Array]:
    """``a`` as a sum of 26 and 27 bits (Veltkamp)."""
    t = a * _SPLIT
    high = t - (t - a)
    return high, a - high

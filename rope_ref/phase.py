"""Position times theta as an exact part of a turn.

The cosine of a phase depends on the part of a turn that is left when whole
turns are taken out. In floating point that part is what rounding destroys: at
position 2**31 the product ``position * theta`` has no bits left for it. Here
theta is held as turns per position, ``t = theta / (2 pi)``, in fixed point; the
product with an integer position is formed in integer limbs modulo one turn, so
nothing is lost at the top, and what is cut off at the bottom is counted.

What comes out is the *angle*: the number of the nearest quarter turn, and what
remains, in [-pi/4, pi/4] radians, as the sum of two float64 numbers.

Three ways lead there. All agree with the real number to about 2**-57 of it:

`Ladder._limbs`
    Integers below 2**53, vectorised. It knows the cases where its bits do not
    suffice (a phase very close to a quarter turn) and hands them to the next.
`Ladder._exact`
    Any rational position, one at a time, in Python integers, doubling the width
    until the remainder is known well enough.
`Ladder._rational`
    Frequencies that are a rational part of a turn: no rounding at all.

Which way a value takes depends on its own position and theta alone, never on
the rest of the array: a slice of a table is the table of the slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, IntArray
from rope_ref.exact.frequency import scaled_turns_of
from rope_ref.exact.real import pi_fixed_point
from rope_ref.scaling.frequencies import FrequencyRule, frequencies_of

_Limb = npt.NDArray[np.uint64]

_BLOCK = 4096  # elements worked on at once: they and their temporaries stay in cache
_LIMBS = 6  # 32-bit limbs of t modulo one turn; the product uses 4 or 5 of them
_LOW32 = np.uint64(0xFFFF_FFFF)
_SHIFT32 = np.uint64(32)

_2_28, _2_54, _2_64, _2_128 = (np.float64(float.fromhex(f"0x1p-{n}")) for n in (28, 54, 64, 128))

# 2 pi = P1 + P2 + P3; P1 and P2 have 26 bits, so their products with 27 bits are exact.
_TWO_PI = Fraction(2 * pi_fixed_point(256), 2**256)
_P1 = float(Fraction(round(_TWO_PI * 2**23), 2**23))
_P2 = float(Fraction(round((_TWO_PI - Fraction(_P1)) * 2**49), 2**49))
_P3 = float(_TWO_PI - Fraction(_P1) - Fraction(_P2))
_FULL = float(_TWO_PI)


class Angle(NamedTuple):
    """A phase: ``quarter`` quarter turns plus ``high + low`` radians."""

    quarter: IntArray
    high: FloatArray
    low: FloatArray


class Block(NamedTuple):
    """The angles of some positions (rows) and pairs (columns) of a table."""

    rows: slice | IntArray
    columns: slice | IntArray
    angle: Angle


class Ladder:
    """The frequencies of one spec, ready to be multiplied by positions.

    Parameters
    ----------
    rule
        Where the frequencies come from.
    rotary_dim
        Number of rotating channels R; there are R/2 pairs.
    """

    def __init__(self, rule: FrequencyRule, rotary_dim: int) -> None:
        self._frequencies = frequencies_of(rule, rotary_dim)
        self._fixed_point: dict[int, tuple[int, ...]] = {}
        turns = [frequency.rational for frequency in self._frequencies]
        tiny = [abs(theta) < 1e-12 for theta in rule.theta(rotary_dim)]
        pairs = range(len(turns))
        self._still_pairs = np.array([i for i in pairs if turns[i] == 0], dtype=np.int64)
        self._rational_pairs = [i for i in pairs if turns[i] not in (None, 0)]
        # A theta this small leaves too few bits in the limbs at small positions.
        self._exact_pairs = [i for i in pairs if turns[i] is None and tiny[i]]
        self._limb_pairs = np.array(
            [i for i in pairs if turns[i] is None and not tiny[i]], dtype=np.int64
        )
        width = 32 * _LIMBS
        fractions = [self._scaled(width)[i] % (1 << width) for i in self._limb_pairs]
        self._t = np.array(
            [
                [(f >> (width - 32 * (k + 1))) & 0xFFFF_FFFF for f in fractions]
                for k in range(_LIMBS)
            ],
            dtype=np.uint64,
        )

    def angles(self, positions: IntArray | FloatArray) -> Iterator[Block]:
        """Yield the angles of ``abs(positions) x pairs``, block by block.

        Parameters
        ----------
        positions
            One-dimensional; int64, or float64 with any real values. Magnitude
            below 2**53.
        """
        pairs = len(self._frequencies)
        whole = positions.astype(np.int64)
        fractional = np.flatnonzero(whole != positions)
        integral = np.flatnonzero(whole == positions)
        p = np.abs(whole)
        if self._limb_pairs.size:
            columns = slice(None) if self._limb_pairs.size == pairs else self._limb_pairs
            step = max(1, _BLOCK // self._limb_pairs.size)
            wide = p >= 2**32
            for subset in (integral[~wide[integral]], integral[wide[integral]]):
                contiguous = subset.size == positions.size
                for start in range(0, subset.size, step):
                    rows = subset[start : start + step]
                    angle = self._limbs(p[rows], bool(wide[rows[0]]))
                    yield Block(
                        slice(start, start + rows.size) if contiguous else rows, columns, angle
                    )
        if self._still_pairs.size and integral.size:
            none = np.zeros((integral.size, self._still_pairs.size))
            yield Block(integral, self._still_pairs, Angle(none.astype(np.int64), none, none))
        for i in self._rational_pairs:
            if integral.size:
                yield Block(integral, np.array([i]), self._rational(p[integral], i))
        for i in self._exact_pairs:
            if integral.size:
                yield Block(integral, np.array([i]), self._each(p[integral].tolist(), i))
        for i in range(pairs) if fractional.size else ():
            real = np.abs(positions[fractional]).tolist()
            yield Block(fractional, np.array([i]), self._each(real, i))

    def _limbs(self, p: IntArray, wide: bool) -> Angle:
        """Angles of integer positions, all below 2**32 or (``wide``) below 2**53."""
        position = p.astype(np.uint64)[:, None]
        if wide:
            # p = upper * 2**32 + lower; multiplying t by 2**32 modulo a turn drops a limb.
            lower = _multiply(position & _LOW32, self._t[0:5])
            upper = _multiply(position >> _SHIFT32, self._t[1:6])
            limbs = _add(lower, upper)
        else:
            limbs = _multiply(position, self._t[0:4])
        a = (limbs[0] << _SHIFT32) + (limbs[1] & _LOW32)  # upper 64 bits of the turn
        b = (limbs[2] << _SHIFT32) + (limbs[3] & _LOW32)  # the next 64
        # To nearest, not to floor: just below a quarter turn a floor leaves a huge
        # positive b to cancel against, and with it the relative precision.
        a += b >> np.uint64(63)
        signed_b = b.view(np.int64)
        quarter = ((a + np.uint64(1 << 61)) >> np.uint64(62)).view(np.int64)
        rest = (a << np.uint64(2)).view(np.int64) >> 2  # a minus the quarter turn, signed

        # rest/2**64 + b/2**128 = h/2**28 + m/2**54 + c, with h and m of 27 bits
        h = (rest + (1 << 35)) >> 36
        middle = rest - (h << 36)
        m = (middle + (1 << 9)) >> 10
        c = (middle - (m << 10)) * _2_64 + signed_b * _2_128
        high = h * _2_28
        mid = m * _2_54
        first = high * _P1  # exact
        second = high * _P2 + mid * _P1  # exact: both are multiples of 2**-77 below 2**-24
        total = first + second
        low = (second - (total - first)) + ((high + mid) * _P3 + mid * _P2 + c * _FULL)

        # Too close to a quarter turn for the bits kept: relative error could pass 2**-60.
        # Cut-off is below p * 2**-128 of a turn (p * 2**-160 if wide, which 2**-44 covers).
        enough = np.full(p.shape, 1 << 20) if wide else np.maximum(p >> 4, 1 << 20)
        enough[p == 0] = 0
        doubtful = np.abs(rest) < enough[:, None]
        if doubtful.any():
            for row, column in zip(*np.nonzero(doubtful), strict=True):
                exact = self._exact(Fraction(int(p[row])), int(self._limb_pairs[column]))
                quarter[row, column], total[row, column], low[row, column] = exact
        return Angle(quarter, total, low)

    def _rational(self, p: IntArray, pair: int) -> Angle:
        """Angles of integer positions for a pair whose turns are rational."""
        turns = self._frequencies[pair].rational
        assert turns is not None
        numerator, denominator = turns.numerator % turns.denominator, turns.denominator
        if denominator < 2**31:
            left = (p % denominator) * numerator % denominator
        else:
            left = np.array([q * numerator % denominator for q in p.tolist()], dtype=object)
        values, where = np.unique(left, return_inverse=True)
        angles = [_nearest_quarter(int(v), denominator) for v in values.tolist()]
        return _column([angles[k] for k in where.ravel().tolist()])

    def _each(self, positions: list[int] | list[float], pair: int) -> Angle:
        """Angles of arbitrary positions for one pair, one by one."""
        return _column([self._exact(Fraction(p), pair) for p in positions])

    def _exact(self, position: Fraction, pair: int) -> tuple[int, float, float]:
        """Quarter and remainder, as two floats, of a non-negative rational position."""
        turns = self._frequencies[pair].rational
        if turns is not None:
            product = position * turns
            return _nearest_quarter(product.numerator % product.denominator, product.denominator)
        bits = 256
        while True:
            # The true product lies within `numerator` of these units; 2**-70 of the
            # remainder is enough. It cannot be 0 unless the position is: t is irrational.
            unit = position.denominator << bits
            quarter, rest = _split(position.numerator * self._scaled(bits)[pair] % unit, unit)
            if abs(rest) >> 70 >= position.numerator:
                return quarter, *_radians(rest, unit)
            bits *= 2

    def _scaled(self, bits: int) -> tuple[int, ...]:
        """Turns per position of every pair in units of 2**-bits, to the nearest."""
        if bits not in self._fixed_point:
            self._fixed_point[bits] = scaled_turns_of(self._frequencies, bits)
        return self._fixed_point[bits]


@lru_cache(maxsize=64)
def ladder(rule: FrequencyRule, rotary_dim: int) -> Ladder:
    """Return the ladder of a rule, made once."""
    return Ladder(rule, rotary_dim)


def _multiply(p: _Limb, t: _Limb) -> list[_Limb]:
    """Limbs of ``p * t`` modulo one turn, most significant first.

    ``p`` is below 2**32. Only the low 32 bits of each limb count; the rest has
    been carried into the limb above.
    """
    limbs = [p * t[-1]]
    for limb in t[-2::-1]:
        limbs.append(p * limb + (limbs[-1] >> _SHIFT32))
    return limbs[::-1]


def _add(x: list[_Limb], y: list[_Limb]) -> list[_Limb]:
    """Limbs of ``x + y`` modulo one turn."""
    limbs = [(x[-1] & _LOW32) + (y[-1] & _LOW32)]
    for a, b in zip(x[-2::-1], y[-2::-1], strict=True):
        limbs.append((a & _LOW32) + (b & _LOW32) + (limbs[-1] >> _SHIFT32))
    return limbs[::-1]


def _split(part: int, unit: int) -> tuple[int, int]:
    """Nearest quarter of ``part / unit`` turns and what remains; 4 divides `unit`."""
    quarter = (8 * part + unit) // (2 * unit)
    return quarter % 4, part - quarter * (unit // 4)


def _nearest_quarter(numerator: int, denominator: int) -> tuple[int, float, float]:
    """Quarter and remainder of a rational part of a turn."""
    quarter, rest = _split(4 * numerator, 4 * denominator)
    return quarter, *_radians(rest, 4 * denominator)


def _radians(rest: int, unit: int) -> tuple[float, float]:
    """``2 pi rest / unit`` as the sum of two floats."""
    angle = Fraction(rest, unit) * _TWO_PI
    high = float(angle)
    return high, float(angle - Fraction(high))


def _column(angles: list[tuple[int, float, float]]) -> Angle:
    quarter = np.array([a[0] for a in angles], dtype=np.int64)[:, None]
    high = np.array([a[1] for a in angles], dtype=np.float64)[:, None]
    low = np.array([a[2] for a in angles], dtype=np.float64)[:, None]
    return Angle(quarter, high, low)

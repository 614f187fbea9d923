"""The frequency of one pair: a real number, known to as many digits as are asked for.

float64 would not do: the float64 nearest to theta_i is off by up to half an ulp, and 2**31
positions later that half ulp is 1e-7 of a radian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from rope_ref.exact.real import DIGITS, Real, pi, real, real_arithmetic, whole_digits

__all__ = ["Computed", "Frequency", "digits_of", "scaled_turns_of", "together"]

Computed = Callable[[int], Decimal]
"""A real number as a function: called inside ``real_arithmetic(n)`` with n, it gives n digits."""


@dataclass(frozen=True, eq=False, slots=True)
class Frequency:
    """theta of one pair in radians per position, as the real number that it is.

    Parameters
    ----------
    computed
        The number.
    rational
        The turns per position, theta / 2 pi, if they are known to be rational; 0 for a pair
        that stands still.
    """

    computed: Computed
    rational: Fraction | None = None

    @classmethod
    def of_radians(cls, radians: Fraction) -> Frequency:
        """So many radians per position; 0 alone is a rational part of a turn."""
        return cls(lambda _: real(radians), None if radians else Fraction(0))

    @classmethod
    def of_turns(cls, turns: Fraction) -> Frequency:
        """So many turns per position."""
        return cls(lambda n: real(turns) * 2 * pi(n), turns)

    def digits(self, n: int) -> Decimal:
        """Radians per position, to `n` significant digits."""
        return digits_of((self,), n)[0]

    def scaled_turns(self, bits: int) -> int:
        """Turns per position in units of 2**-bits, to within one unit."""
        return scaled_turns_of((self,), bits)[0]

    def turns(self, n: int) -> Decimal:
        """Turns per position, to `n` digits, in the arithmetic in use."""
        return self.computed(n) / (2 * pi(n)) if self.rational is None else real(self.rational)

    def __truediv__(self, divisor: Real | Computed) -> Frequency:
        """A frequency so many times lower."""
        if callable(divisor):
            return Frequency(cache(lambda n: self.computed(n) / divisor(n)))
        rational = None if self.rational is None else self.rational / Fraction(divisor)
        return Frequency(cache(lambda n: self.computed(n) / real(divisor)), rational)

    def blend(self, other: Frequency, share: Fraction | Computed) -> Frequency:
        """``self * share + other * (1 - share)``."""
        rational = None
        if isinstance(share, Fraction) and self.rational is not None and other.rational is not None:
            rational = self.rational * share + other.rational * (1 - share)

        @cache
        def computed(n: int) -> Decimal:
            part = share(n) if callable(share) else real(share)
            return self.computed(n) * part + other.computed(n) * (1 - part)

        return Frequency(computed, rational)


def digits_of(frequencies: Iterable[Frequency], n: int) -> tuple[Decimal, ...]:
    """Radians per position of each, to `n` significant digits."""
    with real_arithmetic(n):
        return tuple(frequency.computed(n) for frequency in frequencies)


def scaled_turns_of(frequencies: Sequence[Frequency], bits: int) -> tuple[int, ...]:
    """Turns per position of each in units of 2**-bits, to within one unit."""
    # A theta above 1 has digits before the point, which must be kept too.
    whole = whole_digits(digits_of(frequencies, DIGITS))
    digits = max(DIGITS, whole + bits * 302 // 1000 + 1)
    with real_arithmetic(digits):
        unit = Decimal(2**bits) / (2 * pi(digits))
        return tuple(
            int((frequency.computed(digits) * unit).to_integral_value())
            if frequency.rational is None
            else round(frequency.rational * 2**bits)
            for frequency in frequencies
        )


def together(compute: Callable[[int], Sequence[Decimal]], count: int) -> tuple[Computed, ...]:
    """`count` real numbers that are computed in one go, once for each number of digits."""
    compute = cache(compute)

    def number(i: int) -> Computed:
        return lambda n: compute(n)[i]

    return tuple(number(i) for i in range(count))

"""theta_i, the angular frequency of each pair, as a real number.

A *rule* says what the frequencies are. It is immutable and knows them to any
number of digits, for nothing here is rounded to float64 until the very end: the
float64 nearest to theta_i is off by up to half an ulp, and 2**31 positions later
that half ulp is 1e-7 of a radian.

Parameters of a rule are the float64 values given, taken as the exact rationals
they are; all that follows is real arithmetic, done in `decimal` with guard digits.
"""

from __future__ import annotations

import decimal
import operator
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from rope_ref.errors import FrequencyCountError, FrequencyValueError

__all__ = ["FrequencyRule", "Given", "PowerLaw"]

Real = int | float | Fraction | Decimal

_DIGITS = 80
_GUARD = 20


class FrequencyRule(Hashable, Protocol):
    """What every frequency rule offers. Rules are immutable and hashable."""

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, exactly."""
        ...

    def theta(self, rotary_dim: int) -> tuple[float, ...]:
        """theta_i of each pair in radians per position, the real number rounded once."""
        ...

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """theta_i / 2 pi of each pair where that is known to be rational, else None."""
        ...

    def scaled_turns(self, rotary_dim: int, bits: int) -> tuple[int, ...]:
        """theta_i / 2 pi of each pair in units of 2**-bits, to within one unit."""
        ...


@dataclass(frozen=True)
class PowerLaw:
    """theta_i = base**(-2 i / R): the frequencies of the original paper.

    Parameters
    ----------
    base
        Any positive finite number; 10000 in the paper. Hugging Face calls it
        ``rope_theta``.

    Raises
    ------
    FrequencyValueError
        If `base` is not a positive finite real number.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, section 3.2.2.
    """

    base: Real = 10000.0

    def __post_init__(self) -> None:
        exact = _exact(self.base, f"PowerLaw(base={self.base!r})", "base")
        if exact <= 0:
            raise FrequencyValueError(
                f"PowerLaw(base={self.base!r}): base must be positive; the usual one is 10000"
            )
        # One base, one value: 10000, 10000.0 and Fraction(10000) are the same rule.
        object.__setattr__(self, "base", float(exact) if Fraction(float(exact)) == exact else exact)

    @property
    def amplitude(self) -> Fraction:
        """Always 1, for the plain rule does not scale."""
        return Fraction(1)

    def theta(self, rotary_dim: int) -> tuple[float, ...]:
        """theta_i of each pair, the real number rounded once to float64."""
        return _rounded(_power_law(self.base, rotary_dim, _DIGITS))

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """None for each pair: theta_i is algebraic, so theta_i / 2 pi is irrational."""
        return (None,) * (rotary_dim // 2)

    def scaled_turns(self, rotary_dim: int, bits: int) -> tuple[int, ...]:
        """theta_i / 2 pi in units of 2**-bits, to within one unit."""
        # A base below 1 makes theta large: its digits before the point must be kept too.
        whole = _whole_digits(_power_law(self.base, rotary_dim, _DIGITS))
        return tuple(_scaled(_power_law(self.base, rotary_dim, _digits(bits) + whole), bits))


@dataclass(frozen=True, init=False)
class Given:
    """Frequencies written down one by one, in radians or in turns per position.

    Parameters
    ----------
    values
        theta_i in radians per position, one per pair; float64 values are taken
        as the rationals they are.
    turns
        theta_i / 2 pi instead, as exact rationals: ``Fraction(1, 2)`` is exactly pi.
    amplitude
        Factor A on cos and sin, positive.

    Raises
    ------
    FrequencyValueError
        If both or neither of `values` and `turns` are given, if one of them is not
        a finite real number, or if `amplitude` is not positive.
    """

    values: tuple[Fraction, ...] | None
    turns: tuple[Fraction, ...] | None
    amplitude: Fraction = field(default=Fraction(1))

    def __init__(
        self,
        values: Iterable[Real] | None = None,
        *,
        turns: Iterable[Real] | None = None,
        amplitude: Real = 1,
    ) -> None:
        if (values is None) == (turns is None):
            raise FrequencyValueError(
                "Given(values=..., turns=...): give exactly one of values (radians per position) "
                "and turns (parts of a full turn per position)"
            )
        name = "turns" if values is None else "values"
        call = f"Given({name}=..., amplitude={amplitude!r})"
        given = turns if values is None else values
        if not isinstance(given, Iterable):
            raise FrequencyValueError(f"{call}: {name} must be a sequence, one per pair")
        exact = tuple(_exact(v, call, f"{name}[{i}]") for i, v in enumerate(given))
        scale = _exact(amplitude, call, "amplitude")
        if scale <= 0:
            raise FrequencyValueError(f"{call}: amplitude must be positive; leave it out for 1")
        object.__setattr__(self, "values", exact if turns is None else None)
        object.__setattr__(self, "turns", exact if values is None else None)
        object.__setattr__(self, "amplitude", scale)

    def theta(self, rotary_dim: int) -> tuple[float, ...]:
        """theta_i of each pair, rounded once to float64."""
        self._count(rotary_dim)
        if self.values is not None:
            return _rounded(self.values)
        two_pi = Fraction(2 * pi_fixed_point(400), 2**400)
        return _rounded(turns * two_pi for turns in self.turns or ())

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """The turns given; from radians, only 0 is a rational number of turns."""
        self._count(rotary_dim)
        if self.values is not None:
            return tuple(Fraction(0) if value == 0 else None for value in self.values)
        return tuple(self.turns or ())

    def scaled_turns(self, rotary_dim: int, bits: int) -> tuple[int, ...]:
        """theta_i / 2 pi in units of 2**-bits, to within one unit."""
        self._count(rotary_dim)
        if self.values is None:
            return tuple(round(turns * 2**bits) for turns in self.turns or ())
        whole = max((abs(int(value)).bit_length() for value in self.values), default=0)
        pi_bits = bits + whole + 16
        two_pi = Fraction(2 * pi_fixed_point(pi_bits), 2**pi_bits)
        return tuple(round(value / two_pi * 2**bits) for value in self.values)

    def _count(self, rotary_dim: int) -> None:
        given = len(self.values if self.values is not None else self.turns or ())
        if given != rotary_dim // 2:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with Given frequencies: {given} given, "
                f"but rotary_dim={rotary_dim} has {rotary_dim // 2} pairs; give one per pair, "
                f"or set rotary_dim={2 * given}"
            )


@lru_cache(maxsize=64)
def _power_law(base: Real, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
    """base**(-2i/R) with `digits` correct digits: one power, then a running product."""
    if rotary_dim == 0:
        return ()
    context = _context(digits + _GUARD)
    ratio = context.exp(
        context.divide(
            context.multiply(Decimal(-2), context.ln(_decimal(base, context))), Decimal(rotary_dim)
        )
    )
    ladder = [Decimal(1)]
    for _ in range(rotary_dim // 2 - 1):
        ladder.append(context.multiply(ladder[-1], ratio))
    return tuple(ladder)


def _scaled(thetas: Iterable[Decimal], bits: int) -> list[int]:
    """Theta in radians to turns in units of 2**-bits."""
    thetas = list(thetas)
    whole = _whole_digits(thetas)
    context = _context(_digits(bits) + whole + _GUARD)
    pi_bits = bits + 4 * whole + 16
    pi = context.divide(Decimal(pi_fixed_point(pi_bits)), Decimal(2**pi_bits))
    unit = context.divide(Decimal(2**bits), context.multiply(Decimal(2), pi))
    return [int(context.to_integral_value(context.multiply(theta, unit))) for theta in thetas]


def _whole_digits(thetas: Iterable[Decimal]) -> int:
    """Decimal digits before the point of the largest theta."""
    return max((1 + theta.adjusted() for theta in thetas if theta >= 1), default=0)


def _rounded(thetas: Iterable[Fraction | Decimal]) -> tuple[float, ...]:
    """Each theta rounded once to float64."""
    rounded = []
    for i, theta in enumerate(thetas):
        try:
            rounded.append(float(Fraction(theta)))
        except OverflowError:
            raise FrequencyValueError(
                f"theta() of pair {i}: the frequency is beyond the largest float64; "
                "give smaller turns, or a base nearer to 1"
            ) from None
    return tuple(rounded)


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


def _digits(bits: int) -> int:
    """Decimal digits that hold a number of bits."""
    return max(_DIGITS, bits * 302 // 1000 + 1)


def _context(digits: int) -> decimal.Context:
    # A context of our own: the caller's precision, traps and rounding play no part.
    return decimal.Context(
        prec=digits,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


def _decimal(value: Real, context: decimal.Context) -> Decimal:
    exact = Fraction(value)
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _exact(value: object, call: str, name: str) -> Fraction:
    """A parameter as the rational number it is."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes):
            raise TypeError
        if isinstance(value, int | float | Fraction | Decimal):
            exact = Fraction(value)
        elif hasattr(value, "__index__"):  # NumPy's integers
            exact = Fraction(operator.index(value))
        else:
            exact = Fraction(float(value))  # type: ignore[arg-type]  # NumPy's floats
        float(exact)  # overflows beyond the largest float64
        return exact
    except (TypeError, ValueError, OverflowError):
        raise FrequencyValueError(
            f"{call}: {name} must be a finite real number, got {value!r}"
        ) from None

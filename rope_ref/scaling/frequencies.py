"""theta_i, the angular frequency of each pair, as a real number.

A *rule* says what the frequencies are. It is immutable and knows them to any
number of digits, for nothing here is rounded to float64 until the very end: the
float64 nearest to theta_i is off by up to half an ulp, and 2**31 positions later
that half ulp is 1e-7 of a radian.

Parameters of a rule are the float64 values given, taken as the exact rationals
they are; all that follows is real arithmetic, done in `decimal` with guard digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from rope_ref.arguments import as_items, shown
from rope_ref.errors import FrequencyCountError, FrequencyValueError
from rope_ref.exact.real import (
    DIGITS,
    Real,
    digits_that_hold,
    exact,
    pi,
    positive,
    real,
    real_arithmetic,
    rounded,
    turns_fixed_point,
    whole_digits,
)

__all__ = ["FrequencyRule", "ExplicitFrequencies", "PowerLaw", "RealRule"]


class FrequencyRule(Hashable, Protocol):
    """What every frequency rule offers. Rules are immutable and hashable."""

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, exactly."""
        ...

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair in radians per position, to `digits` significant digits."""
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


class RealRule(ABC):
    """A rule known as real numbers: to any number of digits, and so to any accuracy."""

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, exactly or to 80 digits; 1 unless a rule says otherwise."""
        return Fraction(1)

    @abstractmethod
    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair in radians per position, to `digits` significant digits."""

    def theta(self, rotary_dim: int) -> tuple[float, ...]:
        """theta_i of each pair, the real number rounded once to float64."""
        return rounded(self.real_theta(rotary_dim, DIGITS))

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """0 for a pair that stands still; other turns are not known to be rational."""
        theta = self.real_theta(rotary_dim, DIGITS)
        return tuple(None if each else Fraction(0) for each in theta)

    def scaled_turns(self, rotary_dim: int, bits: int) -> tuple[int, ...]:
        """theta_i / 2 pi in units of 2**-bits, to within one unit."""
        # A theta above 1 has digits before the point, which must be kept too.
        whole = whole_digits(self.real_theta(rotary_dim, DIGITS))
        digits = digits_that_hold(bits) + whole
        return tuple(turns_fixed_point(self.real_theta(rotary_dim, digits), bits))


@dataclass(frozen=True)
class PowerLaw(RealRule):
    """theta_i = base**(-2 i / R): the frequencies of the original paper.

    Parameters
    ----------
    base
        Any positive finite number; 10000 in the paper. Hugging Face calls it
        ``rope_theta``.
    denominator
        What stands below 2 i. All public systems put the rotating channels R there; the
        width of the head, where only a part rotates, is a reading some authors meant.

    Raises
    ------
    FrequencyValueError
        If `base` or `denominator` is not a positive finite real number.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, section 3.2.2.
    """

    base: Real = 10000.0
    _: KW_ONLY
    denominator: Real | None = None

    def __post_init__(self) -> None:
        call = f"PowerLaw(base={shown(self.base)})"
        # One base, one value: 10000, 10000.0 and Fraction(10000) are the same rule.
        base = positive(self.base, call, "base", "the usual one is 10000")
        object.__setattr__(self, "base", base)
        if self.denominator is not None:
            below = positive(self.denominator, call, "denominator", "leave it out for rotary_dim")
            object.__setattr__(self, "denominator", below)

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        denominator = rotary_dim if self.denominator is None else self.denominator
        return power_law(self.base, denominator, rotary_dim // 2, digits)


@dataclass(frozen=True, init=False)
class ExplicitFrequencies(RealRule):
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
                "ExplicitFrequencies(values=..., turns=...): give exactly one of values (radians "
                "per position) and turns (parts of a full turn per position)"
            )
        name = "turns" if values is None else "values"
        call = f"ExplicitFrequencies({name}=..., amplitude={shown(amplitude)})"
        given = as_items(turns if values is None else values)
        if given is None:
            raise FrequencyValueError(f"{call}: {name} must be a sequence, one per pair")
        numbers = tuple(exact(v, call, f"{name}[{i}]") for i, v in enumerate(given))
        scale = exact(amplitude, call, "amplitude")
        if scale <= 0:
            raise FrequencyValueError(f"{call}: amplitude must be positive; leave it out for 1")
        object.__setattr__(self, "values", numbers if turns is None else None)
        object.__setattr__(self, "turns", numbers if values is None else None)
        object.__setattr__(self, "amplitude", scale)

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        self._count(rotary_dim)
        with real_arithmetic(digits):
            if self.values is not None:
                return tuple(real(value) for value in self.values)
            return tuple(real(turns) * 2 * pi(digits) for turns in self.turns or ())

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """The turns given; from radians, only 0 is a rational number of turns."""
        self._count(rotary_dim)
        if self.values is not None:
            return tuple(Fraction(0) if value == 0 else None for value in self.values)
        return tuple(self.turns or ())

    def scaled_turns(self, rotary_dim: int, bits: int) -> tuple[int, ...]:
        """theta_i / 2 pi in units of 2**-bits, to within one unit."""
        if self.turns is None:
            return super().scaled_turns(rotary_dim, bits)
        self._count(rotary_dim)
        return tuple(round(turns * 2**bits) for turns in self.turns)

    def _count(self, rotary_dim: int) -> None:
        given = len(self.values if self.values is not None else self.turns or ())
        if given != rotary_dim // 2:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with ExplicitFrequencies: {given} given, "
                f"but rotary_dim={rotary_dim} has {rotary_dim // 2} pairs; give one per pair, "
                f"or set rotary_dim={2 * given}"
            )


@lru_cache(maxsize=64)
def power_law(base: Real, denominator: Real, pairs: int, digits: int) -> tuple[Decimal, ...]:
    """base**(-2i/denominator) of each pair: one power, then a running product."""
    with real_arithmetic(digits):
        return ladder_of(real(base), real(denominator), pairs) if pairs else ()


def ladder_of(base: Decimal, denominator: Decimal, pairs: int) -> tuple[Decimal, ...]:
    """base**(-2i/denominator) for i < pairs, in the arithmetic in use."""
    ratio = (-2 * base.ln() / denominator).exp()
    ladder = [Decimal(1)]
    for _ in range(pairs - 1):
        ladder.append(ladder[-1] * ratio)
    return tuple(ladder)

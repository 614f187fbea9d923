"""How fast each pair turns: the rule that says it, and the two plain ones.

A rule is immutable. Its parameters are the float64 values given, taken as the exact rationals
they are; the frequencies are the real numbers that follow, and are rounded only at the very end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from rope_ref.arguments import as_items, shown
from rope_ref.errors import FrequencyCountError, FrequencyValueError
from rope_ref.exact.frequency import Frequency, digits_of, together
from rope_ref.exact.parameters import exact, positive
from rope_ref.exact.real import DIGITS, Real, nearest, real, real_arithmetic

__all__ = ["ExplicitFrequencies", "FrequencyRule", "PowerLaw", "frequencies_of"]


class FrequencyRule(ABC):
    """What says how fast each pair turns. Rules are immutable and hashable.

    A rule of one's own is a subclass with `frequencies`.
    """

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, exactly or to 80 digits; 1 unless a rule says otherwise."""
        return Fraction(1)

    @abstractmethod
    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """The R/2 frequencies, as real numbers.

        Parameters
        ----------
        rotary_dim
            How many channels R rotate.

        Raises
        ------
        FrequencyCountError
            If the rule is for another number of pairs.
        """

    def theta(self, rotary_dim: int) -> tuple[float, ...]:
        """theta_i of each pair in radians per position, the real number rounded once to float64.

        Raises
        ------
        FrequencyValueError
            If one is beyond the range of float64; and the errors of `frequencies`.
        """
        hint = "give a base, a factor or turns nearer to 1"
        theta = digits_of(frequencies_of(self, rotary_dim), DIGITS)
        return tuple(
            nearest(each, f"theta() of pair {i}: the frequency", hint)
            for i, each in enumerate(theta)
        )


@lru_cache(maxsize=64)
def frequencies_of(rule: FrequencyRule, rotary_dim: int) -> tuple[Frequency, ...]:
    """The frequencies of a rule, made once."""
    return rule.frequencies(rotary_dim)


@dataclass(frozen=True)
class PowerLaw(FrequencyRule):
    """theta_i = base**(-2 i / R): the frequencies of the original paper.

    Parameters
    ----------
    base
        Any positive finite number; 10000 in the paper. Hugging Face calls it
        ``rope_theta``.
    denominator
        What 2 i is divided by: R, if left out, as in all public systems. Where only a part
        of the head rotates, some authors meant the width of the whole head.

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

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """The R/2 frequencies, as real numbers."""
        pairs = rotary_dim // 2
        below = rotary_dim if self.denominator is None else self.denominator
        theta = together(lambda digits: power_law(self.base, below, pairs, digits), pairs)
        return tuple(map(Frequency, theta))


@dataclass(frozen=True, init=False)
class ExplicitFrequencies(FrequencyRule):
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

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those written down, if there is one for each pair."""
        given = self.values or self.turns or ()
        if len(given) != rotary_dim // 2:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with ExplicitFrequencies: {len(given)} given, "
                f"but rotary_dim={rotary_dim} has {rotary_dim // 2} pairs; give one per pair, "
                f"or set rotary_dim={2 * len(given)}"
            )
        return tuple(map(Frequency.of_turns if self.turns else Frequency.of_radians, given))


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

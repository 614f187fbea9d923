"""Parameters of a rule as exact numbers, or the error that says what is wrong with one."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np

from rope_ref.arguments import as_items, is_one_of, shown
from rope_ref.errors import FrequencyValueError
from rope_ref.exact.real import Real

__all__ = ["choice", "exact", "number", "optional", "positive", "positives"]

_LARGEST_EXPONENT = 400  # of a Decimal: beyond all of float64's, and written out in no time


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

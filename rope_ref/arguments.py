"""What a caller hands over: told apart before it is used, and put into words for messages."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_ref.errors import RopeError

__all__ = ["as_array", "as_integer", "as_items", "is_one_of", "shown"]


def as_integer(value: object) -> int | None:
    """The integer that a value is; None if it is none. True and False are none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # what has no index is told below
    except TypeError:
        return None  # an array has an __index__, and refuses it unless it is one integer


def as_items(value: object) -> tuple[Any, ...] | None:
    """The items of a sequence; None if it is none."""
    try:
        return tuple(value)  # type: ignore[arg-type]  # as above
    except TypeError:
        return None  # an array without axes has an __iter__, and refuses it


def as_array(
    value: npt.ArrayLike, error: type[RopeError], call: str, name: str
) -> npt.NDArray[Any]:
    """An array of what was given; lists that make none, as their rows differ, raise `error`."""
    try:
        return np.asarray(value)
    except ValueError as reason:
        raise error(
            f"{call}: {name} must be an array of numbers, in rows of one length (NumPy: {reason})"
        ) from None


def is_one_of(value: object, known: Iterable[object]) -> bool:
    """Whether a word, or a truth value, is one of those known; a list or an array never is."""
    try:
        return value in frozenset(known)
    except TypeError:  # what can be changed has no hash
        return False


def shown(value: object) -> str:
    """A value as a message can hold it: in one line, or its kind if it cannot be printed."""
    try:
        return " ".join(repr(value).splitlines())
    except Exception:  # integers of more than 4300 digits, or a __repr__ of whatever class
        if isinstance(value, int):
            return f"an integer of {value.bit_length()} bits"
        return f"a value of type {type(value).__name__}"

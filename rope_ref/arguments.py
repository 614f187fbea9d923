"""Arguments: converted and checked before they are used, and printed for messages."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_ref.errors import (
    NonFinitePositionError,
    PositionDtypeError,
    PositionRangeError,
    RopeError,
)

__all__ = [
    "FloatArray",
    "IntArray",
    "POSITION_LIMIT",
    "as_array",
    "as_integer",
    "as_items",
    "as_positions",
    "brief",
    "is_one_of",
    "is_real",
    "shown",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

POSITION_LIMIT = 2**53
"""Beyond it float64 does not hold every integer."""

_BEGINNING = reprlib.Repr()
_BEGINNING.maxstring = _BEGINNING.maxother = 60


def as_integer(value: object) -> int | None:
    """A value as an integer; None if it is not one. True and False are not."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # raises without __index__
    except TypeError:
        return None  # an array has an __index__, and refuses it unless it is one integer


def as_items(value: object) -> tuple[Any, ...] | None:
    """The items of a sequence; None if it is no sequence."""
    try:
        return tuple(value)  # type: ignore[arg-type]  # as above
    except TypeError:
        return None  # an array without axes has an __iter__, and refuses it


def as_array(
    value: npt.ArrayLike, error: type[RopeError], call: str, name: str
) -> npt.NDArray[Any]:
    """What was given as an array; lists with rows of different lengths raise `error`."""
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
    except TypeError:  # a list or an array has no hash
        return False


def shown(value: object) -> str:
    """A caller's argument for a message: all of its repr, in one line, to be tried again."""
    return _printed(value, repr)


def brief(value: object) -> str:
    """A value from a config for a message: of any size, so only its beginning, or its length."""
    if isinstance(value, Mapping | list | tuple):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 100:
        return _size(value)
    return _printed(value, _BEGINNING.repr)


def _printed(value: object, how: Callable[[object], str]) -> str:
    try:
        return " ".join(how(value).splitlines())
    except Exception:  # integers of more than 4300 digits, or a __repr__ of whatever class
        return _size(value) if isinstance(value, int) else f"a value of type {type(value).__name__}"


def _size(value: int) -> str:
    return f"an integer of {value.bit_length()} bits"


def as_positions(
    positions: npt.ArrayLike, call: str, name: str = "positions"
) -> IntArray | FloatArray:
    """Positions as int64 or float64, unchanged in value; `name` is that of the argument.

    Raises
    ------
    PositionDtypeError, NonFinitePositionError, PositionRangeError
        As `rope_ref.cos_sin`.
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

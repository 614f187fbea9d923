"""Numbers of tokens and the like, as a caller gives them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import POSITION_LIMIT, IntArray, as_array, as_integer, shown
from rope_ref.errors import CountError, CountTypeError

__all__ = ["count", "counts_of"]


def count(value: object, call: str, name: str, least: int) -> int:
    """A number of tokens, or the like.

    Raises
    ------
    CountTypeError, CountError
        If it is no integer from `least` to below 2**53.
    """
    number = as_integer(value)
    if number is None:
        raise CountTypeError(f"{call}: {name} must be an integer, got {shown(value)}")
    if number < least:
        raise CountError(f"{call}: {name} must be at least {least}, got {shown(number)}")
    if number >= POSITION_LIMIT:
        raise CountError(f"{call}: {name} must be below 2**53, got {shown(number)}")
    return number


def counts_of(value: npt.ArrayLike, call: str, name: str, dimensions: tuple[int, ...]) -> IntArray:
    """Numbers of tokens as int64."""
    given = as_array(value, CountTypeError, call, name)
    if given.size and given.dtype.kind not in "iu":
        raise CountTypeError(f"{call}: {name} must be integers, got {given.dtype}")
    if given.ndim not in dimensions:
        shapes = " or ".join(
            "one number" if n == 0 else "one number each, (N,)" for n in dimensions
        )
        raise CountError(f"{call}: {name} must be {shapes}; got shape {given.shape}")
    if given.size and (int(given.min()) < 0 or int(given.max()) >= POSITION_LIMIT):
        raise CountError(
            f"{call}: {name} must lie between 0 and 2**53, got {given.min()} to {given.max()}"
        )
    return given.astype(np.int64)

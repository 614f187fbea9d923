"""Positions of the patches of images and videos: one number for each axis.

A patch stands at its frame, its row and its column. The patches of a grid are listed row by
row, frame by frame: the last axis counts fastest. Image generators and vision towers also
have patches at other coordinates, whole or real; a row of them for each axis makes a grid.
For text and grids in one sequence see `rope_ref.positions.multimodal`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, IntArray, as_array, as_positions, shown
from rope_ref.errors import CoordinateError, FrequencyValueError, GridError, PositionRangeError
from rope_ref.exact.parameters import exact
from rope_ref.exact.real import Real
from rope_ref.positions.counts import count

__all__ = [
    "centred_coordinates",
    "coordinate_grid",
    "cropped_coordinates",
    "grid_positions",
    "normalised_coordinates",
]


def coordinate_grid(*coordinates: npt.ArrayLike) -> IntArray | FloatArray:
    """Return the positions of a grid whose axes have these coordinates.

    Parameters
    ----------
    coordinates
        One row of numbers for each axis, (N_0,), (N_1,), ...; integers or real.

    Returns
    -------
    positions
        Shape (A, N_0 N_1 ...): A is the number of axes; the last axis counts fastest. int64
        if all coordinates are integers, else float64.

    Raises
    ------
    CoordinateError
        If there are no coordinates, or those of an axis are not a row.
    PositionDtypeError, NonFinitePositionError, PositionRangeError
        If a coordinate cannot be a position.
    """
    call = f"coordinate_grid({', '.join('...' for _ in coordinates)})"
    rows: list[npt.NDArray[Any]] = [
        as_positions(as_array(row, CoordinateError, call, f"axis {axis}"), f"{call}, axis {axis}")
        for axis, row in enumerate(coordinates)
    ]
    if not rows or any(row.ndim != 1 for row in rows):
        raise CoordinateError(
            f"{call}: give the coordinates of each axis as a row of numbers, (N,); their shapes "
            f"are {[row.shape for row in rows]}"
        )
    return np.stack([axis.ravel() for axis in np.meshgrid(*rows, indexing="ij")])


def grid_positions(
    frames: int, rows: int, columns: int, *, interval: Real = 1, merge: int = 1
) -> IntArray:
    """Return the positions of the patches of an image or a video, counted from 0.

    Parameters
    ----------
    frames, rows, columns
        The size of the grid in patches; an image has one frame.
    interval
        How far time moves on from one frame to the next. Qwen2.5-VL has tokens per second
        times seconds per frame here; Qwen2-VL, and all images, 1.
    merge
        How many patches, down and across, become one token.

    Returns
    -------
    positions
        int64 of shape (3, T), T = frames x (rows / merge) x (columns / merge): time, row and
        column of each token, row by row. Time is frame x interval, rounded once to float64
        and then cut to an integer.

    Raises
    ------
    CountTypeError, CountError
        If `frames`, `rows`, `columns` or `merge` is not an integer from 1 to below 2**53.
    CoordinateError
        If `interval` is not a positive finite number.
    GridError
        If `rows` or `columns` is not a multiple of `merge`.
    PositionRangeError
        If a position lies at or beyond 2**53.

    Notes
    -----
    Source: ``get_rope_index`` of
    huggingface/transformers:src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py.
    """
    size = f"{shown(frames)}, {shown(rows)}, {shown(columns)}"
    call = f"grid_positions({size}, interval={shown(interval)}, ...)"
    frames, rows, columns, merge = grid_sizes(call, frames, rows, columns, merge)
    step = positive_number(interval, call, "interval")
    time = _rounded((frame * step for frame in range(frames)), call)
    grid = coordinate_grid(time, np.arange(rows // merge), np.arange(columns // merge))
    return grid.astype(np.int64)  # cut, not rounded


def centred_coordinates(length: int) -> IntArray:
    """Return coordinates with 0 in the middle, as Qwen-Image has them for rows and columns.

    Parameters
    ----------
    length
        How many coordinates N.

    Returns
    -------
    coordinates
        int64 of shape (N,): from -(N - N // 2) to N // 2 - 1. Text goes on at the larger N // 2
        of rows and columns.

    Raises
    ------
    CountTypeError, CountError
        If `length` is not an integer from 1 to below 2**53.

    Notes
    -----
    Source: ``scale_rope`` of
    huggingface/diffusers:src/diffusers/models/transformers/transformer_qwenimage.py.
    """
    n = count(length, f"centred_coordinates({shown(length)})", "length", 1)
    return np.arange(n) - (n - n // 2)


def cropped_coordinates(start: Real, stop: Real, length: int) -> FloatArray:
    """Return coordinates spread evenly over a crop, as CogVideoX has them for rows and columns.

    Parameters
    ----------
    start, stop
        Where the crop begins and ends, in patches of the grid that the model was trained on.
    length
        How many coordinates N.

    Returns
    -------
    coordinates
        float64 of shape (N,): N numbers at equal distances, from `start` to
        ``stop * (N - 1) / N``, each the real number rounded once.

    Raises
    ------
    CoordinateError
        If `start` or `stop` is not a finite real number.
    CountTypeError, CountError
        If `length` is not an integer from 1 to below 2**53.
    PositionRangeError
        If a coordinate is beyond the largest float64.

    Notes
    -----
    Source: ``get_3d_rotary_pos_embed`` of huggingface/diffusers:src/diffusers/models/embeddings.py.
    """
    call = f"cropped_coordinates({shown(start)}, {shown(stop)}, {shown(length)})"
    first, end = _real(start, call, "start"), _real(stop, call, "stop")
    n = count(length, call, "length", 1)
    step = (end * Fraction(n - 1, n) - first) / max(1, n - 1)
    return _rounded((first + i * step for i in range(n)), call)


def normalised_coordinates(
    length: int, *, span: Real | None = None, offset: Real = Fraction(1, 2)
) -> FloatArray:
    """Return coordinates as parts of a span, from -1 to 1: ``2 (i + offset) / span - 1``.

    Parameters
    ----------
    length
        How many coordinates N.
    span
        What lies between -1 and 1, in patches; `length` if left out. LTX has the size the
        model was trained on, DINOv3 can have the larger or smaller of rows and columns.
    offset
        Where in a patch it is measured: 1/2 is its middle, as in DINOv3; 0 its edge, as in LTX.

    Returns
    -------
    coordinates
        float64 of shape (N,), each the real number rounded once.

    Raises
    ------
    CountTypeError, CountError
        If `length` is not an integer from 1 to below 2**53.
    CoordinateError
        If `span` is not a positive finite number, or `offset` not a finite one.
    PositionRangeError
        If a coordinate is beyond the largest float64.

    Notes
    -----
    Source: huggingface/transformers:src/transformers/models/dinov3_vit/modeling_dinov3_vit.py.
    """
    given = f"{shown(length)}, span={shown(span)}, offset={shown(offset)}"
    call = f"normalised_coordinates({given})"
    n = count(length, call, "length", 1)
    whole = Fraction(n) if span is None else positive_number(span, call, "span")
    shift = _real(offset, call, "offset")
    return _rounded((2 * (i + shift) / whole - 1 for i in range(n)), call)


def grid_sizes(
    call: str, frames: object, rows: object, columns: object, merge: object
) -> list[int]:
    """Frames, rows, columns and merge as integers that fit each other.

    Raises
    ------
    CountTypeError, CountError, GridError
        As `grid_positions`.
    """
    named = {"frames": frames, "rows": rows, "columns": columns, "merge": merge}
    sizes = {name: count(value, call, name, 1) for name, value in named.items()}
    for name in ("rows", "columns"):
        if sizes[name] % sizes["merge"]:
            raise GridError(
                f"{call}: {name}={sizes[name]} must be a multiple of merge={sizes['merge']}, for "
                f"{sizes['merge']} x {sizes['merge']} patches become one token"
            )
    return list(sizes.values())


def positive_number(value: Real, call: str, name: str) -> Fraction:
    """A number above 0 as the rational it is.

    Raises
    ------
    CoordinateError
        If it is none.
    """
    number = _real(value, call, name)
    if number <= 0:
        raise CoordinateError(f"{call}: {name} must be above 0, got {shown(value)}")
    return number


def _real(value: Real, call: str, name: str) -> Fraction:
    try:
        return exact(value, call, name)
    except FrequencyValueError as error:
        raise CoordinateError(str(error)) from None


def _rounded(numbers: Iterable[Fraction], call: str) -> FloatArray:
    try:
        return np.array([float(number) for number in numbers])
    except OverflowError:
        raise PositionRangeError(f"{call}: a coordinate is beyond the largest float64") from None

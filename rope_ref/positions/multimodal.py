"""Positions of a sequence in which text, images and videos follow each other.

A token has three positions: time, row, column. A token of text stands at the same number on
all three, and there the RoPE is that of text. Each segment starts where the one before has
ended; where an image ends is a choice, `next_position`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import IntArray, as_positions, is_one_of, shown
from rope_ref.errors import CountTypeError, NextPositionError, PositionShapeError, SegmentError
from rope_ref.exact.real import Real
from rope_ref.positions.counts import count
from rope_ref.positions.grids import grid_positions, grid_sizes, positive_number
from rope_ref.positions.sequences import new_positions

__all__ = [
    "NEXT_POSITIONS",
    "GridSegment",
    "NextPosition",
    "TextSegment",
    "decoding_delta",
    "multimodal_decoding_positions",
    "multimodal_positions",
]

NextPosition = Literal["maximum", "extent"]
NEXT_POSITIONS: tuple[NextPosition, ...] = ("maximum", "extent")

_AXES = 3  # time, row, column


@dataclass(frozen=True)
class TextSegment:
    """A run of text among images and videos.

    Parameters
    ----------
    tokens
        How many tokens it has.

    Raises
    ------
    CountTypeError, CountError
        If `tokens` is not an integer from 0 to below 2**53.
    """

    tokens: int

    def __post_init__(self) -> None:
        tokens = count(self.tokens, f"TextSegment({shown(self.tokens)})", "tokens", 0)
        object.__setattr__(self, "tokens", tokens)

    @property
    def extent(self) -> int:
        """By how much the position goes on: one for each token."""
        return self.tokens

    def positions(self) -> IntArray:
        """The positions counted from 0: int64 of shape (3, tokens), equal on all axes."""
        return np.tile(np.arange(self.tokens), (_AXES, 1))


@dataclass(frozen=True)
class GridSegment:
    """An image or a video among text.

    Parameters
    ----------
    frames, rows, columns, interval, merge
        As in `grid_positions`.

    Raises
    ------
    CountTypeError, CountError, CoordinateError, GridError
        As in `grid_positions`.
    """

    frames: int
    rows: int
    columns: int
    _: KW_ONLY
    interval: Real = 1
    merge: int = 1

    def __post_init__(self) -> None:
        given = f"{shown(self.frames)}, {shown(self.rows)}, {shown(self.columns)}"
        call = f"GridSegment({given}, ...)"
        sizes = grid_sizes(call, self.frames, self.rows, self.columns, self.merge)
        for name, size in zip(("frames", "rows", "columns", "merge"), sizes, strict=True):
            object.__setattr__(self, name, size)
        object.__setattr__(self, "interval", positive_number(self.interval, call, "interval"))

    @property
    def extent(self) -> int:
        """The larger of rows and columns, in tokens."""
        return max(self.rows, self.columns) // self.merge

    def positions(self) -> IntArray:
        """The positions counted from 0, of shape (3, T): those of `grid_positions`."""
        return grid_positions(
            self.frames, self.rows, self.columns, interval=self.interval, merge=self.merge
        )


def multimodal_positions(
    segments: Iterable[TextSegment | GridSegment], *, next_position: NextPosition = "maximum"
) -> IntArray:
    """Return the positions of a sequence of text, images and videos.

    Parameters
    ----------
    segments
        The parts of the sequence, in order.
    next_position
        Where a segment starts. Text goes on one position for each token; after a grid

        * ``"maximum"``: 1 more than the largest position of all axes so far. So do vLLM and
          transformers 4.57.6.
        * ``"extent"``: the larger of rows and columns, in tokens, after the start of the grid.
          So does transformers 5.24.0.

        They differ for a video that lasts longer than it is wide and high: with ``"extent"``
        text then has positions in time that its last frames have too.

    Returns
    -------
    positions
        int64 of shape (3, T): time, row and column. The first segment starts at 0.

    Raises
    ------
    SegmentError
        If `segments` is not a sequence of TextSegments and GridSegments.
    NextPositionError
        If `next_position` is none of the two.
    PositionRangeError
        If a position lies at or beyond 2**53.

    Notes
    -----
    Source: ``get_rope_index`` of
    huggingface/transformers:src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py.
    """
    call = f"multimodal_positions(segments, next_position={shown(next_position)})"
    if not is_one_of(next_position, NEXT_POSITIONS):
        raise NextPositionError(f"{call}: next_position must be 'maximum' or 'extent'")
    if not isinstance(segments, Iterable):
        raise SegmentError(
            f"{call}: segments must be a sequence of segments, got {shown(segments)}"
        )
    start = 0
    parts = [np.zeros((_AXES, 0), dtype=np.int64)]
    for i, segment in enumerate(segments):
        if not isinstance(segment, TextSegment | GridSegment):
            raise SegmentError(
                f"{call}: segments[{i}] must be a TextSegment(tokens) or a GridSegment(frames, "
                f"rows, columns), got {shown(segment)}"
            )
        own = as_positions(start + segment.positions(), call).astype(np.int64)
        if next_position == "extent":
            start += segment.extent
        elif own.size:
            start = int(own.max()) + 1
        parts.append(own)
    return np.concatenate(parts, axis=1)


def decoding_delta(positions: npt.ArrayLike) -> int:
    """Return how far positions run ahead of the number of tokens, for decoding.

    Parameters
    ----------
    positions
        The positions of a whole prompt, integers of shape (A, T), without padding.

    Returns
    -------
    delta
        1 more than the largest position of all axes, minus T. 0 for text; below 0 for an
        image, whose tokens outnumber its rows and columns.

    Raises
    ------
    PositionShapeError, CountTypeError
        If `positions` are not integers of shape (A, T).
    """
    call = "decoding_delta(positions)"
    p = as_positions(positions, call)
    if p.ndim != 2:
        raise PositionShapeError(
            f"{call}: positions must be those of one prompt, (A, T); got shape {p.shape}"
        )
    largest = int(_whole(p, call, "positions").max(initial=-1))
    return largest + 1 - int(p.shape[1])


def multimodal_decoding_positions(
    cached: npt.ArrayLike, tokens: int, *, delta: npt.ArrayLike
) -> IntArray:
    """Return the positions of new text tokens that follow those in a KV cache.

    Parameters
    ----------
    cached, tokens
        As in `decoding_positions`.
    delta
        What `decoding_delta` says of the prompt: of each row, shape (B,), or one number.

    Returns
    -------
    positions
        int64 of shape (3, B, T); (3, T) if `cached` is one number. The first new token stands
        at ``cached + delta`` on all axes.

    Raises
    ------
    CountTypeError, CountError, PositionRangeError
        As `decoding_positions`; CountTypeError also if `delta` is no integer.
    PositionShapeError
        If there is not one `delta`, or one for each row.

    Notes
    -----
    The rule is the same whatever `next_position` was: 1 more than the largest position of
    the prompt. After ``"extent"`` it can skip many positions.
    """
    call = f"multimodal_decoding_positions(cached, {shown(tokens)}, delta={shown(delta)})"
    own = new_positions(cached, tokens, call)
    shift = _whole(as_positions(delta, call, "delta"), call, "delta")
    if shift.shape not in ((), own.shape[:-1]):
        raise PositionShapeError(
            f"{call}: delta must be one number, or one for each of the rows {own.shape[:-1]}; its "
            f"shape is {shift.shape}"
        )
    positions = as_positions(own + shift[..., None], call).astype(np.int64)
    return np.stack([positions] * _AXES)


def _whole(p: npt.NDArray[np.generic], call: str, name: str) -> IntArray:
    if p.size and p.dtype.kind != "i":
        raise CountTypeError(f"{call}: {name} must be integers, got {p.dtype}")
    return p.astype(np.int64)

"""Dual chunk attention: positions that never lie further apart than a chunk is long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import IntArray, as_array, shown
from rope_ref.errors import CountTypeError
from rope_ref.positions.counts import count, counts_of

__all__ = ["DualChunkPositions", "dual_chunk_positions"]


class DualChunkPositions(NamedTuple):
    """Where keys stand, and queries for keys of one or another chunk; arrays of one shape.

    Parameters
    ----------
    key
        Position of a key within its chunk.
    intra
        Position of a query, for keys of its own chunk.
    successor, inter
        For keys of the chunk before, and of those before that.
    successor_critical, inter_critical
        The same without the limit that keeps distances below the chunk's size.

    Raises
    ------
    AttributeError
        On assignment, as every tuple.
    """

    key: IntArray
    intra: IntArray
    successor: IntArray
    inter: IntArray
    successor_critical: IntArray
    inter_critical: IntArray


def dual_chunk_positions(
    positions: npt.ArrayLike, *, chunk_size: int, local_size: int
) -> DualChunkPositions:
    """Return the positions of dual chunk attention, which never reach beyond a chunk.

    With ``c = chunk_size - local_size``, keys stand at ``p mod c``, and a query has several
    positions, one for each kind of key: ``p mod c``, ``min(p mod c + c, chunk_size)``, and
    ``min(2 c - 1, chunk_size)``.

    Parameters
    ----------
    positions
        Of the tokens in their text: integers of at least 0, any shape.
    chunk_size, local_size
        In tokens. ``local_size`` of the chunk before are seen at their true distance.

    Returns
    -------
    positions
        int64, each of the shape of `positions`.

    Raises
    ------
    CountTypeError, CountError
        If a position or size is not an integer from 0 to below 2**53, or `local_size` is not
        below `chunk_size`.

    Notes
    -----
    Source: An et al., Training-Free Long-Context Scaling of Large Language Models,
    arXiv:2402.17463; the critical ones from vllm-project/vllm.
    """
    call = (
        f"dual_chunk_positions(positions, chunk_size={shown(chunk_size)}, "
        f"local_size={shown(local_size)})"
    )
    p = as_array(positions, CountTypeError, call, "positions")
    p = counts_of(p.ravel(), call, "positions", (1,)).reshape(p.shape)
    local = count(local_size, call, "local_size", 0)
    size = count(chunk_size, call, "chunk_size", local + 1)
    c = size - local
    within = p % c
    return DualChunkPositions(
        key=within,
        intra=within,
        successor=np.minimum(within + c, size),
        inter=np.full_like(within, min(2 * c - 1, size)),
        successor_critical=within + c,
        inter_critical=within + size,
    )

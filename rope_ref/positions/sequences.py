"""Which position each token has.

A token's position is the number of tokens before it in its own sequence. Padding, and the
tokens of other documents in the same array, do not count; tokens in a KV cache or on another
rank do.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import POSITION_LIMIT, IntArray, as_array, is_one_of, shown
from rope_ref.errors import (
    ChunkError,
    CountError,
    MaskError,
    OrderError,
    PositionRangeError,
    RankError,
)
from rope_ref.positions.counts import count, counts_of

__all__ = [
    "ORDERS",
    "Order",
    "context_parallel_positions",
    "context_parallel_tokens",
    "decoding_positions",
    "packed_positions",
    "padded_positions",
]

Order = Literal["contiguous", "zigzag"]
ORDERS: tuple[Order, ...] = ("contiguous", "zigzag")

_LARGEST_PACK = 2**44  # 2**47 bytes of int64: all that a process can address


def padded_positions(mask: npt.ArrayLike) -> IntArray:
    """Return the positions of a padded batch.

    Parameters
    ----------
    mask
        Shape (T,), or (B, T): 1 or True for a token, 0 or False for padding, which may
        lie on the left, on the right or in between.

    Returns
    -------
    positions
        int64, shape of `mask`: 0 to n - 1 on the n tokens of a row. Padding gets 0,
        which means nothing.

    Raises
    ------
    MaskError
        If `mask` is no array (T,) or (B, T) of zeros and ones.

    Notes
    -----
    Source: huggingface/transformers#22161, where counting the padding was the bug.
    """
    call = "padded_positions(mask)"
    given = as_array(mask, MaskError, call, "mask")
    if (
        given.ndim not in (1, 2)
        or given.dtype.kind not in "biu"
        or not np.isin(given, (0, 1)).all()
    ):
        raise MaskError(
            f"{call}: mask must be (T,) or (B, T) and hold 1 or True for a token, "
            f"0 or False for padding; got {given.dtype} of shape {given.shape}"
            + (
                f" with {given.min()} to {given.max()}"
                if given.size and given.dtype.kind in "iu"
                else ""
            )
        )
    tokens = given.astype(np.int64)
    before = np.add.accumulate(tokens, axis=-1) - tokens
    return before * tokens


def packed_positions(lengths: npt.ArrayLike) -> IntArray:
    """Return the positions of documents that are packed one after the other.

    Parameters
    ----------
    lengths
        Shape (N,): how many tokens each document has; 0 for an empty one.

    Returns
    -------
    positions
        int64 of shape (T,), T the sum of `lengths`: each document starts again at 0.

    Raises
    ------
    CountTypeError, CountError
        If `lengths` is not one integer of at least 0 for each document, or they are more
        tokens than any array can hold.

    Notes
    -----
    A batch of B rows of T tokens laid flat is a pack of B documents; with its padding
    left out, of as many tokens as each row has.

    Source: Krell et al., Efficient Sequence Packing, arXiv:2107.02027.
    """
    return _places(_lengths(lengths, "packed_positions(lengths)"))


def decoding_positions(cached: npt.ArrayLike, tokens: int) -> IntArray:
    """Return the positions of new tokens that follow those in a KV cache.

    Parameters
    ----------
    cached
        How many tokens of each row are in the cache, shape (B,); or one number.
    tokens
        How many new tokens T each row has.

    Returns
    -------
    positions
        int64 of shape (B, T); (T,) if `cached` is one number. The first new token stands
        at `cached`: the first position is 0, so the cache ends at ``cached - 1``.

    Raises
    ------
    CountTypeError, CountError
        If `cached` or `tokens` is not an integer from 0 to below 2**53.
    PositionRangeError
        If a position lies at or beyond 2**53.
    """
    return new_positions(cached, tokens, f"decoding_positions(cached, {shown(tokens)})")


def new_positions(cached: npt.ArrayLike, tokens: int, call: str) -> IntArray:
    """`decoding_positions`, whose errors name `call`."""
    counts = counts_of(cached, call, "cached", (0, 1))
    new = count(tokens, call, "tokens", 0)
    if counts.size and int(counts.max()) + new > POSITION_LIMIT:
        raise PositionRangeError(
            f"{call}: {counts.max()} cached tokens and {new} new ones reach position 2**53, "
            "where float64 no longer holds every integer"
        )
    return counts[..., None] + np.arange(new)


def context_parallel_tokens(
    lengths: npt.ArrayLike, *, rank: int, ranks: int, order: Order
) -> IntArray:
    """Return which tokens of a pack one rank holds, where a sequence is spread over several.

    Parameters
    ----------
    lengths
        As in `packed_positions`; one number in it for a sequence that is not packed.
    rank, ranks
        The number of this rank, from 0, and how many there are.
    order
        Each document is cut by itself, into chunks of equal length.
        ``"contiguous"``: into one chunk for each rank, in their order. ``"zigzag"``: into
        two for each rank; rank c of n holds chunks c and 2n - 1 - c, in this order, so
        that under a causal mask all have the same amount of work.

    Returns
    -------
    tokens
        int64 of shape (T / ranks,): where the tokens of this rank lie in the pack, in the
        order in which it holds them, document after document.

    Raises
    ------
    CountTypeError, CountError
        If `lengths` is not one integer of at least 0 for each document, or `ranks` no
        integer of at least 1.
    RankError
        If there is no such rank.
    OrderError
        If `order` is none of the two.
    ChunkError
        If a document cannot be cut into chunks of equal length.

    Notes
    -----
    Source: the zigzag order is that of Megatron-LM and Transformer Engine.
    """
    return _held(lengths, rank, ranks, order, "context_parallel_tokens")[0]


def context_parallel_positions(
    lengths: npt.ArrayLike, *, rank: int, ranks: int, order: Order
) -> IntArray:
    """Return the positions of the tokens that one rank holds.

    They are the positions that the tokens have in the pack: a rank does not start at 0.
    Parameters and errors are those of `context_parallel_tokens`.

    Returns
    -------
    positions
        int64 of shape (T / ranks,), in the order in which the rank holds its tokens.
    """
    tokens, counts = _held(lengths, rank, ranks, order, "context_parallel_positions")
    return _places(counts)[tokens]


def _held(
    lengths: npt.ArrayLike, rank: int, ranks: int, order: Order, function: str
) -> tuple[IntArray, IntArray]:
    """The tokens that a rank holds, and the lengths of all documents."""
    call = f"{function}(lengths, rank={shown(rank)}, ranks={shown(ranks)}, order={shown(order)})"
    counts = _lengths(lengths, call)
    ranks = count(ranks, call, "ranks", 1)
    rank = count(rank, call, "rank", 0)
    if rank >= ranks:
        raise RankError(f"{call}: rank must lie between 0 and ranks - 1 = {ranks - 1}")
    if not is_one_of(order, ORDERS):
        raise OrderError(f"{call}: order must be 'contiguous' or 'zigzag'")
    chunks = [rank] if order == "contiguous" else [rank, 2 * ranks - 1 - rank]
    pieces = len(chunks) * ranks
    uneven = np.flatnonzero(counts % pieces)
    if uneven.size:
        raise ChunkError(
            f"{call}: lengths[{uneven[0]}]={counts[uneven[0]]} must be a multiple of {pieces}, the "
            "number of chunks that each document is cut into; pad the document"
        )
    held = [
        start + chunk * size + np.arange(size)
        for start, size in zip(_starts(counts), counts // pieces, strict=True)
        for chunk in chunks
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *held]), counts


def _starts(counts: IntArray) -> IntArray:
    """Where each document starts in the pack."""
    return np.add.accumulate(counts) - counts


def _places(counts: IntArray) -> IntArray:
    """The place of each token of a pack in its document."""
    return np.arange(int(np.add.reduce(counts))) - np.repeat(_starts(counts), counts)


def _lengths(value: npt.ArrayLike, call: str) -> IntArray:
    """How many tokens each document of a pack has."""
    counts = counts_of(value, call, "lengths", (1,))
    total = float(np.add.reduce(counts, dtype=np.float64))  # int64 would wrap round
    if total > _LARGEST_PACK:
        raise CountError(
            f"{call}: lengths are {total:.4g} tokens together, which no array can hold; give at "
            "most 2**44"
        )
    return counts

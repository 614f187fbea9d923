"""Where each token of a growing request stands after each call."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from rope_conformance.target.frameworks import Array

__all__ = ["CONVENTIONS", "CachePositions", "Convention"]

# What becomes of the positions of the others when tokens go: they keep them, or close the gap.
Convention = Literal["kept", "closed"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)


class CachePositions:
    """Where the tokens of one request stand, under one convention of eviction.

    Parameters
    ----------
    rows
        How many batch rows there are.
    convention
        ``kept``: when tokens go, the others keep their positions, and the next token's goes
        on as if nothing were lost. ``closed``: slot j then stands at position j, and the
        next token at the number of tokens left.

    Attributes
    ----------
    next
        Position of the next token of each row, (B,).
    slots
        Position of each cached token, (B, n).
    turns
        The positions by which the cached tokens have been rotated, one after the other, as
        float64 arrays (B, n); NaN where a slot was left out. The first is that of the token
        itself. Where a token is rotated again, from one position to another, both count:
        rotating it back to position 0 and on, or by two tables, loses as much as both;
        rotating it by the difference loses less.
    """

    def __init__(self, rows: int, convention: Convention) -> None:
        self.convention = convention
        self.next = np.zeros(rows, dtype=np.int64)
        self.slots = np.zeros((rows, 0), dtype=np.int64)
        self.turns: list[Array] = [np.zeros((rows, 0))]

    def grow(self, tokens: int, lengths: tuple[int, ...] | None = None) -> Array:
        """Append tokens, of which row b has ``lengths[b]``; return their positions (B, T)."""
        positions = self.next[:, None] + np.arange(tokens)
        self.slots = np.concatenate([self.slots, positions], axis=1)
        nothing = np.full(positions.shape, np.nan)
        self.turns = [
            np.concatenate([turn, positions if n == 0 else nothing], axis=1)
            for n, turn in enumerate(self.turns)
        ]
        self.next = self.next + (tokens if lengths is None else np.array(lengths))
        return positions

    def evict(self, start: int, stop: int) -> None:
        """Take the tokens in slots start to stop - 1 out."""
        gone = np.s_[start:stop]
        self.slots = np.delete(self.slots, gone, axis=1)
        self.turns = [np.delete(turn, gone, axis=1) for turn in self.turns]
        if self.convention == "closed":
            self._move(np.broadcast_to(np.arange(self.slots.shape[1]), self.slots.shape))
            self.next = np.full_like(self.next, self.slots.shape[1])

    def shift(self, delta: int) -> None:
        """Move all tokens, and the next one."""
        self._move(self.slots + delta)
        self.next = self.next + delta

    def _move(self, slots: Array) -> None:
        self.turns += [self.slots.astype(np.float64), slots.astype(np.float64)]
        self.slots = slots

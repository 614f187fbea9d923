"""Judges the tokens of a request, each by its own frequencies and number of rotations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import Judgement, judge, pair_norm
from rope_conformance.clauses._lengths import Served
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec

__all__ = ["judged_by_tables", "looked_at", "real_tokens"]


# Of longer results some tokens are looked at: the ends, and where tables end.
_LOOK_AT_ALL = 1200

# Second-order terms: what is rotated again is itself off by its bound.
_SECOND_ORDER = 1 + 2**-5


def judged_by_tables(
    context: CheckContext,
    served: Served,
    x: Array,
    y: Array,
    positions: Array,
    tables: Array,
    turns: list[Array],
    real: Array,
) -> Judgement:
    """The judgement of tokens at positions; padding counts as right.

    Parameters
    ----------
    context, served
        Of the check, and of the object.
    x, y
        Given and returned, (B, T, H, D).
    positions, tables
        (B, T): where tokens stand, and numbers of the specs they were rotated by.
    turns
        As in `CachePositions`.
    real
        (B, T): which tokens are no padding.
    """
    parts = []
    for number in np.unique(tables) if tables.size else [0]:
        own = tables == number
        n = own.any(axis=0)
        part = x[:, n], y[:, n], positions[:, n], [turn[:, n] for turn in turns]
        parts.append((own, _judged(context, served.specs[number], *part)))
    judgement = parts[0][1] if len(parts) == 1 else _joined(parts, tables.shape)
    padding = ~real[..., None, None]
    return replace(
        judgement,
        error=np.where(padding, 0, judgement.error),
        residual=np.where(padding, 0, judgement.residual),
        bound=np.where(padding, np.inf, judgement.bound),
    )


def _judged(
    context: CheckContext, spec: RopeSpec, x: Array, y: Array, positions: Array, turns: list[Array]
) -> Judgement:
    """The judgement of tokens that were rotated by one spec."""
    judgement = judge(y, x, positions, spec, context.dtype, context.profile)
    again = np.asarray(np.isfinite([0 * positions + np.nan, *turns[1:]]).any(axis=0))
    return _loosened(judgement, context, spec, x, turns, again) if again.any() else judgement


def _loosened(
    judgement: Judgement,
    context: CheckContext,
    spec: RopeSpec,
    x: Array,
    turns: list[Array],
    again: Array,
) -> Judgement:
    """A judgement of tokens rotated several times: the bounds of the rotations add up."""
    # Rotated back in between, a pair has its first length again, and its error is larger.
    r = pair_norm(x, spec) * min(1.0, 1 / float(spec.frequencies.amplitude))
    total = np.zeros_like(r)
    for turn in turns:
        done = np.isfinite(turn)[..., None]
        p = np.where(done, turn[..., None], 0)
        own = bound(context.profile, spec, p[..., None], context.dtype, r, norm=True)
        total = total + np.where(done[..., None], _SECOND_ORDER * own, 0)
    return replace(judgement, bound=np.where(again[..., None, None], total, judgement.bound))


def _joined(parts: Iterable[tuple[Array, Judgement]], shape: tuple[int, int]) -> Judgement:
    """One judgement of tokens (B, T) of which each was judged by its own spec.

    Parameters
    ----------
    parts
        Which tokens (B, T), and a judgement of the columns in which there are any.
    shape
        (B, T).
    """
    whole: dict[str, Any] = {}
    for own, judgement in parts:
        columns = own.any(axis=0)
        for name in ("error", "residual", "bound", "r", "positions", "got", "want"):
            part = getattr(judgement, name)
            part = np.broadcast_to(part, (shape[0], *part.shape[1:]))
            room = whole.setdefault(name, np.zeros((*shape, *part.shape[2:])))
            room[own] = part[own[:, columns]]
    return replace(judgement, **whole)


def real_tokens(x: Array, lengths: tuple[int, ...] | None) -> Array:
    """Which tokens (B, T) are no padding."""
    tokens = np.arange(x.shape[1])
    return np.asarray(tokens < np.array(lengths or (x.shape[1],) * x.shape[0])[:, None])


def looked_at(tokens: int) -> Array:
    """Which tokens of a result are judged: all, or of a long one the telling ones."""
    if tokens <= _LOOK_AT_ALL:
        return np.arange(tokens)
    powers = [2**k + d for k in range(tokens.bit_length()) for d in (-1, 0, 1)]
    spread = range(0, tokens, max(tokens // 61, 1))
    chosen = {*powers, *spread, *range(8), *range(tokens - 8, tokens)}
    return np.array(sorted(n for n in chosen if 0 <= n < tokens))

"""What the surface `positions` is asked, and what the right answer is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.inputs.cases import Input
from rope_conformance.inputs.claimed_positions import positions_within
from rope_conformance.inputs.memoization_traps import memoization_traps
from rope_conformance.target.claim import Claim, RequestKind
from rope_conformance.target.frameworks import namespace
from rope_ref.positions import (
    context_parallel_positions,
    decoding_positions,
    packed_positions,
    padded_positions,
)
from rope_ref.positions.sequences import ORDERS, Order

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Asked",
    "PositionRequest",
    "drawn_requests",
    "fixed_requests",
    "pieces",
    "right_positions",
]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PositionRequest:
    """What ``positions(request)`` is asked for: the position of each token.

    A position is how many tokens of its own sequence come before a token. The answer is an
    array of integers, of any integer type, of the framework or of NumPy, or nested lists.

    Parameters
    ----------
    kind
        ``padded``: a batch of rows, some of their places padding. The answer is (B, T);
        what it says of padding is not looked at.
        ``packed``: documents one after the other, without padding, in one row of T tokens.
        The answer is (T,), and each document starts again at 0.
        ``decoding``: new tokens, of which some come before in a cache. The answer is
        (B, T) for the T new tokens of each row.
        ``context parallel``: a pack as above, of which each rank holds a part. The answer
        is (T / ranks,) for the tokens that this rank holds, in the order in which it does.
    mask
        For ``padded``: one tuple for each row, 1 for a token and 0 for padding, which may
        lie on the left, on the right or in between. Empty otherwise.
    lengths
        For ``packed`` and ``context parallel``: how many tokens each document has, 0 for an
        empty one. Empty otherwise.
    cached
        For ``decoding``: how many tokens of each row are in the cache. Empty otherwise.
    tokens
        For ``decoding``: how many new tokens T each row has. 0 otherwise.
    rank, ranks
        For ``context parallel``: the number of this rank, from 0, and how many there are.
    order
        For ``context parallel``. Each document is cut by itself, into chunks of equal length.
        ``contiguous``: rank c holds chunk c of `ranks` chunks of each document.
        ``zigzag``: rank c holds chunks c and 2 ranks - 1 - c, in this order, of 2 ranks
        chunks of each document. Either way document after document.
    """

    kind: RequestKind
    mask: tuple[tuple[int, ...], ...] = ()
    lengths: tuple[int, ...] = ()
    cached: tuple[int, ...] = ()
    tokens: int = 0
    rank: int = 0
    ranks: int = 1
    order: Order = "contiguous"

    def __repr__(self) -> str:
        """What rebuilds the request: the fields that say something, long rows by their runs."""
        said = [repr(self.kind)]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value != each.default:
                text = _rows_as_text(value) if each.name == "mask" else repr(value)
                said.append(f"{each.name}={text}")
        return f"PositionRequest({', '.join(said)})"


def _rows_as_text(rows: tuple[tuple[int, ...], ...]) -> str:
    texts = []
    for row in rows:
        runs = [(value, len(list(run))) for value, run in itertools.groupby(row)]
        by_runs = " + ".join(f"({value},) * {count}" for value, count in runs)
        texts.append(by_runs if len(row) > 16 else repr(row))
    return f"({', '.join(texts)},)"


def right_positions(request: PositionRequest) -> Integers:
    """Return what must be answered; -1 for padding, of which nothing is asked."""
    if request.kind == "padded":
        mask = np.array(request.mask)
        return np.where(mask == 1, padded_positions(mask), -1)
    if request.kind == "packed":
        return packed_positions(request.lengths)
    if request.kind == "decoding":
        return decoding_positions(request.cached, request.tokens)
    return context_parallel_positions(
        request.lengths, rank=request.rank, ranks=request.ranks, order=request.order
    )


@dataclass(frozen=True)
class Asked(Input):
    """Requests put to one object, one after the other."""

    requests: tuple[PositionRequest, ...]

    def inside(self, claim: Claim) -> bool:
        """Whether kinds and positions are claimed, and no answer is empty unless that is."""
        low, high = claim.position_range
        for request in self.requests:
            p = right_positions(request)
            if request.kind not in claim.requests or (not p.size and not claim.empty):
                return False
            if p.size and not (low <= 0 and p.max() <= high):
                return False
        return True

    def size(self) -> tuple[Any, ...]:
        """How many requests, then how many tokens, then how far those stand from 0."""
        answers = [right_positions(request) for request in self.requests]
        return (
            len(answers),
            sum(p.size for p in answers),
            sum(int(p.clip(min=0).sum()) for p in answers),
        )

    def smaller(self, token: int | None) -> Iterator[Asked]:
        """One request alone, then with one row, document or token less.

        Always as many steps, so that a step's number means the same after another step.
        """
        for n in range(_STEPS):
            yield Asked(self.requests[n : n + 1] or self.requests)
        for n in reversed(range(_STEPS)):
            yield Asked((_without(self.requests[0], n), *self.requests[1:]))
        yield Asked((replace(self.requests[0], tokens=1), *self.requests[1:]))


_STEPS = 6


def _without(request: PositionRequest, n: int) -> PositionRequest:
    """The request without row or document n, unless it has no other."""
    parts = {name: getattr(request, name) for name in ("mask", "lengths", "cached")}
    less = {name: part[:n] + part[n + 1 :] or part for name, part in parts.items()}
    return replace(request, **less)


def _left(length: int, *padding: int) -> tuple[tuple[int, ...], ...]:
    """Rows of a length, each with so much padding on its left."""
    return tuple((0,) * n + (1,) * (length - n) for n in padding)


def _right(length: int, *padding: int) -> tuple[tuple[int, ...], ...]:
    return tuple(row[::-1] for row in _left(length, *padding))


_HOLES = ((1, 0, 1, 1, 0, 1), (0, 1, 0, 1, 1, 0), (1, 1, 1, 1, 1, 1))
_MASKS = (
    _left(3, 0), _left(5, 2), _left(1, 0, 0, 0), _left(1, 1, 0), _left(3, 0, 0),
    _left(4, 0, 1, 2, 3), _left(4, 3, 2, 1, 0), _left(3, 1, 1), _left(3, 3, 1),
    _right(5, 2), _right(4, 0, 1, 2, 3), _right(4, 3, 2, 1, 0),
    _left(5, 1, 3) + _right(5, 2, 0), _HOLES, _HOLES[:1], _right(2, 1, 0),
    _left(300, 7, 0), _left(33000, 5),
)  # fmt: skip
_PACKS = (
    (1,), (5,), (3, 4), (4, 3), (4, 4), (1, 1, 1), (2, 2, 2, 2), (5, 1, 3), (1, 7),
    (0, 3), (3, 0), (3, 0, 2), (2, 0, 0, 3), (0, 0, 1), (300, 260), (2050, 3), (33000, 2), (0,),
)  # fmt: skip
_CACHES = (
    ((0,), 1), ((0,), 5), ((5,), 1), ((5,), 3), ((0, 0), 1), ((3, 0, 9), 1), ((2, 2), 3),
    ((4, 0, 1, 7), 4), ((9, 6, 3), 3), ((1, 300), 2), ((40000, 0), 2), ((0, 70000, 5), 3),
)  # fmt: skip
_SPREAD = (
    (4,), (8,), (16,), (4, 4), (4, 8), (8, 4), (8, 16, 8), (0, 8), (8, 0, 16), (12, 12), (24, 12),
    (72000,),
)  # fmt: skip


def fixed_requests(claim: Claim, kind: RequestKind) -> list[Asked]:
    """The requests of a kind that every implementation meets, some of them in turn."""
    alone: list[dict[str, Any]] = []
    in_turn: list[list[dict[str, Any]]]
    if kind == "padded":
        alone = [{"mask": mask} for mask in _MASKS]
        in_turn = [
            [{"mask": _left(4, *padding)} for padding in ((1, 2), (2, 0), (1, 2))],
            [{"mask": mask} for mask in (_left(5, 0), _left(3, 0), _left(5, 3))],
        ]
    elif kind == "packed":
        alone = [{"lengths": lengths} for lengths in _PACKS]
        in_turn = [[{"lengths": lengths} for lengths in ((3, 5), (5, 3), (8,), (3, 5))]]
    elif kind == "decoding":
        spots = [spot for spot in positions_within(claim) if spot >= 1]
        caches = (*_CACHES, *(((spot - 1, 1), 2) for spot in spots))
        alone = [{"cached": cached, "tokens": tokens} for cached, tokens in caches]
        in_turn = [
            # A prompt of six, then a token at a time, then another request.
            [
                {"cached": (n,), "tokens": tokens}
                for n, tokens in ((0, 6), (6, 1), (7, 1), (8, 1), (0, 6))
            ],
            [{"cached": c, "tokens": 1} for c in ((4, 9), (9, 4), (5, 10), (4, 9))],
        ]
    else:
        in_turn = [
            [_part(lengths, order, rank, ranks) for rank in range(ranks)]
            for order in ORDERS
            for lengths in (_SPREAD[3:7] if namespace(claim.namespace).fixed_shapes else _SPREAD)
            for ranks in (1, 2, 3, 4)
            if not any(n % pieces(order, ranks) for n in lengths)
        ]
        in_turn.append(in_turn[-1][::-1])
    return [
        Asked(tuple(PositionRequest(**{"kind": kind, **rest}) for rest in several))
        for several in (*([one] for one in alone), *in_turn, *memoization_traps(kind))
    ]


def drawn_requests(claim: Claim, kind: RequestKind) -> SearchStrategy[Asked]:
    """Strategy for one or two requests of a kind inside a claim.

    Of few shapes where each shape costs time.
    """
    from hypothesis import strategies as st

    draws = {
        "padded": _draw_padded,
        "packed": _draw_packed,
        "decoding": _draw_decoding,
        "context parallel": _draw_part,
    }
    few = namespace(claim.namespace).fixed_shapes

    @st.composite
    def build(draw: Any) -> Asked:
        count = draw(st.integers(1, 2))
        several = [draws[kind](draw, claim, few) for _ in range(count)]
        return Asked(tuple(PositionRequest(kind, **rest) for rest in several))

    return build().filter(lambda case: case.inside(claim))


def pieces(order: Order, ranks: int) -> int:
    """How many chunks each document is cut into."""
    return ranks if order == "contiguous" else 2 * ranks


def _part(lengths: tuple[int, ...], order: Order, rank: int, ranks: int) -> dict[str, Any]:
    return {"lengths": lengths, "rank": rank, "ranks": ranks, "order": order}


def _draw_padded(draw: Any, claim: Claim, few: bool) -> dict[str, Any]:
    from hypothesis import strategies as st

    tokens = draw(st.just(4) if few else st.integers(1, 8))
    tokens = min(tokens, claim.position_range[1] + 1)
    batch = tokens if draw(st.booleans()) else draw(st.integers(1, 3))
    same = draw(st.sampled_from(["left", "right", "holes", None]))
    rows = []
    for _ in range(batch):
        side = same or draw(st.sampled_from(["left", "right", "holes"]))
        if side == "holes":
            rows.append(tuple(draw(st.integers(0, 1)) for _ in range(tokens)))
        else:
            (row,) = _left(tokens, draw(st.integers(0, tokens)))
            rows.append(row if side == "left" else row[::-1])
    return {"mask": tuple(rows)}


def _draw_packed(draw: Any, claim: Claim, few: bool) -> dict[str, Any]:
    from hypothesis import strategies as st

    if few:
        return {"lengths": tuple(draw(st.permutations((0, 1, 2, 5))))}
    lengths = st.integers(0, 9) | st.sampled_from([1, 0, 255, 257, 2049, 33000])
    several = draw(st.lists(lengths, min_size=1, max_size=5))
    return {"lengths": tuple(min(n, claim.position_range[1] + 1) for n in several)}


def _draw_decoding(draw: Any, claim: Claim, few: bool) -> dict[str, Any]:
    from hypothesis import strategies as st

    high = claim.position_range[1]
    tokens = min(draw(st.sampled_from((1, 3)) if few else st.integers(1, 5)), high + 1)
    batch = tokens if draw(st.booleans()) else draw(st.integers(1, 3))
    spots = [p for p in positions_within(claim) if p >= 0]
    one = st.one_of(st.integers(0, 16), st.sampled_from(spots), st.integers(0, high))
    cached = tuple(min(draw(one), high + 1 - tokens) for _ in range(batch))
    return {"cached": cached, "tokens": tokens}


def _draw_part(draw: Any, claim: Claim, few: bool) -> dict[str, Any]:
    from hypothesis import strategies as st

    ranks, order = draw(st.integers(1, 5)), draw(st.sampled_from(ORDERS))
    sizes = st.sampled_from((1, 2) if few else (0, 1, 2, 3, 7))
    several = draw(st.lists(sizes, min_size=1, max_size=4))
    lengths = tuple(n * pieces(order, ranks) for n in several)
    return _part(lengths, order, draw(st.integers(0, ranks - 1)), ranks)

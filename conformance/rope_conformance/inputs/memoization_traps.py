"""Pairs of requests for positions that a memo with an incomplete key takes for one.

The two differ in one thing and agree in others that a key may be made of: sums, shapes, the
number of rows and documents, the first and the last of them, the largest, or all of them in
another order.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.target.claim import RequestKind

__all__ = ["memoization_traps"]

Fields = dict[str, Any]

_MASK = ((0, 1, 1, 1), (1, 1, 0, 1))
_MASKS = (
    _MASK,
    ((1, 1, 1, 0), (1, 1, 0, 1)),
    ((0, 1, 1, 1), (1, 0, 1, 1)),
    _MASK[::-1],
    ((0, 0, 1, 1), (1, 1, 0, 1)),
    (*_MASK, (0, 0, 1, 1)),
    ((0, 1), (1, 1), (1, 1), (0, 1)),
)
_PACKS = (
    (3, 5, 1, 2), (5, 3, 1, 2), (3, 5, 2, 1), (3, 1, 5, 2), (3, 4, 2, 2), (4, 5, 1, 1),
    (3, 5, 1, 3), (3, 5, 1), (3, 5, 3), (11,),
)  # fmt: skip
_CACHES = (
    ((3, 5), 2), ((3, 9), 2), ((8, 5), 2), ((5, 3), 2), ((4, 4), 2), ((4, 6), 2), ((3, 5), 3),
    ((2, 4), 3), ((3, 5, 5), 2), ((3,), 2),
)  # fmt: skip
# Of each kind the first, and the others that differ from it.
_ALIKE: dict[str, list[Fields]] = {
    "padded": [{"mask": mask} for mask in _MASKS],
    "packed": [{"lengths": lengths} for lengths in _PACKS],
    "decoding": [{"cached": cached, "tokens": tokens} for cached, tokens in _CACHES],
}
_PARTS: tuple[Fields, ...] = (
    {"rank": 0},
    {"ranks": 4},
    *({"lengths": lengths} for lengths in ((16, 8), (12, 12), (8, 8), (8, 16, 8))),
)


def memoization_traps(kind: RequestKind) -> list[tuple[Fields, Fields]]:
    """A request of a kind, and another that differs in one thing."""
    if kind == "context parallel":
        part: Fields = {"lengths": (8, 16), "rank": 1, "ranks": 2}
        late, pack = part | {"order": "zigzag"}, {"kind": "packed", "lengths": (8, 16)}
        pairs = [(part, late), (late, part), (pack, part), (part, pack)]
        return pairs + [(one, one | other) for one in (part, late) for other in _PARTS]
    first, *others = _ALIKE[kind]
    return [(first, other) for other in others]

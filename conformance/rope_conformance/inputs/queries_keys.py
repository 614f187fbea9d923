"""Queries and keys for the surface `logits`, and for scores made of rotated vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rope_conformance.inputs.cases import Case, Input
from rope_conformance.target.claim import Claim

__all__ = ["QueriesKeys"]


@dataclass(frozen=True)
class QueriesKeys(Input):
    """Queries and keys for scores, each with tokens and positions of its own.

    Parameters
    ----------
    q, k
        With as many rows; the heads of `q` are a multiple of those of `k`.
    """

    q: Case
    k: Case

    def inside(self, claim: Claim) -> bool:
        """Whether both lie inside the claim."""
        return self.q.inside(claim) and self.k.inside(claim)

    def size(self) -> tuple[Any, ...]:
        """The sum of both sizes, entry by entry."""
        return tuple(map(sum, zip(self.q.size(), self.k.size(), strict=True)))

    def smaller(self, token: int | None) -> Iterator[QueriesKeys]:
        """One head; one row; one query; one key or two."""
        heads = tuple(replace(case, heads=1) for case in (self.q, self.k))
        yield QueriesKeys(*heads)
        if self.q.rows or self.k.rows:
            return
        yield QueriesKeys(*(replace(case, batch=1) for case in (self.q, self.k)))
        yield QueriesKeys(_first(self.q, 1), self.k)
        yield QueriesKeys(self.q, _first(self.k, 2))
        yield QueriesKeys(self.q, _first(self.k, 1))


def _first(case: Case, tokens: int) -> Case:
    tokens = min(tokens, case.tokens)
    return replace(case, tokens=tokens, positions=tuple(case.positions[:tokens]))

"""An object that answers requests for positions; what can go wrong is a method of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.inputs.requests import PositionRequest
from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import honest
from rope_ref import RopeSpec


class Planner:
    """Positions by what each kind of request needs."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def positions(self, request: PositionRequest) -> Any:
        if request.kind == "padded":
            return self.padded(np.array(request.mask))
        if request.kind == "packed":
            return self.packed(request.lengths)
        if request.kind == "decoding":
            return self.decoding(np.array(request.cached), request.tokens)
        return self.spread(request)

    def padded(self, mask: Array) -> Any:
        return (mask.cumsum(axis=1) - 1).clip(min=0)

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return np.concatenate([np.arange(length) for length in lengths])

    def decoding(self, cached: Array, tokens: int) -> Any:
        return cached[:, None] + np.arange(tokens)

    def spread(self, request: PositionRequest) -> Any:
        parts = []
        for length in request.lengths:
            chunks = np.arange(length).reshape(self.pieces(request), -1)
            parts += [chunks[chunk] for chunk in self.chunks(request)]
        return np.concatenate(parts)

    def pieces(self, request: PositionRequest) -> int:
        return request.ranks * len(self.chunks(request))

    def chunks(self, request: PositionRequest) -> tuple[int, ...]:
        if request.order == "contiguous":
            return (request.rank,)
        return request.rank, 2 * request.ranks - 1 - request.rank

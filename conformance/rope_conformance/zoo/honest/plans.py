"""Honest answers to requests for positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.inputs.requests import PositionRequest
from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.plans import Planner

_FAR: dict[str, Any] = {"position_range": (0, 2**20)}


@control(empty=True, **_FAR)
class planner(Planner):  # noqa: N801  # named like its neighbours
    """The position of each token in NumPy arrays."""


@control(empty=True, **_FAR)
class planner_in_lists(Planner):  # noqa: N801
    """The position of each token in lists, counted one by one; padding stands at 1."""

    def padded(self, mask: Array) -> Any:
        rows = []
        for row in mask.tolist():
            seen, positions = 0, []
            for real in row:
                positions.append(seen if real else 1)
                seen += real
            rows.append(positions)
        return rows

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return [position for length in lengths for position in range(length)]

    def decoding(self, cached: Array, tokens: int) -> Any:
        return [list(range(int(n), int(n) + tokens)) for n in cached]

    def spread(self, request: PositionRequest) -> Any:
        held: list[int] = []
        for length in request.lengths:
            size = length // self.pieces(request)
            for chunk in self.chunks(request):
                held += range(chunk * size, (chunk + 1) * size)
        return held


@control(requests=("packed",), position_range=(0, 2**15 - 1))
class planner_of_packs(Planner):  # noqa: N801
    """The position of each token in a pack, in 16 bits, and nothing else."""

    def positions(self, request: PositionRequest) -> Any:
        starts = np.cumsum((0, *request.lengths[:-1]))
        running = np.arange(np.sum(request.lengths))
        return (running - np.repeat(starts, request.lengths)).astype(np.int16)

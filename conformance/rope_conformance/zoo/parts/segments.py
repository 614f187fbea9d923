"""An object that places text, images and videos; what can go wrong is a method of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import honest
from rope_ref import RopeSpec
from rope_ref.positions import GridSegment, TextSegment


class Segments:
    """Time, row and column of each token."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def segment_positions(self, segments: Sequence[TextSegment | GridSegment]) -> Any:
        start, parts = 0, []
        for segment in segments:
            if isinstance(segment, TextSegment):
                own = np.tile(np.arange(segment.tokens), (3, 1))
            else:
                own = self.grid(segment)
            parts.append(start + own)
            start += self.extent(segment, own)
        return np.concatenate(parts, axis=1)

    def grid(self, segment: GridSegment) -> Array:
        rows, columns = segment.rows // segment.merge, segment.columns // segment.merge
        frames = [math.floor(n * segment.interval) for n in range(segment.frames)]
        grid = np.meshgrid(frames, np.arange(rows), np.arange(columns), indexing="ij")
        return np.stack([axis.ravel() for axis in grid])

    def extent(self, segment: TextSegment | GridSegment, own: Array) -> int:
        return int(own.max(initial=-1)) + 1

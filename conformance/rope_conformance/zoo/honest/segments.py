"""Honest positions of text, images and videos that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.segments import Segments
from rope_ref.positions import GridSegment, TextSegment

_FAR: dict[str, Any] = {"position_range": (0, 2**20)}


@control(**_FAR)
class segments(Segments):  # noqa: N801  # named like its neighbours
    """Time, row and column of each token of text, images and videos."""


@control(**_FAR)
class segments_in_lists(Segments):  # noqa: N801
    """The same in lists, the numbers counted one by one."""

    def segment_positions(self, segments: Sequence[TextSegment | GridSegment]) -> Any:
        return super().segment_positions(segments).tolist()

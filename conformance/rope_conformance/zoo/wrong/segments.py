"""Wrong positions of text, images and videos that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.segments import Segments
from rope_ref.positions import GridSegment, TextSegment

_FAR: dict[str, Any] = {"position_range": (0, 2**20)}


@wrong(fault="multi-axis", clause="segments.grid", **_FAR)
class columns_before_rows(Segments):  # noqa: N801
    """Rows and columns of an image are exchanged."""

    def grid(self, segment: GridSegment) -> Array:
        return super().grid(segment)[[0, 2, 1]]


@wrong(fault="multi-axis", clause="segments.grid", **_FAR)
class interval_cut_first(Segments):  # noqa: N801
    """The interval between frames is cut to an integer before frames are multiplied by it."""

    def grid(self, segment: GridSegment) -> Array:
        own = super().grid(segment)
        tokens = own.shape[1] // segment.frames
        own[0] = np.repeat(np.arange(segment.frames) * int(segment.interval), tokens)
        return own


@wrong(fault="multi-axis", clause="segments.next", **_FAR)
class text_behind_rows_and_columns(Segments):  # noqa: N801
    """Text goes on behind the rows and columns of a video, while later frames are farther."""

    def extent(self, segment: TextSegment | GridSegment, own: Array) -> int:
        return int(own[1:].max()) + 1


@wrong(fault="multi-axis", clause="segments.next", **_FAR)
class text_behind_all_patches(Segments):  # noqa: N801
    """Text goes on at the number of tokens so far, as if patches stood one behind the other."""

    def extent(self, segment: TextSegment | GridSegment, own: Array) -> int:
        return int(own.shape[1])


@wrong(fault="multi-axis", clause="segments.grid", **_FAR)
class intervals_added_up(Segments):  # noqa: N801
    """Time is a sum of intervals, each rounded, and falls short of the integers."""

    def grid(self, segment: GridSegment) -> Array:
        own = super().grid(segment)
        steps = np.cumsum([0.0, *[float(segment.interval)] * (segment.frames - 1)])
        own[0] = np.repeat(np.floor(steps), own.shape[1] // segment.frames)
        return own


@wrong(fault="multi-axis", clause="segments.grid", **_FAR)
class merge_always_2(Segments):  # noqa: N801
    """Two by two patches become a token, whatever the segment says."""

    def grid(self, segment: GridSegment) -> Array:
        rows, columns = (max(size // 2, 1) * 2 for size in (segment.rows, segment.columns))
        return super().grid(
            GridSegment(segment.frames, rows, columns, interval=segment.interval, merge=2)
        )


@wrong(fault="multi-axis", clause="segments.next", **_FAR)
class image_in_front_begins_at_1(Segments):  # noqa: N801
    """A sequence that begins with an image begins at 1, as if a mark stood before it."""

    def segment_positions(self, segments: Sequence[TextSegment | GridSegment]) -> Any:
        return super().segment_positions(segments) + isinstance(segments[0], GridSegment)


@wrong(fault="multi-axis", clause="segments.next", **_FAR)
class image_over_the_image_before(Segments):  # noqa: N801
    """Only text moves the start on: an image right behind another lies over it."""

    def segment_positions(self, segments: Sequence[TextSegment | GridSegment]) -> Any:
        answer = np.asarray(super().segment_positions(segments))
        tokens = np.cumsum([0, *[each.positions().shape[1] for each in segments]])
        for n in range(1, len(segments)):
            if all(isinstance(each, GridSegment) for each in segments[n - 1 : n + 1]):
                over = answer[:, tokens[n - 1]] - answer[:, tokens[n]]
                answer[:, tokens[n] :] += over[:, None]
        return answer

"""Sequences of text, images and videos, of whose tokens the positions are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.claim import Claim
from rope_conformance.inputs import Input
from rope_ref import GridSegment, TextSegment, multimodal_positions

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Fraction", "GridSegment", "Prompt", "TextSegment", "drawn_prompts", "fixed_prompts"]

MERGE = 2  # patches, down and across, that become one token; as in all public models


@dataclass(frozen=True)
class Prompt(Input):
    """One call of ``segment_positions``.

    Parameters
    ----------
    segments
        Text, images and videos in order. Text stands first, last, and between any two
        grids, as marks of their beginning and end do in public models. The `interval` of
        an image is 1, and all grids have a `merge` of 2.
    """

    segments: tuple[TextSegment | GridSegment, ...]

    def inside(self, claim: Claim) -> bool:
        """Whether its positions lie in the claimed range."""
        low, high = claim.position_range
        return low <= 0 and int(self.positions().max()) <= high

    def size(self) -> tuple[Any, ...]:
        """How many segments, then how many tokens."""
        return (len(self.segments), self.positions().shape[1])

    def smaller(self, token: int | None) -> Iterator[Prompt]:
        """Without one grid and the text behind it; with text of one token."""
        for n in range(1, len(self.segments) - 2, 2):
            yield Prompt(self.segments[:n] + self.segments[n + 2 :])
        for n in range(0, len(self.segments), 2):
            yield Prompt((*self.segments[:n], TextSegment(1), *self.segments[n + 1 :]))

    def positions(self) -> npt.NDArray[np.int64]:
        """Time, row and column of each token: (3, T)."""
        return multimodal_positions(self.segments)

    def parts(self) -> Iterator[tuple[TextSegment | GridSegment, slice]]:
        """Each segment and its tokens."""
        start = 0
        for segment in self.segments:
            tokens = segment.positions().shape[1]
            yield segment, slice(start, start + tokens)
            start += tokens


def _between(*grids: tuple[int, int, int, Any]) -> Prompt:
    """Grids of frames, rows, columns and interval, with text around and between them."""
    segments: list[TextSegment | GridSegment] = [TextSegment(3)]
    for n, (frames, rows, columns, interval) in enumerate(grids):
        grid = GridSegment(frames, rows, columns, interval=interval, merge=MERGE)
        segments += [grid, TextSegment(2 + n)]
    return Prompt(tuple(segments))


def fixed_prompts() -> list[Prompt]:
    """Images wide and high, videos short and long, in turn."""
    image, wide, high = (1, 4, 4, 1), (1, 4, 12, 1), (1, 12, 4, 1)
    video, long, slow = (2, 8, 12, 1), (30, 8, 12, 1), (30, 8, 12, 4)
    uneven = (5, 4, 6, Fraction(3, 2))
    return [
        Prompt((TextSegment(5),)),
        *(_between(grid) for grid in (image, wide, high, video, long, slow, uneven)),
        _between(image, wide),
        _between(wide, video, image),
        _between(long, image),
        _between(slow, uneven, high),
    ]


def drawn_prompts(claim: Claim) -> SearchStrategy[Prompt]:
    """Strategy for up to three grids among text."""
    from hypothesis import strategies as st

    even = st.integers(1, 4).map(lambda n: MERGE * n)
    image = st.tuples(st.just(1), even, even, st.just(1))
    # Quarters are held by every type, and so are their multiples.
    quarters = st.integers(1, 40).map(lambda n: Fraction(n, 4))
    video = st.tuples(st.integers(2, 9), even, even, quarters)
    prompts = st.lists(image | video, min_size=1, max_size=3).map(lambda grids: _between(*grids))
    return prompts.filter(lambda prompt: prompt.inside(claim))

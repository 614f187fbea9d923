"""Sequences of text, images and videos, of whose tokens the positions are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.inputs.cases import Input
from rope_conformance.target.claim import Claim
from rope_ref.positions import GridSegment, TextSegment, multimodal_positions

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["MERGE", "Prompt", "drawn_prompts", "fixed_prompts"]

MERGE = 2  # patches, down and across, that become one token; as in all public models


@dataclass(frozen=True)
class Prompt(Input):
    """One call of ``segment_positions``.

    Parameters
    ----------
    segments
        Text, images and videos in any order. The `interval` of an image is 1, and all grids
        of a prompt have the same `merge`, as a model has one.
    """

    segments: tuple[TextSegment | GridSegment, ...]

    def inside(self, claim: Claim) -> bool:
        """Whether its positions lie in the claimed range, and nothing is empty that may not be."""
        low, high = claim.position_range
        if not claim.empty and TextSegment(0) in self.segments:
            return False
        return low <= 0 and int(self.positions().max(initial=-1)) <= high

    def size(self) -> tuple[Any, ...]:
        """How many segments, then how many tokens."""
        return (len(self.segments), self.positions().shape[1])

    def smaller(self, token: int | None) -> Iterator[Prompt]:
        """Without one segment; with text of one token."""
        segments = self.segments
        for n in range(len(segments) if len(segments) > 1 else 0):
            yield Prompt(segments[:n] + segments[n + 1 :])
        for n, segment in enumerate(segments):
            if isinstance(segment, TextSegment) and segment.tokens > 1:
                yield Prompt((*segments[:n], TextSegment(1), *segments[n + 1 :]))

    @property
    def refusable(self) -> bool:
        """Whether it may be refused, as no public model meets such a prompt.

        Two grids touch, where models put marks around images, or `merge` is not theirs.
        """
        grids = [isinstance(each, GridSegment) for each in self.segments if each.extent]
        merges = {each.merge for each in self.segments if isinstance(each, GridSegment)}
        return any(both == (True, True) for both in pairwise(grids)) or not merges <= {MERGE}

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


_Size = tuple[int, int, int, Any]  # frames, rows, columns, interval


def _prompt(*parts: int | _Size, merge: int = MERGE) -> Prompt:
    """Text of so many tokens, and grids of such sizes."""
    return Prompt(
        tuple(
            TextSegment(part)
            if isinstance(part, int)
            else GridSegment(*part[:3], interval=part[3], merge=merge)
            for part in parts
        )
    )


def fixed_prompts() -> list[Prompt]:
    """Images wide and high, videos short and long, in turn, with text between them or not."""
    image, wide, high = (1, 4, 4, 1), (1, 4, 12, 1), (1, 12, 4, 1)
    video, long, slow = (2, 8, 12, 1), (30, 8, 12, 1), (30, 8, 12, 4)
    uneven = (5, 4, 6, Fraction(3, 2))
    # Ten times a tenth is 1, in exact numbers, in float64 and in float32; a sum may fall short.
    tenths, more = (21, 4, 4, Fraction(1, 10)), (11, 4, 4, Fraction(3, 10))
    return [
        _prompt(5),
        *(_prompt(3, grid, 2) for grid in (image, wide, high, video, long, slow, uneven)),
        _prompt(3, image, 2, wide, 3),
        _prompt(3, wide, 2, video, 3, image, 4),
        _prompt(3, long, 2, image, 3),
        _prompt(3, slow, 2, uneven, 3, high, 4),
        _prompt(3, tenths, 2, more, 3),
        *(_prompt(grid, 3) for grid in (wide, high, long)),
        _prompt(wide),
        _prompt(2, high),
        _prompt(2, image, wide, 3),
        _prompt(high, image, wide, image, 2),
        _prompt(2, long, wide, 2),
        _prompt(2, wide, long, video, 3),
        _prompt(0, image, 0, wide, 0, 2, long, 0),
        _prompt(3, (1, 5, 3, 1), 2, (4, 2, 3, 1), 2, merge=1),
        _prompt(3, (1, 9, 15, 1), 2, (3, 6, 3, 2), 2, (1, 12, 3, 1), 1, merge=3),
    ]


def drawn_prompts(claim: Claim) -> SearchStrategy[Prompt]:
    """Strategy for up to three grids, and text before, between and behind them or not."""
    from hypothesis import strategies as st

    # Quarters are held by every type, and so are their multiples.
    quarters = st.integers(1, 40).map(lambda n: Fraction(n, 4))
    fewest = 0 if claim.empty else 1
    text = st.integers(fewest, 4)

    @st.composite
    def build(draw: Any) -> Prompt:
        merge = draw(st.sampled_from([MERGE, MERGE, 1, 3]))
        parts: list[int | _Size] = []
        for _ in range(draw(st.integers(1, 3))):
            parts += [] if draw(st.booleans()) else [draw(text)]
            frames = draw(st.integers(1, 9))
            rows, columns = (merge * draw(st.integers(1, 4)) for _ in range(2))
            parts.append((frames, rows, columns, draw(quarters) if frames > 1 else 1))
        parts += [] if draw(st.booleans()) else [draw(text)]
        return _prompt(*parts, merge=merge)

    return build().filter(lambda prompt: prompt.inside(claim))

"""Reads the conventions of a black box from what it does to unit vectors.

A RoPE is linear in x and block diagonal. The image of one unit vector shows which
channel it is paired with, where the pair is written, and which way it turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.describing.words import layout_in_words
from rope_conformance.inputs.position_axes import at_one_place
from rope_conformance.inputs.shapes import ROW
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.frameworks import Array, data_type
from rope_ref import RopeSpec, pair_channels
from rope_ref.spec import LAYOUTS, Layout

__all__ = ["ChannelMap", "map_at", "read_map", "visible_pairs"]

_CLOSE = 2**-8  # sines that differ by less may be the same one, rounded
_VISIBLE = 1e-9  # a channel that a unit vector does not reach is exactly 0


@dataclass(frozen=True)
class ChannelMap:
    """What the map of one position shows.

    Parameters
    ----------
    reaches
        For each input channel, the output channels that it shows on.
    matrix
        The map itself.
    """

    reaches: tuple[tuple[int, ...], ...]
    matrix: FloatArray

    def moving(self) -> list[int]:
        """Input channels that do not simply pass through."""
        return [
            j
            for j, rows in enumerate(self.reaches)
            if rows != (j,) or abs(self.matrix[j, j] - 1) > _VISIBLE
        ]

    def fits(self, spec: RopeSpec, position: int) -> bool:
        """Whether every pair that can be seen is read and written as `spec` says."""
        for _, channels, written in visible_pairs(spec, position):
            if any(self.reaches[j] != tuple(sorted(written)) for j in channels):
                return False
        return True

    def layouts(self, spec: RopeSpec, position: int) -> list[tuple[Layout, Layout]]:
        """The (layout, output layout) that fit, with all else as in `spec`."""
        return [
            (read, written)
            for read in LAYOUTS
            for written in LAYOUTS
            if self.fits(_with_layout(spec, read, written), position)
        ]

    def direction(self, spec: RopeSpec, position: int) -> int:
        """1 or -1 if every pair that can be seen turns that way, else 0."""
        signs = set()
        for pair, (first, _), (_, second_out) in visible_pairs(spec, position):
            want = np.sin(position * spec.theta()[pair])
            got = self.matrix[second_out, first]
            # NaN has no direction.
            signs.add(0 if np.isnan(got) else int(np.sign(got) * np.sign(want)))
        return signs.pop() if len(signs) == 1 else 0

    def all_in_pairs(self, spec: RopeSpec, position: int) -> bool:
        """Whether every channel that can be seen turns with one other, whichever that is."""
        seen = [j for _, channels, _ in visible_pairs(spec, position) for j in channels]
        together: dict[tuple[int, ...], int] = {}
        for j in seen:
            together[self.reaches[j]] = together.get(self.reaches[j], 0) + 1
        return bool(seen) and all(len(to) == n == 2 for to, n in together.items())

    def overwritten(self, spec: RopeSpec, position: int) -> str | None:
        """Whether the second component is made of the result of the first one, in words."""
        visible = visible_pairs(spec, position)
        for _, (u, v), (first, second) in visible:
            c, s = self.matrix[first, u], -self.matrix[first, v]
            own = self.matrix[second, u], self.matrix[second, v]
            if not np.allclose(own, (c * s, c - s * s), rtol=0, atol=_CLOSE):
                return None
        if not visible or all(self.matrix[w[0], c[0]] > 1 - _CLOSE for _, c, w in visible):
            return None
        return "the first channel is written over before the second is made from it"

    def sine_of_another_pair(self, spec: RopeSpec, position: int) -> str | None:
        """Whether a pair has the sine of another pair beside its own cosine, in words."""
        visible, phase = visible_pairs(spec, position), position * spec.theta()
        sines, cosines = np.abs(np.sin(phase)), np.abs(np.cos(phase))
        own = [abs(abs(self.matrix[w[0], c[0]]) - cosines[pair]) for pair, c, w in visible]
        if max(own, default=1.0) > _CLOSE:
            return None
        for pair, (u, v), (first, second) in visible:
            sine = abs(self.matrix[second, u])
            near = int(np.argmin(np.abs(sines - sine)))
            same = abs(sine - abs(self.matrix[first, v])) < _CLOSE
            # Of slow pairs all cosines are about 1: they could be another's too.
            apart = min(abs(sine - sines[pair]), abs(cosines[near] - cosines[pair])) > 4 * _CLOSE
            if same and apart and abs(sines[near] - sine) < _CLOSE:
                return f"the sine of pair {pair} is that of pair {near}, its cosine is its own"
        return None

    def sines_of_other_pairs(self, spec: RopeSpec, position: int) -> list[int]:
        """Pairs whose channels have different sines, where each is that of some pair."""
        visible = visible_pairs(spec, position)
        known = np.abs(np.sin(position * spec.theta()))
        found = []
        for pair, (u, v), (first, second) in visible:
            sines = np.abs([self.matrix[first, v], self.matrix[second, u]])
            if not all((np.abs(known - sine) < _CLOSE).any() for sine in sines):
                return []
            if abs(sines[0] - sines[1]) > 4 * _CLOSE:
                found.append(pair)
        return found

    def in_words(self, spec: RopeSpec, position: int) -> str:
        """What pairing was found."""
        found = self.layouts(spec, position)
        if found:
            read, written = found[0]
            words = f"pairs are {layout_in_words(read, spec)}"
            if written != read:
                words += f" but written as {layout_in_words(written, spec)}"
            return words
        moving = self.moving()
        examples = "; ".join(
            f"channel {j} comes out on {_channels_in_words(self.reaches[j])}" for j in moving[:3]
        )
        if not moving:
            return "no channel moves"
        return f"the pairs are in no known layout: {examples}"


def visible_pairs(
    spec: RopeSpec, position: int
) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Pairs whose turn shows on both channels: number, channels read, channels written."""
    phase = position * spec.theta()
    seen = np.flatnonzero((np.abs(np.sin(phase)) > 1e-7) & (np.abs(np.cos(phase)) > 1e-7))
    read, written = pair_channels(spec), pair_channels(spec, output=True)
    return [
        (int(i), (int(read[0, i]), int(read[1, i])), (int(written[0, i]), int(written[1, i])))
        for i in seen
    ]


def read_map(context: CheckContext, position: int) -> ChannelMap:
    """Read an implementation's map at a position."""
    matrix = map_at(context, position)
    reaches = tuple(
        tuple(int(r) for r in np.flatnonzero(~(np.abs(column) <= _VISIBLE))) for column in matrix.T
    )
    return ChannelMap(reaches, matrix)


def map_at(context: CheckContext, position: int) -> FloatArray:
    """The (D, D) matrix an implementation multiplies by at a position, from unit vectors."""
    d = context.spec.head_dim
    unit = np.eye(d).astype(data_type(context.dtype))
    axes, forms = context.claim.axes, context.claim.position_forms
    if "t" in forms or "bt" in forms:
        return _images(context, unit, position).T
    # Positions count from a start: the unit vectors go where a token can be repeated.
    start = position if "offset" in forms else 0
    tokens = position - start + 1
    columns = []
    if "b" in axes:
        x = np.broadcast_to(unit[:, None, None, :], (d, tokens, 1, d))
        columns = list(context.arrays.apply(x, np.arange(start, start + tokens))[:, -1, 0])
    else:
        for vector in unit:
            x = np.broadcast_to(vector, (1, tokens, 1, d))
            columns.append(context.arrays.apply(x, np.arange(start, start + tokens))[0, -1, 0])
    return np.asarray(columns, dtype=np.float64).T


def _images(context: CheckContext, vectors: Array, position: int) -> FloatArray:
    """What each of many vectors becomes at a position, as the tokens of a row."""
    if not context.namespace.fixed_shapes:
        p = at_one_place(position, len(vectors), context.spec)
        y = context.arrays.apply(vectors[None, :, None, :], p)
        return np.asarray(y[0, :, 0, :], dtype=np.float64)
    # Each new shape is a compilation: as many tokens, and as many rows, as in other inputs.
    rows = np.resize(vectors, (-(-len(vectors) // ROW), ROW, vectors.shape[1]))
    batch = 2 if "b" in context.claim.axes else 1
    p = at_one_place(position, ROW, context.spec)
    images = [
        context.arrays.apply(np.repeat(row[None, :, None], batch, axis=0), p)[0, :, 0]
        for row in rows
    ]
    return np.concatenate(images)[: len(vectors)].astype(np.float64)


def _with_layout(spec: RopeSpec, layout: Layout, output_layout: Layout) -> RopeSpec:
    return replace(spec, layout=layout, output_layout=output_layout)


def _channels_in_words(channels: tuple[int, ...]) -> str:
    """Up to four channels by their numbers, more by how many they are."""
    if len(channels) > 4:
        return f"{len(channels)} channels"
    return " and ".join(map(str, channels)) or "none"

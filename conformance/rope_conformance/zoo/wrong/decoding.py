"""Wrong positions of a request that grows: steps, chunks, further requests, rows, long ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.cached import Request
from rope_conformance.zoo.parts.plain import rotate
from rope_ref import RopeSpec

_SIZE = 2048  # of a table that is made in advance


# Where the next token stands


@wrong(fault="cache", clause="decode.prefill")
class decode_position_frozen(Request):  # noqa: N801  # named like its neighbours
    """Every step is rotated as the first one, whose position was compiled in."""

    def start(self) -> Any:
        super().start()
        self.compiled: list[Array] = []

    def step(self, x: Array) -> Array:
        self.compiled = self.compiled or [self.places(x)]
        y = self.rotated(x, self.compiled[0])
        self.keep(x, y)
        self.go_on(x, None)
        return y


@wrong(fault="position", clause="decode.prefill")
class decode_adds_prompt_again(Request):  # noqa: N801
    """The length of the prompt is added once more before the first step: 5, 10, 11."""

    def start(self) -> Any:
        super().start()
        self.prompt = 0

    def go_on(self, x: Array, lengths: Array | None) -> None:
        super().go_on(x, lengths)
        self.prompt = x.shape[1] if x.shape[1] > 1 else 0

    def step(self, x: Array) -> Array:
        self.next = self.next + self.prompt
        return super().step(x)


@wrong(fault="position", clause=("decode.prefill", "decode.sequence"))
class decode_offset_lags(Request):  # noqa: N801
    """The offset is read before the last call's tokens are appended to the cache."""

    def start(self) -> Any:
        super().start()
        self.lengths = [0, 0]

    def places(self, x: Array) -> Array:
        return self.lengths[-2] + np.arange(x.shape[1])[None]

    def go_on(self, x: Array, lengths: Array | None) -> None:
        super().go_on(x, lengths)
        self.lengths.append(self.lengths[-1] + x.shape[1])


@wrong(fault="position", clause=("decode.prefill", "decode.sequence"))
class decode_offset_lost(Request):  # noqa: N801
    """A step makes its position from its one token: 0."""

    def step(self, x: Array) -> Array:
        return self.rotated(x, np.arange(x.shape[1]))


@wrong(fault="position", clause="decode.prefill")
class decode_one_past(Request):  # noqa: N801
    """A step takes the row of the table behind its token's."""

    def step(self, x: Array) -> Array:
        y = self.rotated(x, self.places(x) + 1)
        self.keep(x, y)
        self.go_on(x, None)
        return y


@wrong(fault="cache", clause="decode.prefill")
class decode_table_slice_swapped(Request):  # noqa: N801
    """A step's rows of the table are copied to where they came from: cos and sin are 0."""

    def step(self, x: Array) -> Array:
        super().step(x)
        nothing = np.zeros((x.shape[1], len(self.theta)), dtype=np.float32)
        return rotate(x, nothing, nothing, self.spec)


@wrong(fault="kernel-shape", clause="decode.prefill")
class decode_first_row_only(Request):  # noqa: N801
    """With one token per row only the first row is written."""

    def rotated(self, x: Array, positions: Array) -> Array:
        y = super().rotated(x, positions)
        if x.shape[1] == 1 and self.kept:
            y[1:] = 0
        return y


@wrong(fault="cache", clause="decode.requests")
class decode_apply_moves_offset(Request):  # noqa: N801
    """apply_rope, called for something else, leaves its positions behind."""

    def apply_rope(self, x: Array, positions: Array) -> Array:
        self.next = positions[..., -1:].reshape(-1) + 1
        return super().apply_rope(x, positions)


@wrong(fault="cache", clause="decode.requests")
class decode_counter_of_the_class(Request):  # noqa: N801
    """All objects count their tokens in one place."""

    count: dict[str, Array] = {}  # noqa: RUF012  # that is the fault

    def start(self) -> Any:
        self.count["next"] = np.zeros(1, dtype=np.int64)
        self.kept = []

    def places(self, x: Array) -> Array:
        return self.count["next"][:, None] + np.arange(x.shape[1])

    def go_on(self, x: Array, lengths: Array | None) -> None:
        self.next = self.count["next"] + (x.shape[1] if lengths is None else lengths)
        self.count["next"] = self.next


@wrong(fault="aliasing", clause="decode.prefill")
class decode_reuses_buffer(Request):  # noqa: N801
    """All steps return the same array."""

    def step(self, x: Array) -> Array:
        y = super().step(x)
        buffer = getattr(self, "buffer", y)
        self.buffer = buffer if buffer.shape == y.shape else y
        self.buffer[...] = y
        return self.buffer


@wrong(fault="scaling", clause="decode.prefill")
class decode_amplitude_in_prefill_only(Request):  # noqa: N801
    """Steps are rotated without the amplitude."""

    def step(self, x: Array) -> Array:
        amplitude, self.amplitude = self.amplitude, np.float32(1)
        y = super().step(x)
        self.amplitude = amplitude
        return y


@wrong(PARTIAL, fault="partial", clause="decode.prefill")
class decode_rotates_all_channels(Request):  # noqa: N801
    """Steps rotate the whole head."""

    def step(self, x: Array) -> Array:
        whole = Request(replace(self.spec, rotary_dim=self.spec.head_dim))
        y = whole.rotated(x, self.places(x))
        self.keep(x, y)
        self.go_on(x, None)
        return y


# Chunks, further requests, rows


@wrong(fault="position", clause="decode.chunks")
class decode_chunk_restarts(Request):  # noqa: N801
    """Every prefill starts at 0, the next chunk too."""

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        if x.shape[1] > 1:
            self.next = 0 * self.next
        return super().prefill(x, lengths)


@wrong(fault="cache", clause="decode.chunks")
class decode_table_by_length(Request):  # noqa: N801
    """Tables of chunks are kept by the number of tokens, whatever the offset."""

    def __init__(self, spec: RopeSpec) -> None:
        self.tables: dict[int, Array] = {}
        super().__init__(spec)

    def places(self, x: Array) -> Array:
        own = super().places(x)
        return own if x.shape[1] == 1 else self.tables.setdefault(x.shape[1], own)


@wrong(fault="position", clause="decode.chunks")
class decode_chunk_length_for_offset(Request):  # noqa: N801
    """A chunk's offset is the length of the chunk before it."""

    def go_on(self, x: Array, lengths: Array | None) -> None:
        chunk = x.shape[1] > 1 and lengths is None
        self.next = np.array([x.shape[1]]) if chunk else self.next + x.shape[1]


@wrong(fault="cache", clause=("decode.requests", "decode.sequence"))
class decode_request_continues(Request):  # noqa: N801
    """A new request goes on at the former one's position."""

    def start(self) -> Any:
        self.next = getattr(self, "next", np.zeros(1, dtype=np.int64)).max(keepdims=True)
        self.kept = []


@wrong(fault="cache", clause="decode.requests")
class decode_longest_request_counts(Request):  # noqa: N801
    """Steps follow the longest prompt that there has been."""

    longest = 0

    def go_on(self, x: Array, lengths: Array | None) -> None:
        super().go_on(x, lengths)
        if x.shape[1] > 1:
            self.longest = max(self.longest, x.shape[1])
            self.next = np.maximum(self.next, self.longest)


@wrong(fault="cache", clause="decode.requests")
class decode_first_prompt_kept(Request):  # noqa: N801
    """A prompt of a length seen before gets the result kept from then."""

    def __init__(self, spec: RopeSpec) -> None:
        self.results: dict[tuple[int, ...], Array] = {}
        super().__init__(spec)

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        y = super().prefill(x, lengths)
        return y if x.shape[1] == 1 else self.results.setdefault(x.shape, y).copy()


@wrong(fault="position", clause="decode.rows")
class decode_lengths_ignored(Request):  # noqa: N801
    """Padding counts as tokens."""

    def go_on(self, x: Array, lengths: Array | None) -> None:
        super().go_on(x, None)


@wrong(fault="position", clause="decode.rows")
class decode_rows_follow_first(Request):  # noqa: N801
    """All rows go on where the first one does."""

    def places(self, x: Array) -> Array:
        return super().places(x)[:1]


@wrong(fault="position", clause="decode.rows")
class decode_rows_follow_longest(Request):  # noqa: N801
    """All rows go on behind the longest."""

    def go_on(self, x: Array, lengths: Array | None) -> None:
        super().go_on(x, None if lengths is None else lengths.max())


@wrong(fault="position", clause="decode.rows")
class decode_lengths_from_the_left(Request):  # noqa: N801
    """Rows are taken to be padded on the left."""

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        if lengths is None:
            return super().prefill(x)
        positions = self.places(x) - (x.shape[1] - lengths)[:, None]
        y = self.rotated(x, positions)
        self.keep(x, y)
        self.go_on(x, lengths)
        return y


# The end of the table


@wrong(fault="cache", clause="decode.long")
class decode_wraps_at_table_end(Request):  # noqa: N801
    """Behind the last row of the table comes the first."""

    def places(self, x: Array) -> Array:
        return super().places(x) % _SIZE


@wrong(fault="cache", clause="decode.long")
class decode_clamps_at_table_end(Request):  # noqa: N801
    """Behind the last row of the table comes the last, over and over."""

    def places(self, x: Array) -> Array:
        return np.minimum(super().places(x), _SIZE - 1)


@wrong(fault="angle-precision", clause="decode.long")
class decode_table_regrown_rounded(Request):  # noqa: N801
    """When the table is too short a longer one is made from frequencies in bfloat16."""

    def places(self, x: Array) -> Array:
        positions = super().places(x)
        if positions.size and positions.max() >= _SIZE:
            bits = self.theta.view(np.uint32)
            self.theta = (bits & np.uint32(0xFFFF0000)).view(np.float32)
        return positions


@wrong(fault="cache", clause="decode.long")
class decode_table_regrown_from_zero(Request):  # noqa: N801
    """A step that finds the table too short makes it anew, and takes the first row."""

    size = 512

    def places(self, x: Array) -> Array:
        positions = super().places(x)
        if positions.size and positions.max() >= self.size:
            self.size *= 2
            return positions if x.shape[1] > 1 else 0 * positions
        return positions


@wrong(fault="angle-precision", clause="decode.long")
class decode_positions_bfloat16(Request):  # noqa: N801
    """The position of a step is held in bfloat16."""

    def step(self, x: Array) -> Array:
        bits = self.next.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        y = self.rotated(x, bits.view(np.float32)[:, None])
        self.keep(x, y)
        self.go_on(x, None)
        return y


@wrong(fault="position", clause="decode.long")
class decode_positions_int16(Request):  # noqa: N801
    """Positions are 16 bits wide."""

    def places(self, x: Array) -> Array:
        return super().places(x).astype(np.int16)

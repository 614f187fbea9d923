"""Wrong kernels: loops that end too early, addresses, axes taken for others."""

from __future__ import annotations

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import Rope, angles, frequencies, honest, rotate
from rope_ref import RopeSpec

# Loops that end too early


@wrong(fault="kernel-shape", clause="frequency.phase")
def single_token_first_row_only(spec: RopeSpec) -> Rope:
    """With one token per row only the first row is written, the others stay 0."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        if x.shape[1] == 1:
            y[1:] = 0
        return y

    return rope


@wrong(fault="kernel-shape", clause="frequency.phase")
def single_token_other_rows_unrotated(spec: RopeSpec) -> Rope:
    """With one token per row only the first row is rotated, the others are copied."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        if x.shape[1] == 1:
            y[1:] = x[1:]
        return y

    return rope


@wrong(fault="kernel-shape", clause="independence.chunks")
def skips_first_token(spec: RopeSpec) -> Rope:
    """The first token of a call is copied, as if it always stood at position 0."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[:, :1] = x[:, :1]
        return y

    return rope


@wrong(fault="kernel-shape", clause=("frequency.phase", "score.offset"))
def skips_last_odd_token(spec: RopeSpec) -> Rope:
    """Tokens are rotated two at a time, and one left over is copied."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        whole = x.shape[1] - x.shape[1] % 2
        y[:, whole:] = x[:, whole:]
        return y

    return rope


@wrong(fault="kernel-shape", clause="frequency.phase")
def skips_last_odd_head(spec: RopeSpec) -> Rope:
    """Heads are rotated two at a time, and one left over is copied."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        whole = x.shape[2] - x.shape[2] % 2
        y[:, :, whole:] = x[:, :, whole:]
        return y

    return rope


@wrong(fault="kernel-shape", clause="frequency.widths")
def eight_pairs_at_a_time(spec: RopeSpec) -> Rope:
    """Pairs are rotated eight at a time, and those left over are not."""
    theta = frequencies(spec)
    theta[theta.size - theta.size % 8 :] = 0
    return lambda x, positions: honest(x, positions, spec, theta)


@wrong(fault="kernel-shape", clause="frequency.phase")
def at_most_4096_tokens(spec: RopeSpec) -> Rope:
    """The grid of the kernel ends after 4096 tokens; those behind are copied."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[:, 4096:] = x[:, 4096:]
        return y

    return rope


@wrong(fault="kernel-shape", clause="frequency.phase")
def at_most_16_rows(spec: RopeSpec) -> Rope:
    """The grid of the kernel ends after 16 batch rows; those behind are copied."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[16:] = x[16:]
        return y

    return rope


@wrong(fault="position", clause=("table.identity", "independence.chunks"))
def single_token_one_past(spec: RopeSpec) -> Rope:
    """A single token, as in decoding, is rotated by the row after its own."""

    def rope(x: Array, positions: Array) -> Array:
        return honest(x, positions + int(x.shape[1] == 1), spec)

    return rope


# Addresses


@wrong(fault="kernel-shape", clause="frequency.phase")
def address_wraps(spec: RopeSpec) -> Rope:
    """The address of a token within its row wraps after 2**15 numbers."""

    def rope(x: Array, positions: Array) -> Array:
        width = x.shape[2] * x.shape[3]
        start = np.arange(x.shape[1])[:, None] * width % 2**15
        flat = x.reshape(x.shape[0], -1)
        return honest(flat[:, start + np.arange(width)].reshape(x.shape), positions, spec)

    return rope


@wrong(fault="kernel-shape", clause="data.strides", strided=True)
def token_stride_assumed(spec: RopeSpec) -> Rope:
    """Tokens are taken to lie heads x head_dim apart, whatever the stride of a view."""

    def rope(x: Array, positions: Array) -> Array:
        strides = list(x.strides)
        strides[1] = x.shape[2] * x.shape[3] * x.itemsize
        packed = np.lib.stride_tricks.as_strided(x, x.shape, strides)
        return honest(packed.copy(), positions, spec)

    return rope


@wrong(RopeSpec(96, layout="half"), fault="kernel-shape", clause="frequency.widths")
def sin_block_by_padded_width(spec: RopeSpec) -> Rope:
    """In a row of all cos and then all sin, sin is looked for behind a power of two."""
    return lambda x, positions: rotate(x, *padded_rows(*_table(spec, positions)), spec)


# Axes


@wrong(fault="broadcast", clause="frequency.phase")
def head_index_added(spec: RopeSpec) -> Rope:
    """The number of the head is added to the position."""

    def rope(x: Array, positions: Array) -> Array:
        heads = [honest(x[:, :, [h]], positions + h, spec) for h in range(x.shape[2])]
        return np.concatenate(heads, axis=2)

    return rope


@wrong(fault="broadcast", clause="table.identity")
def head_number_for_position(spec: RopeSpec) -> Rope:
    """The last axis but one is taken for the tokens: the phase is that of the head's number."""

    def rope(x: Array, positions: Array) -> Array:
        turned = honest(x.swapaxes(1, 2), np.arange(x.shape[2]), spec)
        return np.ascontiguousarray(turned.swapaxes(1, 2))

    return rope


@wrong(fault="broadcast", clause="frequency.phase")
def square_batch_transposed(spec: RopeSpec) -> Rope:
    """Where there are as many rows as tokens, positions run along the rows."""

    def rope(x: Array, positions: Array) -> Array:
        if x.shape[0] != x.shape[1] or positions.ndim == 2:
            return honest(x, positions, spec)
        return honest(x, np.repeat(positions[:, None], x.shape[1], axis=1), spec)

    return rope


@wrong(fault="broadcast", clause=("frequency.phase", "independence.rows"))
def rows_and_heads_exchanged(spec: RopeSpec) -> Rope:
    """Where there are as many rows as heads, and several, they change places."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        return y.swapaxes(0, 2).copy() if x.shape[0] == x.shape[2] else y

    return rope


@wrong(fault="position", clause=("frequency.phase", "rotation.compose"))
def rows_numbered_through(spec: RopeSpec) -> Rope:
    """Tokens are numbered through the flattened batch: row b starts at b T."""

    def rope(x: Array, positions: Array) -> Array:
        batch, tokens = x.shape[:2]
        return honest(x, positions + tokens * np.arange(batch)[:, None], spec)

    return rope


def _table(spec: RopeSpec, positions: Array) -> tuple[Array, Array]:
    phase = angles(positions, frequencies(spec))
    return np.cos(phase), np.sin(phase)


def padded_rows(cos: Array, sin: Array) -> tuple[Array, Array]:
    """What is found where sin is looked for: rows of cos and sin lie behind each other."""
    pairs = cos.shape[-1]
    rows = np.concatenate([cos, sin], axis=-1)
    offset = (1 << (2 * pairs - 1).bit_length()) // 2
    start = np.arange(cos.size // pairs)[:, None] * 2 * pairs + offset
    found = rows.ravel()[(start + np.arange(pairs)) % rows.size]
    return cos, found.reshape(cos.shape)


# Positions said in more than one form


@wrong(fault="position", clause="independence.chunks", position_forms=("t", "offset"))
def offset_one_late(spec: RopeSpec) -> Rope:
    """An offset is the last position before the tokens, an array has those of the tokens."""

    def rope(x: Array, positions: Array | int) -> Array:
        if isinstance(positions, int):
            positions = positions + 1 + np.arange(x.shape[1])
        return honest(x, positions, spec)

    return rope


@wrong(fault="position", clause="independence.chunks", position_forms=("t", "none"))
def without_positions_from_one(spec: RopeSpec) -> Rope:
    """Without positions the first token stands at 1."""

    def rope(x: Array, positions: Array | None = None) -> Array:
        return honest(x, 1 + np.arange(x.shape[1]) if positions is None else positions, spec)

    return rope


@wrong(fault="position", clause="independence.chunks")
def positions_read_as_64_bits(spec: RopeSpec) -> Rope:
    """Positions are read as integers of 64 bits, of whatever width they are."""

    def rope(x: Array, positions: Array) -> Array:
        words = np.zeros(positions.size, np.int64)
        words.view(np.uint8)[: positions.nbytes] = np.frombuffer(positions.tobytes(), np.uint8)
        return honest(x, words.reshape(positions.shape), spec)

    return rope

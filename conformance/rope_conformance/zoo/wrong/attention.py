"""Attention layers that mix up q, k and v, their heads or their memory."""

from __future__ import annotations

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.layers import InPlaceLayer, Layer
from rope_conformance.zoo.parts.plain import join, split
from rope_ref import RopeSpec

Three = tuple[Array, Array, Array]


@wrong(fault="aliasing", clause=("attention.crossed", "attention.heads"))
class crossed_registers(Layer):  # noqa: N801
    """The second half of q is made from k, the first half of k from q."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        cos, sin = (part[..., None, :] for part in self.table(positions))
        shared = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
        (a, b), (c, d) = split(q, self.spec), split(shared, self.spec)
        new_q = join(q, a * cos - b * sin, d * cos + c * sin, self.spec)
        new_k = join(shared, a * cos - b * sin, c * sin + d * cos, self.spec)
        return new_q, new_k[:, :, :: q.shape[2] // k.shape[2]], v


@wrong(fault="kernel-shape", clause="attention.heads")
class query_stride_for_keys(Layer):  # noqa: N801
    """The heads of k are looked up with the distance between tokens of q."""

    def keys_of(self, q: Array, k: Array) -> Array:
        batch, tokens, heads, width = k.shape
        token = np.arange(batch * tokens)[:, None] * q.shape[2] * width
        address = token + np.arange(heads * width)
        return np.asarray(np.take(k.ravel(), address, mode="wrap")).reshape(k.shape)

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        return super().qkv(q, self.keys_of(q, k), v, positions)


@wrong(fault="kernel-shape", clause="attention.memory", in_place=True, strided=True)
class writes_past_the_key_heads(InPlaceLayer):  # noqa: N801
    """In place, as many heads of k are rotated as q has, whatever lies behind those of k."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        q, k = self.apply_rope(q, positions), self.apply_rope(k, positions)
        memory, first = _memory(k)
        behind = first + sum((n - 1) * s for n, s in zip(k.shape, k.strides, strict=True)) // (
            k.itemsize
        )
        extra = (q.shape[2] - k.shape[2]) * k.shape[3]
        memory[behind + 1 : behind + 1 + extra] *= -1
        return q, k, v


def _memory(x: Array) -> tuple[Array, int]:
    """All of the memory that an array is a view of, and where in it the array begins."""
    whole = x
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    start = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return whole.reshape(-1), start // x.itemsize


@wrong(fault="kernel-shape", clause="attention.heads")
class one_head_count(Layer):  # noqa: N801
    """The number of query heads serves for k too: k's memory is cut into that many heads."""

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(k, positions)

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        width, count = k.shape[3], q.shape[2]
        heads = k.reshape(-1, width)
        row = np.arange(len(heads)) // count  # should be by the heads of k
        batch, tokens = k.shape[:2]
        p = np.broadcast_to(positions, (batch, tokens)).ravel()[row]
        rotated = self.apply_rope(heads[None, :, None], p)
        return self.apply_rope(q, positions), rotated.reshape(k.shape), v


@wrong(fault="kernel-shape", clause="attention.heads")
class rotates_as_many_query_as_key_heads(Layer):  # noqa: N801
    """The number of key heads serves for q too: the other query heads stay as they are."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        turned, some = q.copy(), k.shape[2]
        turned[:, :, :some] = self.apply_rope(q[:, :, :some], positions)
        return turned, self.apply_rope(k, positions), v


@wrong(fault="kernel-shape", clause="attention.heads")
class keys_beyond_a_block(Layer):  # noqa: N801
    """Of k 64 tokens are rotated; those beyond are handed on."""

    def keys(self, k: Array, positions: Array) -> Array:
        turned = self.apply_rope(k, positions)
        turned[:, 64:] = k[:, 64:]
        return turned


@wrong(fault="dtype", clause="attention.kept")
class keys_come_out_wider(Layer):  # noqa: N801
    """k comes out as float64, q as it went in."""

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(k, positions).astype(np.float64)


@wrong(fault="kernel-shape", clause="attention.kept")
class keys_repeated_to_query_heads(Layer):  # noqa: N801
    """k comes out with the heads of q, each repeated for its group."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        turned = self.apply_rope(k, positions)
        repeated = np.repeat(turned, q.shape[2] // k.shape[2], axis=2)
        return self.apply_rope(q, positions), repeated, v


@wrong(fault="broadcast", clause="attention.heads")
class first_key_head_for_all(Layer):  # noqa: N801
    """Every head of k gets what the first one holds."""

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(np.broadcast_to(k[:, :, :1], k.shape), positions)


@wrong(fault="broadcast", clause="attention.heads")
class takes_key_heads_for_tokens(Layer):  # noqa: N801
    """Where k has as many heads as tokens, its phases go along the heads."""

    def keys(self, k: Array, positions: Array) -> Array:
        if k.shape[1] != k.shape[2] or positions.ndim > 1:
            return self.apply_rope(k, positions)
        return self.apply_rope(k.swapaxes(1, 2), positions).swapaxes(1, 2)


@wrong(fault="broadcast", clause="attention.heads", position_forms=("t", "bt"))
class row_zero_positions_for_keys(Layer):  # noqa: N801
    """Every row of k stands where the first row of q does."""

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(k, positions[0] if positions.ndim == 2 else positions)


@wrong(fault="aliasing", clause="attention.heads")
class keys_swapped_with_queries(Layer):  # noqa: N801
    """Where they have as many heads, k is returned first."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        new_q, new_k, v = super().qkv(q, k, v, positions)
        return (new_k, new_q, v) if q.shape == k.shape else (new_q, new_k, v)


@wrong(fault="sign", clause="attention.heads")
class keys_turn_the_other_way(Layer):  # noqa: N801
    """k is rotated by minus the phase."""

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(k, -positions)


@wrong(fault="position", clause="attention.heads")
class keys_not_rotated(Layer):  # noqa: N801
    """k is handed on like v."""

    def keys(self, k: Array, positions: Array) -> Array:
        return k.copy()


@wrong(fault="aliasing", clause="attention.heads")
class overwrites_before_reading(Layer):  # noqa: N801
    """The second channels of k are made from first ones that are rotated already."""

    def keys(self, k: Array, positions: Array) -> Array:
        cos, sin = (part[..., None, :] for part in self.table(positions))
        u, v = split(k, self.spec)
        u = u * cos - v * sin
        return join(k, u, u * sin + v * cos, self.spec)


@wrong(fault="aliasing", clause=("attention.crossed", "attention.heads"))
class one_scratch_for_both(Layer):  # noqa: N801
    """q and k are rotated in one piece of memory, where they have the same shape."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        new_q, new_k, v = super().qkv(q, k, v, positions)
        if q.shape == k.shape:
            new_q[...] = new_k
            new_k = new_q
        return new_q, new_k, v


@wrong(fault="aliasing", clause="attention.memory", strided=True)
class overwrites_packed_queries(Layer):  # noqa: N801
    """q is rotated where it lies if it is part of a larger buffer."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        new_q, new_k, v = super().qkv(q, k, v, positions)
        if not q.flags.c_contiguous:
            q[...] = new_q
            new_q = q
        return new_q, new_k, v


@wrong(fault="aliasing", clause="attention.memory", in_place=True)
class in_place_on_a_copy_of_keys(InPlaceLayer):  # noqa: N801
    """In place, but k was copied before: its own memory keeps the old numbers."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        return self.apply_rope(q, positions), self.apply_rope(k.copy(), positions), v


@wrong(fault="aliasing", clause="attention.memory", in_place=True)
class in_place_clears_values(InPlaceLayer):  # noqa: N801
    """In place, with the memory of v as scratch space; v is returned from a copy."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        kept = v.copy()
        q, k = self.apply_rope(q, positions), self.apply_rope(k, positions)
        v[...] = k
        return q, k, kept


@wrong(fault="aliasing", clause="attention.memory")
class layer_moves_positions(Layer):  # noqa: N801
    """The caller's positions are moved on by one."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        three = super().qkv(q, k, v, positions)
        positions += 1
        return three


@wrong(fault="dtype", clause="passthrough.values")
class values_through_half(Layer):  # noqa: N801
    """v is converted to float16 and back."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> Three:
        new_q, new_k, v = super().qkv(q, k, v, positions)
        return new_q, new_k, v.astype(np.float16).astype(v.dtype)


@wrong(fault="cache", clause="attention.heads")
class head_count_of_first_call(Layer):  # noqa: N801
    """Of k as many heads are rotated as the first call had."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.heads = 0

    def keys(self, k: Array, positions: Array) -> Array:
        self.heads = self.heads or k.shape[2]
        turned = k.copy()
        turned[:, :, : self.heads] = self.apply_rope(k[:, :, : self.heads], positions)
        return turned


@wrong(fault="cache", clause="attention.calls")
class keys_count_on(Layer):  # noqa: N801
    """From the second call on the keys stand one position later."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.later = 0

    def keys(self, k: Array, positions: Array) -> Array:
        turned = self.apply_rope(k, positions + self.later)
        self.later = 1
        return turned


@wrong(fault="aliasing", clause="attention.calls")
class results_share_memory(Layer):  # noqa: N801
    """Rotated keys of the same shape are written into the memory of the last ones."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.buffers: dict[tuple[int, ...], Array] = {}

    def keys(self, k: Array, positions: Array) -> Array:
        buffer = self.buffers.setdefault(k.shape, np.empty_like(k))
        buffer[...] = self.apply_rope(k, positions)
        return buffer

"""Wrong types and shapes of the result, wrong use of memory, wrong state."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import Rope, angles, frequencies, honest, rotate
from rope_ref import RopeSpec


@wrong(fault="dtype", clause="data.kept")
def upcasts_result(spec: RopeSpec) -> Rope:
    """The result is float64 whatever came in."""
    return lambda x, positions: honest(x.astype(np.float64), positions, spec)


@wrong(
    fault="cache", clause="data.types", dtypes=("float32", "bfloat16"), profile="model-dtype-table"
)
def table_kept_in_first_type(spec: RopeSpec) -> Rope:
    """The table is made once, in the type of the first data."""
    kept: list[Array] = []

    def rope(x: Array, positions: Array) -> Array:
        length = int(positions.max(initial=0)) + 1
        if not kept or len(kept[0]) < length:
            phase = angles(np.arange(length), frequencies(spec))
            kept[:] = [np.cos(phase).astype(x.dtype), np.sin(phase).astype(x.dtype)]
        cos, sin = (part[positions].astype(np.float32) for part in kept)
        return rotate(x, cos, sin, spec)

    return rope


@wrong(fault="kernel-shape", clause="data.kept")
def drops_axis_of_one(spec: RopeSpec) -> Rope:
    """Axes of length 1 are lost."""
    return lambda x, positions: np.squeeze(honest(x, positions, spec))


@wrong(fault="dtype", clause="data.kept")
def returns_list(spec: RopeSpec) -> Rope:
    """The result is a list of rows."""
    return lambda x, positions: list(honest(x, positions, spec))


@wrong(fault="aliasing", clause="data.mutation")
def writes_into_x(spec: RopeSpec) -> Rope:
    """x is overwritten with the result."""

    def rope(x: Array, positions: Array) -> Array:
        x[...] = honest(x, positions, spec)
        return x

    return rope


@wrong(fault="kernel-shape", clause="data.strides", strided=True)
def reads_memory_in_order(spec: RopeSpec) -> Rope:
    """The elements of a view are taken as they lie in memory, its strides ignored."""

    def rope(x: Array, positions: Array) -> Array:
        memory = x
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        return honest(memory.ravel()[: x.size].reshape(x.shape), positions, spec)

    return rope


@wrong(fault="kernel-shape", clause="data.empty", empty=True)
def needs_a_token(spec: RopeSpec) -> Rope:
    """The largest position is taken, which no tokens have."""

    def rope(x: Array, positions: Array) -> Array:
        longest = int(positions.max())
        return honest(x, np.minimum(positions, longest), spec)

    return rope


@wrong(fault="cache", clause="data.determinism")
def counts_calls(spec: RopeSpec) -> Rope:
    """Positions are off by one from the second call on."""
    calls = itertools.count()
    return lambda x, positions: honest(x, positions + min(next(calls), 1), spec)


@wrong(fault="aliasing", clause="data.determinism")
def reuses_buffer(spec: RopeSpec) -> Rope:
    """Results of the same shape share one buffer."""
    buffers: dict[tuple[int, ...], Array] = {}

    def rope(x: Array, positions: Array) -> Array:
        buffer = buffers.setdefault(x.shape, np.empty_like(x))
        buffer[...] = honest(x, positions, spec)
        return buffer

    return rope


@wrong(fault="other", clause="data.process")
def seeds_numpy(spec: RopeSpec) -> Rope:
    """Every call seeds NumPy's global generator, for results that repeat."""

    def rope(x: Array, positions: Array) -> Array:
        np.random.seed(0)  # noqa: NPY002
        return honest(x, positions, spec)

    return rope


@wrong(fault="other", clause="data.process")
def patches_numpy(spec: RopeSpec) -> Rope:
    """A cosine that works in single precision takes the place of NumPy's."""
    cosine = np.cos

    def in_single(angle: Array) -> Array:
        return np.asarray(cosine(np.asarray(angle, dtype=np.float32)))

    def rope(x: Array, positions: Array) -> Array:
        setattr(np, "cos", in_single)  # noqa: B010
        return honest(x, positions, spec)

    return rope


@wrong(fault="other", clause="data.process")
def leaves_threads(spec: RopeSpec) -> Rope:
    """Every call starts a thread and does not wait for it."""

    def rope(x: Array, positions: Array) -> Array:
        threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()
        return honest(x, positions, spec)

    return rope


@wrong(fault="aliasing", clause="data.mutation", in_place=True)
def in_place_in_name_only(spec: RopeSpec) -> Rope:
    """The result is a new array, and x keeps the old numbers, though it is to hold the result."""
    return lambda x, positions: honest(x, positions, spec)


@wrong(fault="kernel-shape", clause="data.strides", strided=True)
def reads_backwards_views_forwards(spec: RopeSpec) -> Rope:
    """Strides are taken without their sign, from the lowest address of a view."""

    def rope(x: Array, positions: Array) -> Array:
        index = tuple(slice(None, None, -1 if step < 0 else 1) for step in x.strides)
        return honest(x[index], positions, spec)

    return rope


@wrong(fault="kernel-shape", clause="data.strides", strided=True)
def expanded_heads_are_one(spec: RopeSpec) -> Rope:
    """Heads whose stride is 0 are taken for one, and the others are copied as they are."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        if x.strides[2] == 0:
            y[:, :, 1:] = x[:, :, 1:]
        return y

    return rope


@wrong(fault="kernel-shape", clause="data.strides", strided=True, position_forms=("t", "bt"))
def reads_positions_in_order(spec: RopeSpec) -> Rope:
    """Positions are taken as they lie in memory, their strides ignored."""

    def rope(x: Array, positions: Array) -> Array:
        memory = positions if positions.base is None else positions.base
        return honest(x, memory.ravel()[: positions.size].reshape(positions.shape), spec)

    return rope

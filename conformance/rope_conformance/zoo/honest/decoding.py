"""Honest objects that keep a cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.cached import Closing, Request, theta_of
from rope_conformance.zoo.parts.plain import angles, rotate
from rope_ref import RopeSpec


@control(profile="float32-power")
class decodes(Request):  # noqa: N801  # named like its neighbours
    """Keeps rotated keys; after an eviction the others keep their positions."""


@control(dtypes=("bfloat16",), profile="float32-power")
class decodes_and_closes_gaps(Closing):  # noqa: N801
    """Keeps rotated keys in bfloat16, and rotates those behind a gap again by the difference."""


@control(profile="float32-power", empty=True)
class decodes_raw_keys(Request):  # noqa: N801
    """Keeps keys as they came and rotates them when they are read, by slot."""

    def start(self) -> Any:
        super().start()
        self.first = 0

    def keep(self, x: Array, y: Array) -> None:
        self.kept.append(x.copy())

    def keys(self) -> Array:
        raw = np.concatenate(self.kept, axis=1)
        return self.rotated(raw, np.arange(raw.shape[1]) + self.first)

    def evict(self, start: int, stop: int) -> None:
        self.kept = [np.delete(np.concatenate(self.kept, axis=1), np.s_[start:stop], axis=1)]
        self.next = self.next - (stop - start)

    def shift(self, delta: int) -> None:
        self.first += delta
        self.next = self.next + delta


@control(profile="float32-power")
class decodes_in_sessions(Request):  # noqa: N801
    """start() returns a session; a key moves by way of position 0, amplitude and all."""

    def start(self) -> Any:
        session = _Session(self.spec)
        session.slots = np.zeros((1, 0), dtype=np.int64)
        return session


class _Session(Request):
    slots: Array

    def keep(self, x: Array, y: Array) -> None:
        super().keep(x, y)
        new = self.places(x)
        old = np.broadcast_to(self.slots, (len(new), self.slots.shape[1]))
        self.slots = np.concatenate([old, new], axis=1)

    def evict(self, start: int, stop: int) -> None:
        super().evict(start, stop)
        self.slots = np.delete(self.slots, np.s_[start:stop], axis=1)
        self.move(np.broadcast_to(np.arange(self.slots.shape[1]), self.slots.shape))
        self.next = np.full_like(self.next, self.slots.shape[1])

    def shift(self, delta: int) -> None:
        self.move(self.slots + delta)
        self.next = self.next + delta

    def move(self, slots: Array) -> None:
        written = replace(self.spec, layout=self.spec.output_layout)
        phase = angles(-self.slots, self.theta)
        back = rotate(self.keys(), np.cos(phase), np.sin(phase), written)
        phase = angles(slots, self.theta)
        self.kept = [rotate(back, np.cos(phase), np.sin(phase), written)]
        self.slots = slots


@control(profile="float32-power", position_forms=("t", "bt"))
class decodes_from_a_growing_table:  # noqa: N801
    """No more than it must: a table that doubles when it is too short; no lengths, no keys."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.theta = theta_of(spec)
        self.amplitude = np.float32(spec.frequencies.amplitude)
        self.table = np.zeros((0, len(self.theta)), dtype=np.float32)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        if len(self.table) <= (last := int(positions.max())):
            self.table = angles(np.arange(2 * last + 2), self.theta)
        phase = self.table[positions]
        return rotate(x, self.amplitude * np.cos(phase), self.amplitude * np.sin(phase), self.spec)

    def start(self) -> None:
        self.next = 0

    def prefill(self, x: Array) -> Array:
        positions = np.arange(self.next, self.next + x.shape[1])
        self.next += x.shape[1]
        return self.apply_rope(x, positions)

    def step(self, x: Array) -> Array:
        return self.prefill(x)

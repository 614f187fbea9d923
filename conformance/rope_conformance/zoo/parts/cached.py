"""Requests that keep a cache; what can go wrong is a method of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import angles, frequencies, rotate
from rope_ref import ExplicitFrequencies, RopeSpec


class Request:
    """A request that keeps rotated keys."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.theta = theta_of(spec)
        self.amplitude = np.float32(spec.frequencies.amplitude)
        self.start()

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return self.rotated(x, positions)

    def start(self) -> Any:
        self.next = np.zeros(1, dtype=np.int64)
        self.kept: list[Array] = []

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        y = self.rotated(x, self.places(x))
        self.keep(x, y)
        self.go_on(x, lengths)
        return y

    def step(self, x: Array) -> Array:
        return self.prefill(x)

    def keys(self) -> Array:
        return np.concatenate(self.kept, axis=1)

    def evict(self, start: int, stop: int) -> None:
        self.kept = [np.delete(self.keys(), np.s_[start:stop], axis=1)]

    def shift(self, delta: int) -> None:
        self.kept = [self.turned(self.keys(), delta)]
        self.next = self.next + delta

    def places(self, x: Array) -> Array:
        """Positions of the tokens that come, (1 or B, T)."""
        return self.next[:, None] + np.arange(x.shape[1])

    def keep(self, x: Array, y: Array) -> None:
        self.kept.append(y.copy())

    def go_on(self, x: Array, lengths: Array | None) -> None:
        self.next = self.next + (x.shape[1] if lengths is None else lengths)

    def rotated(self, x: Array, positions: Array) -> Array:
        phase = angles(positions, self.theta)
        return rotate(x, self.amplitude * np.cos(phase), self.amplitude * np.sin(phase), self.spec)

    def turned(self, y: Array, delta: Any) -> Array:
        """Rotated keys, rotated again: on the channels written, without amplitude."""
        written = replace(self.spec, layout=self.spec.output_layout)
        phase = angles(np.broadcast_to(delta, y.shape[1]), self.theta)
        return rotate(y, np.cos(phase), np.sin(phase), written)


class Closing(Request):
    """A request that closes the gap when tokens are evicted."""

    def evict(self, start: int, stop: int) -> None:
        keys, gone = self.keys(), stop - start
        rest = self.turned(keys[:, stop:], -gone)
        self.kept = [np.concatenate([keys[:, :start], rest], axis=1)]
        self.next = self.next - gone


def theta_of(spec: RopeSpec) -> Array:
    if isinstance(spec.frequencies, ExplicitFrequencies):
        return np.array([float(v) for v in spec.frequencies.values or ()], dtype=np.float32)
    return frequencies(spec)

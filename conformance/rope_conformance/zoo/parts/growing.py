"""Requests whose frequencies depend on their length; what can go wrong is a method of its own."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.cached import Request
from rope_conformance.zoo.parts.plain import angles, rotate
from rope_conformance.zoo.parts.scaled import Growing, LongRope
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import DynamicNTK, LongRoPE

# Small, so that it does not take long to outgrow them; factors like those of Phi-3.
DYNAMIC = RopeSpec(
    32, layout="half", frequencies=DynamicNTK(PowerLaw(1e4), factor=4, original_length=64)
)
LONGROPE = RopeSpec(
    32,
    layout="half",
    frequencies=LongRoPE(
        PowerLaw(1e4),
        short_factors=tuple(1 + i / 50 for i in range(16)),
        long_factors=tuple(1.3**i for i in range(16)),
        original_length=64,
        factor=4,
    ),
)


class Served(Request):
    """A request that takes the frequencies of its length; keys keep those they were rotated by.

    `length` is the one whose frequencies are in use: the largest position plus 1 of the
    last call.
    """

    length = 0

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(replace(spec, frequencies=PowerLaw()) if is_scaled(spec) else spec)
        self.spec = spec
        self.apply_theta, self.amplitude = self.of_length(0), np.float32(self.amplitude_of())
        self.theta = self.apply_theta

    def amplitude_of(self) -> float:
        return float(self.spec.frequencies.amplitude)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        phase = angles(positions, self.apply_theta)
        return rotate(x, self.amplitude * np.cos(phase), self.amplitude * np.sin(phase), self.spec)

    def start(self) -> Any:
        super().start()
        self.thetas = np.zeros((0, self.spec.rotary_dim // 2), dtype=np.float32)

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        if x.shape[1]:
            new = int(np.max(self.next + (x.shape[1] if lengths is None else lengths)))
            self.length = self.read(new, x.shape[1])
            self.theta = self.of_length(self.length)
        return super().prefill(x, lengths)

    def keep(self, x: Array, y: Array) -> None:
        super().keep(x, y)
        new = np.broadcast_to(self.theta, (x.shape[1], len(self.theta)))
        self.thetas = np.concatenate([self.thetas, new])

    def evict(self, start: int, stop: int) -> None:
        super().evict(start, stop)
        self.thetas = np.delete(self.thetas, np.s_[start:stop], axis=0)

    def turned(self, y: Array, delta: Any) -> Array:
        """Rotated keys, rotated again by the frequencies they have."""
        written = replace(self.spec, layout=self.spec.output_layout)
        phase = np.float32(delta) * self.thetas
        return rotate(y, np.cos(phase), np.sin(phase), written)

    def read(self, length: int, tokens: int) -> int:
        """The length that counts, of a call that ends at `length` and has so many tokens."""
        return length

    def of_length(self, length: int) -> Array:
        """The frequencies for a length."""
        return _theta(self.spec, length) if is_scaled(self.spec) else self.theta


def is_scaled(spec: RopeSpec) -> bool:
    return isinstance(spec.frequencies, DynamicNTK | LongRoPE)


@lru_cache(maxsize=1024)
def _theta(spec: RopeSpec, length: int) -> Array:
    rule = spec.frequencies
    assert isinstance(rule, DynamicNTK | LongRoPE)
    if rule.length is None:  # else it stays at that length
        spec = replace(spec, frequencies=rule.at(max(length, 1)))
    maker = Growing if isinstance(rule, DynamicNTK) else LongRope
    return maker(spec).theta


class Resetting(Served):
    """The longest call counts, until one is shorter than the original length."""

    def read(self, length: int, tokens: int) -> int:
        original = getattr(self.spec.frequencies, "original_length", 0)
        return length if length > self.length or length < original else self.length

"""Honest RoPEs with several position axes, each computed another way."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.axes import (
    FOUR,
    SECTIONS,
    TURNS,
    VIDEO,
    ladders,
    own_axes,
    rope_along,
    table,
)
from rope_conformance.zoo.parts.plain import Rope, join, rotate, split
from rope_ref import RopeSpec

_WIDE: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**20), 2**20),
    "position_kinds": ("integer", "real"),
    "profile": "float32-power",
    "empty": True,
    "strided": True,
}


@control(TURNS, **_WIDE)
def gathered_axes(spec: RopeSpec) -> Rope:
    """One ladder; for each pair the positions on its axis are gathered."""
    return rope_along(spec, own_axes(spec))


@control(SECTIONS, **_WIDE)
def angles_of_every_axis(spec: RopeSpec) -> Rope:
    """cos and sin of all pairs for each axis, of which each pair then takes its own."""
    theta, axes = ladders(spec), np.array(own_axes(spec))

    def rope(x: Array, positions: Array) -> Array:
        phase = positions.astype(np.float32)[..., None] * theta
        own = [np.equal(axes, axis) for axis in range(len(phase))]
        cos, sin = (
            sum(part * mask for part, mask in zip(turned, own, strict=True))
            for turned in (np.cos(phase), np.sin(phase))
        )
        return rotate(x, cos, sin, spec)

    return rope


@control(VIDEO, **_WIDE)
def blocks_rotated_apart(spec: RopeSpec) -> Rope:
    """A ladder for each axis, a table for each axis, and each block of pairs turned by its own."""
    theta, axes = ladders(spec), np.array(own_axes(spec))
    blocks = [np.flatnonzero(axes == axis) for axis in range(3)]

    def rope(x: Array, positions: Array) -> Array:
        u, v = split(x, spec)
        first, second = [], []
        for p, block in zip(positions, blocks, strict=True):
            phase = (p.astype(np.float32)[..., None] * theta[block])[..., None, :]
            cos, sin = np.cos(phase), np.sin(phase)
            first.append(u[..., block] * cos - v[..., block] * sin)
            second.append(u[..., block] * sin + v[..., block] * cos)
        return join(x, np.concatenate(first, axis=-1), np.concatenate(second, axis=-1), spec)

    return rope


@control(FOUR, **_WIDE)
class four_axes:  # noqa: N801  # named like its neighbours
    """All surfaces that take positions, with four axes."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec, self.axes = spec, own_axes(spec)

    def theta(self) -> Array:
        return ladders(self.spec)

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        return table(positions, self.axes, self.theta())

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return rotate(x, *self.cos_sin(positions), self.spec)

    def vjp(self, g: Array, positions: Array) -> Array:
        return self.apply_rope(g, -positions)

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> tuple[Array, Array, Array]:
        return self.apply_rope(q, positions), self.apply_rope(k, positions), v

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        q, k = self.apply_rope(q, q_positions), self.apply_rope(k, k_positions)
        k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
        return np.asarray(np.einsum("bqhd,bkhd->bhqk", q, k))

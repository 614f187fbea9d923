"""Honest parts of an attention layer in float32: q, k and v, the gradient, the scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import angles, frequencies, rotate
from rope_ref import ExplicitFrequencies, RopeSpec


class Rope:
    """A RoPE for plain and for given frequencies, with an amplitude on cos and sin."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.amplitude = np.float32(spec.frequencies.amplitude)
        rule = spec.frequencies
        given = rule.values if isinstance(rule, ExplicitFrequencies) else None
        self.theta = frequencies(spec) if given is None else np.array(given, np.float32)

    def table(self, positions: Array) -> tuple[Array, Array]:
        phase = angles(positions, self.theta)
        return np.cos(phase) * self.amplitude, np.sin(phase) * self.amplitude

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return rotate(x, *self.table(positions), self.spec)


class Layer(Rope):
    """q and k rotated, v handed on."""

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> tuple[Array, Array, Array]:
        return self.apply_rope(q, positions), self.keys(k, positions), v

    def keys(self, k: Array, positions: Array) -> Array:
        return self.apply_rope(k, positions)


class InPlaceLayer(Layer):
    """q and k are overwritten."""

    def apply_rope(self, x: Array, positions: Array) -> Array:
        x[...] = super().apply_rope(x, positions)
        return x


class Differentiable(Rope):
    """With the gradient: rotated back, times the amplitude."""

    def vjp(self, g: Array, positions: Array) -> Array:
        cos, sin = self.table(positions)
        return rotate(g, cos, -sin, self.back)

    @property
    def back(self) -> RopeSpec:
        """Reads the pairs where the rotation wrote them, and writes them where it read them."""
        spec = self.spec
        return replace(spec, layout=spec.output_layout, output_layout=spec.layout)


class Scoring(Rope):
    """With the scores of all queries and keys."""

    scale = np.float32(1)

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        queries, keys = self.apply_rope(q, q_positions), self.apply_rope(k, k_positions)
        return self.scores(queries, keys)

    def scores(self, queries: Array, keys: Array) -> Array:
        """Of what is rotated already."""
        keys = np.repeat(keys, queries.shape[2] // keys.shape[2], axis=2)
        return np.asarray(np.einsum("bihd,bjhd->bhij", queries, keys) * self.scale)

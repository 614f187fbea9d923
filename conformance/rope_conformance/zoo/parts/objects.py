"""An object that holds its frequencies."""

from __future__ import annotations

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import frequencies, honest
from rope_ref import RopeSpec


class Object:
    """A float32 RoPE that makes its frequencies once."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.theta = frequencies(spec)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec, self.theta)

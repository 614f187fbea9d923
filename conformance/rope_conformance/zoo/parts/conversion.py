"""An object that converts weights; what can go wrong is a method of its own."""

from __future__ import annotations

from typing import Any

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.plain import honest
from rope_ref import RopeSpec

# Rotating channels in the middle of a head; weights to be converted back.
LATE = RopeSpec(64, layout="half", rotary_dim=32, rotary_start=16)
BACK = RopeSpec(64, layout="interleaved", rotary_dim=48)


class Converter:
    """Weights from the spec's layout to another."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        heads = n_heads if which.startswith("q") else n_kv_heads
        if len(array) == self.spec.head_dim:
            heads = 1
        return self.moved(array, heads, to)

    def moved(self, array: Array, heads: int, to: str) -> Any:
        """Rows of all heads, each head's rotating ones in the order of a layout."""
        by_head = array.reshape(heads, -1, *array.shape[1:]).copy()
        start, width = self.spec.rotary_start, self.spec.rotary_dim
        turning = slice(start, start + width)
        by_head[:, turning] = self.reordered(by_head[:, turning], to)
        return by_head.reshape(array.shape)

    def reordered(self, rows: Array, to: str) -> Any:
        """The rotating rows, axis 1, between (2, R/2) and (R/2, 2)."""
        if to == self.spec.layout:
            return rows
        outer = 2 if to == "interleaved" else rows.shape[1] // 2
        apart = rows.reshape(len(rows), outer, -1, *rows.shape[2:])
        return apart.swapaxes(1, 2).reshape(rows.shape)

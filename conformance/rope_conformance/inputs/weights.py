"""Projection weights for the surface `weights`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rope_conformance.inputs.cases import Input
from rope_conformance.inputs.spec_variants import at_width
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array, data_type
from rope_ref import RopeSpec
from rope_ref.extensions.weights import WeightKind
from rope_ref.spec import Layout

__all__ = ["Weights"]


@dataclass(frozen=True)
class Weights(Input):
    """One call of ``convert``.

    Parameters
    ----------
    which
        As in ``convert``.
    to
        The layout that is asked for.
    n_heads, n_kv_heads
        How many query heads and key heads there are.
    columns
        How many columns a projection has.
    shared
        Whether the gains of a norm are (D,), the same for all heads.
    head_dim, rotary_dim
        Of the spec, where it is not the implementation's own; only what is made by a
        factory can be made for another.
    """

    which: WeightKind
    to: Layout
    n_heads: int
    n_kv_heads: int
    columns: int = 3
    shared: bool = False
    head_dim: int | None = None
    rotary_dim: int | None = None

    def inside(self, claim: Claim) -> bool:
        """Always: weights have neither positions nor the axes of x."""
        return True

    def size(self) -> tuple[Any, ...]:
        """Heads first."""
        return (self.n_heads, self.n_kv_heads, self.columns)

    def spec(self, own: RopeSpec) -> RopeSpec:
        """The spec to make the implementation for."""
        if self.head_dim is None:
            return own
        return at_width(own, self.head_dim, self.rotary_dim or self.head_dim)

    def array(self, head_dim: int, dtype: str) -> Array:
        """The weights as they were: numbers that all differ, or nearly so in a narrow type."""
        heads = self.n_heads if self.which.startswith("q") else self.n_kv_heads
        rows = head_dim if self.shared else heads * head_dim
        shape = (rows, self.columns) if self.which in ("q", "k") else (rows,)
        numbers = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        return numbers.astype(data_type(dtype))

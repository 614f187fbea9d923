"""equinox: a sequence from position 0, one head at a time; its table is kept by the module."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["Equinox"]


@claims(
    accepts=takes("half"),
    namespace="jax",
    position_forms=("none",),
    position_range=(0, 2**15),
    dtypes=("float32", "bfloat16", "float16"),
    profile="float32",
)
class Equinox:
    """Mapped over heads and rows, as its documentation shows, and compiled."""

    spec = RopeSpec(64, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        import equinox
        import jax

        rope = equinox.nn.RotaryPositionalEmbedding(spec.head_dim, theta=base_of(spec))
        self.rotate = jax.jit(jax.vmap(jax.vmap(rope, in_axes=1, out_axes=1)))

    def apply_rope(self, x: Any) -> Any:
        return self.rotate(x)

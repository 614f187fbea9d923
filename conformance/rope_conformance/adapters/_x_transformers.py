"""x-transformers: phases and rotation in float32, rounded once; a rotating part of a head."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["XTransformers"]


@claims(
    accepts=takes("interleaved", partial=True),
    axes="bhtd",
    namespace="torch",
    position_forms=("t", "bt"),
    dtypes=("float32", "bfloat16", "float16"),
    profile="float32",
    strided=True,
)
class XTransformers:
    """Its RotaryEmbedding makes phases, its apply_rotary_pos_emb takes their cos and sin."""

    spec = RopeSpec(64, layout="interleaved", rotary_dim=32)

    def __init__(self, spec: RopeSpec) -> None:
        from x_transformers import x_transformers as library

        self.phases = library.RotaryEmbedding(spec.rotary_dim, base=base_of(spec))
        self.rotate = library.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        freqs, scale = self.phases(positions)
        return self.rotate(x, freqs, scale)

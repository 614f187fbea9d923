"""rotary-embedding-torch: a module that keeps the phases it has made."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["RotaryEmbeddingTorch"]


@claims(
    accepts=takes("interleaved", partial=True),
    axes="bhtd",
    namespace="torch",
    position_forms=("offset",),
    dtypes=("float32", "bfloat16", "float16"),
    profile="float32",
    strided=True,
)
class RotaryEmbeddingTorch:
    """One token after the other from an offset, as while decoding with a cache."""

    spec = RopeSpec(64, layout="interleaved", rotary_dim=32)

    def __init__(self, spec: RopeSpec) -> None:
        from rotary_embedding_torch import RotaryEmbedding

        self.rope = RotaryEmbedding(spec.rotary_dim, theta=base_of(spec))

    def apply_rope(self, x: Any, offset: int) -> Any:
        return self.rope.rotate_queries_or_keys(x, offset=offset)

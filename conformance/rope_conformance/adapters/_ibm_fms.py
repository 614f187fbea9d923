"""IBM's foundation model stack: a float32 table of 2 x 2 matrices, rounded once."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["IbmFms"]

_LENGTH = 2**15


@claims(
    accepts=takes("interleaved", partial=True),
    namespace="torch",
    position_forms=("bt",),
    position_range=(0, _LENGTH - 1),
    dtypes=("float32", "bfloat16", "float16"),
    profile="float32",
    strided=True,
)
class IbmFms:
    """RotaryEmbedding of rope_type "regular"; "yarn" has the other layout."""

    spec = RopeSpec(128, layout="interleaved")

    def __init__(self, spec: RopeSpec) -> None:
        from fms.modules.positions import RotaryEmbedding

        part = spec.rotary_dim / spec.head_dim
        self.rope = RotaryEmbedding(spec.head_dim, base_of(spec), _LENGTH, partial_rope=part)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return self.rope.adjusted_qk(x, x, positions)[0]

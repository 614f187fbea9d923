"""torch's form of the ONNX operator RotaryEmbedding, which rotates by the caller's tables."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["TorchOperator"]


@claims(
    accepts=takes(partial=True),
    axes="bhtd",
    namespace="torch",
    position_forms=("t", "bt"),
    profile="float32",
    strided=True,
)
class TorchOperator:
    """torch.onnx.ops.rotary_embedding in eager mode, tables given per row and token."""

    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        import torch

        self.operator, self.made_for = torch.onnx.ops.rotary_embedding, spec

    def apply_cos_sin(self, x: Any, cos: Any, sin: Any) -> Any:
        shape = (x.shape[0], x.shape[2], self.made_for.rotary_dim // 2)
        return self.operator(
            x,
            cos.expand(shape),
            sin.expand(shape),
            interleaved=self.made_for.layout == "interleaved",
            rotary_embedding_dim=self.made_for.rotary_dim,
        )

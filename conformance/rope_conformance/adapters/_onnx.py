"""The ONNX operator RotaryEmbedding (opset 23) in the reference evaluator and onnxruntime.

Both are given a model of one node, with tables per row and token from the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.adapters._accept import takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["OnnxReference", "OnnxRuntime"]

_CLAIM: dict[str, Any] = {
    "accepts": takes(partial=True),
    "axes": "bhtd",
    "position_forms": ("t", "bt"),
    "profile": "float32",
    "strided": True,
}


class _OneNode:
    session: Any
    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        from onnx import parser

        part = spec.rotary_dim if spec.rotary_dim < spec.head_dim else 0  # 0 is the whole head
        self.run = self.session(
            parser.parse_model(f"""
            <ir_version: 10, opset_import: ["" : 23]>
            rope (float[B,H,T,D] x, float[B,T,P] cos, float[B,T,P] sin) => (float[B,H,T,D] y) {{
              y = RotaryEmbedding
                <interleaved = {int(spec.layout == "interleaved")}, rotary_embedding_dim = {part}>
                (x, cos, sin)
            }}""")
        )

    def apply_cos_sin(self, x: Any, cos: Any, sin: Any) -> Any:
        shape = (x.shape[0], *cos.shape[-2:])
        tables = {"cos": np.broadcast_to(cos, shape), "sin": np.broadcast_to(sin, shape)}
        return self.run(None, {"x": x, **tables})[0]


@claims(**_CLAIM)
class OnnxReference(_OneNode):
    """onnx.reference.ReferenceEvaluator, in NumPy."""

    def session(self, model: Any) -> Any:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run


@claims(**_CLAIM)
class OnnxRuntime(_OneNode):
    """onnxruntime's CPU kernel."""

    def session(self, model: Any) -> Any:
        from onnxruntime import InferenceSession

        return InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run

"""keras-hub: phases in float32; table, products and sum in the layer's type."""

from __future__ import annotations

import os
from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_conformance.target.implementation import Unsupported
from rope_ref import RopeSpec

__all__ = ["CLAIM", "KerasHub", "rotary_embedding"]

CLAIM: dict[str, Any] = {
    "namespace": "torch",
    "position_forms": ("t", "bt"),
    "dtypes": ("float32", "bfloat16", "float16"),
    "profile": "model-dtype-table",
    "strided": True,
}


def rotary_embedding() -> Any:
    """The layer's class, on the backend torch."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras
    import keras_hub

    if (backend := keras.backend.backend()) != "torch":
        raise Unsupported(f"Keras runs on {backend} here; start with KERAS_BACKEND=torch")
    return keras_hub.layers.RotaryEmbedding


@claims(accepts=takes("half"), **CLAIM)
class KerasHub:
    """One layer per type of data, since a layer casts to its own."""

    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        self.layer, self.base = rotary_embedding(), base_of(spec)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        layer = self.layer(self.base, dtype=str(x.dtype).removeprefix("torch."))
        return layer(x, positions=positions)

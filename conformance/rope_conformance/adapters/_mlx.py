"""MLX: nn.RoPE on the CPU. Its arrays come from NumPy and go back to it here."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["Mlx"]


@claims(
    accepts=takes(partial=True),
    axes="bhtd",
    position_forms=("offset",),
    dtypes=("float32", "float16"),
    profile="model-dtype-table",
    strided=True,
)
class Mlx:
    """One token after the other from an offset."""

    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        import mlx.core
        import mlx.nn

        mlx.core.set_default_device(mlx.core.cpu)
        self.array = mlx.core.array
        self.rope = mlx.nn.RoPE(
            spec.rotary_dim, traditional=spec.layout == "interleaved", base=base_of(spec)
        )

    def apply_rope(self, x: Any, offset: int) -> Any:
        return np.array(self.rope(self.array(x), offset=offset))

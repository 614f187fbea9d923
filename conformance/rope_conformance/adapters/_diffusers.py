"""Hugging Face diffusers: one-dimensional embeddings in two frequency types.

The rotation is in float32 whatever the data, rounded once. The positions of a call are
shared by its rows.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["Float32", "Float64"]

_CLAIM: dict[str, Any] = {
    "accepts": takes(),
    "axes": "bhtd",
    "namespace": "torch",
    "dtypes": ("float32", "bfloat16", "float16"),
    "strided": True,
}


class _Diffusers:
    spec = RopeSpec(128, layout="interleaved")
    frequency_type: str

    def __init__(self, spec: RopeSpec) -> None:
        import torch
        from diffusers.models import embeddings

        self.library, self.made_for = embeddings, spec
        self.dtype = getattr(torch, self.frequency_type)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        adjacent = self.made_for.layout == "interleaved"
        table = self.library.get_1d_rotary_pos_embed(
            self.made_for.head_dim,
            positions,
            base_of(self.made_for),
            use_real=True,
            repeat_interleave_real=adjacent,
            freqs_dtype=self.dtype,
        )
        return self.library.apply_rotary_emb(x, table, use_real_unbind_dim=-1 if adjacent else -2)


@claims(profile="float32", **_CLAIM)
class Float32(_Diffusers):
    """The default."""

    frequency_type = "float32"


@claims(profile="float64", position_range=(0, 2**31 - 1), **_CLAIM)
class Float64(_Diffusers):
    """What Flux uses."""

    frequency_type = "float64"

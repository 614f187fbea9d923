"""A rotation of torch tensors, and one with a backward pass of its own.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.parts.plain import base_of
from rope_ref import RopeSpec


def accepts(spec: RopeSpec) -> bool | str:
    """What `turn` can do."""
    half = spec.layout == spec.output_layout == "half" and spec.rotary_start == 0
    return half or "halves of the first channels are pairs"


TORCH: dict[str, Any] = {
    "namespace": "torch",
    "profile": "float32-power",
    "gradient": True,
    "accepts": accepts,
}


def table(spec: RopeSpec, positions: Any) -> tuple[Any, Any]:
    import torch

    exponent = torch.arange(0, spec.rotary_dim, 2, dtype=torch.float32) / spec.rotary_dim
    phase = positions.to(torch.float32)[..., None] * (1 / base_of(spec) ** exponent)
    return phase.cos()[..., None, :], phase.sin()[..., None, :]


def turn(x: Any, cos: Any, sin: Any) -> Any:
    """Half layout; channels behind the rotating ones pass through."""
    import torch

    half = cos.shape[-1]
    u, v, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([u * cos - v * sin, u * sin + v * cos, rest], dim=-1)


def with_backward(back: Any) -> Any:
    """A function with a backward pass of its own, made by ``back(g, cos, sin)``."""
    import torch

    class Turn(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, cos: Any, sin: Any) -> Any:
            ctx.save_for_backward(cos, sin)
            return turn(x, cos, sin)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return back(gradients[0], *ctx.saved_tensors), None, None

    return lambda spec: lambda x, positions: Turn.apply(x, *table(spec, positions))

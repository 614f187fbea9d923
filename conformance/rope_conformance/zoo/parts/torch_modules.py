"""Honest torch modules, as classes.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.parts.plain import base_of
from rope_ref import RopeSpec

TORCH: dict[str, Any] = {"namespace": "torch", "profile": "float32-power"}
HALF: dict[str, Any] = TORCH | {"dtypes": ("bfloat16", "float32")}
META: dict[str, Any] = TORCH | {"survives": ("copy", "save", "cast", "meta")}


def layer() -> Any:
    """The class of an honest module that makes its frequencies at every call, in float32."""
    import torch

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, spec: RopeSpec) -> None:
            super().__init__()
            self.spec = spec

        def frequencies(self, device: Any = None) -> Any:
            width = self.spec.rotary_dim
            exponent = torch.arange(0, width, 2, dtype=torch.float32, device=device) / width
            return 1 / base_of(self.spec) ** exponent

        def phases(self, positions: Any) -> Any:
            return positions.to(torch.float32)[..., None] * self.frequencies(positions.device)

        def table(self, positions: Any) -> tuple[Any, Any]:
            phase = self.phases(positions)[..., None, :]
            return phase.cos(), phase.sin()

        def forward(self, x: Any, positions: Any) -> Any:
            cos, sin = self.table(positions)
            own = slice(self.spec.rotary_start, self.spec.rotary_start + self.spec.rotary_dim)
            part = x[..., own].to(torch.float32)
            if self.spec.layout == "half":
                u, v = part.chunk(2, dim=-1)
            else:
                u, v = part[..., 0::2], part[..., 1::2]
            turned = [u * cos - v * sin, u * sin + v * cos]
            if self.spec.output_layout == "half":
                part = torch.cat(turned, dim=-1)
            else:
                part = torch.stack(turned, dim=-1).flatten(-2)
            y = x.clone()
            y[..., own] = part.to(x.dtype)
            return y

    return Layer


def buffered(persistent: bool = False) -> Any:
    """The class of a module that holds its frequencies in a buffer, as nearly all do."""
    made_anew = layer()

    class Buffered(made_anew):  # type: ignore[misc, valid-type]
        theta: Any

        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            self.register_buffer("theta", self.frequencies(), persistent=persistent)

        def phases(self, positions: Any) -> Any:
            return positions.to(self.theta.device)[..., None] * self.theta.float()

    return Buffered

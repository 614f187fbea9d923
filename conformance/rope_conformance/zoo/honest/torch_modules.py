"""Honest torch modules that live through casts, loads and the meta device.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.torch_modules import HALF, buffered, layer
from rope_ref import RopeSpec


@control(position_forms=("t", "bt"), **HALF | {"survives": ("copy", "save", "cast", "meta")})
def torch_makes_theta_anew(spec: RopeSpec) -> Any:
    """A module without buffers: nothing that is held can be rounded or lost."""
    return layer()(spec)


@control(position_forms=("t", "bt"), **HALF | {"survives": ("copy", "save", "cast", "meta")})
def torch_restores_buffer(spec: RopeSpec) -> Any:
    """The frequencies are a buffer, made anew after every cast, move and load."""

    class Rope(buffered()):  # type: ignore[misc]
        theta: Any

        def _apply(self, change: Any, recurse: bool = True) -> Any:
            super()._apply(change, recurse)
            self.reset_parameters()
            return self

        def reset_parameters(self) -> None:
            self.theta = self.frequencies(self.theta.device)

    return Rope(spec)

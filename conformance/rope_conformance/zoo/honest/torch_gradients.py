"""Honest torch functions, differentiated by torch, by themselves, or not at all.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.member import PARTIAL, control
from rope_conformance.zoo.parts.torch_functions import TORCH, table, turn, with_backward
from rope_ref import RopeSpec


@control(PARTIAL, **TORCH)
def torch_autograd(spec: RopeSpec) -> Any:
    """torch's own gradient of a rotation in torch."""
    return lambda x, positions: turn(x, *table(spec, positions))


@control(PARTIAL, **TORCH)
def torch_own_backward(spec: RopeSpec) -> Any:
    """A torch function with a backward pass of its own."""
    return with_backward(lambda g, cos, sin: turn(g, cos, -sin))(spec)


@control(**TORCH, in_place=True)
def torch_in_place(spec: RopeSpec) -> Any:
    """Works in place by declaration, and can be differentiated all the same."""

    def rope(x: Any, positions: Any) -> Any:
        return x.copy_(turn(x, *table(spec, positions)))

    return rope


@control(**TORCH | {"gradient": None})
def torch_no_gradient(spec: RopeSpec) -> Any:
    """Computes outside torch's graph, as kernels for inference do."""

    def rope(x: Any, positions: Any) -> Any:
        return turn(x.detach(), *table(spec, positions))

    return rope

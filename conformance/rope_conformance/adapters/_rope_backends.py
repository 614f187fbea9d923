"""Our own backends, judged like any other implementation."""

from __future__ import annotations

from typing import Any

from rope_conformance.target.claim import claims
from rope_ref import RopeSpec

__all__ = ["Cupy", "Jax", "Numpy", "Strict", "Torch"]

_CLAIM: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**31) + 1, 2**31 - 1),
    "position_kinds": ("integer", "real"),
    "profile": "exact",
    "empty": True,
    "strided": True,
}
_NARROW = ("float32", "bfloat16", "float16")


class _Backend:
    """Rotates arrays of the framework that its claim names."""

    claim: Any
    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        import rope_backends

        self.made_for = spec
        self.rope = rope_backends.load(self.claim.namespace)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return self.rope.apply_rope(x, positions, self.made_for, axes=self.claim.axes)


@claims(namespace="numpy", dtypes=("float64", *_NARROW), **_CLAIM)
class Numpy(_Backend):
    """On NumPy arrays."""


@claims(namespace="strict", dtypes=("float64", "float32"), devices=("cpu", "device1"), **_CLAIM)
class Strict(_Backend):
    """On array-api-strict's arrays, on two of its devices."""


@claims(namespace="torch", dtypes=("float64", *_NARROW), **_CLAIM)
class Torch(_Backend):
    """On torch tensors on the CPU; ``--device cuda`` judges the GPU."""


@claims(namespace="jax", dtypes=_NARROW, **_CLAIM)
class Jax(_Backend):
    """On JAX arrays on the CPU, without 64-bit types."""


@claims(namespace="cupy", dtypes=("float64", "float32", "float16"), devices=("cuda",), **_CLAIM)
class Cupy(_Backend):
    """On CuPy arrays."""

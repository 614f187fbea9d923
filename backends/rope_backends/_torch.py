"""PyTorch: tensors without values, and the way through torch.compile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import numpy.typing as npt
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from rope_backends import array_api
from rope_backends.backend import Backend
from rope_backends.exact_rows import exact_rows
from rope_ref import RopeSpec

__all__ = ["TorchBackend", "backend"]


class TorchBackend(Backend):
    """Rotation of torch tensors.

    Under ``torch.compile`` NumPy positions are traced like tensors; lists and numbers
    are constants. Make the spec outside what is compiled and keep it: another object,
    though equal, is compiled anew. On the ``meta`` device the result has no values.
    """

    name = "torch"
    xp = xp
    array_type = torch.Tensor

    def apply_rope(self, x: Any, positions: Any, spec: RopeSpec, *, axes: str) -> Any:
        """Rotate `x`; see `Backend.apply_rope`."""
        if not torch.compiler.is_compiling():
            return super().apply_rope(x, positions, spec, axes=axes)
        table = None
        traced = isinstance(positions, torch.Tensor | np.ndarray | int)
        # An exported program may refer to no tensor of ours: the table is made inside it.
        if traced and not torch.compiler.is_exporting():
            table = _constant_table(spec, x.dtype, x.device)
        return _in_graph(x, positions, table, _number(spec), axes)

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The types of data that can be rotated, by name."""
        return {n: getattr(torch, n) for n in ("float64", "float32", "bfloat16", "float16")}

    def devices(self) -> list[Any]:
        """The CPU, and the CUDA devices if there are any."""
        cuda = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        return [torch.device("cpu"), *cuda]

    def concrete(self, positions: Any) -> npt.NDArray[Any] | None:
        """Positions as a NumPy array; None if they have no values that could be read."""
        if isinstance(positions, torch.SymInt):
            return None
        if not isinstance(positions, torch.Tensor):
            return np.asarray(positions)
        if (
            isinstance(positions, FakeTensor | FunctionalTensor)
            or positions.is_meta
            or torch._C._functorch.is_functorch_wrapped_tensor(positions)
        ):
            return None
        # Inside torch.func.grad every operation wraps its result; reading needs the tensor itself.
        with torch._C._DisableFuncTorch():
            positions = positions.detach().cpu()
            # NumPy has no bfloat16; float64 holds every value of the narrower types.
            whole = not positions.is_floating_point()
            return np.asarray((positions if whole else positions.double()).numpy())

    def beside(self, positions: Any, device: Any) -> Any:
        """Traced positions as a tensor on a device."""
        if isinstance(positions, torch.SymInt):
            return torch.full((), positions, dtype=torch.int64, device=device)
        return positions.to(device)


_SPECS: list[RopeSpec] = []


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _number(spec: RopeSpec) -> int:
    """A number that stands for a spec: a compiled graph takes numbers, not specs."""
    if spec not in _SPECS:
        _SPECS.append(spec)
    return _SPECS.index(spec)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constant_table(spec: RopeSpec, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The exact rows as a constant of the graph: one tensor, however often it is used."""
    return _placed(spec, "float64" if dtype == torch.float64 else "float32", device)


@lru_cache(maxsize=8)
def _placed(spec: RopeSpec, dtype: str, device: torch.device) -> torch.Tensor:
    table = torch.asarray(exact_rows(spec, dtype), device=device)
    # Only of parameters does the compiler know that their shape is no variable.
    return torch.nn.Parameter(table, requires_grad=False)


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _in_graph(x: Any, positions: Any, table: Any, number: int, axes: str) -> Any:
    """The whole rotation as one node: the compiler's front end does not read our Python.

    It runs with fake tensors, as ordinary Python, and its operations are compiled.
    """
    return array_api.apply_rope(
        x, positions, _SPECS[number], axes=axes, backend=_BACKEND, exact_table=table
    )


_BACKEND = TorchBackend()


def backend() -> Backend:
    """Return the backend."""
    return _BACKEND

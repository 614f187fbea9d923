"""PyTorch: tensors that have no values, and torch.compile.

What a compiled graph needs is in `_torch_compile`, which is imported while something is
compiled and not before: it imports torch's compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import numpy.typing as npt
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from rope_backends.framework import Framework
from rope_ref import RopeSpec

__all__ = ["TorchFramework", "framework"]


class TorchFramework(Framework):
    """torch tensors.

    Under ``torch.compile`` NumPy positions are traced like tensors; lists and numbers
    are constants. Make the spec outside what is compiled and keep it: another object,
    though equal, is compiled anew. On the ``meta`` device the result has no values.

    Parameters
    ----------
    exact_table
        The exact rows as a tensor that a compiled graph holds already; None to make it
        where it is asked for.
    """

    name = "torch"
    xp = xp
    array_type = torch.Tensor

    def __init__(self, exact_table: torch.Tensor | None = None) -> None:
        self._exact_table = exact_table

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name."""
        return {n: getattr(torch, n) for n in ("float64", "float32", "bfloat16", "float16")}

    def devices(self) -> list[Any]:
        """The CPU, and the CUDA devices if there are any."""
        cuda = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        return [torch.device("cpu"), *cuda]

    def concrete(self, positions: Any) -> npt.NDArray[Any] | None:
        """Positions as a NumPy array; None if they have no values to read."""
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
            # NumPy has no bfloat16; float64 holds every value of the narrower dtypes.
            whole = not positions.is_floating_point()
            return np.asarray((positions if whole else positions.double()).numpy())

    def traced_array(self, positions: Any, device: Any) -> Any:
        """Traced positions as a tensor on a device."""
        if isinstance(positions, torch.SymInt):
            return torch.full((), positions, dtype=torch.int64, device=device)
        return positions.to(device)

    def exact_table(self, spec: RopeSpec, dtype: str, device: Any) -> Any:
        """The exact rows on a device: the graph's own tensor if there is one."""
        if self._exact_table is not None:
            return self._exact_table
        return super().exact_table(spec, dtype, device)

    def call(
        self, function: Callable[..., Any], x: Any, positions: Any, spec: RopeSpec, axes: str
    ) -> Any:
        """Call `function`; while something is compiled, as one node of its graph."""
        if not torch.compiler.is_compiling():
            return super().call(function, x, positions, spec, axes)
        # The compiler is loaded by now; imported above, it would be loaded by load("torch").
        from rope_backends._torch_compile import as_one_node

        return as_one_node(function, TorchFramework, x, positions, spec, axes)


def framework() -> Framework:
    """Return the framework."""
    return TorchFramework()

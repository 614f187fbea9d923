"""CuPy: everything needs a CUDA device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat.cupy as xp
import cupy
import numpy as np
import numpy.typing as npt

from rope_backends.framework import BackendUnavailable, Framework
from rope_ref import RopeSpec

__all__ = ["CuPyFramework", "framework"]


class CuPyFramework(Framework):
    """CuPy arrays."""

    name = "cupy"
    xp = xp
    array_type = cupy.ndarray

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name; CuPy does not compute in bfloat16."""
        return {name: np.dtype(name) for name in ("float64", "float32", "float16")}

    def devices(self) -> list[Any]:
        """The CUDA devices."""
        return [cupy.cuda.Device(i) for i in range(cupy.cuda.runtime.getDeviceCount())]

    def concrete(self, positions: Any) -> npt.NDArray[Any]:
        """Positions as a NumPy array, copied from the device they are on."""
        if isinstance(positions, cupy.ndarray):
            positions = cupy.asnumpy(positions)
        return np.asarray(positions)

    def call(
        self, function: Callable[..., Any], x: Any, positions: Any, spec: RopeSpec, axes: str
    ) -> Any:
        """Call `function` with the device of `x` as the current device."""
        self.dtype_name(x)  # refuses what is no CuPy array and has no CUDA device
        with x.device:  # CuPy computes on the current device, wherever its arguments are
            return super().call(function, x, positions, spec, axes)


def framework() -> Framework:
    """Return the framework, if it has a device.

    Raises
    ------
    BackendUnavailable
        If the CUDA runtime finds no device; the message gives its reason.
    """
    try:
        count, reason = cupy.cuda.runtime.getDeviceCount(), "it counts 0 devices"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        count, reason = 0, str(error)
    if not count:
        raise BackendUnavailable(
            f"load('cupy'): cupy {cupy.__version__} finds no usable CUDA device ({reason})"
        )
    return CuPyFramework()

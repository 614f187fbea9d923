"""CuPy: everything needs a CUDA device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import array_api_compat.cupy as xp
import cupy
import numpy as np
import numpy.typing as npt

from rope_backends.backend import Backend, BackendUnavailable
from rope_ref import RopeSpec

__all__ = ["CuPyBackend", "backend"]


class CuPyBackend(Backend):
    """Rotation of CuPy arrays."""

    name = "cupy"
    xp = xp
    array_type = cupy.ndarray

    def apply_rope(self, x: Any, positions: Any, spec: RopeSpec, *, axes: str) -> Any:
        """Rotate `x`; see `Backend.apply_rope`."""
        self.dtype_name(x)  # what is no CuPy array has no CUDA device
        with x.device:  # CuPy computes on the current device, wherever its arguments are
            return super().apply_rope(x, positions, spec, axes=axes)

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The types of data that can be rotated, by name; CuPy computes with no bfloat16."""
        return {name: np.dtype(name) for name in ("float64", "float32", "float16")}

    def devices(self) -> list[Any]:
        """The CUDA devices."""
        return [cupy.cuda.Device(i) for i in range(cupy.cuda.runtime.getDeviceCount())]

    def concrete(self, positions: Any) -> npt.NDArray[Any]:
        """Positions as a NumPy array, copied from the device they are on."""
        if isinstance(positions, cupy.ndarray):
            positions = cupy.asnumpy(positions)
        return np.asarray(positions)


def backend() -> Backend:
    """Return the backend, once a device has been found.

    Raises
    ------
    BackendUnavailable
        If the CUDA runtime finds no device; with what it says.
    """
    try:
        count, reason = cupy.cuda.runtime.getDeviceCount(), "it counts 0 devices"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        count, reason = 0, str(error)
    if not count:
        raise BackendUnavailable(
            f"load('cupy'): cupy {cupy.__version__} finds no usable CUDA device ({reason})"
        )
    return CuPyBackend()

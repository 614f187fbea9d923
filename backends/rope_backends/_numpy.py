"""NumPy: bfloat16 if ml_dtypes is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import numpy.typing as npt

from rope_backends.framework import Framework

__all__ = ["NumPyFramework", "framework"]


class NumPyFramework(Framework):
    """NumPy arrays."""

    name = "numpy"
    xp = xp
    array_type = np.ndarray

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name."""
        found = {name: np.dtype(name) for name in ("float64", "float32", "float16")}
        if find_spec("ml_dtypes") is not None:
            import ml_dtypes

            found["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
        return found

    def devices(self) -> list[Any]:
        """The CPU."""
        return ["cpu"]

    def concrete(self, positions: Any) -> npt.NDArray[Any]:
        """Positions as a NumPy array."""
        return np.asarray(positions)


def framework() -> Framework:
    """Return the framework."""
    return NumPyFramework()

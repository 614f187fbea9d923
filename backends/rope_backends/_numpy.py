"""NumPy: bfloat16 if ml_dtypes is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import array_api_compat.numpy as xp
import numpy as np

from rope_backends.backend import Backend

__all__ = ["NumPyBackend", "backend"]


class NumPyBackend(Backend):
    """Rotation of NumPy arrays."""

    name = "numpy"
    xp = xp
    array_type = np.ndarray

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The types of data that can be rotated, by name."""
        found = {name: np.dtype(name) for name in ("float64", "float32", "float16")}
        if find_spec("ml_dtypes") is not None:
            import ml_dtypes

            found["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
        return found


def backend() -> Backend:
    """Return the backend."""
    return NumPyBackend()

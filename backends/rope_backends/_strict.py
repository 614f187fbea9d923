"""array-api-strict: the standard and nothing more, with devices that do not mix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import array_api_strict as xp
import numpy as np
import numpy.typing as npt

from rope_backends.framework import Framework

__all__ = ["StrictFramework", "framework"]

_CPU = xp.Device("CPU_DEVICE")


class StrictFramework(Framework):
    """array-api-strict arrays."""

    name = "strict"
    xp = xp
    array_type = type(xp.empty(0))

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name."""
        return {"float64": xp.float64, "float32": xp.float32}

    def devices(self) -> list[Any]:
        """The CPU, and the devices that only pretend to be other ones."""
        return list(xp.__array_namespace_info__().devices())

    def concrete(self, positions: Any) -> npt.NDArray[Any]:
        """Positions as a NumPy array."""
        # NumPy can read arrays on the CPU device only.
        if isinstance(positions, self.array_type):
            return np.asarray(positions.to_device(_CPU))
        return np.asarray(positions)


def framework() -> Framework:
    """Return the framework."""
    return StrictFramework()

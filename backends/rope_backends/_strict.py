"""array-api-strict: the standard and nothing more, with devices that do not mix."""

from __future__ import annotations

from typing import Any

import array_api_strict as xp
import numpy as np
import numpy.typing as npt

from rope_backends.backend import Backend

__all__ = ["StrictBackend", "backend"]

_CPU = xp.Device("CPU_DEVICE")


class StrictBackend(Backend):
    """Rotation of array-api-strict arrays."""

    name = "strict"
    xp = xp
    array_type = type(xp.empty(0))

    def devices(self) -> list[Any]:
        """The devices that arrays can be on; two of them are other devices in name only."""
        return list(xp.__array_namespace_info__().devices())

    def concrete(self, positions: Any) -> npt.NDArray[Any]:
        """Positions as a NumPy array."""
        # Only the CPU device lets NumPy read.
        if isinstance(positions, self.array_type):
            return np.asarray(positions.to_device(_CPU))
        return np.asarray(positions)


def backend() -> Backend:
    """Return the backend."""
    return StrictBackend()

"""How far an implementation can be trusted: the error at each position that was tried."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rope_conformance.accuracy.number_types import tiny, unit_roundoff
from rope_conformance.accuracy.residual import Judgement
from rope_ref import RopeSpec

__all__ = ["Horizon"]


@dataclass
class Horizon:
    """The largest error seen at each position, as a share of r.

    Attributes
    ----------
    errors
        By the size of the position. Where positions have several axes, each axis counts by
        itself, with the pairs that follow it.
    """

    errors: dict[float, float] = field(default_factory=dict)

    def add(self, judgement: Judgement, spec: RopeSpec) -> None:
        """Take a judged output into account."""
        # Among the subnormals of a type every result is coarse, whatever the position.
        normal = judgement.r >= 16 * tiny(judgement.dtype) / unit_roundoff(judgement.dtype)
        errors = np.where(normal, judgement.error, 0.0)
        axes = (0,) if spec.pair_axes is None else spec.pair_axes
        for axis in sorted(set(axes)):
            own = slice(None) if spec.pair_axes is None else np.equal(axes, axis)
            worst = errors[..., own].max(axis=(2, 3), initial=0.0)
            positions = np.abs(judgement.positions[:, :, 0, axes.index(axis)])
            everywhere = np.broadcast_to(positions, worst.shape)
            for position, error in zip(everywhere.ravel(), worst.ravel(), strict=True):
                self._see(float(position), float(error))

    def merge(self, other: Horizon) -> None:
        """Take into account what another has seen."""
        for position, error in other.errors.items():
            self._see(position, error)

    def _see(self, position: float, error: float) -> None:
        self.errors[position] = max(self.errors.get(position, 0.0), error)

    def reach(self, size: float) -> tuple[float | None, bool]:
        """Largest position up to which the error stayed within `size` times r.

        Returns
        -------
        position, ends
            None if it was larger from the start; `ends` is False if no larger error was
            seen at any position tried.
        """
        last = None
        for position in sorted(self.errors):
            if self.errors[position] > size:
                return last, True
            last = position
        return last, False

"""The largest errors of a run, whatever was claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rope_conformance.accuracy.bound import PROFILES, Judgement, bound, tiny, unit_roundoff
from rope_ref import RopeSpec

__all__ = ["Meter"]


@dataclass
class Meter:
    """The largest errors seen, whatever was claimed: for reports, also on success."""

    largest_ratio: float = 0.0
    by_profile: dict[str, float] = field(default_factory=dict)
    horizon_errors: dict[float, float] = field(default_factory=dict)

    def add(self, judgement: Judgement, spec: RopeSpec) -> None:
        """Take a judged output into account."""
        if not judgement.ratio.size:
            return
        self.largest_ratio = max(self.largest_ratio, float(judgement.ratio.max()))
        p = judgement.positions
        for profile in PROFILES:
            allowed = bound(profile, spec, p, judgement.dtype, judgement.r)
            says_something = np.isfinite(allowed)
            if not says_something.any():
                continue
            worst = float((judgement.residual[says_something] / allowed[says_something]).max())
            self.by_profile[profile.name] = max(self.by_profile.get(profile.name, 0.0), worst)
        # Among the subnormals of a type every result is coarse, whatever the position.
        normal = judgement.r >= 16 * tiny(judgement.dtype) / unit_roundoff(judgement.dtype)
        errors = np.where(normal, judgement.error, 0.0)
        axes = (0,) if spec.pair_axes is None else spec.pair_axes
        for axis in sorted(set(axes)):
            own = slice(None) if spec.pair_axes is None else np.equal(axes, axis)
            worst_at = errors[..., own].max(axis=(2, 3), initial=0.0)
            everywhere = np.broadcast_to(np.abs(p[:, :, 0, axes.index(axis)]), worst_at.shape)
            for position, error in zip(everywhere.ravel(), worst_at.ravel(), strict=True):
                key = float(position)
                self.horizon_errors[key] = max(self.horizon_errors.get(key, 0.0), float(error))

    def tightest(self) -> str | None:
        """Name of the tightest profile that everything seen keeps."""
        for profile in PROFILES:
            if self.by_profile.get(profile.name, np.inf) <= 1:
                return profile.name
        return None

    def horizon(self, size: float) -> tuple[float | None, bool]:
        """Largest position up to which the error stayed below `size` times r.

        Returns
        -------
        position, ends
            None if it was larger from the start; `ends` is False if no larger error was
            seen at any position tried.
        """
        last = None
        for position in sorted(self.horizon_errors):
            if self.horizon_errors[position] > size:
                return last, True
            last = position
        return last, False

    def merge(self, other: Meter) -> None:
        """Take into account what another has seen."""
        self.largest_ratio = max(self.largest_ratio, other.largest_ratio)
        for profile, ratio in other.by_profile.items():
            self.by_profile[profile] = max(self.by_profile.get(profile, 0.0), ratio)
        for position, error in other.horizon_errors.items():
            self.horizon_errors[position] = max(self.horizon_errors.get(position, 0.0), error)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the keys of tables in JSON are texts, so positions come in a list."""
        return {
            "largest_ratio": self.largest_ratio,
            "by_profile": self.by_profile,
            "horizon_errors": list(self.horizon_errors.items()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Meter:
        """The meter that plain data describes."""
        errors = {float(position): error for position, error in data["horizon_errors"]}
        return cls(data["largest_ratio"], dict(data["by_profile"]), errors)

"""The largest errors of a run, whatever was claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.horizon import Horizon
from rope_conformance.accuracy.profiles import PROFILES
from rope_conformance.accuracy.residual import Judgement
from rope_ref import RopeSpec

__all__ = ["Meter"]


@dataclass
class Meter:
    """The largest errors seen: for reports, also on success.

    Attributes
    ----------
    largest_ratio
        Of a residual and the bound of the profile that was claimed.
    by_profile
        The same for each profile by its name, claimed or not.
    horizon
        The largest error at each position.
    """

    largest_ratio: float = 0.0
    by_profile: dict[str, float] = field(default_factory=dict)
    horizon: Horizon = field(default_factory=Horizon)

    def add(self, judgement: Judgement, spec: RopeSpec) -> None:
        """Take a judged output into account."""
        if not judgement.ratio.size:
            return
        self.largest_ratio = max(self.largest_ratio, float(judgement.ratio.max()))
        for profile in PROFILES:
            allowed = bound(profile, spec, judgement.positions, judgement.dtype, judgement.r)
            says_something = np.isfinite(allowed)
            if not says_something.any():
                continue
            worst = float((judgement.residual[says_something] / allowed[says_something]).max())
            self.by_profile[profile.name] = max(self.by_profile.get(profile.name, 0.0), worst)
        self.horizon.add(judgement, spec)

    def tightest(self) -> str | None:
        """Name of the tightest profile that everything seen keeps."""
        for profile in PROFILES:
            if self.by_profile.get(profile.name, np.inf) <= 1:
                return profile.name
        return None

    def merge(self, other: Meter) -> None:
        """Take into account what another has seen."""
        self.largest_ratio = max(self.largest_ratio, other.largest_ratio)
        for profile, ratio in other.by_profile.items():
            self.by_profile[profile] = max(self.by_profile.get(profile, 0.0), ratio)
        self.horizon.merge(other.horizon)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the keys of tables in JSON are texts, so positions come in a list."""
        return {
            "largest_ratio": self.largest_ratio,
            "by_profile": self.by_profile,
            "horizon_errors": list(self.horizon.errors.items()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Meter:
        """The meter that plain data describes."""
        errors = {float(position): error for position, error in data["horizon_errors"]}
        return cls(data["largest_ratio"], dict(data["by_profile"]), Horizon(errors))

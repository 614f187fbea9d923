"""Honest objects that live through casts and copies."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.objects import Object
from rope_conformance.zoo.parts.plain import angles, rotate
from rope_ref import RopeSpec

_HALF: dict[str, Any] = {"dtypes": ("bfloat16", "float32"), "profile": "float32-power"}


@control(position_forms=("t", "bt"), **_HALF)
class keeps_theta_through_casts(Object):  # noqa: N801
    """A cast notes the type, and rounds nothing that is held in float32."""

    dtype = "float32"

    def to(self, dtype: str) -> keeps_theta_through_casts:
        self.dtype = dtype
        return self


@control(position_forms=("t", "bt"), profile="float32-power")
class table_made_when_needed(Object):  # noqa: N801
    """The table grows with the positions; it is neither copied nor saved, and made anew."""

    _numbers = itertools.count()

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.number = next(self._numbers)
        self.tables: dict[int, tuple[Array, Array]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"tables": {}}

    def apply_rope(self, x: Array, positions: Array) -> Array:
        longest = int(np.max(positions, initial=0))
        if not 0 <= longest < 2**14 or np.min(positions, initial=0) < 0:
            return super().apply_rope(x, positions)
        length = 1 << longest.bit_length()
        if length not in self.tables:
            phase = angles(np.arange(length), self.theta)
            self.tables[length] = np.cos(phase), np.sin(phase)
        cos, sin = self.tables[length]
        return rotate(x, cos[positions], sin[positions], self.spec)

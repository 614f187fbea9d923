"""Objects that lose, share or round what they hold."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.objects import Object
from rope_conformance.zoo.parts.plain import angles, frequencies, honest, rotate
from rope_ref import RopeSpec

_HALF: dict[str, Any] = {"dtypes": ("bfloat16", "float32"), "profile": "float32-power"}


def _rounded(values: Array) -> Array:
    """To bfloat16 and back."""
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


# Casts


@wrong(fault="angle-precision", clause="objects.cast", **_HALF)
class cast_rounds_theta(Object):  # noqa: N801  # named like its neighbours
    """A cast rounds the frequencies along with everything else it holds."""

    def to(self, dtype: str) -> None:
        if dtype == "bfloat16":
            self.theta = _rounded(self.theta)


@wrong(fault="angle-precision", clause="objects.cast", **_HALF)
class cast_rounds_table(Object):  # noqa: N801
    """After a cast the table is held in the new type, although a wider one is claimed."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.type = "float32"

    def to(self, dtype: str) -> None:
        self.type = dtype

    def apply_rope(self, x: Array, positions: Array) -> Array:
        phase = angles(positions, self.theta)
        table = [np.cos(phase), np.sin(phase)]
        if self.type == "bfloat16":
            table = [_rounded(part) for part in table]
        return rotate(x, table[0], table[1], self.spec)


@wrong(fault="angle-precision", clause="objects.cast", **_HALF)
class cast_rounds_later_rows(Object):  # noqa: N801
    """The first 2048 rows are made before a cast, those beyond from what the cast rounded."""

    rows = 2048

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.later = self.theta

    def to(self, dtype: str) -> None:
        if dtype == "bfloat16":
            self.later = _rounded(self.theta)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        early = np.asarray(positions)[..., None] < self.rows
        phase = np.where(early, angles(positions, self.theta), angles(positions, self.later))
        return rotate(x, np.cos(phase), np.sin(phase), self.spec)


# Copies


@wrong(fault="aliasing", clause="objects.copy")
class copy_shares_cache(Object):  # noqa: N801
    """A copy and its original write their tables into one list, each sure of its own."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.seen: Array | None = None
        self.table: list[Array] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> copy_shares_cache:
        other = type(self)(self.spec)
        other.seen, other.table = self.seen, self.table
        return other

    def apply_rope(self, x: Array, positions: Array) -> Array:
        if self.seen is None or not np.array_equal(self.seen, positions):
            phase = angles(positions, self.theta)
            self.table[:] = [np.cos(phase), np.sin(phase)]
            self.seen = np.array(positions)
        # Rows that the other one left behind are taken for one's own.
        rows = np.arange(self.seen.shape[-1]) % self.table[0].shape[-2]
        cos, sin = (part[..., rows, :] for part in self.table)
        return rotate(x, cos, sin, self.spec)


@wrong(fault="cache", clause="objects.copy")
class copy_loses_table(Object):  # noqa: N801
    """A copy has room for the frequencies, and nothing in it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> copy_loses_table:
        other = type(self)(self.spec)
        other.theta = np.zeros_like(self.theta)
        return other


@wrong(fault="cache", clause="objects.copy")
class memo_filled_when_made(Object):  # noqa: N801
    """The frequencies are kept beside the objects, entered for each when it is made."""

    kept: WeakKeyDictionary[Any, Array] = WeakKeyDictionary()

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.kept[self] = frequencies(spec)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        theta = self.kept.get(self)
        if theta is None:
            raise LookupError("no frequencies are kept for this object")
        return honest(x, positions, self.spec, theta)


# Saved and loaded


@wrong(fault="other", clause="objects.save")
class pickle_drops_table(Object):  # noqa: N801
    """The frequencies are not saved; what is loaded has zeros in their place."""

    def __deepcopy__(self, memo: dict[int, Any]) -> pickle_drops_table:
        return type(self)(self.spec)

    def __getstate__(self) -> dict[str, Any]:
        return {"spec": self.spec}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["spec"])  # type: ignore[misc]
        self.theta[:] = 0


@wrong(fault="other", clause="objects.save")
class loads_flag_without_table(Object):  # noqa: N801
    """That the table of the first 4096 positions is made is saved, and the table is not."""

    rows = 4096

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.made = False
        self.phases = np.zeros((self.rows, self.theta.size), dtype=np.float32)

    def __deepcopy__(self, memo: dict[int, Any]) -> loads_flag_without_table:
        return type(self)(self.spec)

    def __getstate__(self) -> dict[str, Any]:
        return {"spec": self.spec, "made": self.made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["spec"])  # type: ignore[misc]
        self.made = state["made"]

    def apply_rope(self, x: Array, positions: Array) -> Array:
        if not self.made:
            self.phases[:] = angles(np.arange(self.rows), self.theta)
            self.made = True
        inside = np.clip(positions, 0, self.rows - 1)
        known = np.asarray(positions == inside)[..., None]
        phase = np.where(known, self.phases[inside], angles(positions, self.theta))
        return rotate(x, np.cos(phase), np.sin(phase), self.spec)


# Neighbours


@wrong(fault="cache", clause="objects.apart")
class remembers_last_made(Object):  # noqa: N801
    """The frequencies belong to the class: every object has those of the last one made."""

    shared: Array

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        type(self).shared = frequencies(spec)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec, type(self).shared)


@wrong(fault="aliasing", clause="objects.apart")
class one_table_for_all(Object):  # noqa: N801
    """The table of the last call belongs to the class; what it was made for, to the object."""

    table: tuple[Array, Array]

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.seen: Array | None = None

    def apply_rope(self, x: Array, positions: Array) -> Array:
        if self.seen is None or not np.array_equal(self.seen, positions):
            phase = angles(positions, self.theta)
            type(self).table = np.cos(phase), np.sin(phase)
            self.seen = np.array(positions)
        rows = np.arange(self.seen.shape[-1]) % self.table[0].shape[-2]
        cos, sin = (part[..., rows, :] for part in type(self).table)
        return rotate(x, cos, sin, self.spec)

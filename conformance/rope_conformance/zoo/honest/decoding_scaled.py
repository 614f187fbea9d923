"""Honest requests whose frequencies depend on their length."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.cached import Request
from rope_conformance.zoo.parts.growing import DYNAMIC, LONGROPE, Resetting, Served, is_scaled


@control(DYNAMIC, profile="float32-power")
class decodes_dynamic_ntk(Resetting):  # noqa: N801  # named like its neighbours
    """Dynamic NTK as transformers has it: what has grown stays until a call is short."""


@control(DYNAMIC, profile="float32-power", length_rule="row")
class decodes_dynamic_ntk_by_rows(Served):  # noqa: N801
    """Dynamic NTK for each row of the batch by itself, so that no row depends on the others."""

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        if not is_scaled(self.spec):
            return super().prefill(x, lengths)
        ends = self.next + (x.shape[1] if lengths is None else lengths)
        rows = [self.of_length(int(length)) for length in np.broadcast_to(ends, x.shape[0])]
        self.theta = np.stack(rows)[:, None]
        return Request.prefill(self, x, lengths)

    def keep(self, x: Array, y: Array) -> None:
        theta = self.theta
        self.theta = theta.reshape(-1, theta.shape[-1])[0]  # moved only where rows are alike
        super().keep(x, y)
        self.theta = theta


@control(LONGROPE, profile="float32-power", dtypes=("bfloat16",), length_rule="forward")
class decodes_longrope(Served):  # noqa: N801
    """LongRoPE: each call by its own length; cached keys stay as they are. bfloat16 data."""


@control(LONGROPE, profile="float32-power", cached_keys="renewed")
class decodes_longrope_and_renews_keys(Served):  # noqa: N801
    """LongRoPE over keys kept raw: they take the new frequencies when the text becomes long."""

    def start(self) -> Any:
        super().start()
        self.slots = np.zeros(0, dtype=np.int64)

    def keep(self, x: Array, y: Array) -> None:
        super().keep(x, x)
        self.slots = np.append(self.slots, self.places(x)[0])

    def keys(self) -> Array:
        return self.rotated(super().keys(), self.slots)

    def evict(self, start: int, stop: int) -> None:
        self.kept = [np.delete(np.concatenate(self.kept, axis=1), np.s_[start:stop], axis=1)]
        self.slots = np.delete(self.slots, np.s_[start:stop])

    def shift(self, delta: int) -> None:
        self.slots = self.slots + delta
        self.next = self.next + delta

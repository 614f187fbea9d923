"""Arrays that are views: the same numbers, lying otherwise in memory."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rope_conformance.target.frameworks import Array, Namespace

__all__ = ["View", "as_view"]

# Which array of a call is a view, and of what. The data: every second element of a larger array
# along each axis (True), an array from its end to its start, or one head (or row) for all. Or the
# positions: every second element.
View = bool | Literal["backwards", "expanded", "positions"]


def as_view(own: Namespace, host: Array, view: View, device: str, axis: int) -> Any:
    """An array of a framework with the numbers of `host`, as a view.

    Parameters
    ----------
    own, device
        Whose array, and where.
    host
        The numbers; expanded along `axis`, they are the same there.
    view
        How it lies.
    axis
        Along which it is expanded.
    """
    if view == "expanded":
        return own.expanded(own.array(host.take([0], axis), device), axis, host.shape[axis])
    if view == "backwards":
        index = tuple(slice(None, None, -1) for _ in host.shape)
        return own.array(host[index], device)[index]
    every_second = tuple(slice(None, None, 2) for _ in host.shape)
    room = np.zeros(tuple(2 * n for n in host.shape), dtype=host.dtype)
    room[every_second] = host
    return own.array(room, device)[every_second]

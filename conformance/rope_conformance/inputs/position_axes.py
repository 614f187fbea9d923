"""Where tokens stand, when a position has several axes: time, row, column.

A `Case` gives one position for each token. A spec with ``pair_axes`` needs one for each axis:
axis 0 has the positions of the case, the others have the same ones in another order. So their
range, signs and sums stay, and few tokens have the same position on two axes. Arrays then have
a leading axis: (A, T) or (A, B, T).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec

__all__ = ["at_one_place", "axes_of", "followed", "on_all_axes", "on_each_axis", "place_in_words"]


def axes_of(spec: RopeSpec) -> int:
    """How many axes a position has; 0 where positions are plain numbers."""
    return 0 if spec.pair_axes is None else max(spec.pair_axes) + 1


def on_each_axis(positions: Array, spec: RopeSpec, claim: Claim) -> Array:
    """Positions (T,) or (B, T) as a spec with ``pair_axes`` takes them; else as they are."""
    axes = max(axes_of(each) for each in (spec, claim.second_channels) if each is not None)
    if not axes:
        return positions
    if positions.shape[-1] == 1:  # one token has no order: it stands nearer to 0 axis by axis
        steps = np.arange(axes).reshape(-1, *(1 for _ in positions.shape))
        nearer = np.sign(positions) * np.maximum(np.abs(positions) - steps, 0)
        nearer = np.clip(nearer, *claim.position_range)
        return np.asarray(nearer.astype(positions.dtype))
    backwards = positions[..., ::-1]
    return np.stack(
        [np.roll(backwards if k % 2 else positions, k // 2, axis=-1) for k in range(axes)]
    )


def at_one_place(position: float, tokens: int, spec: RopeSpec) -> Array:
    """Positions of tokens that all stand at one position, on every axis."""
    return on_all_axes(np.full(tokens, position), spec)


def on_all_axes(positions: Array, spec: RopeSpec) -> Array:
    """Positions (T,) or (B, T), the same on every axis."""
    axes = axes_of(spec)
    return np.stack([positions] * axes) if axes else positions


def place_in_words(positions: Array, spec: RopeSpec, row: int, token: int) -> str:
    """Where a token stands: a number, or one for each axis."""
    rows = positions.ndim == (3 if axes_of(spec) else 2)
    own = np.atleast_1d(positions[..., row, token] if rows else positions[..., token])
    numbers = ", ".join(f"{number:g}" for number in own)
    return f"({numbers})" if axes_of(spec) else numbers


def followed(own: Array, pair: int, spec: RopeSpec) -> dict[str, Any]:
    """Which axis a pair follows, and the position on each, from the positions of all pairs.

    Nothing where positions have one axis; None on an axis that no pair follows.
    """
    if spec.pair_axes is None or len(own) != len(spec.pair_axes):
        return {}
    at = {axis: float(p) for axis, p in zip(spec.pair_axes, own, strict=True)}
    return {
        "axis": spec.pair_axes[pair],
        "place": tuple(at.get(axis) for axis in range(axes_of(spec))),
    }

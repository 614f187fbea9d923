"""Comparing arrays that went in with arrays that came out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_conformance.judging.context import CheckContext
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, pair_channels

__all__ = ["same_numbers", "passing_channels", "to_input_layout", "to_output_layout"]


def same_numbers(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays hold the same numbers; NaN counts as NaN, 0 as -0."""
    result: npt.NDArray[np.bool_] = (a == b) | ((a != a) & (b != b))
    return result


def passing_channels(spec: RopeSpec) -> npt.NDArray[np.int64]:
    """The channels that do not rotate."""
    return np.setdiff1d(np.arange(spec.head_dim), pair_channels(spec))


def to_input_layout(context: CheckContext, y: Array) -> Array:
    """An output with each pair back on the channels it was read from."""
    x = y.copy()
    x[..., pair_channels(context.spec)] = y[..., pair_channels(context.spec, output=True)]
    return x


def to_output_layout(context: CheckContext, x: Array) -> Array:
    """An array with each pair moved from the channels read to those written."""
    y = x.copy()
    y[..., pair_channels(context.spec, output=True)] = x[..., pair_channels(context.spec)]
    return y

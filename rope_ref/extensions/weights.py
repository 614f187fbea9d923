"""Projection weights between the two layouts.

A model trained with one layout runs with the other once the rows of its query and key
projections, head by head, stand in the other order. Scores stay what they were: both
vectors of a product are permuted alike. Values and output projections do not rotate and
stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import IntArray, as_array, is_one_of, shown
from rope_ref.errors import (
    HeadGroupError,
    LayoutError,
    WeightKindError,
    WeightShapeError,
)
from rope_ref.positions.counts import count
from rope_ref.rotation import pair_channels
from rope_ref.spec import LAYOUTS, Layout, RopeSpec, demand_spec

__all__ = ["WeightKind", "channel_order", "convert_weights"]

WeightKind = Literal["q", "k", "q_bias", "k_bias", "q_norm", "k_norm"]


def channel_order(spec: RopeSpec, to: Layout) -> IntArray:
    """Return the channels of one head in the order of another layout.

    Parameters
    ----------
    spec
        The RoPE whose layout the channels are in.
    to
        The layout they are wanted in.

    Returns
    -------
    order
        int64 of shape (D,): ``x[..., order]`` is the head `x` in the layout `to`. Channels
        that do not rotate stay where they are.

    Raises
    ------
    SpecError, LayoutError
        If `spec` is no RopeSpec, or `to` no layout.
    """
    return _order(spec, to, f"channel_order(spec, to={shown(to)})")


def _order(spec: RopeSpec, to: Layout, call: str) -> IntArray:
    """`channel_order`, whose errors name `call`."""
    demand_spec(spec, call)
    if not is_one_of(to, LAYOUTS):
        raise LayoutError(
            f"{call}: a layout is 'interleaved' (pair i is channels 2i and "
            "2i+1) or 'half' (channels i and i + R/2)"
        )
    order = np.arange(spec.head_dim)
    order[pair_channels(replace(spec, layout=to))] = pair_channels(spec)
    return order


def convert_weights(
    array: npt.ArrayLike,
    spec: RopeSpec,
    to: Layout,
    *,
    n_heads: int,
    n_kv_heads: int,
    which: WeightKind,
) -> npt.NDArray[Any]:
    """Return weights made for one layout as another layout needs them.

    Parameters
    ----------
    array
        For ``q`` and ``k`` the projection (H D, in), one row for each channel of each head;
        for ``q_bias`` and ``k_bias`` (H D,); for ``q_norm`` and ``k_norm``, the gains of a
        norm between projection and rotation, (H D,), or (D,) if all heads share them.
    spec
        The RoPE that the weights were made for.
    to
        The layout they are wanted in.
    n_heads, n_kv_heads
        How many query heads and key heads there are: H is the one or the other.
    which
        ``q``, ``k``, ``q_bias``, ``k_bias``, ``q_norm`` or ``k_norm``.

    Returns
    -------
    converted
        A new array with the shape, the dtype and the numbers of `array`, its first axis
        in another order. With it the same RoPE in the layout `to` gives the same scores,
        whatever its `output_layout`.

    Raises
    ------
    SpecError, LayoutError
        If `spec` is no RopeSpec, or `to` no layout.
    WeightKindError
        If `which` is none of the six.
    CountTypeError, CountError, HeadGroupError
        If the numbers of heads are not positive integers, the first a multiple of the second.
    WeightShapeError
        If `array` does not have as many axes and rows as it must.

    Notes
    -----
    Source: the conversions of Llama in huggingface/transformers and ggml-org/llama.cpp;
    huggingface/transformers#31788 is the bug of cutting keys into query heads.
    """
    call = (
        f"convert_weights(array, spec, {shown(to)}, n_heads={shown(n_heads)}, "
        f"n_kv_heads={shown(n_kv_heads)}, which={shown(which)})"
    )
    order = _order(spec, to, call)
    if not is_one_of(which, get_args(WeightKind)):
        raise WeightKindError(f"{call}: which must be one of {', '.join(get_args(WeightKind))}")
    n_heads = count(n_heads, call, "n_heads", 1)
    n_kv_heads = count(n_kv_heads, call, "n_kv_heads", 1)
    if n_heads % n_kv_heads:
        raise HeadGroupError(f"{call}: n_heads must be a multiple of n_kv_heads")
    given = as_array(array, WeightShapeError, call, "array")
    heads = n_heads if which.startswith("q") else n_kv_heads
    width = heads * spec.head_dim
    shapes = [(width, "in") if which in ("q", "k") else (width,)]
    if which.endswith("norm"):
        shapes.append((spec.head_dim,))
    if given.ndim != len(shapes[0]) or given.shape[0] not in [shape[0] for shape in shapes]:
        wanted = " or ".join(str(shape).replace("'", "") for shape in shapes)
        raise WeightShapeError(
            f"{call}: array must be {wanted} for {heads} heads of {spec.head_dim} channels, got "
            f"shape {given.shape}"
        )
    by_head = given.reshape(given.shape[0] // spec.head_dim, spec.head_dim, *given.shape[1:])
    return by_head[:, order].reshape(given.shape)

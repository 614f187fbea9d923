"""Wrong conversions of weights: heads miscounted, orders inverted, biases and norms forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.conversion import BACK, LATE, Converter
from rope_ref import RopeSpec

# Whose heads


@wrong(fault="layout", clause="weights.projections")
class keys_cut_into_query_heads(Converter):  # noqa: N801
    """The rows of a key projection are cut into as many heads as there are query heads."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        if which != "k":
            return super().convert(array, n_heads, n_kv_heads, which, to)
        narrow = RopeSpec(len(array) // n_heads, layout=self.spec.layout)
        return Converter(narrow).moved(array, n_heads, to)


@wrong(fault="layout", clause="weights.biases")
class key_biases_cut_into_query_heads(Converter):  # noqa: N801
    """The bias of a key projection is cut into as many heads as there are query heads."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        if which != "k_bias":
            return super().convert(array, n_heads, n_kv_heads, which, to)
        narrow = RopeSpec(len(array) // n_heads, layout=self.spec.layout)
        return Converter(narrow).moved(array, n_heads, to)


@wrong(fault="layout", clause="weights.projections")
class all_rows_as_one_head(Converter):  # noqa: N801
    """All rows are permuted as if they were one head."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        return self.reordered(array[None], to)[0]


@wrong(fault="broadcast", clause="weights.norms")
class gains_of_first_head_only(Converter):  # noqa: N801
    """Of gains that each head has for itself, those of the first head are moved."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        converted = super().convert(array, n_heads, n_kv_heads, which, to)
        if which.endswith("norm"):
            converted[self.spec.head_dim :] = array[self.spec.head_dim :]
        return converted


# Which order


@wrong(fault="layout", clause="weights.projections")
class inverse_order(Converter):  # noqa: N801
    """The permutation is that of the other direction."""

    def reordered(self, rows: Array, to: str) -> Any:
        if to == self.spec.layout:
            return rows
        outer = rows.shape[1] // 2 if to == "interleaved" else 2
        apart = rows.reshape(len(rows), outer, -1, *rows.shape[2:])
        return apart.swapaxes(1, 2).reshape(rows.shape)


@wrong(BACK, fault="layout", clause="weights.projections")
class order_applied_twice(Converter):  # noqa: N801
    """Each head is permuted twice."""

    def reordered(self, rows: Array, to: str) -> Any:
        return super().reordered(super().reordered(rows, to), to)


@wrong(fault="layout", clause="weights.projections")
class nothing_moved(Converter):  # noqa: N801
    """The weights come back as they were."""

    def reordered(self, rows: Array, to: str) -> Any:
        return rows


@wrong(fault="layout", clause="weights.projections")
class moves_whatever_is_asked(Converter):  # noqa: N801
    """Rows are moved to the other layout though the one they have was asked for."""

    def reordered(self, rows: Array, to: str) -> Any:
        other = "half" if self.spec.layout == "interleaved" else "interleaved"
        return super().reordered(rows, other)


@wrong(fault="layout", clause="weights.projections")
class columns_for_rows(Converter):  # noqa: N801
    """Where a projection has as many columns as rows, its columns are permuted."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        if array.ndim == 2 and len(array) == array.shape[1]:
            return super().convert(array.T, n_heads, n_kv_heads, which, to).T
        return super().convert(array, n_heads, n_kv_heads, which, to)


# Which channels


@wrong(PARTIAL, fault="partial", clause=("weights.projections", "weights.widths"))
class head_dim_for_rotary_dim(Converter):  # noqa: N801
    """All channels of a head are moved, those that do not rotate too."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        whole = RopeSpec(self.spec.head_dim, layout=self.spec.layout)
        return Converter(whole).moved(array, heads, to)


@wrong(LATE, fault="partial", clause="weights.projections")
class start_not_counted(Converter):  # noqa: N801
    """The rotating channels are taken to be the first ones."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        return Converter(replace(self.spec, rotary_start=0)).moved(array, heads, to)


@wrong(fault="kernel-shape", clause="weights.widths")
class padded_to_power_of_two(Converter):  # noqa: N801
    """The partner of a channel is half a power of two away, whatever the width."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        width = self.spec.rotary_dim
        padded = 1 << (width - 1).bit_length()
        if padded == width:
            return super().moved(array, heads, to)
        order = np.arange(padded).reshape(2, -1).T.ravel()
        order = order[order < width]
        if to == self.spec.layout:
            order = np.arange(width)
        by_head = array.reshape(heads, -1, *array.shape[1:]).copy()
        by_head[:, :width] = by_head[:, order]
        return by_head.reshape(array.shape)


@wrong(fault="layout", clause="weights.widths")
class wide_heads_left_alone(Converter):  # noqa: N801
    """Heads of more than 128 channels come back as they were."""

    def reordered(self, rows: Array, to: str) -> Any:
        return rows if rows.shape[1] > 128 else super().reordered(rows, to)


@wrong(fault="kernel-shape", clause="weights.projections")
class heads_beyond_a_block_left_alone(Converter):  # noqa: N801
    """The first 64 heads are moved, the others not."""

    def reordered(self, rows: Array, to: str) -> Any:
        return np.concatenate([super().reordered(rows[:64], to), rows[64:]])


@wrong(fault="kernel-shape", clause="weights.projections")
class columns_beyond_a_block_left_alone(Converter):  # noqa: N801
    """The first 128 columns are moved, the others not."""

    def reordered(self, rows: Array, to: str) -> Any:
        moved = super().reordered(rows, to)
        if rows.ndim == 3:
            moved = np.concatenate([moved[..., :128], rows[..., 128:]], axis=2)
        return moved


# What is forgotten, and what is done to the numbers


@wrong(fault="layout", clause="weights.biases")
class biases_left_alone(Converter):  # noqa: N801
    """Biases come back as they were."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        if which.endswith("bias"):
            return array
        return super().convert(array, n_heads, n_kv_heads, which, to)


@wrong(fault="layout", clause="weights.norms")
class norms_left_alone(Converter):  # noqa: N801
    """The gains of norms come back as they were."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        if which.endswith("norm"):
            return array
        return super().convert(array, n_heads, n_kv_heads, which, to)


@wrong(fault="dtype", clause="weights.projections")
class through_float16(Converter):  # noqa: N801
    """The numbers are rounded to float16 on the way."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        return super().moved(array.astype(np.float16), heads, to).astype(array.dtype)


@wrong(fault="dtype", clause="weights.projections")
class upcasts_weights(Converter):  # noqa: N801
    """The weights come back in float64."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        return super().moved(array.astype(np.float64), heads, to)


@wrong(fault="aliasing", clause="weights.projections")
class converts_in_place(Converter):  # noqa: N801
    """The weights that were handed over are overwritten."""

    def moved(self, array: Array, heads: int, to: str) -> Any:
        array[...] = super().moved(array, heads, to)
        return array


@wrong(fault="cache", clause="weights.projections")
class rows_kept_by_length(Converter):  # noqa: N801
    """The order of rows is kept under their number, whatever layout was asked for."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: dict[int, Array] = {}

    def moved(self, array: Array, heads: int, to: str) -> Any:
        rows = np.arange(len(array))
        return array[self.kept.setdefault(len(array), super().moved(rows, heads, to))]

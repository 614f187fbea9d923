"""Honest conversions of weights."""

from __future__ import annotations

from typing import Any

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, control
from rope_conformance.zoo.parts.conversion import BACK, LATE, Converter


@control()
class converter(Converter):  # noqa: N801  # named like its neighbours
    """Weights converted by reshaping each head."""


@control(PARTIAL)
class converter_by_index(Converter):  # noqa: N801
    """Weights converted by one list of rows, of heads that rotate in part."""

    def convert(self, array: Array, n_heads: int, n_kv_heads: int, which: str, to: str) -> Any:
        width, start, size = self.spec.rotary_dim, self.spec.rotary_start, self.spec.head_dim
        rows = []
        for row in range(len(array)):
            head, channel = divmod(row, size)
            j = channel - start
            if to != self.spec.layout and 0 <= j < width:
                if to == "interleaved":
                    channel = start + j // 2 + (j % 2) * (width // 2)
                else:
                    channel = start + 2 * (j % (width // 2)) + j // (width // 2)
            rows.append(head * size + channel)
        return array[rows]


@control(BACK, dtypes=("bfloat16",), position_range=(0, 2**12))
class converter_in_bfloat16(Converter):  # noqa: N801
    """Weights in bfloat16, from the interleaved layout."""


@control(LATE)
class converter_of_late_channels(Converter):  # noqa: N801
    """Weights of heads whose rotating channels lie in the middle."""

"""Which position axis each pair follows, where a position has several: time, row, column.

A model of images or videos gives a token one position for each axis, and each pair follows
one of them. Public models choose two things freely:

* Which axis pair i follows: ``RopeSpec(pair_axes=...)``. The functions of this module count
  it out from *sections* (pairs of each axis) or *widths* (channels of each axis, twice that).
* How fast pair i turns. Either all axes share one ladder, ``PowerLaw(base)`` as in text, and
  then equal positions on all axes are the RoPE of text; or each axis has a whole ladder to
  itself, `Axial`.

Positions of a spec with ``pair_axes`` have a leading axis: (A, T), or (A, B, T), where A is
the largest axis named, plus 1. So axes at the end that no pair follows are left out.

One ladder for all axes, of positions (time, row, column) where nothing else is said::

    Qwen2-VL, Qwen2.5-VL, Keye    half         contiguous_axes((16, 24, 24))
    HunYuanVL                     half         contiguous_axes((16, 16, 16, 16)),
                                               of token, column, row, image
    GLM-4V, GLM-OCR               interleaved  contiguous_axes((8, 12, 12))
    GLM-4.5V                      half         contiguous_axes((8, 12, 12))
    Qwen3-VL, Qwen3-Omni          half         interleaved_axes((24, 20, 20))
    Qwen3.5                       half         interleaved_axes((11, 11, 10))
    Qwen3-VL in llama.cpp         half         ggml_axes((24, 20, 20))
    mrope_interleaved_glm         half         glm_axes((8, 12, 12))
    openPangu-VL                  half         pangu_axes((8, 12, 12))
    Ernie-4.5-VL                  interleaved  alternating_axes((20, 22, 22))
    Ling-VL (Bailing)             interleaved  alternating_axes(mrope_section)
    VideoRoPE                     half         alternating_axes((16, 24, 24))
    NeoMME                        half         alternating_axes((n, n)), of row, column
    Pixtral, Mistral-3 vision     half         contiguous_axes((16, 16)), of row, column;
                                               Reordered(PowerLaw(1e4), order=(0, 2, .., 1, 3, ..))
    VRoPE                         half         interleaved_axes((16, 16, 16, 16)), of four sums
    LTX, hidden width 2048        interleaved  interleaved_axes((341, 341, 341)), rotary_start=2,
                                               normalised_coordinates;
                                               ExplicitFrequencies(turns=...) with each of 341
                                               turns, 1e4**(j / 340) / 4, three times

A ladder for each axis, with ``pair_axes=axial_axes(widths)``::

    Qwen2-VL, Qwen3-VL vision     half         Axial(PowerLaw(1e4), (40, 40)), of row, column
    CogView4, GLM-Image           half         Axial(PowerLaw(1e4), (n, n)), of row, column
    EVA-02, timm                  interleaved  Axial(PowerLaw(1e4), (32, 32)), of row, column
    rope-vit, axial               interleaved  Axial(PowerLaw(100), (32, 32)), of column, row
    Llama-4 vision                interleaved  Axial(PowerLaw(1e4), (44, 44)),
                                               of column + 1, row + 1
    DINOv3                        half         Axial(rule, (32, 32)), rule =
                                               ExplicitFrequencies(turns=PowerLaw(100).theta(32)),
                                               of normalised_coordinates
    Kimi-K2.5 vision              half         Reordered(Axial(PowerLaw(1e4), (2 * n, 2 * n)),
                                               order=(0, n, 1, n + 1, ..)), of column, row
                                               with alternating_axes((n, n))
    CogVideoX                     interleaved  Axial(PowerLaw(1e4), (16, 24, 24)),
                                               of cropped_coordinates
    Flux.1, Chroma                interleaved  Axial(PowerLaw(1e4), (16, 56, 56)), text at 0, 0, 0
    Flux.2                        interleaved  Axial(PowerLaw(2000), (32, 32, 32, 32))
    Lumina-2                      interleaved  Axial(PowerLaw(1e4), (32, 32, 32))
    Z-Image                       interleaved  Axial(PowerLaw(256), (32, 48, 48))
    Wan 2                         interleaved  Axial(PowerLaw(1e4), (44, 42, 42))
    HunyuanVideo                  interleaved  Axial(PowerLaw(256), (16, 56, 56))
    Qwen-Image                    interleaved  Axial(PowerLaw(1e4), (16, 56, 56)),
                                               of frame and centred_coordinates
    Cosmos                        half         Axial((NTK(PowerLaw(1e4), alpha=2), PowerLaw(1e4),
                                               PowerLaw(1e4)), (44, 42, 42))

A model that cuts a head into two blocks, each with a half layout of its own, has two RoPEs;
they rotate different channels and are applied one after the other. Gemma-4 vision at width 64::

    column = RopeSpec(64, layout="half", rotary_dim=32, frequencies=PowerLaw(100))
    row = RopeSpec(64, layout="half", rotary_dim=32, rotary_start=32, frequencies=PowerLaw(100))

ChatGLM-6B too: one for the position, one for the position in the block that is filled in.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from fractions import Fraction

from rope_ref.arguments import as_integer, as_items, shown
from rope_ref.errors import CountTypeError, SectionsError, WidthsError

__all__ = [
    "alternating_axes",
    "axial_axes",
    "contiguous_axes",
    "ggml_axes",
    "glm_axes",
    "interleaved_axes",
    "pangu_axes",
]

Axes = tuple[int, ...]

_LARGEST = 2**20  # pairs or channels of an axis: far more than any model has


def contiguous_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair where each axis has a run of pairs, one after the other.

    Parameters
    ----------
    sections
        How many pairs each axis has; Hugging Face calls them ``mrope_section``.

    Returns
    -------
    pair_axes
        One axis for each of the R/2 pairs, R/2 the sum of `sections`.

    Raises
    ------
    CountTypeError, SectionsError
        If `sections` is not one integer from 0 to 2**20 for each axis.

    Notes
    -----
    Source: Qwen2-VL, arXiv:2409.12191, section 2.1, and
    huggingface/transformers:src/transformers/models/qwen2_vl/modeling_qwen2_vl.py.
    """
    counts = _sections(sections, "contiguous_axes")
    return tuple(axis for axis, count in enumerate(counts) for _ in range(count))


def interleaved_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair where the axes take turns, as in Qwen3-VL.

    With n axes pair i follows axis ``i % n``, as long as i is below n times the section of
    that axis; what is left follows axis 0. A section of which n times do not fit into the
    ladder gets fewer pairs than it asks for, as in public code.

    Parameters, result and errors are those of `contiguous_axes`.

    Notes
    -----
    Source: huggingface/transformers:src/transformers/models/qwen3_vl/modeling_qwen3_vl.py.
    Three maps are called interleaved; the others are `glm_axes` and `pangu_axes`.
    """
    counts = _sections(sections, "interleaved_axes")
    return _turn_by_turn(counts, len(counts), left=0)


def ggml_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair as ggml's IMROPE mode does: what is left follows axis 3.

    `interleaved_axes` gives time the pairs that are left; ggml gives them a fourth position,
    which llama.cpp sets to 0, so that they stand still: with sections (24, 20, 20) pairs 61
    and 62. ggml's MROPE mode is `contiguous_axes`.

    Parameters, result and errors are those of `contiguous_axes`, but `sections` has three
    entries (time, row, column), or a fourth for pairs more, which is 0 in public models.

    Notes
    -----
    Source: ggml-org/ggml:src/ggml-cpu/ops.cpp.
    """
    counts = _sections(sections, "ggml_axes", (3, 4))
    return _turn_by_turn(counts, 3, left=3)


def glm_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair where the axes take turns and full ones are skipped.

    Pair i follows axis ``i % n``; if that one has all its pairs, the next one that has not.

    Parameters, result and errors are those of `contiguous_axes`.

    Notes
    -----
    Source: sgl-project/sglang, ``mrope_interleaved_glm``.
    """
    counts = _sections(sections, "glm_axes")
    left = list(counts)
    axes = []
    for i in range(total(counts)):
        axis = i % len(left)
        while not left[axis]:
            axis = (axis + 1) % len(left)
        left[axis] -= 1
        axes.append(axis)
    return tuple(axes)


def pangu_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair where all axes are spread evenly, as in openPangu.

    Each pair in turn follows the axis that has the smallest part of its section so far, the
    first one of equals, but not the axis of the pair before, where another has pairs left.
    With three sections, the last pair follows axis 0.

    Parameters, result and errors are those of `contiguous_axes`; the first of three sections
    must be at least 1.

    Notes
    -----
    Source: vllm-project/vllm:vllm/model_executor/layers/rotary_embedding/mrope_interleaved.py.
    """
    counts = list(_sections(sections, "pangu_axes"))
    last = (0,) if len(counts) == 3 else ()
    if last and counts[0] < 1:
        raise SectionsError(
            f"pangu_axes({tuple(counts)}): the last pair follows axis 0, so sections[0] must be "
            "at least 1"
        )
    counts[0] -= len(last)
    placed = [0] * len(counts)
    axes: list[int] = []
    for _ in range(total(counts)):
        open_axes = [axis for axis, count in enumerate(counts) if placed[axis] < count]
        others = [axis for axis in open_axes if axes[-1:] != [axis]] or open_axes
        axis = min(others, key=lambda axis: Fraction(placed[axis], counts[axis]))
        placed[axis] += 1
        axes.append(axis)
    return (*axes, *last)


def alternating_axes(sections: Iterable[int]) -> Axes:
    """Return the axis of each pair where row and column alternate, and time has what is left.

    Row and column share the fast pairs, time has the slow ones: ``(H, W, H, W, .., T, T)``.

    Parameters
    ----------
    sections
        How many pairs each axis has: (row, column), then these are axes 0 and 1; or (time,
        row, column), then these are axes 0, 1 and 2. The column has as many pairs as the
        row, or one less.

    Returns
    -------
    pair_axes
        One axis for each of the R/2 pairs, R/2 the sum of `sections`.

    Raises
    ------
    CountTypeError, SectionsError
        If `sections` is not such a list.

    Notes
    -----
    Configs of Ernie-4.5-VL list (row, column, time): put time first.

    Source: huggingface/transformers:src/transformers/models/ernie4_5_vl_moe; VideoRoPE,
    arXiv:2502.05173.
    """
    counts = _sections(sections, "alternating_axes", (2, 3))
    time, rows, columns = counts if len(counts) == 3 else (0, *counts)
    if rows - columns not in (0, 1):
        raise SectionsError(
            f"alternating_axes({counts}): rows ({rows} pairs) and columns ({columns}) alternate, "
            "so they must have equally many, or rows one more; time, if any, comes first"
        )
    row = len(counts) - 2
    return tuple(row + i % 2 for i in range(rows + columns)) + (0,) * time


def axial_axes(widths: Iterable[int]) -> Axes:
    """Return the axis of each pair where each axis has a block of channels: for `Axial`.

    Parameters
    ----------
    widths
        How many channels each axis has, even numbers.

    Returns
    -------
    pair_axes
        One axis for each of the R/2 pairs, R the sum of `widths`.

    Raises
    ------
    CountTypeError, WidthsError
        If `widths` is not one even number from 2 to 2**20 for each axis.
    """
    call = f"axial_axes({shown(widths)})"
    return contiguous_axes(width // 2 for width in axis_widths(widths, call))


def _turn_by_turn(sections: tuple[int, ...], axes: int, *, left: int) -> Axes:
    """Axis ``i % axes`` while i is below `axes` times its section, then the axis `left`."""
    pairs = range(total(sections))
    return tuple(i % axes if i < axes * sections[i % axes] else left for i in pairs)


def total(numbers: Iterable[int]) -> int:
    """The sum of integers."""
    return functools.reduce(operator.add, numbers)


def _sections(value: Iterable[int], function: str, axes: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Pairs of each axis; `axes` says how many axes there may be, any number if it is empty."""
    call = f"{function}({shown(value)})"
    sections = integers(value, call, "sections")
    fits = all(0 <= section <= _LARGEST for section in sections)
    if not sections or not fits or (axes and len(sections) not in axes):
        wanted = " or ".join(map(str, axes)) or "one or more"
        raise SectionsError(
            f"{call}: sections must give the number of pairs, 0 or more and at most 2**20, of each "
            f"position axis; {wanted} axes, such as (16, 24, 24)"
        )
    return sections


def axis_widths(value: Iterable[int], call: str) -> tuple[int, ...]:
    """Channels of each axis.

    Raises
    ------
    CountTypeError, WidthsError
        If they are not one even number from 2 to 2**20 for each axis.
    """
    widths = integers(value, call, "widths")
    if not widths or any(width % 2 or not 2 <= width <= _LARGEST for width in widths):
        raise WidthsError(
            f"{call}: widths must give the number of channels of each position axis, each an even "
            "number from 2 to 2**20, such as (16, 56, 56)"
        )
    return widths


def integers(value: object, call: str, name: str) -> tuple[int, ...]:
    """A sequence of integers as Python's.

    Raises
    ------
    CountTypeError
        If it is not one.
    """
    items = as_items(value)
    numbers = [as_integer(item) for item in items or ()]
    if items is None or None in numbers:
        raise CountTypeError(f"{call}: {name} must be a sequence of integers, got {shown(value)}")
    return tuple(number for number in numbers if number is not None)

"""Models of images and videos, whose positions have several axes: time, row, column.

Positions come as (A, B, T). The models of transformers make their table with float32
phases; where they round it to the type of the data, so does the claim.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rope_conformance.adapters._accept import base_of, plain, takes
from rope_conformance.adapters._transformers import CLAIM
from rope_conformance.inputs.segments import MERGE
from rope_conformance.target.claim import claims
from rope_conformance.target.implementation import Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import PowerLaw, RopeSpec
from rope_ref.extensions import crossed_ropes
from rope_ref.positions import (
    GridSegment,
    TextSegment,
    alternating_axes,
    axial_axes,
    contiguous_axes,
    interleaved_axes,
)
from rope_ref.scaling import Axial
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["Ernie45VL", "Flux", "GLM4V", "HunYuanVL", "Qwen3VL", "Qwen25VL", "VJEPA2"]

_CLAIM = CLAIM | {"dtypes": ("float32", "bfloat16")}


def _sections(pair_axes: tuple[int, ...]) -> list[int]:
    """How many pairs follow each axis."""
    return [pair_axes.count(axis) for axis in range(max(pair_axes) + 1)]


def _by(
    arrange: Callable[[list[int]], tuple[int, ...]], count: int
) -> Callable[[tuple[int, ...]], bool]:
    """Return a function that accepts the ``pair_axes`` that `arrange` makes for `count` axes."""

    def accepts(pair_axes: tuple[int, ...]) -> bool:
        sections = _sections(pair_axes)
        return len(sections) == count and all(sections) and arrange(sections) == pair_axes

    return accepts


def _text(folder: str, prefix: str, spec: RopeSpec) -> tuple[Any, Any]:
    """The object that makes the table of a model's text part, and the function that rotates."""
    model = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    time, *others = _sections(spec.pair_axes or ())
    rope = {"rope_type": "default", "rope_theta": base_of(spec)}
    # Ernie lists rows, columns, time.
    rope["mrope_section"] = [*others, time] if prefix.startswith("Ernie") else [time, *others]
    config = getattr(model, f"{prefix.removesuffix('Text')}TextConfig")(
        hidden_size=spec.head_dim,
        num_attention_heads=1,
        head_dim=spec.head_dim,
        rope_parameters=rope,
    )
    return getattr(model, f"{prefix}RotaryEmbedding")(config), model.apply_rotary_pos_emb


@cache
def _qwen25_vl(merge: int) -> Any:
    """A model on the meta device, without weights: only its positions are asked for."""
    import torch
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen

    config = qwen.Qwen2_5_VLConfig(
        text_config={"num_hidden_layers": 1},
        vision_config={"depth": 1, "spatial_merge_size": merge, "tokens_per_second": 1},
    )
    with torch.device("meta"):
        return qwen.Qwen2_5_VLModel(config)


def _rope_index(segments: Sequence[TextSegment | GridSegment]) -> Any:
    """The positions that the model gives; tokens of text have type 0, of images 1, of videos 2."""
    import torch

    grids: dict[int, list[GridSegment]] = {1: [], 2: []}
    types: list[int] = []
    merge, before = MERGE, 0
    for segment in segments:
        kind = 0 if isinstance(segment, TextSegment) else 1 if segment.frames == 1 else 2
        types += [kind] * segment.positions().shape[1]
        if isinstance(segment, GridSegment):
            if kind == before:
                raise Unsupported("tokens of grids that touch are told apart by their kind only")
            grids[kind].append(segment)
            merge = segment.merge
        before = kind if segment.extent else before
    sizes = {
        kind: torch.tensor([(each.frames, each.rows, each.columns) for each in own])
        for kind, own in grids.items()
    }
    tokens = torch.tensor([types])
    positions, _ = _qwen25_vl(merge).get_rope_index(
        tokens,
        tokens,
        image_grid_thw=sizes[1],
        video_grid_thw=sizes[2],
        second_per_grid_ts=torch.tensor([float(each.interval) for each in grids[2]]),
    )
    return positions[:, 0]


class _Text:
    """The text part of a model."""

    names: tuple[str, str]  # its folder, and the beginning of its classes' names

    def __init__(self, spec: RopeSpec) -> None:
        self.table, self.rotate = _text(*self.names, spec)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions)
        return self.rotate(x, x, cos, sin)[0]


@claims(accepts=takes("half", axes=_by(contiguous_axes, 3)), profile="model-dtype-table", **_CLAIM)
class Qwen25VL(_Text):
    """Qwen2.5-VL: consecutive pairs for each axis."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=PowerLaw(1_000_000.0),
        pair_axes=contiguous_axes((16, 24, 24)),
    )
    names = "qwen2_5_vl", "Qwen2_5_VL"

    def segment_positions(self, segments: Any) -> Any:
        return _rope_index(segments)


@claims(accepts=takes("half", axes=_by(interleaved_axes, 3)), profile="model-dtype-table", **_CLAIM)
class Qwen3VL(_Text):
    """Qwen3-VL: the axes in turn."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=PowerLaw(5_000_000.0),
        pair_axes=interleaved_axes((24, 20, 20)),
    )
    names = "qwen3_vl", "Qwen3VLText"


@claims(
    accepts=takes("interleaved", axes=_by(contiguous_axes, 3)),
    profile="model-dtype-table",
    **_CLAIM,
)
class GLM4V(_Text):
    """GLM-4V: consecutive pairs for each axis; interleaved."""

    spec = RopeSpec(64, layout="interleaved", pair_axes=contiguous_axes((8, 12, 12)))
    names = "glm4v", "Glm4vText"


@claims(accepts=takes("interleaved", axes=_by(alternating_axes, 3)), profile="float32", **_CLAIM)
class Ernie45VL(_Text):
    """Ernie 4.5 VL: rows and columns by turns, time in the slowest pairs."""

    spec = RopeSpec(
        128,
        layout="interleaved",
        frequencies=PowerLaw(500_000.0),
        pair_axes=alternating_axes((20, 22, 22)),
    )
    names = "ernie4_5_vl_moe", "Ernie4_5_VLMoeText"


@claims(accepts=takes("half", axes=_by(contiguous_axes, 4)), profile="model-dtype-table", **_CLAIM)
class HunYuanVL(_Text):
    """HunYuanVL: consecutive pairs for the token, the column, the row and the image."""

    spec = RopeSpec(128, layout="half", pair_axes=contiguous_axes((16, 16, 16, 16)))
    names = "hunyuan_vl", "HunYuanVL"


_VJEPA2 = RopeSpec(
    64,
    layout="interleaved",
    rotary_dim=60,
    frequencies=Axial(PowerLaw(10000.0), (20, 20, 20)),
    pair_axes=axial_axes((20, 20, 20)),
)
_VJEPA2_FIRST, _VJEPA2_SECOND = crossed_ropes(_VJEPA2, widths=(20, 20, 20))


@claims(
    accepts=lambda spec: spec == _VJEPA2_FIRST or "it is judged by one definition",
    axes="bhtd",
    namespace="torch",
    position_forms=("t", "bt"),
    strided=True,
    second_channels=_VJEPA2_SECOND,
)
class VJEPA2:
    """V-JEPA2: a third of the head for each of frame, row and column, with crossed tables."""

    spec = _VJEPA2_FIRST

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2

        self.layer = vjepa2.VJEPA2RopeAttention(vjepa2.VJEPA2Config(), spec.head_dim, 1)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        if positions.ndim == 3:  # one row of positions per row of the batch, for all heads
            positions = positions[:, :, None]
        return self.layer.apply_rotary_embeddings(x, tuple(positions))


def _one_ladder_each(rule: FrequencyRule) -> bool | str:
    if isinstance(rule, Axial) and len(set(rule.rules)) == 1 and plain(rule.rules[0]) is True:
        return True
    return "it is made for one ladder base**(-2i/width) over each axis"


@claims(
    accepts=takes("interleaved", rule=_one_ladder_each, axes=lambda axes: len(set(axes)) > 1),
    axes="bthd",
    namespace="torch",
    position_forms=("t",),
    dtypes=("float32", "bfloat16"),
    profile="float64",
    strided=True,
)
class Flux:
    """diffusers' FluxPosEmbed, a float64 ladder for each axis, and apply_rotary_emb."""

    spec = RopeSpec(
        128,
        layout="interleaved",
        frequencies=Axial(PowerLaw(10000.0), (16, 56, 56)),
        pair_axes=axial_axes((16, 56, 56)),
    )

    def __init__(self, spec: RopeSpec) -> None:
        from diffusers.models.transformers import transformer_flux as flux

        rule = spec.frequencies
        assert isinstance(rule, Axial)
        self.table = flux.FluxPosEmbed(int(base_below(rule.rules[0]) or 0), list(rule.widths))
        self.rotate = flux.apply_rotary_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return self.rotate(x, self.table(positions.T), sequence_dim=1)

"""Hugging Face transformers: the rotary embedding of six model families.

Each makes its table from float32 phases, rounds it to the type of the data and multiplies in
that type; DeepSeek-V2 multiplies in complex64. Positions are documented as 0 to
``max_position_embeddings - 1``, one per token and row.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.target.claim import claims
from rope_ref import PowerLaw, RopeSpec

__all__ = ["GPTJ", "CLAIM", "DeepseekV2", "DeepseekV3", "GPTNeoX", "Llama", "Qwen2VL"]

_LENGTH = 2**20  # phases are computed at every call: the length costs nothing
_TABLE = 2**15  # rows of GPT-J's table, which are held in memory

CLAIM: dict[str, Any] = {
    "axes": "bhtd",
    "namespace": "torch",
    "position_forms": ("bt",),
    "position_range": (0, _LENGTH - 1),
    "dtypes": ("float32", "bfloat16", "float16"),
    "strided": True,  # attention layers hand over transposed views
}


def _config(spec: RopeSpec, **rest: Any) -> dict[str, Any]:
    """What the configurations of all families have in common: one head of the spec's width."""
    rope = {"rope_type": "default", "rope_theta": base_of(spec)}
    return {
        "hidden_size": spec.head_dim,
        "num_attention_heads": 1,
        "max_position_embeddings": _LENGTH,
        "rope_parameters": rope | rest,
    }


@claims(accepts=takes("half"), profile="model-dtype-table", **CLAIM)
class Llama:
    """Llama, and the many models that share its code."""

    spec = RopeSpec(128, layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.llama import modeling_llama as llama

        config = llama.LlamaConfig(**_config(spec), head_dim=spec.head_dim)
        self.table = llama.LlamaRotaryEmbedding(config)
        self.rotate = llama.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions)
        return self.rotate(x, x, cos, sin)[0]


@claims(
    accepts=takes("interleaved", base=10000.0),
    profile="model-dtype-table",
    **CLAIM | {"axes": "bthd", "position_range": (0, _TABLE - 1)},
)
class GPTJ:
    """GPT-J; its attention layer, which is not called here, decides which channels rotate."""

    spec = RopeSpec(128, layout="interleaved")

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.gptj import modeling_gptj as gptj

        config = gptj.GPTJConfig(
            n_embd=spec.head_dim, n_head=1, rotary_dim=spec.rotary_dim, n_positions=_TABLE
        )
        self.table = gptj.GPTJRotaryEmbedding(config)
        self.rotate = gptj.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        sin, cos = self.table(x, positions)
        return self.rotate(x, sin, cos)


@claims(accepts=takes("half", partial=True), profile="model-dtype-table", **CLAIM)
class GPTNeoX:
    """GPT-NeoX and Pythia, which rotate a quarter of each head."""

    spec = RopeSpec(128, layout="half", rotary_dim=32)

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox

        part = spec.rotary_dim / spec.head_dim
        config = gpt_neox.GPTNeoXConfig(**_config(spec, partial_rotary_factor=part))
        self.table = gpt_neox.GPTNeoXRotaryEmbedding(config)
        self.rotate = gpt_neox.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions)
        return self.rotate(x, x, cos, sin)[0]


@claims(accepts=takes("half"), profile="model-dtype-table", **CLAIM)
class Qwen2VL:
    """Qwen2-VL on text, where time, height and width are the same number."""

    spec = RopeSpec(128, layout="half", frequencies=PowerLaw(1_000_000.0))

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen

        third = spec.rotary_dim // 6
        section = [spec.rotary_dim // 2 - 2 * third, third, third]
        config = qwen.Qwen2VLTextConfig(**_config(spec, mrope_section=section))
        self.table = qwen.Qwen2VLRotaryEmbedding(config)
        self.rotate = qwen.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions[None].expand(3, -1, -1))
        return self.rotate(x, x, cos, sin)[0]


# Pairs are viewed as complex numbers, for which channels must be contiguous.
@claims(accepts=takes("interleaved"), profile="float32", **CLAIM | {"strided": False})
class DeepseekV2:
    """DeepSeek-V2: pairs as complex numbers, rounded once at the end."""

    spec = RopeSpec(64, layout="interleaved")

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek

        config = deepseek.DeepseekV2Config(**_config(spec), qk_rope_head_dim=spec.head_dim)
        self.table = deepseek.DeepseekV2RotaryEmbedding(config)
        self.rotate = deepseek.apply_rotary_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return self.rotate(x, x, self.table(x, positions))[0]


@claims(accepts=takes("interleaved", output="half"), profile="model-dtype-table", **CLAIM)
class DeepseekV3:
    """DeepSeek-V3: pairs are read interleaved, as in the weights, and written half-split."""

    spec = RopeSpec(64, layout="interleaved", output_layout="half")

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

        config = deepseek.DeepseekV3Config(**_config(spec), qk_rope_head_dim=spec.head_dim)
        self.table = deepseek.DeepseekV3RotaryEmbedding(config)
        self.rotate = deepseek.apply_rotary_pos_emb_interleave

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions)
        return self.rotate(x, x, cos, sin)[0]

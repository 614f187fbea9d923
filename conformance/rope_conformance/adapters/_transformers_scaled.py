"""Hugging Face transformers: frequencies that are scaled for a longer context.

Table and rotation are those of `_transformers`: float32 phases, the table rounded to the
type of the data. The length of the text is that of the spec's rule.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from rope_conformance.adapters._accept import takes
from rope_conformance.adapters._scalings import only, rope_parameters, scalings
from rope_conformance.adapters._transformers import CLAIM
from rope_conformance.target.claim import claims
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import LongRoPE, YaRN
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["LlamaScaled", "Olmo3", "Phi3", "Phimoe"]

_CLAIM = CLAIM | {"dtypes": ("float32", "bfloat16")}
_LONGEST = 2**17
# One factor per pair, as in configs: the short ones slightly above 1, the long ones up to `factor`.
_LONG = LongRoPE(
    PowerLaw(10000.0),
    short_factors=tuple(1 + i / 64 for i in range(48)),
    long_factors=tuple(1 + 31 * i / 47 for i in range(48)),
    original_length=4096,
    factor=32,
    length=_LONGEST,
)


def _head(spec: RopeSpec) -> dict[str, Any]:
    return {
        "hidden_size": spec.head_dim,
        "num_attention_heads": 1,
        "head_dim": spec.head_dim,
        "num_hidden_layers": 1,
        "max_position_embeddings": int(getattr(spec.frequencies, "original_length", _LONGEST)),
        "rope_parameters": rope_parameters(spec.frequencies),
    }


def _long(rule: FrequencyRule) -> bool | str:
    if not isinstance(rule, LongRoPE):
        return "it is made for LongRoPE only"
    return scalings(rule) if rule.is_long else "it is asked for texts beyond the original length"


def _long_with_mscales(rule: FrequencyRule) -> bool | str:
    if not isinstance(rule, LongRoPE) or None in (rule.short_mscale, rule.long_mscale):
        return "it is made for LongRoPE with short_mscale and long_mscale only"
    return _long(replace(rule, short_mscale=None, long_mscale=None))


@claims(accepts=takes("half", rule=scalings), profile="model-dtype-table", **_CLAIM)
class LlamaScaled:
    """ROPE_INIT_FUNCTIONS at a fixed length, in Llama's module, which keeps the result."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=YaRN(PowerLaw(1_000_000.0), factor=4, original_length=32768),
    )

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
        from transformers.models.llama import modeling_llama as llama

        asked = _head(spec)
        scaled = llama.LlamaConfig(**asked)
        asked["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0}
        self.table = llama.LlamaRotaryEmbedding(llama.LlamaConfig(**asked))
        make = ROPE_INIT_FUNCTIONS.get(
            scaled.rope_parameters["rope_type"], self.table.compute_default_rope_parameters
        )
        length = getattr(spec.frequencies, "length", None)
        self.table.inv_freq, self.table.attention_scaling = make(scaled, seq_len=length)
        self.rotate = llama.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions)
        return self.rotate(x, x, cos, sin)[0]


@claims(accepts=takes("half", rule=only(YaRN, PowerLaw)), profile="float32", **_CLAIM)
class Olmo3:
    """OLMo 3, whose config has an entry for each type of layers; its table stays float32."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=YaRN(PowerLaw(500_000.0), factor=8, original_length=8192),
    )

    def __init__(self, spec: RopeSpec) -> None:
        from transformers.models.olmo3 import modeling_olmo3 as olmo3

        asked = _head(spec) | {"layer_types": ["full_attention"]}
        asked["rope_parameters"] = {"full_attention": asked["rope_parameters"]}
        self.table = olmo3.Olmo3RotaryEmbedding(olmo3.Olmo3Config(**asked))
        self.rotate = olmo3.apply_rotary_pos_emb

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, positions, "full_attention")
        return self.rotate(x, x, cos, sin)[0]


class _LongText:
    """Adds the last token of the text to each call: the library takes the length from calls."""

    names: tuple[str, str]

    def __init__(self, spec: RopeSpec) -> None:
        from torch.nn.functional import pad

        folder, prefix = self.names
        model = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
        assert isinstance(spec.frequencies, LongRoPE)
        # The entry of the config itself counts before that of rope_parameters, and has a default.
        trained = {"original_max_position_embeddings": int(spec.frequencies.original_length)}
        config = getattr(model, f"{prefix}Config")(**_head(spec) | trained)
        self.table = getattr(model, f"{prefix}RotaryEmbedding")(config)
        self.rotate = model.apply_rotary_pos_emb
        self.pad, self.last = pad, int(spec.frequencies.length or 0) - 1

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = self.table(x, self.pad(positions, (0, 1), value=self.last))
        return self.rotate(x, x, cos[:, :-1], sin[:, :-1])[0]


@claims(accepts=takes("half", rule=_long), profile="model-dtype-table", **_CLAIM)
class Phi3(_LongText):
    """Phi-3 in long texts."""

    spec = RopeSpec(96, layout="half", frequencies=_LONG)
    names = "phi3", "Phi3"


@claims(accepts=takes("half", rule=_long_with_mscales), profile="model-dtype-table", **_CLAIM)
class Phimoe(_LongText):
    """Phi-3.5-MoE in long texts."""

    spec = RopeSpec(
        96, layout="half", frequencies=replace(_LONG, short_mscale=1.25, long_mscale=1.25)
    )
    names = "phimoe", "Phimoe"

"""rope_ref: an exact float64 definition of rotary position embedding.

Read `definition` first: all of plain RoPE on one page. `spec` says what a RoPE is, `phase` and
`table` turn positions into cos and sin, `rotation` applies them, and `attention` shows what
they are for. Families have rooms of their own: `scaling`, `positions`, `models`, `extensions`.
"""

from rope_ref import definition, errors, extensions, models, positions, scaling
from rope_ref.attention import attention_logits, relative_logit
from rope_ref.errors import RopeError
from rope_ref.models.gguf import spec_from_gguf
from rope_ref.models.hf_config import spec_from_hf_config
from rope_ref.rotation import (
    apply_cos_sin,
    apply_rope,
    apply_rope_complex,
    apply_rope_parts,
    invert_rope,
    pair_channels,
    rotation_matrix,
    transpose_rope,
)
from rope_ref.scaling.frequencies import ExplicitFrequencies, FrequencyRule, PowerLaw
from rope_ref.spec import LayerRopes, RopeSpec
from rope_ref.table import cos_sin, cos_sin_parts

__all__ = [
    "ExplicitFrequencies",
    "FrequencyRule",
    "LayerRopes",
    "PowerLaw",
    "RopeError",
    "RopeSpec",
    "apply_cos_sin",
    "apply_rope",
    "apply_rope_complex",
    "apply_rope_parts",
    "attention_logits",
    "cos_sin",
    "cos_sin_parts",
    "definition",
    "errors",
    "extensions",
    "invert_rope",
    "models",
    "pair_channels",
    "positions",
    "relative_logit",
    "rotation_matrix",
    "scaling",
    "spec_from_gguf",
    "spec_from_hf_config",
    "transpose_rope",
]

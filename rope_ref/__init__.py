"""rope_ref: an exact float64 definition of rotary position embedding.

Read in this order: `spec` says what a RoPE is, `frequencies` how fast each pair
turns, `turns` and `sincos` turn positions into a table, `rotation` applies it, and
`attention` shows what it is for. `positions` says where each token stands, `weights`
takes a model from one layout to the other.
"""

from rope_ref import errors
from rope_ref.attention import attention_logits, relative_logit
from rope_ref.errors import RopeError
from rope_ref.frequencies import FrequencyRule, Given, PowerLaw, RealRule
from rope_ref.ntk import NTK, DynamicNTK, FixedNTK, qwen_alpha
from rope_ref.positions import (
    context_parallel_positions,
    context_parallel_tokens,
    decoding_positions,
    packed_positions,
    padded_positions,
)
from rope_ref.remaps import Linear, Llama3, LongRoPE, Proportional, Remap
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
from rope_ref.sincos import cos_sin, cos_sin_parts
from rope_ref.spec import RopeSpec
from rope_ref.weights import channel_order, convert_weights
from rope_ref.yarn import NTKByParts, YaRN

__all__ = [
    "DynamicNTK",
    "FixedNTK",
    "FrequencyRule",
    "Given",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTK",
    "NTKByParts",
    "PowerLaw",
    "Proportional",
    "RealRule",
    "Remap",
    "RopeError",
    "RopeSpec",
    "YaRN",
    "apply_cos_sin",
    "apply_rope",
    "apply_rope_complex",
    "apply_rope_parts",
    "attention_logits",
    "channel_order",
    "context_parallel_positions",
    "context_parallel_tokens",
    "convert_weights",
    "cos_sin",
    "cos_sin_parts",
    "decoding_positions",
    "errors",
    "invert_rope",
    "packed_positions",
    "padded_positions",
    "pair_channels",
    "qwen_alpha",
    "relative_logit",
    "rotation_matrix",
    "transpose_rope",
]

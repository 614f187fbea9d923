"""rope_ref: an exact float64 definition of rotary position embedding.

Read in this order: `spec` says what a RoPE is, `frequencies` how fast each pair
turns, `turns` and `sincos` turn positions into a table, `rotation` applies it, and
`attention` shows what it is for. `positions` says where each token stands, `weights`
takes a model from one layout to the other. `axes`, `axial`, `grids` and `multimodal` are
for positions with several axes: images and videos. `serving` says what holds while a text
grows; `temperature` and `xpos` are what else is done to queries and keys.
"""

from rope_ref import errors
from rope_ref.attention import attention_logits, relative_logit
from rope_ref.axes import (
    alternating_axes,
    axial_axes,
    contiguous_axes,
    ggml_axes,
    glm_axes,
    interleaved_axes,
    pangu_axes,
)
from rope_ref.axial import Axial, Reordered
from rope_ref.channel_tables import (
    apply_channel_ropes,
    apply_channel_tables,
    crossed_ropes,
    pair_determinants,
)
from rope_ref.divided import Divided
from rope_ref.errors import RopeError
from rope_ref.frequencies import FrequencyRule, Given, PowerLaw, RealRule
from rope_ref.gguf_metadata import read_gguf
from rope_ref.grids import (
    centred_coordinates,
    coordinate_grid,
    cropped_coordinates,
    grid_positions,
    normalised_coordinates,
)
from rope_ref.model_config import ModelRope, read_hf_config
from rope_ref.multimodal import (
    GridSegment,
    TextSegment,
    decoding_delta,
    multimodal_decoding_positions,
    multimodal_positions,
)
from rope_ref.ntk import NTK, DynamicNTK, FixedNTK, qwen_alpha
from rope_ref.positions import (
    DualChunkPositions,
    context_parallel_positions,
    context_parallel_tokens,
    decoding_positions,
    dual_chunk_positions,
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
from rope_ref.serving import reposition_rope, served_rule
from rope_ref.sincos import cos_sin, cos_sin_parts
from rope_ref.spec import RopeSpec
from rope_ref.temperature import log_temperature, softmax_factor, step_temperature
from rope_ref.weights import channel_order, convert_weights
from rope_ref.xpos import XPos, apply_xpos
from rope_ref.yarn import NTKByParts, YaRN

__all__ = [
    "Axial",
    "Divided",
    "DualChunkPositions",
    "DynamicNTK",
    "FixedNTK",
    "FrequencyRule",
    "Given",
    "GridSegment",
    "Linear",
    "Llama3",
    "LongRoPE",
    "ModelRope",
    "NTK",
    "NTKByParts",
    "PowerLaw",
    "Proportional",
    "RealRule",
    "Remap",
    "Reordered",
    "RopeError",
    "RopeSpec",
    "TextSegment",
    "XPos",
    "YaRN",
    "alternating_axes",
    "apply_channel_ropes",
    "apply_channel_tables",
    "apply_cos_sin",
    "apply_rope",
    "apply_rope_complex",
    "apply_rope_parts",
    "apply_xpos",
    "attention_logits",
    "axial_axes",
    "centred_coordinates",
    "channel_order",
    "context_parallel_positions",
    "context_parallel_tokens",
    "contiguous_axes",
    "convert_weights",
    "coordinate_grid",
    "cos_sin",
    "cos_sin_parts",
    "cropped_coordinates",
    "crossed_ropes",
    "decoding_delta",
    "decoding_positions",
    "dual_chunk_positions",
    "errors",
    "ggml_axes",
    "glm_axes",
    "grid_positions",
    "interleaved_axes",
    "invert_rope",
    "log_temperature",
    "multimodal_decoding_positions",
    "multimodal_positions",
    "normalised_coordinates",
    "packed_positions",
    "padded_positions",
    "pair_channels",
    "pair_determinants",
    "pangu_axes",
    "qwen_alpha",
    "read_gguf",
    "read_hf_config",
    "relative_logit",
    "reposition_rope",
    "rotation_matrix",
    "served_rule",
    "softmax_factor",
    "step_temperature",
    "transpose_rope",
]

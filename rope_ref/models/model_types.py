"""What the code of a model type decides and its configs do not say.

Which channels form a pair, what a missing key means, whether plain RoPE reads
``partial_rotary_factor``: public configs leave all this to the class named by their
``model_type``. The table below has one row for each kind of model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from rope_ref.spec import Layout

__all__ = ["EVERY_FOURTH", "MODEL_TYPES", "SOURCE", "LayerRope", "ModelType"]

SOURCE = "transformers 5.24.0"
_PUBLISHED = "the code published with the models"

AxesMap = Literal["contiguous", "interleaved", "alternating", "axial"]


@dataclass(frozen=True)
class LayerRope:
    """The rotation of one type of layers, where a model has several.

    Parameters
    ----------
    base
        theta_i is a power of this, if the config does not say.
    base_key
        The key of the config that says.
    scaled
        Whether an old-style ``rope_scaling`` is meant for these layers.
    rope_type
        The kind of rotation, if the config does not say.
    head_dim_key, head_dim
        The key that has the width of a head, and the width if it is missing.
    yarn_amplitude
        The amplitude of YaRN, if the config does not say and it is not the usual one.
    """

    base: float
    base_key: str | None = "rope_theta"
    scaled: bool = True
    rope_type: str = "default"
    head_dim_key: str = "head_dim"
    head_dim: int | None = None
    yarn_amplitude: float | None = None


@dataclass(frozen=True)
class ModelType:
    """What the code of a model type decides and its configs do not say.

    Parameters
    ----------
    layout, output_layout, direction
        As in `RopeSpec`.
    base, head_dim, fraction
        ``rope_theta``, ``head_dim`` and ``partial_rotary_factor`` where the config has none.
    base_key, fraction_key, head_dim_key
        What this type calls ``rope_theta``, ``partial_rotary_factor`` and ``head_dim``; None
        if no key is read at all.
    or_rope_theta
        Whether ``rope_theta`` is read too, where `base_key` is missing.
    plain_is_whole
        Whether the plain rotation ignores the fraction; scaled ones never do.
    rotary_dim
        The number of channels given by a key ``rotary_dim``, where the config has none; 0
        means that they are counted by the fraction then. None: no such key.
    widths
        Of multi-head latent attention: channels that stay and, behind them, channels that
        rotate, where ``qk_nope_head_dim`` and ``qk_rope_head_dim`` are missing.
    interleave_key
        Whether ``rope_interleave: false`` switches to the half layout.
    trailing
        Whether the rotating channels are the last of the head.
    layers
        Each type of layers with a rotation of its own.
    still_layers
        Types of layers that do not rotate at all.
    without_window
        What a ``sliding_window`` of null does where there are `still_layers`: nothing, or
        all layers turn, or none does.
    scaling
        Whether a scaling part may be of any type, must be plain, or is not read at all.
    prompt_ntk
        Whether ``use_dynamic_ntk`` says that the base grows with the prompt.
    axes, sections
        How pairs follow several position axes, and ``mrope_section`` where the config has
        none.
    ntk_alpha
        Whether ``alpha`` in a dynamic scaling is the constant alpha of NTK.
    yarn_is_longrope
        Whether the scaling type ``yarn`` is the old name of ``longrope``.
    skips_layers
        Whether ``no_rope_layers`` and ``no_rope_layer_interval`` name layers that do not
        rotate.
    fourth_is_still
        Whether every fourth layer does not rotate, where the config does not name them.
    says_rope
        What ``position_embedding_type`` must be for RoPE, where it must not be missing.
    size_decides
        Whether models of this type have RoPE or ALiBi by their size.
    ignores_kind
        Whether ``position_embedding_type`` is not read.
    attn_config
        Whether ``rope_theta`` may stand in a part ``attn_config``.
    remark
        What a spec cannot say.
    source
        Whose code all this is.
    """

    layout: Layout = "half"
    output_layout: Layout | None = None
    direction: int = 1
    base: float = 10000.0
    base_key: str | None = "rope_theta"
    or_rope_theta: bool = False
    head_dim: int | None = None
    head_dim_key: str = "head_dim"
    fraction: float = 1.0
    fraction_key: str | None = "partial_rotary_factor"
    plain_is_whole: bool = True
    rotary_dim: int | None = None
    widths: tuple[int, int] | None = None
    interleave_key: bool = False
    trailing: bool = False
    layers: Mapping[str, LayerRope] = field(default_factory=dict)
    still_layers: tuple[str, ...] = ()
    without_window: Literal["no matter", "all turn", "none turns"] = "no matter"
    scaling: Literal["any", "plain", "unread"] = "any"
    prompt_ntk: bool = False
    axes: AxesMap | None = None
    sections: tuple[int, ...] | None = None
    ntk_alpha: bool = False
    yarn_is_longrope: bool = False
    skips_layers: bool = False
    fourth_is_still: bool = False
    says_rope: str | None = None
    size_decides: bool = False
    ignores_kind: bool = False
    attn_config: bool = False
    remark: str | None = None
    source: str = SOURCE


HALF = ModelType()
PAIRS = ModelType("interleaved")
PERMUTED = ModelType("interleaved", output_layout="half")  # read in pairs, written half-split
PARTIAL = ModelType(plain_is_whole=False)
SLIDING = ModelType(still_layers=("full_attention",))  # only sliding windows rotate

EVERY_FOURTH = "every fourth layer does not rotate"
"""A note, for a spec cannot say it."""

_INDEXER = "the indexer of sparse attention has a rotation of its own"


def _two(full: LayerRope, sliding: LayerRope) -> dict[str, LayerRope]:
    return {"full_attention": full, "sliding_attention": sliding}


def _gemma(full_base: float) -> dict[str, LayerRope]:
    local = LayerRope(10000.0, "rope_local_base_freq", scaled=False)
    return _two(LayerRope(full_base), local)


_GEMMA_4 = _two(
    LayerRope(1e6, rope_type="proportional", head_dim_key="global_head_dim", head_dim=512),
    LayerRope(10000.0),
)
_MODERNBERT = _two(LayerRope(160000.0, "global_rope_theta"), LayerRope(10000.0, "local_rope_theta"))
_DEEPSEEK_V4 = {
    "main": LayerRope(10000.0, scaled=False),
    "compress": LayerRope(160000.0, "compress_rope_theta", yarn_amplitude=1.0),
}
_MIMO_SLIDING = LayerRope(10000.0, "swa_rope_theta", scaled=False, head_dim_key="swa_head_dim")
_MROPE = replace(HALF, axes="contiguous", sections=(16, 24, 24), base=1e6)
_QWEN3_VL = replace(HALF, axes="interleaved", sections=(24, 20, 20), base=5e5)
_QWEN3_5 = ModelType(
    head_dim=256, fraction=0.25, plain_is_whole=False, axes="interleaved", sections=(11, 11, 10)
)
_GLM_V = replace(PARTIAL, axes="contiguous", sections=(8, 12, 12))
_VISION = replace(HALF, axes="axial", fraction_key=None)
_HUNYUAN = replace(HALF, ntk_alpha=True)

# Each row: the names that share it, and what they share.
_ROWS: tuple[tuple[str, ModelType], ...] = (
    # Pairs are halves, and nothing else is special.
    (
        "llama mistral qwen2 qwen2_moe qwen3_moe ministral olmo olmo2 olmoe granite granitemoe "
        "granitemoeshared starcoder2 falcon chameleon arcee dots1 "
        "diffllama doge falcon_h1 moshi internlm2 minicpm",
        HALF,
    ),
    ("dbrx", replace(HALF, attn_config=True)),
    ("granitemoehybrid", replace(HALF, says_rope="rope")),
    ("qwen3 ministral3 seed_oss internlm3 voxtral_realtime_text", replace(HALF, head_dim=128)),
    ("gemma gemma2 vaultgemma t5_gemma_module", replace(HALF, head_dim=256)),
    ("mixtral minimax", replace(HALF, base=1e6)),
    ("phimoe lfm2 lfm2_moe emu3_text_model", replace(HALF, base=1e6)),
    ("flex_olmo bitnet mllama_text_model csm csm_depth_decoder_model", replace(HALF, base=5e5)),
    ("exaone", replace(HALF, base=5e5)),
    ("cwm", replace(HALF, base=1e6, head_dim=128)),
    ("apertus", replace(HALF, base=1.2e7)),
    ("gte", replace(HALF, base=160000.0)),
    ("jina_embeddings_v3", replace(HALF, base=20000.0)),
    ("nomic_bert",
     replace(PARTIAL, base=1000.0, base_key="rotary_emb_base", or_rope_theta=True,
             fraction_key="rotary_emb_fraction")),
    ("gpt_oss", replace(HALF, base=150000.0, head_dim=64)),
    ("smollm3", replace(HALF, base=2e6, skips_layers=True, fourth_is_still=True)),
    ("exaone4 exaone_moe", replace(SLIDING, without_window="all turn")),
    ("flint", replace(SLIDING, head_dim=128, without_window="none turns")),
    ("afmoe", replace(SLIDING, head_dim=128)),
    ("esm", replace(HALF, fraction_key=None, says_rope="rotary", scaling="unread")),
    ("baichuan",
     replace(HALF, base_key=None, fraction_key=None, scaling="unread", size_decides=True,
             remark="models of this type with hidden_size 5120 have ALiBi and no RoPE",
             source=_PUBLISHED)),
    ("hunyuan_v1_dense hunyuan_v1_moe", _HUNYUAN),
    ("nanochat", replace(HALF, direction=-1)),
    # Pairs are halves of a part of the head.
    ("phi3 phi4_multimodal", replace(PARTIAL, yarn_is_longrope=True)),
    ("phi persimmon nemotron bamba", replace(PARTIAL, fraction=0.5)),
    ("glm4_moe", replace(PARTIAL, fraction=0.5)),
    ("recurrent_gemma", replace(PARTIAL, fraction=0.5, head_dim=256, scaling="plain")),
    ("stablelm", replace(PARTIAL, fraction=0.25)),
    ("qwen3_next", replace(PARTIAL, fraction=0.25, head_dim=256)),
    ("solar_open", replace(PARTIAL, base=1e6, head_dim=128)),
    ("gpt_neox",
     replace(PARTIAL, fraction=0.25, base_key="rotary_emb_base", fraction_key="rotary_pct")),
    ("gpt_neox_japanese",
     replace(PARTIAL, base_key="rotary_emb_base", fraction_key="rotary_pct")),
    ("qwen",
     replace(PARTIAL, base_key="rotary_emb_base", fraction_key="rotary_pct",
             head_dim_key="kv_channels", scaling="unread", prompt_ntk=True, source=_PUBLISHED)),
    ("minimax_m2", replace(PARTIAL, base=5e6, head_dim=128, rotary_dim=0)),
    # Pairs are neighbours.
    ("cohere", replace(PAIRS, base=5e5)),
    ("cohere2", replace(SLIDING, layout="interleaved", without_window="none turns")),
    ("helium", replace(PAIRS, base=1e5, head_dim=128)),
    ("ernie4_5", replace(PAIRS, base=5e5, head_dim=128)),
    ("ernie4_5_moe", replace(PAIRS, base=5e5)),
    ("glm glm4", replace(PAIRS, fraction=0.5, head_dim=128, plain_is_whole=False)),
    ("gptj codegen",
     replace(PAIRS, base_key=None, fraction_key=None, rotary_dim=64, scaling="unread")),
    ("roformer", replace(PAIRS, base_key=None, fraction_key=None, scaling="unread")),
    ("llama4_text",
     replace(PAIRS, base=5e5, head_dim=128, skips_layers=True, fourth_is_still=True)),
    # Multi-head latent attention: the rotating channels stand behind the others.
    ("deepseek_v2", replace(PAIRS, widths=(128, 64))),
    # Kimi-K2 is published with this model type and the code of DeepSeek-V3.
    ("deepseek_v3 kimi_k2 sarvam_mla axk1 youtu",
     replace(PERMUTED, widths=(128, 64), interleave_key=True)),
    ("deepseek_v32", replace(PERMUTED, widths=(128, 64), remark=_INDEXER)),
    ("glm4_moe_lite", replace(PERMUTED, widths=(192, 64), interleave_key=True)),
    ("glm_moe_dsa", replace(PERMUTED, widths=(192, 64), remark=_INDEXER)),
    ("longcat_flash", replace(PERMUTED, widths=(128, 64), base=1e7)),
    ("mistral4", replace(PERMUTED, widths=(64, 64), interleave_key=True, fraction=0.5)),
    ("minicpm3", replace(HALF, widths=(64, 32))),
    # Layers of two types, each with a rotation of its own.
    ("gemma3_text", replace(HALF, head_dim=256, layers=_gemma(1e6))),
    ("gemma3n_text", replace(HALF, head_dim=256, layers=_gemma(1e6))),
    ("gemma4_text", replace(HALF, head_dim=256, layers=_GEMMA_4, fraction=0.25)),
    ("modernbert modernbert-decoder", replace(HALF, layers=_MODERNBERT, ignores_kind=True)),
    ("olmo3",
     replace(HALF, layers=_two(LayerRope(5e5), LayerRope(5e5, scaled=False)))),
    ("mimo_v2_flash",
     replace(PARTIAL, head_dim=192, fraction=0.334,
             layers=_two(LayerRope(5e6), _MIMO_SLIDING))),
    ("deepseek_v4",
     replace(PAIRS, head_dim=512, fraction=0.125, plain_is_whole=False, trailing=True,
             layers=_DEEPSEEK_V4,
             remark="the attention output is rotated back at the query's position")),
    # Positions of several axes.
    ("qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text", _MROPE),
    ("paddleocr_vl_text", replace(_MROPE, base=5e5, head_dim=128)),
    ("qwen3_vl_text", replace(_QWEN3_VL, head_dim=128)),
    ("qwen3_vl_moe_text", _QWEN3_VL),
    ("qwen3_omni_moe_text", replace(_QWEN3_VL, base=1e6)),
    ("qwen3_5_text qwen3_5_moe_text", _QWEN3_5),
    ("glm4v_text glm_ocr_text", replace(_GLM_V, layout="interleaved")),
    ("glm4v_moe_text", replace(_GLM_V, fraction=0.5)),
    ("ernie4_5_vl_moe_text",
     replace(PAIRS, base=5e5, axes="alternating", sections=(22, 22, 20), scaling="plain")),
    ("hunyuan_vl_text",
     replace(_HUNYUAN, axes="contiguous",
             remark=f"{SOURCE} cuts the sections out of both halves at once, which is no rotation; "
             "the sections are read here as in other systems, each half by itself")),
    ("qwen2_vl_vision qwen2_5_vl_vision qwen3_vl_vision qwen3_vl_moe_vision qwen3_5_vision "
     "glm4v_vision", _VISION),
)  # fmt: skip

MODEL_TYPES: dict[str, ModelType] = {name: row for names, row in _ROWS for name in names.split()}

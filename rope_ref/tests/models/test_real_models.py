"""Specs of public models, read from their Hugging Face configs: fields, values and notes.

real_configs.json holds the keys about RoPE of public models, as their files or the class
defaults of transformers 5.24.0 have them; the factors of LongRoPE are stand-ins.
"""

import json
from pathlib import Path

import pytest

import rope_ref as rr
from rope_ref.models.hf_config import EVERY_LAYER, read_hf_config
from rope_ref.models.model_types import MODEL_TYPES

CONFIGS = json.loads(Path(__file__).with_name("real_configs.json").read_text())
FULL, SLIDING = "full_attention", "sliding_attention"
TEXT_SECTIONS = rr.positions.contiguous_axes((16, 24, 24))


def plain(base, head_dim=128, **options):
    options.setdefault("layout", "half")
    return rr.RopeSpec(head_dim, frequencies=rr.PowerLaw(base), **options)


def ruled(rule, head_dim=128, **options):
    options.setdefault("layout", "half")
    return rr.RopeSpec(head_dim, frequencies=rule, **options)


def llama3(base, factor, high=4):
    return rr.scaling.Llama3(
        rr.PowerLaw(base),
        factor=factor,
        low_freq_factor=1,
        high_freq_factor=high,
        original_length=8192,
    )


def yarn(base, factor, original, **options):
    return rr.scaling.YaRN(rr.PowerLaw(base), factor=factor, original_length=original, **options)


def latent(rule, output_layout, head_dim=192):
    start = head_dim - 64
    return ruled(rule, head_dim, rotary_dim=64, rotary_start=start, layout="interleaved",
                 output_layout=output_layout)  # fmt: skip


def factors(name, key):
    return CONFIGS[name]["rope_scaling"][key]


def longrope(name, base=1e4, **options):
    return rr.scaling.LongRoPE(
        rr.PowerLaw(base),
        short_factors=factors(name, "short_factor"),
        long_factors=factors(name, "long_factor"),
        original_length=4096,
        factor=32,
        **options,
    )


PAIRS = {"layout": "interleaved"}
ONES = {"mscale": 1, "mscale_all_dim": 1}
SEVEN = {"mscale": 0.707, "mscale_all_dim": 0.707}

EXPECTED = {
    "Llama-2-7B": plain(1e4),
    "LLaMA-2-7B-32K": ruled(rr.scaling.Linear(rr.PowerLaw(1e4), factor=8)),
    "OpenLLaMA-3B": plain(1e4, 100),
    "CodeLlama-7B": plain(1e6),
    "Llama-3-8B": plain(5e5),
    "Llama-3.1-8B": ruled(llama3(5e5, 8)),
    "Llama-3.2-1B": ruled(llama3(5e5, 32), 64),
    "Llama-4-Scout": ruled(llama3(5e5, 16, high=1), **PAIRS),
    "Mixtral-8x7B": plain(1e6),
    "Ministral-3": ruled(yarn(1e6, 16, 16384, **ONES)),
    "Mistral-4": latent(yarn(1e4, 128, 8192, **ONES), "half", 128),
    "Qwen2.5-7B": plain(1e6),
    "Qwen2.5-7B-yarn": ruled(yarn(1e6, 4, 32768)),
    "Qwen3-8B": plain(1e6),
    "Qwen3-Next-80B": plain(1e7, 256, rotary_dim=64),
    "Qwen3.5": plain(
        1e7, 256, rotary_dim=64, pair_axes=rr.positions.interleaved_axes((11, 11, 10))
    ),
    "Qwen2-VL-7B": plain(1e6, pair_axes=TEXT_SECTIONS),
    "Qwen2-VL-vision": ruled(
        rr.scaling.Axial(rr.PowerLaw(1e4), (40, 40)), 80, pair_axes=[0] * 20 + [1] * 20
    ),
    "Qwen3-VL-8B": plain(5e6, pair_axes=rr.positions.interleaved_axes((24, 20, 20))),
    "Gemma-2-9B": plain(1e4, 256),
    "Gemma-3-4B": {
        FULL: ruled(rr.scaling.Linear(rr.PowerLaw(1e6), factor=8), 256),
        SLIDING: plain(1e4, 256),
    },
    "Gemma-3-1B": {FULL: plain(1e6, 256), SLIDING: plain(1e4, 256)},
    "Gemma-4": {
        FULL: ruled(rr.scaling.Proportional(rr.PowerLaw(1e6), fraction=0.25), 512),
        SLIDING: plain(1e4, 256),
    },
    "Phi-2": plain(1e4, 80, rotary_dim=32),
    "Phi-3-mini-128k": ruled(longrope("Phi-3-mini-128k"), 96),
    "Phi-4-mini": ruled(longrope("Phi-4-mini"), rotary_dim=96),
    "Phi-3.5-MoE": ruled(
        longrope("Phi-3.5-MoE", short_mscale=1.243163121016122, long_mscale=1.243163121016122)
    ),
    "GPT-NeoX-20B": plain(1e4, 96, rotary_dim=24),
    "GPT-J-6B": plain(1e4, 256, rotary_dim=64, **PAIRS),
    "Falcon-7B": plain(1e4, 64),
    "StableLM-3B-4e1t": plain(1e4, 80, rotary_dim=20),
    "Nemotron": plain(1e4, rotary_dim=64),
    "GLM-4-9B": plain(1e4, rotary_dim=64, **PAIRS),
    "DeepSeek-V2": latent(yarn(1e4, 40, 4096, **SEVEN), "interleaved"),
    "DeepSeek-V3": latent(yarn(1e4, 40, 4096, **ONES), "half"),
    "Kimi-K2": latent(yarn(5e4, 32, 4096, beta_fast=1, beta_slow=1, **ONES), "half"),
    "DeepSeek-V4": {
        "main": latent(rr.PowerLaw(1e4), "interleaved", 512),
        "compress": latent(yarn(160000, 16, 65536, attention_factor=1), "interleaved", 512),
    },
    "gpt-oss-20B": ruled(yarn(150000, 32, 4096, truncate=False), 64),
    "OLMo-3-7B": {
        FULL: ruled(yarn(5e5, 8, 8192, attention_factor=1.2079441541679836)),
        SLIDING: plain(5e5),
    },
    "Command-R": plain(8e6, **PAIRS),
    "Command-R7B": {FULL: rr.RopeSpec(128, rotary_dim=0, **PAIRS), SLIDING: plain(5e4, **PAIRS)},
    "MiniMax-M2": plain(5e6, rotary_dim=64),
    "Hunyuan-7B": ruled(rr.scaling.NTK(rr.PowerLaw(1e4), alpha=1000)),
    "Llama-2-dynamic": ruled(
        rr.scaling.DynamicNTK(rr.PowerLaw(1e4), factor=2, original_length=4096)
    ),
    "ModernBERT-base": {FULL: plain(160000, 64), SLIDING: plain(1e4, 64)},
    "SmolLM3-3B": plain(2e6),
    "Apertus-8B": ruled(llama3(1.2e7, 8)),
    "MiMo-V2-Flash": {
        FULL: plain(5e6, 192, rotary_dim=64),
        SLIDING: plain(1e4, 192, rotary_dim=64),
    },
    "ERNIE-4.5-0.3B": plain(5e5, **PAIRS),
    "ERNIE-4.5-VL": plain(5e5, pair_axes=[1, 2] * 22 + [0] * 20, **PAIRS),
    "GLM-4.1V": plain(1e4, rotary_dim=64, pair_axes=[0] * 8 + [1] * 12 + [2] * 12, **PAIRS),
    "nanochat": plain(1e4, direction=-1),
    "Nomic-fixed-NTK": ruled(rr.scaling.FixedNTK(rr.PowerLaw(1000), factor=2), 64),
    "Baichuan-7B": plain(1e4),
    "Qwen-7B": plain(1e4),
    "AFMoE": {FULL: rr.RopeSpec(128, rotary_dim=0, layout="half"), SLIDING: plain(1e4)},
    "CSM-1B": plain(5e5, 64),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_real_models_are_read_as_they_are(name):
    """Every field of the spec of every type of layers, for 57 public models."""
    expected = EXPECTED[name]
    if not isinstance(expected, dict):
        assert rr.spec_from_hf_config(CONFIGS[name]) == expected
        expected = dict.fromkeys(read_hf_config(CONFIGS[name]).specs, expected)
    assert read_hf_config(CONFIGS[name]).specs == expected
    for layer_type, spec in expected.items():
        if layer_type != EVERY_LAYER:
            assert rr.spec_from_hf_config(CONFIGS[name], layer_type=layer_type) == spec


def test_there_are_25_models_and_a_table_of_model_types():
    """At least 25 configs, of at least 25 model types."""
    parts = [config.get("text_config", config) for config in CONFIGS.values()]
    assert len({part["model_type"] for part in parts}) >= 25
    assert {part["model_type"] for part in parts} <= set(MODEL_TYPES)


# name, layer type, {pair: theta}, amplitude: to the digits printed in public analyses.
WORKED = [
    ("Qwen2.5-7B-yarn", None, {32: 6.02941176471e-4}, 1.13862943611),
    ("gpt-oss-20B", None,
     {8: 0.0508132748155, 12: 6.79495948973e-3, 17: 1.29318701245e-4}, 1.34657359028),
    ("DeepSeek-V3", None, {11: 0.0390069265671, 16: 5.5e-3, 23: 3.33380358041e-5}, 1),
    ("DeepSeek-V2", None, {11: 0.0390069265671, 16: 5.5e-3, 23: 3.33380358041e-5}, 1),
    ("Llama-3.1-8B", None, {30: 1.37189356776e-3, 63: 3.06892598891e-7}, 1),
    ("Gemma-4", FULL, {1: 0.947463525655, 63: 0.0333762469429, 64: 0}, 1),
    ("Phi-3-mini-128k", None, {0: 1}, 1.19023807142),
    ("Ministral-3", None, {0: 1}, 1),
    ("OLMo-3-7B", FULL, {0: 1}, 1.2079441541679836),
    ("Llama-2-7B", None, {0: 1, 1: 0.86596432336, 32: 0.01, 63: 1.15478198469e-4}, 1),
    ("Llama-3-8B", None, {1: 0.814617233857, 63: 2.45514079113e-6}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "layer_type", "theta", "amplitude"), WORKED)
def test_worked_values_come_out(name, layer_type, theta, amplitude):
    """Frequencies and amplitudes agree with printed ones to half a unit of the twelfth digit."""
    spec = rr.spec_from_hf_config(CONFIGS[name], layer_type=layer_type)
    for pair, value in theta.items():
        assert spec.theta()[pair] == pytest.approx(value, rel=5e-12, abs=0)
    assert float(spec.frequencies.amplitude) == pytest.approx(amplitude, rel=5e-12)


NOTES = [
    ("Ministral-3", "'llama_4_scaling_beta'] is a temperature on queries"),
    ("Ministral-3", "'max_position_embeddings'] is of no effect"),
    ("SmolLM3-3B", "no_rope_layers says which layers rotate"),
    ("SmolLM3-3B", "no_rope_layer_interval says which layers rotate"),
    ("Hunyuan-7B", "'factor'] is of no effect"),
    ("Hunyuan-7B", "'beta_fast'] is of no effect"),
    ("Llama-2-7B", "rope_theta is missing; 10000.0 is what the model type stands for"),
    ("Qwen2-VL-7B", None),
    ("Qwen3-VL-8B", None),
    ("Llama-4-Scout", "vision_config is another part of the model"),
    ("DeepSeek-V4", "rotated back"),
    ("Phi-4-mini", "the factor is 32.0"),
    ("Command-R7B", "layers of type 'full_attention' do not rotate"),
    ("DeepSeek-V3", "softmax scale"),
    ("Baichuan-7B", "the base is 10000.0; no key of this model type says it (the code published"),
    ("Baichuan-7B", "models of this type with hidden_size 5120 have ALiBi"),
    ("Qwen-7B", "queries at position p are multiplied by log_temperature(p, length=8192)"),
    ("Qwen-7B", "NTK(alpha=qwen_alpha(length, 8192)); give length"),
    ("Qwen-7B", "alpha follows the length of the prompt and is kept while decoding"),
    ("AFMoE", "layers of type 'full_attention' do not rotate"),
    ("CSM-1B", "depth_decoder_config is another part of the model; its RoPE is not read"),
    ("CSM-1B", "codec_config is another part"),
]


@pytest.mark.parametrize(("name", "words"), NOTES)
def test_what_a_spec_cannot_say_is_in_the_notes(name, words):
    """Keys that belong elsewhere or have no effect, and values from the table."""
    notes = read_hf_config(CONFIGS[name]).notes
    assert any(words in note for note in notes) if words else not notes

"""Specs read from Hugging Face configs: real models, worked values, and what is refused.

real_configs.json holds the keys about RoPE of public models, as their files or the class
defaults of transformers 5.24.0 have them; the factors of LongRoPE are stand-ins.
"""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors
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


def llama(**keys):
    given = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}
    return {key: value for key, value in {**given, **keys}.items() if value is not ...}


def rule_of(**keys):
    return rr.spec_from_hf_config(llama(**keys)).frequencies


def test_old_and_new_ways_of_writing_are_one():
    """rope_scaling beside rope_theta, and all in rope_parameters; type and rope_type."""
    old = llama(rope_theta=5e5, rope_scaling={"type": "linear", "factor": 4})
    new = llama(rope_parameters={"rope_type": "linear", "factor": 4, "rope_theta": 5e5})
    both = llama(
        rope_parameters={"type": "linear", "factor": 4, "rope_theta": 5e5, "rope_type": "linear"}
    )
    specs = {rr.spec_from_hf_config(config) for config in (old, new, both)}
    assert specs == {ruled(rr.scaling.Linear(rr.PowerLaw(5e5), factor=4))}


def test_values_in_the_dict_win_over_those_beside_it():
    """A base inside overrules one outside, and a note says so."""
    rope = read_hf_config(llama(rope_theta=1e4, rope_parameters={"rope_theta": 5e5}))
    assert rope.specs[EVERY_LAYER].frequencies == rr.PowerLaw(5e5)
    assert any("rope_theta 10000.0 is overruled by 500000.0" in note for note in rope.notes)


YARN = {"rope_type": "yarn", "factor": 4}


def test_the_original_length_outside_overrules_the_one_inside():
    """A missing one is max_position_embeddings; entries of layer types take none from outside."""
    name = "original_max_position_embeddings"
    assert rule_of(rope_scaling=YARN).original_length == 4096
    assert rule_of(rope_scaling={**YARN, name: 2048}).original_length == 2048
    assert rule_of(**{name: 1024}, rope_scaling={**YARN, name: 2048}).original_length == 1024
    nested = llama(rope_parameters={FULL: YARN}, **{name: 1024}, layer_types=[FULL])
    rope = read_hf_config(nested)
    assert rope.specs[FULL].frequencies.original_length == 4096
    assert any(f"{name} at the top is of no effect" in note for note in rope.notes)


def test_yarn_takes_its_defaults_as_transformers_does():
    """Without factor M/L; beta 0 is the default; mscale alone does not count; truncate does."""
    original = {"rope_type": "yarn", "original_max_position_embeddings": 1024}
    assert rule_of(rope_scaling=original).factor == 4
    odd = rule_of(rope_scaling={**YARN, "beta_fast": 0, "beta_slow": None, "mscale": 0.707})
    assert (odd.beta_fast, odd.beta_slow) == (32, 1)
    assert float(odd.amplitude) == pytest.approx(1.13862943611, rel=1e-11)
    # A truncate inside an entry of a layer type counts, though transformers overlooks it there.
    nested = llama(rope_parameters={FULL: {**YARN, "truncate": False}})
    assert rr.spec_from_hf_config(nested).frequencies.truncate is False


def test_the_plain_rope_of_llama_does_not_heed_the_partial_factor():
    """Half of 128 channels: 64 pairs as plain RoPE, 32 as a scaled one; a note says it."""
    half = {"partial_rotary_factor": 0.5}
    rope = read_hf_config(llama(**half))
    assert rope.specs[EVERY_LAYER].rotary_dim == 128
    assert any("partial_rotary_factor 0.5 is of no effect" in note for note in rope.notes)
    scaled = llama(**half, rope_scaling={"rope_type": "linear", "factor": 2})
    assert rr.spec_from_hf_config(scaled).rotary_dim == 64
    # By a layout alone, nothing is known of a class that would not heed it.
    unknown = llama(model_type="mine", **half)
    assert rr.spec_from_hf_config(unknown, layout="half").rotary_dim == 64


def test_a_layer_type_without_an_entry_of_its_own_does_not_rotate():
    """null for a type of layers is a spec with rotary_dim 0; the other one is the only RoPE."""
    config = llama(rope_parameters={FULL: None, SLIDING: {"rope_theta": 5e5}},
                   layer_types=[FULL, SLIDING])  # fmt: skip
    assert rr.spec_from_hf_config(config) == plain(5e5)
    assert rr.spec_from_hf_config(config, layer_type=FULL).rotary_dim == 0
    assert f"layers of type '{FULL}' do not rotate" in read_hf_config(config).notes


def test_exaone_rotates_all_layers_where_none_is_sliding():
    """With a sliding window, layers of full attention do not rotate; without one, they do."""
    config = {**llama(model_type="exaone4"), "layer_types": [FULL]}
    assert rr.spec_from_hf_config({**config, "sliding_window": 4096}).rotary_dim == 0
    assert rr.spec_from_hf_config({**config, "sliding_window": None}).rotary_dim == 128


@pytest.mark.parametrize("name", ["cohere2", "flint"])
def test_without_a_window_no_layer_of_these_rotates(name):
    """Each layer asks for the window and not for its type, so null stops them all."""
    config = {**llama(model_type=name), "layer_types": [FULL, SLIDING]}
    assert rr.spec_from_hf_config({**config, "sliding_window": 512}).rotary_dim == 128
    for layer_type in (None, FULL, SLIDING):
        still = {**config, "sliding_window": None}
        assert rr.spec_from_hf_config(still, layer_type=layer_type).rotary_dim == 0


def test_afmoe_goes_by_the_type_of_the_layer():
    """Whatever the window."""
    for window in (..., None, 1024):
        specs = read_hf_config(llama(model_type="afmoe", sliding_window=window)).specs
        assert {kind: spec.rotary_dim for kind, spec in specs.items()} == {FULL: 0, SLIDING: 128}


def test_phi_3_calls_longrope_yarn_too():
    """Both names side by side, as a converted config has them, are one type."""
    given = CONFIGS["Phi-3-mini-128k"]["rope_scaling"]
    config = {**CONFIGS["Phi-3-mini-128k"]}
    for names in ({"type": "yarn"}, {"type": "yarn", "rope_type": "longrope"}):
        config["rope_scaling"] = {**given, **names}
        assert rr.spec_from_hf_config(config) == EXPECTED["Phi-3-mini-128k"]


def test_a_head_dim_of_null_means_hidden_size_over_heads():
    """Also where the model type has a head_dim of its own, which is for a missing key."""
    sizes = {"hidden_size": 1024, "num_attention_heads": 16}
    gemma = {"model_type": "gemma", **sizes}
    assert rr.spec_from_hf_config(gemma).head_dim == 256
    assert rr.spec_from_hf_config({**gemma, "head_dim": None}).head_dim == 64
    assert rr.spec_from_hf_config(llama(head_dim=..., **sizes)).head_dim == 64


def test_rope_interleave_false_is_the_half_layout():
    """DeepSeek-V3's key switches between reading neighbours and reading halves."""
    spec = rr.spec_from_hf_config({**CONFIGS["DeepSeek-V3"], "rope_interleave": False})
    assert (spec.layout, spec.output_layout, spec.rotary_start) == ("half", "half", 128)


def test_the_layout_can_be_overruled():
    """Weights for the other layout, or a system that does not permute its output."""
    spec = rr.spec_from_hf_config(CONFIGS["DeepSeek-V3"], layout="interleaved")
    assert (spec.layout, spec.output_layout) == ("interleaved", "interleaved")
    switched = {**CONFIGS["DeepSeek-V3"], "rope_interleave": False}
    assert rr.spec_from_hf_config(switched, layout="interleaved") == spec
    assert rr.spec_from_hf_config(llama(), layout="interleaved").layout == "interleaved"


def test_the_length_chooses_among_frequencies():
    """Dynamic NTK grows with the length; LongRoPE changes its list above the original one."""
    dynamic = rr.spec_from_hf_config(CONFIGS["Llama-2-dynamic"], length=8192)
    assert dynamic.theta()[-1] == pytest.approx(3.8492732823e-5, rel=1e-10)
    short = rr.spec_from_hf_config(CONFIGS["Phi-3-mini-128k"], length=4096)
    long = rr.spec_from_hf_config(CONFIGS["Phi-3-mini-128k"], length=4097)
    ratio = short.theta() / long.theta()
    lists = [np.array(factors("Phi-3-mini-128k", f"{kind}_factor")) for kind in ("long", "short")]
    # Three roundings: of each theta once, and of the quotient.
    np.testing.assert_allclose(ratio, lists[0] / lists[1], rtol=4 * 2**-53)


def qwen(length=None, **keys):
    config = {**CONFIGS["Qwen-7B"], **keys}
    return rr.spec_from_hf_config(config, length=length)


def test_the_base_of_qwen_1_grows_with_the_prompt():
    """In steps, from seq_length on; 10000 tokens have the base 30527.737."""
    assert qwen(10000) == qwen(8192.5) == ruled(rr.scaling.NTK(rr.PowerLaw(1e4), alpha=3))
    assert qwen(Decimal(16385)) == ruled(rr.scaling.NTK(rr.PowerLaw(1e4), alpha=7))
    np.testing.assert_array_equal(qwen(8192).theta(), qwen().theta())
    # theta_1 is the base to the power -1/64; the base is printed to twelve digits.
    assert qwen(10000).theta()[1] ** -64 == pytest.approx(30527.7367488, rel=1e-11)


def test_qwen_1_is_read_by_its_own_keys():
    """A part of the head, another base and width; the switch off, or missing with a note."""
    keys = {"kv_channels": 64, "rotary_pct": 0.5, "rotary_emb_base": 2e4}
    assert qwen(**keys) == plain(2e4, 64, rotary_dim=32)
    assert qwen(10000, use_dynamic_ntk=False) == qwen(10000, use_dynamic_ntk=None) == plain(1e4)
    for switch in ("use_dynamic_ntk", "use_logn_attn"):
        notes = read_hf_config({**CONFIGS["Qwen-7B"], switch: None}).notes
        assert f"{switch} is missing and read as false; the published class has true" in notes


@pytest.mark.parametrize("layout", [None, "half"])
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"hidden_size": 5120, "num_hidden_layers": None, "num_attention_heads": 40}, "ALiBi"),
        ({"num_hidden_layers": 40}, "ALiBi"),
        ({"hidden_size": 2048}, "got hidden_size 2048"),
        ({"num_hidden_layers": 24}, "num_hidden_layers 24"),
        ({"num_attention_heads": 16}, "num_attention_heads 16"),
        ({"head_dim": 64}, "head_dim 64"),
    ],
)
def test_a_baichuan_of_another_size_is_refused(layout, keys, words):
    """No key tells the RoPE of 7B from the ALiBi of 13B."""
    with pytest.raises(errors.ConfigValueError, match=words):
        rr.spec_from_hf_config({**CONFIGS["Baichuan-7B"], **keys}, layout=layout)


def test_axes_of_an_unknown_model_type_follow_its_keys():
    """mrope_section is contiguous, or taken in turns where mrope_interleaved says so."""
    sections = {"rope_type": "default", "mrope_section": [24, 20, 20]}
    config = llama(model_type="mine", rope_scaling=sections)
    spec = rr.spec_from_hf_config(config, layout="half")
    assert spec.pair_axes == rr.positions.contiguous_axes((24, 20, 20))
    config["rope_scaling"] = {**sections, "mrope_interleaved": True}
    spec = rr.spec_from_hf_config(config, layout="half")
    assert spec.pair_axes == rr.positions.interleaved_axes((24, 20, 20))


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


def deep(levels=3000):
    nested = {}
    for _ in range(levels):
        nested = {"a": nested}
    return nested


LONG = {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
LLAMA3 = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}


def scaled(**keys):
    return llama(rope_scaling=keys)


REFUSED = {
    "no mapping": (["model_type"], errors.ConfigTypeError, "must be a mapping"),
    "a key that is a number": ({**llama(), 3: 4}, errors.ConfigTypeError, "key of", "got 3"),
    "a scaling that is a list": (llama(rope_scaling=["yarn"]), errors.ConfigTypeError,
                                 "rope_scaling must be a mapping"),
    "a key inside": (llama(rope_scaling={7: 1}), errors.ConfigTypeError, "key of rope_scaling"),
    "no model type": (llama(model_type=...), errors.MissingConfigKeyError, "'model_type'",
                      "layout='half'"),
    "an unknown model type": (llama(model_type="nobody"), errors.UnknownModelTypeError, "'nobody'",
                              "transformers 5.24.0", "layout='half'"),
    "a model type that is a list": (llama(model_type=["llama"]), errors.ConfigTypeError,
                                    "'model_type' must be a string"),
    "no width": (llama(head_dim=..., hidden_size=4096), errors.MissingConfigKeyError, "'head_dim'",
                 "num_attention_heads"),
    "an uneven width": (llama(head_dim=..., hidden_size=100, num_attention_heads=3),
                        errors.ConfigValueError, "no multiple"),
    "a width that is a float": (llama(head_dim=128.0), errors.ConfigTypeError, "whole number"),
    "a width of 0": (llama(head_dim=0), errors.ConfigValueError, "'head_dim'", "between 1 and"),
    "an odd width": (llama(head_dim=65), errors.ConfigValueError, "65", "odd"),
    "a width of 10**9": (llama(head_dim=10**9), errors.ConfigValueError, "between 1 and"),
    "a width of 8192": (llama(head_dim=8192), errors.ConfigValueError, "too wide"),
    "a base that is text": (llama(rope_theta="1e4"), errors.ConfigTypeError, "'rope_theta'",
                            "number", "'1e4'"),
    "a base that is true": (llama(rope_theta=True), errors.ConfigTypeError, "'rope_theta'"),
    "a base of NaN": (llama(rope_theta=float("nan")), errors.ConfigValueError, "'rope_theta'",
                      "finite", "nan"),
    "a base of infinity": (llama(rope_theta=float("inf")), errors.ConfigValueError, "finite"),
    "a base of 10**400": (llama(rope_theta=10**400), errors.ConfigValueError, "'rope_theta'",
                          "1329 bits"),
    "a base of 10**5000": (llama(rope_theta=10**5000), errors.ConfigValueError, "16610 bits"),
    "a base below 0": (llama(rope_theta=-1e4), errors.ConfigValueError, "'rope_theta'", "above 0"),
    "a base of 1 for YaRN": (llama(rope_theta=1, rope_scaling=YARN), errors.ConfigValueError,
                             "'yarn'", "base must be above 1"),
    "a type nobody knows": (scaled(rope_type="magic"), errors.UnknownRopeTypeError, "'magic'",
                            "'longrope'"),
    "a type that is a number": (scaled(rope_type=3), errors.ConfigTypeError, "'rope_type'"),
    "two types": (scaled(rope_type="yarn", type="linear", factor=2), errors.ConfigValueError,
                  "'yarn'", "'linear'"),
    "vision's type for text": (scaled(rope_type="axial"), errors.ConfigValueError, "'axial'"),
    "no factor": (scaled(rope_type="linear"), errors.MissingConfigKeyError, "'factor'"),
    "a factor of 0": (scaled(rope_type="linear", factor=0), errors.ConfigValueError, "'factor'",
                      "above 0"),
    "a factor below 0": (scaled(rope_type="yarn", factor=-4), errors.ConfigValueError, "'factor'"),
    "no low factor": (llama(rope_scaling={**LLAMA3, "low_freq_factor": None}),
                      errors.MissingConfigKeyError, "'low_freq_factor'"),
    "high below low": (llama(rope_scaling={**LLAMA3, "high_freq_factor": 0.5}),
                       errors.ConfigValueError, "high_freq_factor"),
    "no long factors": (llama(rope_scaling={**LONG, "long_factor": None}),
                        errors.MissingConfigKeyError, "'long_factor'"),
    "factors of the wrong number": (llama(rope_scaling={**LONG, "long_factor": [1.0] * 63}),
                                    errors.ConfigValueError, "'long_factor'", "64", "63"),
    "a factor of NaN among them": (llama(rope_scaling={**LONG, "short_factor": [np.nan] * 64}),
                                   errors.ConfigValueError, "'short_factor'", "finite"),
    "factors that are text": (llama(rope_scaling={**LONG, "short_factor": "1" * 64}),
                              errors.ConfigTypeError, "'short_factor'", "list"),
    "a negative factor among them": (llama(rope_scaling={**LONG, "short_factor": [-1.0] * 64}),
                                     errors.ConfigValueError, "'short_factor'", "above 0"),
    "no length": (llama(max_position_embeddings=..., rope_scaling=YARN),
                  errors.MissingConfigKeyError, "max_position_embeddings"),
    "no length to grow from": (llama(max_position_embeddings=...,
                                     rope_scaling={"type": "dynamic", "factor": 2}),
                               errors.MissingConfigKeyError, "max_position_embeddings"),
    "a length of 2**60": (llama(max_position_embeddings=2**60, rope_scaling=YARN),
                          errors.ConfigValueError, "below 2**53"),
    "truncate as a number": (scaled(**YARN, truncate=1), errors.ConfigTypeError, "'truncate'"),
    "an unknown key inside": (scaled(**YARN, beta_fasst=3), errors.UnknownConfigKeyError,
                              "'beta_fasst'", "'yarn'"),
    "a key of another type": (scaled(rope_type="default", factor=4), errors.UnknownConfigKeyError,
                              "'factor'", "'default'"),
    "alpha on Llama": (scaled(rope_type="dynamic", factor=2, alpha=3),
                       errors.UnknownConfigKeyError, "'alpha'"),
    "an unknown key outside": (llama(rope_ratio=2), errors.UnknownConfigKeyError, "'rope_ratio'"),
    "another model's key": (llama(rotary_emb_base=2e4), errors.UnknownConfigKeyError,
                            "'rotary_emb_base'", "'llama'"),
    "Gemma's key on Llama": (llama(rope_local_base_freq=1e4), errors.UnknownConfigKeyError,
                             "'rope_local_base_freq'"),
    "two bases on GPT-NeoX": ({**CONFIGS["GPT-NeoX-20B"], "rope_theta": 2e4},
                              errors.ConfigValueError, "rope_theta 20000.0", "rotary_emb_base"),
    "axes on Llama": (scaled(rope_type="default", mrope_section=[16, 24, 24]),
                      errors.UnknownConfigKeyError, "mrope_section"),
    "turns on contiguous axes": ({**CONFIGS["Qwen2-VL-7B"], "rope_scaling": {
        "type": "mrope", "mrope_section": [16, 24, 24], "mrope_interleaved": True}},
        errors.ConfigValueError, "mrope_interleaved", "contiguous"),
    "sections of another width": ({**CONFIGS["Qwen2-VL-7B"], "rope_scaling": {
        "type": "mrope", "mrope_section": [16, 24]}}, errors.ConfigValueError, "pair_axes"),
    "a fraction of 0": (scaled(rope_type="linear", factor=2, partial_rotary_factor=0),
                        errors.ConfigValueError, "partial_rotary_factor"),
    "a fraction above 1": (llama(partial_rotary_factor=1.5), errors.ConfigValueError, "at most 1"),
    "two widths of latent attention": ({**CONFIGS["DeepSeek-V3"], "head_dim": 96},
                                       errors.ConfigValueError, "head_dim 96"),
    "two fractions": ({**CONFIGS["MiniMax-M2"], "partial_rotary_factor": 0.25},
                      errors.ConfigValueError, "rotary_dim, 64"),
    "both ways of writing": (llama(rope_scaling=YARN, rope_parameters={"rope_theta": 1e4}),
                             errors.ConfigValueError, "rope_parameters and rope_scaling"),
    "layer types beside keys": (llama(rope_parameters={FULL: {}, "rope_theta": 1e4}),
                                errors.ConfigValueError, "'rope_theta'", "stands beside"),
    "one entry for two types of layers": ({"model_type": "gemma3_text",
                                           "rope_parameters": {"rope_theta": 1e6}},
                                          errors.ConfigValueError, "one entry for each"),
    "layers without RoPE on Llama": (llama(no_rope_layers=[0, 1]), errors.UnknownConfigKeyError,
                                     "'no_rope_layers'"),
    "RoPE beside a text_config": ({"model_type": "gemma3", "rope_theta": 1e4, "text_config": {}},
                                  errors.ConfigValueError, "'rope_theta'", "text_config"),
    "a text_config in another": ({"model_type": "a", "text_config": {"text_config": {}}},
                                 errors.ConfigValueError, "another text_config"),
    "ALiBi": ({**CONFIGS["Falcon-7B"], "alibi": True}, errors.ConfigValueError, "alibi"),
    "the length of Qwen-1": ({**CONFIGS["Qwen-7B"], "seq_length": None},
                             errors.MissingConfigKeyError, "'seq_length'"),
    "half a token": ({**CONFIGS["Qwen-7B"], "seq_length": 8192.5}, errors.ConfigValueError,
                     "'seq_length'", "whole number"),
    "a base Qwen-1 does not read": ({**CONFIGS["Qwen-7B"], "rope_theta": 2e4},
                                    errors.ConfigValueError, "rope_theta 20000.0"),
    "a base Baichuan does not read": ({**CONFIGS["Baichuan-7B"], "rope_theta": 1e4},
                                      errors.UnknownConfigKeyError, "'rope_theta'"),
    "no kind of positions": ({"model_type": "esm", "head_dim": 64}, errors.ConfigValueError,
                             "position_embedding_type", "give 'rotary'"),
    "learned positions": ({"model_type": "esm", "head_dim": 64,
                           "position_embedding_type": "absolute"},
                          errors.ConfigValueError, "'absolute'"),
    "nested too deep": (scaled(rope_type="linear", factor=deep()), errors.ConfigTypeError,
                        "'factor'", "number"),
    "nested in both": (llama(rope_scaling=deep(), rope_parameters=deep()),
                       errors.ConfigError, "rope_scaling"),
    "nested as layers": (llama(rope_parameters=deep(10**5)), errors.ConfigError, "rope_parameters"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_by_name(case):
    """The error names the call, the key and what was expected, and stays short."""
    config, error, *words = case
    with pytest.raises(error) as caught:
        rr.spec_from_hf_config(config)
    message = str(caught.value)
    assert message.startswith("spec_from_hf_config(")
    assert len(message) < 700
    for word in words:
        assert word in message
    assert isinstance(caught.value, errors.ConfigError | ValueError)


def test_layers_that_differ_need_a_name():
    """Without one, or with a wrong one, the error lists the types of layers."""
    for layer_type in (None, "chunked_attention", 3):
        with pytest.raises(errors.LayerTypeError, match=f"'{FULL}', '{SLIDING}'"):
            rr.spec_from_hf_config(CONFIGS["Gemma-3-4B"], layer_type=layer_type)
    with pytest.raises(errors.LayerTypeError, match="'every layer'"):
        rr.spec_from_hf_config(llama(), layer_type=SLIDING)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"layout": "neox"}, errors.ConfigValueError),
        ({"length": 0}, errors.ConfigValueError),
        ({"length": "long"}, errors.ConfigTypeError),
        ({"length": Decimal("sNaN")}, errors.ConfigValueError),
    ],
)
def test_arguments_are_checked_too(options, error):
    """A layout that does not exist, and lengths that are none."""
    with pytest.raises(error, match=next(iter(options))):
        rr.spec_from_hf_config(llama(), **options)

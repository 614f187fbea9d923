"""transformers makes the frequencies that the specs of real configs have, or differs by name.

Its frequencies are float32, by ``1 / base**(2i/R)``: each lies within the bound that is
derived for that recipe. Its amplitudes are Python's float64.
"""

import copy
import functools
import importlib
import inspect
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from rope_conformance.accuracy.amplification import amplitude_roundings
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_ref import PowerLaw, RopeSpec, spec_from_hf_config
from rope_ref.models.hf_config import read_hf_config
from rope_ref.scaling import DynamicNTK, LongRoPE, YaRN

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = json.loads(
    (ROOT / "rope_ref" / "tests" / "models" / "real_configs.json").read_text("utf-8")
)
ELSEWHERE = {
    "GPT-J-6B": "keeps a table and no frequencies; the adapter transformers/gptj is judged",
    "Qwen2-VL-vision": "has two axes: test_axes_models.py",
    "ERNIE-4.5-VL": "keeps frequencies in an order of its own: test_axes_models.py",
    "Phi-3.5-MoE": "differs: below",
    "Nomic-fixed-NTK": "transformers does not know vLLM's ntk",
    "Baichuan-7B": "its code is published with the model, not in transformers",
    "Qwen-7B": "its code is published with the model, not in transformers",
}
COMPARED = [name for name in CONFIGS if name not in ELSEWHERE]
# Where a model's code is published under another name.
CODE = {"kimi_k2": "deepseek_v3", "qwen2_vl": "qwen2_vl_text"}
PROFILE = profile_named("float32-power")


@functools.cache
def rotary_class(model_type):
    """The config class of a model type, and the class that makes its frequencies."""
    config = transformers.CONFIG_MAPPING[CODE.get(model_type, model_type)]
    module = importlib.import_module(config.__module__.replace("configuration_", "modeling_"))
    found = [
        own
        for name, own in vars(module).items()
        if inspect.isclass(own) and name.endswith("RotaryEmbedding") and "Vision" not in name
    ]
    assert len(found) == 1, found
    return config, found[0]


def embedding(config):
    """The rotary embedding of transformers, made from a config."""
    # A copy: it writes into the nested dictionaries that it is given.
    text = copy.deepcopy(config.get("text_config", config))
    model_type = text.pop("model_type")
    # The files name every layer; the table has one of each kind.
    layers = text.get("layer_types") or text.get("no_rope_layers") or ()
    if layers:
        text["num_hidden_layers"] = len(layers)
    scaling = text.get("rope_scaling") or {}
    if scaling.get("type") == "su":  # an old name that it no longer completes
        text["rope_scaling"] = scaling | {"type": "longrope"}
    config_class, own = rotary_class(model_type)
    return own(config_class(**text))


def frequencies(module, layer):
    """Frequencies and amplitude that a module has for one type of layers."""
    theta = getattr(module, f"{layer}_inv_freq", None)
    if theta is None:
        return module.inv_freq.double().numpy(), module.attention_scaling
    return theta.double().numpy(), getattr(module, f"{layer}_attention_scaling")


def share_of_bound(got, spec):
    """The largest error of frequencies, as a share of what the recipe allows."""
    m = PROFILE.amplification(spec) * unit_roundoff("float32")
    allowed = m / (1 - m) * np.abs(spec.theta())
    error = np.abs(got - spec.theta())
    assert got.shape == allowed.shape
    assert not error[allowed == 0].any()
    return np.max(error[allowed > 0] / allowed[allowed > 0])


def relative(got, want):
    """The largest relative difference of frequencies."""
    return np.max(np.abs(got / want - 1))


def demand_same(module, layer, spec):
    got, amplitude = frequencies(module, layer)
    want, rule = float(spec.frequencies.amplitude), spec.frequencies
    assert share_of_bound(got, spec) <= 1
    roundings = amplitude_roundings(rule, "float64")
    assert abs(amplitude - want) <= roundings * unit_roundoff("float64") * want


@pytest.mark.parametrize("name", COMPARED)
def test_frequencies_and_amplitude_of_a_real_model(name):
    module = embedding(CONFIGS[name])
    rope = read_hf_config(CONFIGS[name])
    compared = 0
    for layer, spec in rope.specs.items():
        if spec.rotary_dim:
            demand_same(module, layer, spec)
            compared += 1
    assert compared


def test_every_scaling_of_its_registry_is_among_them():
    kinds = set()
    for name in COMPARED:
        parameters = embedding(CONFIGS[name]).config.rope_parameters
        nested = any(isinstance(part, dict) for part in parameters.values())
        parts = parameters.values() if nested else [parameters]
        kinds |= {part["rope_type"] for part in parts if part}
    assert kinds >= {"default", *ROPE_INIT_FUNCTIONS}
    assert len(COMPARED) >= 25


@pytest.mark.parametrize("layer", ["full_attention", "sliding_attention"])
@pytest.mark.parametrize("rope_type", ROPE_INIT_FUNCTIONS)
def test_every_scaling_for_one_type_of_layers(rope_type, layer):
    scaling = {"rope_type": rope_type, "rope_theta": 5e5, "factor": 4.0}
    scaling |= {
        "longrope": {"short_factor": [1.0 + i / 64 for i in range(64)], "long_factor": [3.7] * 64},
        "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
        "proportional": {"partial_rotary_factor": 0.25},
    }.get(rope_type, {})
    if rope_type in ("yarn", "longrope", "llama3"):
        scaling["original_max_position_embeddings"] = 8192
    other = {"rope_type": "default", "rope_theta": 10000.0}
    kinds = ("full_attention", "sliding_attention")
    config = {
        "model_type": "olmo3",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_position_embeddings": 32768,
        "layer_types": list(kinds),
        "rope_parameters": {kind: scaling if kind == layer else other for kind in kinds},
    }
    module = embedding(config)
    for kind in kinds:
        demand_same(module, kind, spec_from_hf_config(config, layer_type=kind))


def after_forward(config, *lengths):
    """The module after a forward of each of some lengths."""
    module = embedding(config)
    for length in lengths:
        module(torch.zeros(1), torch.tensor([[length - 1]]))
    return module


@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 8192, 32768, 2**20])
@pytest.mark.parametrize("name", ["Llama-2-dynamic", "Phi-3-mini-128k", "Phi-4-mini"])
def test_scalings_that_depend_on_the_length(name, length):
    spec = spec_from_hf_config(CONFIGS[name], length=length)
    assert isinstance(spec.frequencies, DynamicNTK | LongRoPE)
    demand_same(after_forward(CONFIGS[name], length), "every layer", spec)


def test_dynamic_ntk_remembers_the_longest_text_until_a_short_one():
    config = CONFIGS["Llama-2-dynamic"]

    def at(length):
        return spec_from_hf_config(config, length=length)

    for forwards, remembered in [((8192, 5000), 8192), ((8192, 4096), 8192), ((8192, 4095), None)]:
        demand_same(after_forward(config, *forwards), "every layer", at(remembered))


# Named disagreements


def test_plain_rotation_pays_no_heed_to_a_partial_factor():
    config = CONFIGS["Llama-3-8B"] | {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    got, _ = frequencies(embedding(config), "every layer")
    whole = spec_from_hf_config(config)
    heeded = RopeSpec(128, layout="half", rotary_dim=64)
    assert share_of_bound(got, whole) <= 1
    assert (len(got), len(heeded.theta())) == (64, 32)
    assert (round(whole.theta()[1], 6), round(heeded.theta()[1], 6)) == (0.865964, 0.749894)


def test_phimoe_has_the_short_factors_in_long_texts_too():
    config = CONFIGS["Phi-3.5-MoE"]
    module, position = embedding(config), 5000
    cos, sin = module(torch.zeros(1), torch.tensor([[position]]))
    long = spec_from_hf_config(config, length=position + 1)
    short = spec_from_hf_config(config, length=None)
    amplitude = float(long.frequencies.amplitude)
    c, v = (each[0, 0, :64].double().numpy() for each in (cos, sin))

    def distance(spec):
        phases = position * spec.theta()
        return np.hypot(c - amplitude * np.cos(phases), v - amplitude * np.sin(phases)).max()

    # The length of a pair is that of a long text: only the frequencies are not.
    assert np.allclose(np.hypot(c, v), amplitude, rtol=2**-20)
    m = PROFILE.amplification(short) * unit_roundoff("float32")
    assert distance(short) <= amplitude * (np.max(m * position * short.theta()) + 2**-20)
    assert 2.3 < distance(long) <= 2 * amplitude
    # It keeps the long ones, and does not use them.
    assert share_of_bound(frequencies(module, "every layer")[0], long) <= 1


def test_truncate_is_not_read_inside_an_entry_for_a_type_of_layers():
    scaling = {
        "rope_type": "yarn",
        "rope_theta": 150000.0,
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "truncate": False,
    }
    config = {
        "model_type": "olmo3",
        "hidden_size": 64,
        "num_attention_heads": 1,
        "max_position_embeddings": 131072,
        "layer_types": ["full_attention"],
        "rope_parameters": {"full_attention": scaling},
    }
    asked = spec_from_hf_config(config, layer_type="full_attention")
    assert asked.frequencies == YaRN(
        PowerLaw(150000.0), factor=32.0, original_length=4096, truncate=False
    )
    got, _ = frequencies(embedding(config), "full_attention")
    rounded = replace(asked, frequencies=replace(asked.frequencies, truncate=True))
    assert share_of_bound(got, rounded) <= 1
    assert share_of_bound(got, asked) > 1e4
    assert round(relative(rounded.theta(), asked.theta()), 3) == 0.763


def test_truncate_is_read_where_all_layers_share_an_entry():
    demand_same(
        embedding(CONFIGS["gpt-oss-20B"]),
        "every layer",
        spec_from_hf_config(CONFIGS["gpt-oss-20B"]),
    )

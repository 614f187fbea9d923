"""Hugging Face configs that cannot be read: which error, and which words in it."""

import json
from pathlib import Path

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors

CONFIGS = json.loads(Path(__file__).with_name("real_configs.json").read_text())
FULL = "full_attention"


def llama(**keys):
    given = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}
    return {key: value for key, value in {**given, **keys}.items() if value is not ...}


YARN = {"rope_type": "yarn", "factor": 4}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
LLAMA3 = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}


def deep(levels=3000):
    nested = {}
    for _ in range(levels):
        nested = {"a": nested}
    return nested


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

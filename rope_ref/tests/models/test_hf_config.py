"""How a Hugging Face config is read: ways of writing, layouts, widths, and types of layers."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

import rope_ref as rr
from rope_ref import errors
from rope_ref.models.hf_config import EVERY_LAYER, read_hf_config

CONFIGS = json.loads(Path(__file__).with_name("real_configs.json").read_text())
FULL, SLIDING = "full_attention", "sliding_attention"


def plain(base, head_dim=128, **options):
    options.setdefault("layout", "half")
    return rr.RopeSpec(head_dim, frequencies=rr.PowerLaw(base), **options)


def llama(**keys):
    given = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}
    return {key: value for key, value in {**given, **keys}.items() if value is not ...}


def test_old_and_new_ways_of_writing_are_one():
    """rope_scaling beside rope_theta, and all in rope_parameters; type and rope_type."""
    old = llama(rope_theta=5e5, rope_scaling={"type": "linear", "factor": 4})
    new = llama(rope_parameters={"rope_type": "linear", "factor": 4, "rope_theta": 5e5})
    both = llama(
        rope_parameters={"type": "linear", "factor": 4, "rope_theta": 5e5, "rope_type": "linear"}
    )
    specs = {rr.spec_from_hf_config(config) for config in (old, new, both)}
    assert specs == {
        rr.RopeSpec(128, layout="half", frequencies=rr.scaling.Linear(rr.PowerLaw(5e5), factor=4))
    }


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

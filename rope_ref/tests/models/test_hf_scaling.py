"""Which scaling a Hugging Face config means, with which parameters and at which length."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import rope_ref as rr
from rope_ref.models.hf_config import EVERY_LAYER, read_hf_config

CONFIGS = json.loads(Path(__file__).with_name("real_configs.json").read_text())
FULL = "full_attention"


def llama(**keys):
    given = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}
    return {key: value for key, value in {**given, **keys}.items() if value is not ...}


def rule_of(**keys):
    return rr.spec_from_hf_config(llama(**keys)).frequencies


def plain(base, head_dim=128, **options):
    options.setdefault("layout", "half")
    return rr.RopeSpec(head_dim, frequencies=rr.PowerLaw(base), **options)


def factors(name, key):
    return CONFIGS[name]["rope_scaling"][key]


YARN = {"rope_type": "yarn", "factor": 4}


def test_values_in_the_dict_win_over_those_beside_it():
    """A base inside overrules one outside, and a note says so."""
    rope = read_hf_config(llama(rope_theta=1e4, rope_parameters={"rope_theta": 5e5}))
    assert rope.specs[EVERY_LAYER].frequencies == rr.PowerLaw(5e5)
    assert any("rope_theta 10000.0 is overruled by 500000.0" in note for note in rope.notes)


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


def test_phi_3_calls_longrope_yarn_too():
    """Both names side by side, as a converted config has them, are one type."""
    given = CONFIGS["Phi-3-mini-128k"]["rope_scaling"]
    config = {**CONFIGS["Phi-3-mini-128k"]}
    expected = rr.spec_from_hf_config(config)
    assert isinstance(expected.frequencies, rr.scaling.LongRoPE)
    for names in ({"type": "yarn"}, {"type": "yarn", "rope_type": "longrope"}):
        config["rope_scaling"] = {**given, **names}
        assert rr.spec_from_hf_config(config) == expected


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


def ntk(alpha):
    rule = rr.scaling.NTK(rr.PowerLaw(1e4), alpha=alpha)
    return rr.RopeSpec(128, layout="half", frequencies=rule)


def test_the_base_of_qwen_1_grows_with_the_prompt():
    """In steps, from seq_length on; 10000 tokens have the base 30527.737."""
    assert qwen(10000) == qwen(8192.5) == ntk(3)
    assert qwen(Decimal(16385)) == ntk(7)
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

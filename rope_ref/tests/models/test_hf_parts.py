"""RoPE in parts of a config: which part is read, and which is looked at."""

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors
from rope_ref.models.hf_config import read_hf_config

FULL, SLIDING = "full_attention", "sliding_attention"
HEADS = {"hidden_size": 512, "num_attention_heads": 4, "max_position_embeddings": 4096}


def model(model_type, /, **keys):
    return {"model_type": model_type, **HEADS, **keys}


def only(config, **options):
    return rr.spec_from_hf_config(config, **options)


def notes_of(config, **options):
    return " | ".join(read_hf_config(config, **options).notes)


def plain(base=1e4, head_dim=128, **options):
    options.setdefault("layout", "half")
    return rr.RopeSpec(head_dim, frequencies=rr.PowerLaw(base), **options)


def test_the_base_of_dbrx_stands_in_a_part():
    """attn_config holds 500000; beside an equal rope_theta too, never beside another."""
    dbrx = {"model_type": "dbrx", "d_model": 6144, "n_heads": 48,
            "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000}}  # fmt: skip
    assert only(dbrx) == only({**dbrx, "rope_theta": 500000}) == plain(500000)
    with pytest.raises(errors.ConfigValueError, match="attn_config"):
        only({**dbrx, "rope_theta": 10000})


def test_mpt_says_in_a_part_whether_there_is_rope():
    """rope true with its base; false, or alibi true, is no RoPE; other keys are refused."""

    def mpt(**attention):
        return {"model_type": "mpt", "d_model": 512, "n_heads": 4, "attn_config": attention}

    assert only(mpt(alibi=False, rope=True, rope_theta=5e5), layout="half") == plain(5e5)
    for attention in ({"alibi": True}, {"alibi": False, "rope": False}):
        with pytest.raises(errors.ConfigValueError, match="no RoPE"):
            only(mpt(**attention), layout="half")
    with pytest.raises(errors.UnknownConfigKeyError, match=r"attn_config\['rope_impl'\]"):
        only(mpt(rope=True, rope_impl="dail"), layout="half")
    with pytest.raises(errors.UnknownConfigKeyError, match="'attn_config'"):
        only(mpt(rope=True, more={"rope_theta": 5e5}), layout="half")


def test_rope_in_other_parts_is_looked_at():
    """Refused by the name of the part, unless the part is another model's."""
    for part in ({"rope_theta": 5e5}, {"more": {"rotary_dim": 3}}):
        with pytest.raises(errors.UnknownConfigKeyError, match="'attn_config'"):
            only(model("llama", attn_config=part))
        assert "vision_config is another part" in notes_of(model("llama", vision_config=part))
    quantized = model("llama", quantization_config={"dynamic": {"rotary_emb": {}}})
    assert only(quantized) == plain()


def test_the_depth_decoder_of_csm_is_read_by_itself():
    """Its base is 500000 too."""
    assert only(model("csm")) == only(model("csm_depth_decoder_model")) == plain(5e5)


def test_parts_that_cannot_be_compared_are_refused():
    """Two arrays under one key have no single answer to whether they are equal."""
    long = {"type": "longrope", "short_factor": np.ones(64), "long_factor": np.ones(64)}
    again = {**long, "short_factor": np.ones(64)}
    with pytest.raises(errors.ConfigValueError, match="cannot be compared"):
        only(model("llama", rope_scaling=long, rope_parameters=again))

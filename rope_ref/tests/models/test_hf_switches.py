"""Keys of configs that switch RoPE, name layers without it, or say a thing twice."""

from decimal import Decimal

import pytest

import rope_ref as rr
from rope_ref import errors
from rope_ref.models.hf_config import EVERY_LAYER, read_hf_config

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


def test_mimo_has_keys_for_its_sliding_layers():
    """swa_rope_theta and swa_head_dim; without them 10000 and the width of the other heads."""
    mimo = {"model_type": "mimo_v2_flash", "head_dim": 192, "rope_theta": 5e6,
            "partial_rotary_factor": 0.334}  # fmt: skip
    swa = {"swa_rope_theta": 3e4, "swa_head_dim": 96}
    assert read_hf_config({**mimo, **swa}).specs == {
        FULL: plain(5e6, 192, rotary_dim=64),
        SLIDING: plain(3e4, 96, rotary_dim=32),
    }
    assert only(mimo, layer_type=SLIDING) == plain(1e4, 192, rotary_dim=64)
    narrow = only({**mimo, "head_dim": 96}, layer_type=SLIDING)
    assert narrow == plain(1e4, 96, rotary_dim=32)


def test_granite_hybrid_has_rope_only_where_it_says_so():
    """position_embedding_type missing, null or nope is no RoPE."""
    assert only(model("granitemoehybrid", position_embedding_type="rope")) == plain()
    for keys in ({}, {"position_embedding_type": None}, {"position_embedding_type": "nope"}):
        with pytest.raises(errors.ConfigValueError, match="position_embedding_type"):
            only(model("granitemoehybrid", **keys))


@pytest.mark.parametrize("kind", ["linear_attention", "conv", "mamba"])
def test_layers_without_attention_do_not_rotate(kind):
    """Their spec has rotary_dim 0, and the others are the only RoPE."""
    config = model("lfm2", layer_types=[kind, FULL], rope_theta=1e6)
    assert only(config) == only(config, layer_type=FULL) == plain(1e6)
    assert only(config, layer_type=kind).rotary_dim == 0
    assert f"layers of type '{kind}' do not rotate" in notes_of(config)


def test_a_rotary_dim_of_null_is_refused():
    """A missing one is 64 channels of GPT-J; null has two readings."""
    config = {"model_type": "gptj", "n_embd": 4096, "n_head": 16}
    assert only(config).rotary_dim == 64
    with pytest.raises(errors.ConfigValueError, match="'rotary_dim' is null"):
        only({**config, "rotary_dim": None})


def test_kv_channels_is_the_width_of_a_head_in_an_unknown_model():
    """Beside a layout of the caller's."""
    assert only(model("mine", kv_channels=64), layout="half").head_dim == 64


NOTED = {
    "use_mrope": (model("llama", use_mrope=False), "'use_mrope' is false"),
    "rope_interleaved": (model("llama", rope_interleaved=False), "'rope_interleaved' is false"),
    "xdrope": (model("llama", position_embedding_xdrope=False), "xdrope' is false"),
    "false inside": (model("llama", rope_scaling={"type": "default", "use_fope": False}),
                     "['use_fope'] is false"),
    "finetuned": (model("llama", rope_scaling={"type": "linear", "factor": 1, "finetuned": True}),
                  "'finetuned'] changes nothing"),
    "rotary": (model("gptj", rotary=True), "'rotary' says that there is RoPE"),
    "use_rotary_pos_emb": (model("llama", use_rotary_pos_emb=True), "says that there is RoPE"),
    "absolute": (model("modernbert", position_embedding_type="absolute"),
                 "'absolute' is of no effect"),
    "rope_gptj": (model("cohere2", position_embedding_type="rope_gptj", rotary_pct=1.0),
                  "rotary_pct 1.0 says the same"),
    "theta": (model("llama", theta=5e5, rope_theta=5e5), "theta 500000.0 says the same"),
    "rotary_emb_base": (model("llama", rotary_emb_base=5e5, rope_theta=5e5), "says the same"),
    "rope_theta": (model("gpt_neox", rotary_emb_base=5e5, rope_theta=5e5), "says the same"),
    "rope_percent": (model("nemotron", rope_percent=0.5, partial_rotary_factor=0.5),
                     "rope_percent 0.5 says the same"),
    "dual chunks": (model("qwen2", dual_chunk_attention_config={"chunk_size": 4}),
                    "dual_chunk_attention_config changes positions"),
    "max_trained_positions": (model("llama", max_trained_positions=2048),
                              "max_trained_positions is a matter of serving"),
    "above text_config": ({"model_type": "gemma3", "rope_theta": 1e6,
                           "text_config": {"rope_theta": 1e6}}, "the one in text_config"),
    "an empty part": (model("gemma3_text", rope_parameters={}), "rope_theta is missing"),
    "no base key": (model("roformer"), "the base is 10000.0; no key of this model type says it"),
    "the type of layers": (model("gemma3_text"), f"{SLIDING}: rope_local_base_freq is missing"),
    "logn": (model("llama", use_logn_attn=True), "'use_logn_attn' is about a temperature"),
    "no logn": (model("llama", use_logn_attn=False), "'use_logn_attn' is false"),
    "tuning": (model("llama4_text", attn_temperature_tuning=4),
               "'attn_temperature_tuning' is about a temperature"),
    "floor": (model("llama4_text", floor_scale=8192), "'floor_scale' is about a temperature"),
    "scale": (model("llama4_text", attn_scale=0.1), "'attn_scale' is about a temperature"),
    "beta": (model("llama", llama_4_scaling_beta=0.1), "is about a temperature"),
    "Grok": (model("llama", attn_temperature_len=1024), "is about a temperature"),
    "a temperature above": ({"attn_temperature_tuning": True, "text_config": model("llama")},
                            "is about a temperature"),
    "a temperature inside": (model("llama", attention={"use_logn_attn": True}),
                             "attention is about temperatures"),
    "a length above": ({"original_max_position_embeddings": 512, "text_config": model(
        "llama", original_max_position_embeddings=512)}, "the one in text_config"),
    "no ALiBi": (model("llama", use_alibi=False, alibi_bias_max=8), "rope_theta is missing"),
    "every fourth": (model("smollm3"), "every fourth layer does not rotate"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTED.values(), ids=NOTED)
def test_words_that_change_nothing_are_in_a_note(case):
    """Switches that are off, keys of other systems, and a value under a second name."""
    config, words = case
    assert words in notes_of(config)


def test_every_fourth_layer_is_said_only_where_the_config_does_not():
    """no_rope_layers names the layers."""
    assert "every fourth" not in notes_of(model("smollm3", no_rope_layers=[1, 0]))


@pytest.mark.parametrize("part", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("name", ["gptj", "codegen", "roformer", "esm", "baichuan", "qwen"])
def test_a_scaling_that_the_code_does_not_read_is_refused(name, part):
    """By name; an empty one changes nothing."""
    config = model(name, hidden_size=4096, num_attention_heads=32, kv_channels=128,
                   position_embedding_type="rotary")  # fmt: skip
    assert only({**config, part: {}}) == only(config)
    for scaling in ({"rope_type": "linear", "factor": 4}, {"rope_theta": 5e5}):
        with pytest.raises(errors.UnknownConfigKeyError, match=part):
            only({**config, part: scaling})


@pytest.mark.parametrize("name", ["recurrent_gemma", "ernie4_5_vl_moe_text"])
def test_a_scaling_that_the_code_refuses_is_refused(name):
    """Only a plain part is good, for its base."""
    assert float(only(model(name, rope_parameters={"rope_theta": 7e5})).frequencies.base) == 7e5
    with pytest.raises(errors.ConfigValueError, match="'linear' does not go with model type"):
        only(model(name, rope_parameters={"rope_type": "linear", "factor": 4}))


def test_numbers_may_be_decimals():
    """A length, and a base as some readers of JSON have it."""
    config = model("llama", rope_scaling={"type": "dynamic", "factor": 2})
    assert only(config, length=Decimal(5000)) == only(config, length=5000)
    assert only(model("llama", rope_theta=Decimal("5e5"))) == plain(5e5)


UNKNOWN, VALUE = errors.UnknownConfigKeyError, errors.ConfigValueError
REFUSED = {
    "ALiBi": (model("llama", use_alibi=True), VALUE, "'use_alibi' is true"),
    "ALiBi above": ({"use_alibi": True, "text_config": model("llama")}, VALUE, "'use_alibi'"),
    "ALiBi inside": (model("llama", attention={"alibi": True}), UNKNOWN, "'attention'"),
    "ALiBi of a number": (model("llama", use_alibi=1), errors.ConfigTypeError, "'use_alibi'"),
    "a length above": ({"original_max_position_embeddings": 512, "text_config": model("llama")},
                       VALUE, "'original_max_position_embeddings' stands beside a text_config"),
    "no RoPE": (model("gptj", rotary=False), VALUE, "'rotary' is false"),
    "a switch that is none": (model("llama", use_rope="yes"), UNKNOWN, "'use_rope'"),
    "false of a layout": (model("cohere", rope_interleaved=False), UNKNOWN, "rope_interleaved"),
    "rope_gptj in halves": (model("llama", position_embedding_type="rope_gptj"), VALUE,
                            "rope_gptj"),
    "two bases": (model("llama", theta=1e4, rope_theta=5e5), VALUE, "theta 10000.0"),
    "two fractions": (model("nemotron", rope_percent=0.5, partial_rotary_factor=0.25), VALUE,
                      "rope_percent 0.5"),
    "two parts": ({"model_type": "gemma3", "rope_theta": 1e4,
                   "text_config": {"rope_theta": 1e6}}, VALUE, "'rope_theta'"),
    "a factor of Nomic": (model("nomic_bert", rotary_scaling_factor=2), UNKNOWN,
                          "rotary_scaling_factor", "build the RopeSpec by hand"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_words_that_may_change_it_are_refused(case):
    """By name, with what to do where the key matters."""
    config, error, *words = case
    with pytest.raises(error) as caught:
        only(config)
    for word in words:
        assert word in str(caught.value)


def test_an_interleaving_that_is_off_decides_for_an_unknown_model():
    """So it does not pass as a word that changes nothing."""
    with pytest.raises(UNKNOWN, match="rope_interleaved"):
        only(model("mine", rope_interleaved=False), layout="half")


def test_nomic_has_names_of_its_own():
    """rotary_emb_base and rotary_emb_fraction; rope_theta is read too."""
    config = model("nomic_bert", rotary_emb_base=1e5, rotary_emb_fraction=0.5,
                   rotary_emb_interleaved=False, rotary_scaling_factor=None)  # fmt: skip
    assert only(config) == plain(1e5, rotary_dim=64)
    assert only(model("nomic_bert", rope_theta=2e4)) == plain(2e4)


def test_llama_by_another_name():
    """InternLM2 and MiniCPM."""
    for name in ("internlm2", "minicpm"):
        assert read_hf_config(model(name, rope_theta=1e6)).specs == {EVERY_LAYER: plain(1e6)}

"""Specs read from GGUF metadata: layouts of architectures, scalings, tensors, refusals."""

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors
from rope_ref.models.gguf import ARCHITECTURES, SCALING_TYPES, read_gguf

FULL, SLIDING = "full_attention", "sliding_attention"


def metadata(architecture="llama", /, tensors=None, **keys):
    """Metadata with heads of 128 channels; ``__`` stands for a dot."""
    given = {"attention__key_length": 128, "context_length": 4096, "rope__freq_base": 1e4, **keys}
    named = {
        f"{architecture}.{key.replace('__', '.')}": value
        for key, value in given.items()
        if value is not ...
    }
    return {"general.architecture": architecture, **named, **(tensors or {})}


def scaled(kind, *, base=1e4, **keys):
    keys = {f"rope__scaling__{key}": value for key, value in keys.items()}
    return metadata(rope__scaling__type=kind, rope__freq_base=base, **keys)


def spec_of(given, **options):
    return rr.spec_from_gguf(given, **options)


def rule_of(given, **options):
    return spec_of(given, **options).frequencies


@pytest.mark.parametrize(
    ("architecture", "layout"),
    [
        ("llama", "interleaved"), ("llama4", "interleaved"), ("command-r", "interleaved"),
        ("deepseek2", "interleaved"), ("chatglm", "interleaved"), ("ernie4_5", "interleaved"),
        ("glm4", "interleaved"), ("falcon", "half"), ("qwen2", "half"), ("gemma3", "half"),
        ("phi3", "half"), ("gptneox", "half"), ("gpt-oss", "half"), ("qwen3vl", "half"),
        ("glm4moe", "half"), ("minicpm3", "half"), ("olmo2", "half"),
    ],
)  # fmt: skip
def test_the_layout_follows_from_the_architecture(architecture, layout):
    """GGUF has no key for it; each architecture has one layout."""
    assert ARCHITECTURES[architecture] == layout
    assert spec_of(metadata("qwen2")).layout == "half"
    found = set(read_gguf(metadata(architecture)).specs.values())
    assert {spec.layout for spec in found} == {layout}


def test_a_missing_base_is_10000_and_a_missing_width_the_head():
    """embedding_length over attention.head_count, where no key_length is given."""
    given = metadata(
        attention__key_length=..., rope__freq_base=..., embedding_length=4096,
        attention__head_count=32,
    )  # fmt: skip
    assert spec_of(given) == rr.RopeSpec(128, layout="interleaved")
    assert any("10000" in note for note in read_gguf(given).notes)


def test_latent_attention_rotates_the_last_channels():
    """DeepSeek's 64 of 192 channels; other partial rotations take the first ones."""
    deepseek = metadata("deepseek2", attention__key_length=576, attention__key_length_mla=192,
                        rope__dimension_count=64)  # fmt: skip
    spec = spec_of(deepseek)
    assert (spec.head_dim, spec.rotary_start, spec.rotary_dim) == (192, 128, 64)
    assert spec.output_layout == spec.layout == "interleaved"
    neox = spec_of(metadata("gptneox", rope__dimension_count=32))
    assert (neox.rotary_start, neox.rotary_dim) == (0, 32)


def test_scaling_types():
    """none, linear, yarn; a missing type is linear, an old key is its factor, 0 is no scaling."""
    plain, linear = rr.PowerLaw(1e4), rr.scaling.Linear(rr.PowerLaw(1e4), factor=4)
    assert rule_of(metadata()) == rule_of(scaled("none", factor=4.0)) == plain
    assert rule_of(scaled("linear", factor=0.0)) == rule_of(scaled("linear")) == plain
    assert rule_of(scaled("linear", factor=4.0)) == linear
    assert rule_of(metadata(rope__scaling__factor=4.0)) == linear
    assert rule_of(metadata(rope__scale_linear=4.0)) == linear
    assert rule_of(scaled("yarn", factor=4.0, original_context_length=1024)) == rr.scaling.YaRN(
        plain, factor=4, original_length=1024, equal_ends="least"
    )
    assert SCALING_TYPES == ("none", "linear", "yarn", "longrope")


def test_yarn_of_qwen_has_the_printed_values():
    """Qwen2.5 with factor 4: theta_32 and the amplitude, to twelve digits."""
    spec = spec_of(scaled("yarn", base=1e6, factor=4.0, original_context_length=32768))
    assert spec.theta()[32] == pytest.approx(6.02941176471e-4, rel=5e-12)
    assert float(spec.frequencies.amplitude) == pytest.approx(1.13862943611, rel=5e-12)


def test_the_log_multiplier_is_a_tenth_of_mscale_all_dim():
    """DeepSeek-V2's 0.0707 cancels the amplitude; Mistral's 1 is the value itself."""
    keys = {"factor": 40.0, "original_context_length": 4096, "yarn_log_multiplier": 0.0707}
    plain = scaled("yarn", **keys)
    deepseek = {key.replace("llama.", "deepseek2."): value for key, value in plain.items()}
    deepseek |= {"general.architecture": "deepseek2", "deepseek2.rope.dimension_count": 64}
    assert rule_of(deepseek).amplitude == 1
    mistral = metadata("mistral3", rope__freq_base=1e6, rope__scaling__type="yarn",
                       rope__scaling__factor=16.0, rope__scaling__yarn_log_multiplier=1.0,
                       rope__scaling__original_context_length=16384)  # fmt: skip
    assert rule_of(mistral).amplitude == 1
    # 0.1 ln 40 + 1, for Llama does not read the key.
    assert float(rule_of(plain).amplitude) == pytest.approx(1.36888794541, rel=5e-12)
    assert any("yarn_log_multiplier 0.0707 is of no effect" in n for n in read_gguf(plain).notes)


def test_only_some_architectures_read_the_ends_of_the_ramp():
    """Grok's defaults are 8 and 1; the keys are of no effect on Llama, which a note says."""
    grok = metadata("grok", rope__scaling__type="yarn", rope__scaling__factor=16.0)
    assert (rule_of(grok).beta_fast, rule_of(grok).beta_slow) == (8, 1)
    grok["grok.rope.scaling.yarn_beta_fast"] = 4.0
    assert rule_of(grok).beta_fast == 4
    llama = scaled("yarn", factor=4.0, yarn_beta_fast=4.0)
    assert rule_of(llama).beta_fast == 32
    assert any("yarn_beta_fast 4.0 is of no effect" in note for note in read_gguf(llama).notes)


def test_rope_freqs_divide_the_frequencies():
    """Llama-3's divisors and Gemma-4's 1e30, as the tensor has them."""
    divisors = [1.0] * 16 + [3.5] * 16 + [1e30] * 32
    spec = spec_of(metadata(tensors={"rope_freqs.weight": divisors}))
    plain = rr.RopeSpec(128, layout="interleaved").theta()
    # Two roundings on either side: each theta, and the quotient.
    np.testing.assert_allclose(spec.theta(), plain / divisors, rtol=3 * 2**-53)
    assert spec.frequencies == rr.scaling.Divided(rr.PowerLaw(1e4), factors=divisors)
    longer = metadata(tensors={"rope_freqs.weight": np.float32(divisors)})
    assert spec_of(longer).theta()[20] == spec.theta()[20]
    both = scaled("linear", factor=2.0) | {"rope_freqs.weight": divisors}
    np.testing.assert_allclose(spec_of(both).theta(), plain / divisors / 2, rtol=3 * 2**-53)


def test_longrope_takes_the_long_factors_beyond_the_original_length():
    """The two tensors, the amplitude from the converter, and the length of the context."""
    tensors = {
        "rope_factors_short.weight": [1.0] * 64,
        "rope_factors_long.weight": [2.0] * 64,
    }
    given = metadata("phi3", tensors=tensors, rope__scaling__attn_factor=1.19023807142,
                     rope__scaling__original_context_length=4096)  # fmt: skip
    plain = rr.RopeSpec(128, layout="half").theta()
    for length, divisor in ((None, 1), (4096, 1), (4097, 2)):
        spec = spec_of(given, length=length)
        np.testing.assert_array_equal(spec.theta(), plain / divisor)
        assert float(spec.frequencies.amplitude) == 1.19023807142


def test_alpha_changes_the_base():
    """Hunyuan's constant, where the converter has not put it into the base."""
    given = metadata("hunyuan-dense", rope__scaling__alpha=1000.0)
    assert rule_of(given) == rr.scaling.NTK(rr.PowerLaw(1e4), alpha=1000)


def test_sections_are_pair_axes():
    """Qwen2-VL: runs; Qwen3-VL: turns, and ggml's fourth axis for what is left; glm4: half then."""
    qwen2 = spec_of(metadata("qwen2vl", rope__dimension_sections=[16, 24, 24, 0]))
    assert qwen2.pair_axes == rr.positions.contiguous_axes((16, 24, 24))
    qwen3 = spec_of(metadata("qwen3vl", rope__dimension_sections=[24, 20, 20, 0]))
    assert qwen3.pair_axes == rr.positions.ggml_axes((24, 20, 20))
    assert [qwen3.pair_axes[pair] for pair in (60, 61, 62, 63)] == [0, 3, 3, 0]
    none = spec_of(metadata("glm4", rope__dimension_sections=[0, 0, 0, 0]))
    some = spec_of(metadata("glm4", rope__dimension_count=64,
                            rope__dimension_sections=[8, 12, 12, 0]))  # fmt: skip
    assert (none.layout, none.pair_axes, some.layout) == ("interleaved", None, "half")


def test_sliding_layers_have_keys_of_their_own():
    """freq_base_swa and dimension_count_swa; Gemma-3's sliding layers are never scaled."""
    given = metadata("gpt-oss", rope__freq_base_swa=5e4, rope__dimension_count_swa=64,
                     rope__scaling__factor=2.0)  # fmt: skip
    assert read_gguf(given).specs == {
        FULL: rr.RopeSpec(
            128, layout="half", frequencies=rr.scaling.Linear(rr.PowerLaw(1e4), factor=2)
        ),
        SLIDING: rr.RopeSpec(
            128,
            layout="half",
            rotary_dim=64,
            frequencies=rr.scaling.Linear(rr.PowerLaw(5e4), factor=2),
        ),
    }
    with pytest.raises(errors.LayerTypeError, match=SLIDING):
        spec_of(given)
    gemma = metadata("gemma3", rope__freq_base=1e6, rope__scaling__factor=8.0,
                     attention__sliding_window=1024)  # fmt: skip
    assert rule_of(gemma, layer_type=SLIDING) == rr.PowerLaw(1e4)
    assert rule_of(gemma, layer_type=FULL) == rr.scaling.Linear(rr.PowerLaw(1e6), factor=8)


def test_gemma_slides_where_there_is_a_window():
    """gemma3 by its key, gemma3n always."""
    for window in (..., 0):
        given = metadata("gemma3", rope__freq_base=1e6, attention__sliding_window=window)
        assert read_gguf(given).specs == {"every layer": spec_of(given)}
    third = metadata("gemma3n", rope__freq_base=1e6)
    assert rule_of(third, layer_type=SLIDING) == rr.PowerLaw(1e4)
    assert rule_of(third, layer_type=FULL) == rr.PowerLaw(1e6)


def test_laguna_slides_where_there_is_a_window():
    """Sliding layers are plain, of a width of their own, and of the full base unless one is given.

    Without a window there are none.
    """
    keys = {"rope__freq_base": 5e5, "rope__dimension_count": 64, "rope__scaling__factor": 4.0,
            "rope__dimension_count_swa": 128}  # fmt: skip
    sliding = rr.RopeSpec(128, layout="half", frequencies=rr.PowerLaw(5e5))
    full = rr.RopeSpec(
        128, layout="half", rotary_dim=64, frequencies=rr.scaling.Linear(rr.PowerLaw(5e5), factor=4)
    )
    both = metadata("laguna", attention__sliding_window=512, **keys)
    assert read_gguf(both).specs == {FULL: full, SLIDING: sliding}
    for window in (..., 0):
        given = metadata("laguna", attention__sliding_window=window, **keys)
        assert read_gguf(given).specs == {"every layer": full}


def test_step_35_rotates_half_of_the_channels_in_full_layers():
    """The divisors are for those layers, in a tensor that is long enough for the others."""
    divisors = [1.0] * 16 + [8.0] * 16 + [1.0] * 32
    given = metadata("step35", {"rope_freqs.weight": divisors}, rope__freq_base=5e6,
                     attention__sliding_window=512)  # fmt: skip
    divided = rr.scaling.Divided(rr.PowerLaw(5e6), factors=divisors[:32])
    full = rr.RopeSpec(128, layout="half", rotary_dim=64, frequencies=divided)
    sliding = rr.RopeSpec(128, layout="half")
    for more in ({}, {"rope.freq_base_swa": 1e4, "rope.dimension_count": 128}):
        named = {f"step35.{key}": value for key, value in more.items()}
        assert read_gguf(given | named).specs == {FULL: full, SLIDING: sliding}


def test_gemma_4_has_divisors_and_wide_heads_in_full_layers():
    """Heads of 512 channels with divisors there; 256 without elsewhere."""
    divisors = [1.0] * 64 + [1e30] * 192
    given = metadata("gemma4", {"rope_freqs.weight": divisors}, attention__key_length=512,
                     attention__key_length_swa=256, rope__freq_base=1e6,
                     rope__freq_base_swa=1e4, attention__sliding_window=512)  # fmt: skip
    for widths in ({}, {"rope.dimension_count": 512, "rope.dimension_count_swa": 256}):
        more = {f"gemma4.{key}": value for key, value in widths.items()}
        specs = read_gguf(given | more).specs
        assert specs[SLIDING] == rr.RopeSpec(256, layout="half")
        assert (specs[FULL].head_dim, specs[FULL].rotary_dim) == (512, 512)
        # Printed to twelve digits.
        assert specs[FULL].theta()[63] == pytest.approx(0.0333762469429, rel=5e-12)
        assert specs[FULL].theta()[64] < 1e-30
    with pytest.raises(errors.MissingConfigKeyError, match="freq_base_swa"):
        read_gguf({key: value for key, value in given.items() if "base_swa" not in key})


def test_olmo_3_scales_its_full_layers():
    """YaRN there, and the same base without scaling in sliding layers."""
    given = metadata("olmo2", rope__freq_base=5e5, rope__scaling__type="yarn",
                     rope__scaling__factor=8.0, attention__sliding_window=4096,
                     rope__scaling__original_context_length=8192)  # fmt: skip
    assert rule_of(given, layer_type=SLIDING) == rr.PowerLaw(5e5)
    assert isinstance(rule_of(given, layer_type=FULL), rr.scaling.YaRN)
    assert isinstance(rule_of(given | {"olmo2.attention.sliding_window": 0}), rr.scaling.YaRN)


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("cohere2", "'full_attention' do not rotate"),
        ("exaone4", "'full_attention' do not rotate"),
        ("smollm3", "every fourth layer"),
        ("llama4", "every fourth layer"),
        ("afmoe", "every fourth layer"),
    ],
)
def test_layers_that_do_not_rotate_are_in_the_notes(architecture, words):
    """In layers of full attention, or in every fourth; the others are the only RoPE."""
    rope = read_gguf(metadata(architecture, attention__sliding_window=4096))
    assert any(words in note for note in rope.notes)
    assert rope.pick(None, "here").rotary_dim == 128
    assert FULL not in rope.specs or rope.specs[FULL].rotary_dim == 0


def test_all_layers_of_llama_4_rotate_with_a_window_of_0():
    """A missing window is none of 0."""
    notes = [
        read_gguf(metadata("llama4", attention__sliding_window=window)).notes
        for window in (0, ..., 8192)
    ]
    assert ["every fourth layer does not rotate" in each for each in notes] == [False, True, True]


@pytest.mark.parametrize("architecture", ["granite", "granitemoe", "granitehybrid"])
def test_granite_has_a_switch_for_rope(architecture):
    """rope.scaling.finetuned: false turns it off; true and missing leave it on, without a note."""
    off = read_gguf(metadata(architecture, rope__scaling__finetuned=False))
    assert off.specs == {"every layer": rr.RopeSpec(128, layout="interleaved", rotary_dim=0)}
    assert off.notes == ("rope.scaling.finetuned is false, so no layer rotates",)
    for value in (True, ...):
        on = read_gguf(metadata(architecture, rope__scaling__finetuned=value))
        assert on.specs == {"every layer": rr.RopeSpec(128, layout="interleaved")}
        assert on.notes == ()


def test_baichuan_has_rope_in_its_small_model():
    """Of 32 blocks; that of 40 has ALiBi."""
    assert spec_of(metadata("baichuan", block_count=32)) == rr.RopeSpec(128, layout="interleaved")


def test_of_two_factors_the_old_one_is_of_no_effect():
    """rope.scale_linear is read where rope.scaling.factor is missing; a note says that it was."""
    given = metadata(rope__scaling__factor=4.0, rope__scale_linear=8.0)
    assert rule_of(given) == rr.scaling.Linear(rr.PowerLaw(1e4), factor=4)
    assert read_gguf(given).notes == (
        "rope.scale_linear is of no effect beside rope.scaling.factor",
    )


def test_an_amplitude_beside_yarn_multiplies_its_own():
    """1.5 times 0.1 ln 4 + 1."""
    rule = rule_of(scaled("yarn", factor=4.0, attn_factor=1.5))
    assert float(rule.amplitude) == pytest.approx(1.5 * 1.13862943611, rel=1e-11)


def test_the_number_of_heads_may_be_a_list():
    """One for each layer, 0 where a layer has no attention."""
    given = metadata(attention__key_length=..., embedding_length=4096,
                     attention__head_count=[0, 32, 32])  # fmt: skip
    assert spec_of(given).head_dim == 128
    given["llama.attention.head_count"] = [0, 0]
    with pytest.raises(errors.ConfigValueError, match="head_count"):
        spec_of(given)


def test_other_keys_are_nothing_to_rope():
    """The vocabulary and what else stands there is not looked at; finetuned is in a note."""
    given = metadata(rope__scaling__finetuned=False, block_count=32)
    given |= {"tokenizer.ggml.tokens": ["a"], "general.name": "x"}
    assert spec_of(given) == rr.RopeSpec(128, layout="interleaved")
    assert any("finetuned" in note for note in read_gguf(given).notes)


LONG = {"rope_factors_long.weight": [1.0] * 64}
REFUSED = {
    "no mapping": ([], errors.ConfigTypeError, "must be a mapping"),
    "a key that is a number": ({3: 4}, errors.ConfigTypeError, "got 3"),
    "no architecture": ({}, errors.MissingConfigKeyError, "'general.architecture'"),
    "an unknown architecture": (metadata("nobody"), errors.UnknownModelTypeError, "'nobody'"),
    "learned positions": (metadata("bert"), errors.UnknownModelTypeError, "'bert'"),
    "more of them": (metadata("starcoder"), errors.UnknownModelTypeError, "'starcoder'"),
    "ALiBi": (metadata("baichuan", block_count=40), errors.ConfigValueError, "ALiBi", "is 40"),
    "ALiBi or not": (metadata("baichuan"), errors.MissingConfigKeyError, "block_count"),
    "neither Baichuan": (metadata("baichuan", block_count=33), errors.ConfigValueError, "is 33"),
    "a switch of 1": (metadata("granite", rope__scaling__finetuned=1), errors.ConfigTypeError,
                      "finetuned", "true or false"),
    "no width": (metadata(attention__key_length=...), errors.MissingConfigKeyError,
                 "'llama.attention.key_length'"),
    "a width below 1": (metadata(attention__key_length=0), errors.ConfigValueError,
                        "'llama.attention.key_length'"),
    "too wide": (metadata(attention__key_length=10**6), errors.ConfigValueError, "too wide"),
    "an odd width": (metadata(rope__dimension_count=33), errors.ConfigValueError,
                     "rotary_dim=33 is odd"),
    "more than the head": (metadata(rope__dimension_count=256), errors.ConfigValueError, "256"),
    "a base of NaN": (metadata(rope__freq_base=float("nan")), errors.ConfigValueError,
                      "'llama.rope.freq_base'", "finite"),
    "a base that is text": (metadata(rope__freq_base="1e4"), errors.ConfigTypeError, "'1e4'"),
    "an unknown scaling": (scaled("magic"), errors.UnknownRopeTypeError, "'magic'", "'longrope'"),
    "a factor below 0": (scaled("linear", factor=-2.0), errors.ConfigValueError,
                         "'llama.rope.scaling.factor'"),
    "an unknown key": (metadata(rope__speed=3), errors.UnknownConfigKeyError,
                       "'llama.rope.speed'"),
    "a key of another architecture": (metadata() | {"qwen2.rope.freq_base": 1e6},
                                      errors.UnknownConfigKeyError, "'qwen2.rope.freq_base'"),
    "axes on Llama": (metadata(rope__dimension_sections=[16, 24, 24, 0]),
                      errors.UnknownConfigKeyError, "dimension_sections"),
    "sections of another width": (metadata("qwen2vl", rope__dimension_sections=[1, 2, 3, 0]),
                                  errors.ConfigValueError, "pair_axes"),
    "one tensor of two": (metadata(tensors=LONG), errors.ConfigValueError, "together"),
    "factors of the wrong number": (metadata(tensors={"rope_freqs.weight": [1.0] * 3}),
                                    errors.ConfigValueError, "64", "3"),
    "no divisor at all": (metadata(tensors={"rope_freqs.weight": []}, rope__dimension_count=1),
                          errors.ConfigValueError, "rotary_dim=1 is odd"),
    "a divisor of 0": (metadata(tensors={"rope_freqs.weight": [0.0] * 64}),
                       errors.ConfigValueError, "above 0"),
    "yarn with divisors": (scaled("yarn", factor=2.0) | {"rope_freqs.weight": [1.0] * 64},
                           errors.ConfigValueError, "'yarn'"),
    "an amplitude without tensors": (scaled("linear", attn_factor=1.2), errors.ConfigValueError,
                                     "attn_factor"),
    "longrope without tensors": (scaled("longrope"), errors.MissingConfigKeyError,
                                 "rope_factors_long.weight"),
    "a weight of the ramp": (scaled("yarn", factor=2.0, yarn_ext_factor=0.5),
                             errors.ConfigValueError, "yarn_ext_factor"),
    "no length": (scaled("yarn", factor=2.0) | {"llama.context_length": None},
                  errors.MissingConfigKeyError, "original_context_length"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_by_name(case):
    """One clear error, which names the key."""
    given, error, *words = case
    with pytest.raises(error) as caught:
        spec_of(given)
    assert str(caught.value).startswith("spec_from_gguf(metadata)")
    for word in words:
        assert word in str(caught.value)

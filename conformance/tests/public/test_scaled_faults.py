"""What the suite finds in scaled and multi-axis RoPEs of released libraries."""

from dataclasses import replace

import pytest

from rope_conformance import check
from rope_conformance.adapters import bundled
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, YaRN

# What takes a remap apart, and what says that the numbers are right as a whole.
SCALING = [
    "frequency.ladder", "frequency.phase", "frequency.widths", "scaling.kept", "scaling.divided",
    "scaling.between", "scaling.still", "scaling.amplitude", "scaling.length",
    "scaling.parameters",
]  # fmt: skip


def found(name, clause, *others, spec=None):
    """Class, message and cause of what a clause finds; it must be among those of a whole run."""
    only = [clause, *others]
    report = check(bundled(name), spec=spec, dtype="float32", effort="quick", only=only)
    assert not report.passed
    failures = {each.clause: each.failure for each in report.findings if each.failure}
    assert set(failures) == set(only), report.doubts
    failure = failures[clause]
    return failure.fault, failure.message, failure.cause


def test_litgpt_has_the_ramp_of_yarn_inverted():
    fault, message, cause = found(
        "litgpt/yarn", "frequency.ladder", "scaling.kept", "scaling.divided", "scaling.between"
    )
    assert fault == "scaling"
    # Pair 0 is to be kept, and turns at a quarter of its speed: sin(1/4).
    assert "pair 0" in message
    assert "got 0.247403964, want 0.841470985" in message
    assert cause == "the ramp is inverted: fast pairs are divided, slow ones kept"


def test_transformers_ignores_truncate_for_one_type_of_layers():
    fault, message, cause = found("transformers/olmo3", "scaling.parameters")
    assert fault == "scaling"
    assert message.startswith("wrong where it is made for truncate=0")
    assert cause == "the frequencies are those of YaRN rounding its ends (truncate=True)"
    # The numbers of gpt-oss, in a config of that kind.
    rule = YaRN(PowerLaw(150000.0), factor=32, original_length=4096, truncate=False)
    spec = RopeSpec(64, layout="half", frequencies=rule)
    assert found("transformers/olmo3", "scaling.between", spec=spec)[0] == "scaling"
    report = check(bundled("transformers/llama-scaled"), spec=spec, dtype="float32", only=SCALING)
    assert report.passed, report.findings


def test_phimoe_takes_the_short_factors_in_long_texts():
    clauses = ("scaling.between", "scaling.length")
    fault, _, cause = found("transformers/phimoe", "frequency.ladder", *clauses)
    assert (fault, cause) == ("scaling", "the short factors are used, the text is long")
    report = check(bundled("transformers/phi3"), dtype="float32", effort="quick", only=SCALING)
    assert report.passed, report.findings


def test_hunyuan_vl_splits_its_axes_across_both_channels_of_a_pair():
    fault, _, cause = found(
        "transformers/hunyuan-vl", "axes.map", "axes.shift", "rotation.norm", "frequency.ladder"
    )
    assert fault == "multi-axis"
    assert cause.startswith("the two channels of pair 0 follow axes 0 and 2")
    # On text all axes are one, and nothing shows.
    report = check(
        bundled("transformers/hunyuan-vl"), dtype="float32", effort="quick", only=["axes.equal"]
    )
    assert report.passed, report.findings


def test_text_after_a_video_stands_where_frames_of_it_do():
    fault, message, _ = found("transformers/qwen2.5-vl", "segments.next")
    assert fault == "multi-axis"
    assert message.startswith("text of segment 1 begins at 1 (axis 0), must begin at 2")
    # The positions inside of it are right, and so is the rotation by them.
    only = ["segments.grid", "axes.map", "axes.order", "axes.equal", "axes.shift"]
    report = check(bundled("transformers/qwen2.5-vl"), dtype="float32", effort="quick", only=only)
    assert report.passed, report.findings


def test_dynamic_of_keras_hub_divides_every_pair():
    fault, message, _ = found("keras-hub/dynamic", "scaling.kept", "frequency.ladder")
    assert fault == "scaling"
    # By 2**(128 / 126), the first pair too.
    assert "pair 0" in message
    assert "got 0.474617124, want 0.841470985" in message


def test_pairs_of_ibm_fms_change_with_its_scaling():
    fault, message, _ = found("ibm-fms/yarn", "pairing.layout")
    assert fault == "layout"
    assert message.startswith("pairs are half-split (channels i and i+64); claimed interleaved")
    own = bundled("ibm-fms/yarn").spec
    half = replace(own, layout="half", output_layout="half")
    clauses = [*SCALING, "pairing.layout"]
    for name, spec in (("ibm-fms/yarn", half), ("ibm-fms", None)):
        report = check(bundled(name), spec=spec, dtype="float32", effort="quick", only=clauses)
        assert report.passed, report.findings


PLAIN = PowerLaw(5e5)
LISTS = {
    "short_factors": tuple(1 + i / 64 for i in range(16)),
    "long_factors": tuple(1 + 31 * i / 15 for i in range(16)),
}


@pytest.mark.parametrize(
    "rule",
    [
        PLAIN,
        Linear(PLAIN, factor=8),
        DynamicNTK(PLAIN, factor=4, original_length=4096),
        DynamicNTK(PLAIN, factor=4, original_length=4096, length=20000),
        LongRoPE(PLAIN, original_length=4096, factor=32, **LISTS),
        LongRoPE(PLAIN, original_length=4096, factor=32, length=4097, **LISTS),
        Llama3(PLAIN, factor=8),
        Proportional(PLAIN, fraction=0.25, factor=2),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_every_scaling_of_transformers_is_right(rule):
    spec = RopeSpec(32, layout="half", frequencies=rule)
    target = bundled("transformers/llama-scaled")
    report = check(target, spec=spec, dtype="float32", effort="quick", only=SCALING)
    assert report.passed, report.findings

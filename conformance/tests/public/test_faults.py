"""What the suite finds in released libraries without being told where to look."""

import numpy as np
import pytest

from rope_conformance import check
from rope_conformance.adapters import bundled
from rope_ref import PowerLaw, RopeSpec, apply_rope


def finding(report, clause):
    found = [f for f in report.findings if f.clause == clause]
    assert found, f"{clause}: {[f.clause for f in report.findings]}, {report.doubts}"
    return found[0].failure


@pytest.mark.parametrize(("dtype", "first"), [("bfloat16", 257), ("float16", 2049)])
def test_rotary_embedding_torch_makes_positions_in_the_type_of_the_data(dtype, first):
    report = check(bundled("rotary-embedding-torch"), dtype=dtype, effort="quick")
    assert not report.passed
    failure = finding(report, "frequency.phase")
    # The smallest position that the type does not hold.
    assert failure.spot["position"] == first
    assert failure.spot["pair"] == 0
    assert f"tokens=1, heads=1, positions=range({first}, {first + 1})" in failure.case
    assert f"positions are rounded to {dtype}" in failure.cause


def test_rotary_embedding_torch_is_off_by_a_radian_at_4095():
    import torch

    spec = RopeSpec(128, layout="interleaved")
    rope = bundled("rotary-embedding-torch")(spec)
    phase = np.random.default_rng(0).uniform(0, 2 * np.pi, (1, 4, 1, 64))
    pairs = np.stack([np.cos(phase), np.sin(phase)], axis=-1).reshape(1, 4, 1, 128)
    x = torch.from_numpy(pairs).to(torch.bfloat16)
    want = apply_rope(x.double().numpy(), np.array([4095]), spec, axes="bhtd")
    error = np.abs(rope.apply_rope(x, 4095).double().numpy() - want).max()
    assert 0.9 < error < 1.0


def test_rotary_embedding_torch_serves_a_table_of_bfloat16_positions_to_float32():
    failure = finding(
        check(bundled("rotary-embedding-torch"), effort="quick", only=["data.types"]), "data.types"
    )
    assert failure.spot["position"] == 257


def test_equinox_keeps_one_table_for_all_bases():
    report = check(bundled("equinox"), dtype="float32", effort="quick", only=["frequency.bases"])
    failure = finding(report, "frequency.bases")
    assert "made after other bases: position 1, pair 1" in failure.message


def test_equinox_alone_is_right_at_any_one_base():
    import equinox

    clauses = ["pairing.layout", "frequency.ladder"]
    for base in (10_000.0, 500_000.0):
        equinox.clear_caches()
        spec = RopeSpec(64, layout="half", frequencies=PowerLaw(base))
        report = check(bundled("equinox"), spec=spec, dtype="float32", only=clauses)
        assert report.passed, report.findings


@pytest.mark.parametrize("name", ["transformers/gptj", "ibm-fms"])
def test_negative_positions_wrap_in_tables(name):
    report = check(
        bundled(name),
        dtype="float32",
        effort="quick",
        only=["frequency.phase", "frequency.negative"],
    )
    assert report.passed  # its claim begins at 0
    (fact,) = [f for f in report.facts if f.what == "negative positions"]
    assert fact.warn
    assert fact.text.startswith("taken without complaint, but the output at a negative position")
    assert "position -1," in fact.text


def test_llama_is_not_interleaved_and_the_report_says_what_it_is():
    made = bundled("transformers/llama")(RopeSpec(128, layout="half"))
    report = check(made, spec=RopeSpec(128, layout="interleaved"), dtype="float32", effort="quick")
    assert not report.passed
    failure = finding(report, "pairing.layout")
    assert "pairs are half-split (channels i and i+64)" in failure.message
    assert "claimed interleaved (channels 2i and 2i+1)" in failure.message
    cause = finding(report, "frequency.phase").cause
    assert cause.startswith("pairs are half-split (channels i and i+64), claimed interleaved")


def test_ibm_fms_does_not_grow_its_table_as_documented():
    # "if exceeded the cached freqs will be recomputed": only the very first call does so.
    import torch
    from fms.modules.positions import RotaryEmbedding

    rope = RotaryEmbedding(8, max_seq_len=16)
    x = torch.ones(1, 1, 1, 8)
    rope.adjusted_qk(x, x, torch.tensor([[15]]))
    with pytest.raises(IndexError):
        rope.adjusted_qk(x, x, torch.tensor([[16]]))


def test_float64_data_is_rotated_in_float32_by_diffusers():
    report = check(
        bundled("diffusers/float64"), dtype="float32", effort="quick", only=["frequency.phase"]
    )
    (fact,) = [f for f in report.facts if f.what == "float64 data"]
    assert fact.text == "taken, and right to float32"

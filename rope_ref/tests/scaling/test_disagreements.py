"""What public systems mean by one name, both ways, and how far apart that is.

Each row is a disagreement of public systems that the parameters of the rules express. Its
size is printed as worked out from the systems' own formulas: the largest relative difference
of theta, and the largest difference of the angle in radians at a position.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr

PAPER, LLAMA = rr.PowerLaw(1e4), rr.PowerLaw(5e5)


def yarn(base, factor, original_length, **options):
    return rr.scaling.YaRN(
        rr.PowerLaw(base), factor=factor, original_length=original_length, **options
    )


def dynamic(length, factor=4):
    return rr.scaling.DynamicNTK(PAPER, factor=factor, original_length=4096, length=length)


def llama3(factor=8, low=1, high=4, original_length=8192):
    return rr.scaling.Llama3(
        LLAMA,
        factor=factor,
        low_freq_factor=low,
        high_freq_factor=high,
        original_length=original_length,
    )


def longrope(length=None, factor=32):
    """48 factors, 1 for short texts and from 1 to 64 in equal steps for long ones."""
    return rr.scaling.LongRoPE(
        PAPER,
        short_factors=[1] * 48,
        long_factors=[1 + Fraction(63 * i, 47) for i in range(48)],
        original_length=4096,
        factor=factor,
        length=length,
    )


def theta(rule, rotary_dim):
    return np.array(rule.theta(rotary_dim))


def relative(rule, reference, rotary_dim):
    other, usual = theta(rule, rotary_dim), theta(reference, rotary_dim)
    return np.max(np.abs(other - usual) / usual)


def angle(rule, reference, rotary_dim, position):
    return position * np.max(np.abs(theta(rule, rotary_dim) - theta(reference, rotary_dim)))


def pairs_that_differ(rule, reference, rotary_dim):
    return np.count_nonzero(theta(rule, rotary_dim) != theta(reference, rotary_dim))


@pytest.mark.parametrize(
    ("rule", "reference", "rotary_dim", "pairs"),
    [
        (yarn(150000, 32, 4096), yarn(150000, 32, 4096, truncate=False), 64, 9),
        (yarn(1e6, 4, 32768), yarn(1e6, 4, 32768, truncate=False), 128, 16),
        (yarn(1e4, 40, 4096), yarn(1e4, 40, 4096, truncate=False), 64, 12),
        # One number of turns for both ends: rounding has nothing to widen.
        (
            yarn(5e4, 32, 4096, beta_fast=1, beta_slow=1),
            yarn(5e4, 32, 4096, beta_fast=1, beta_slow=1, truncate=False),
            64,
            0,
        ),
        # The length a system serves in place of the one the model was trained for.
        (yarn(1e6, 4, 131072), yarn(1e6, 4, 32768), 128, 23),
        # An end beyond the last pair is cut there, or only at the last channel.
        (yarn(1e4, 4, 32768, limit="pairs"), yarn(1e4, 4, 32768), 128, 0),
    ],
)
def test_how_many_pairs_differ(rule, reference, rotary_dim, pairs):
    """Only the pairs along the ramp of YaRN are touched by how its ends are rounded or cut."""
    assert pairs_that_differ(rule, reference, rotary_dim) == pairs


@pytest.mark.parametrize(
    ("rule", "reference", "rotary_dim", "size", "angles"),
    [
        # YaRN with and without rounded ends: gpt-oss, Qwen2.5, DeepSeek.
        (
            yarn(150000, 32, 4096),
            yarn(150000, 32, 4096, truncate=False),
            64,
            "0.763",
            {4095: "0.904", 131071: "28.9"},
        ),
        (
            yarn(1e6, 4, 32768),
            yarn(1e6, 4, 32768, truncate=False),
            128,
            "0.0489",
            {32767: "4.65"},
        ),
        (yarn(1e4, 40, 4096), yarn(1e4, 40, 4096, truncate=False), 64, "0.502", {4095: "5.57"}),
        # Its upper end cut at the last pair or at the last channel.
        (
            yarn(1e4, 4, 65536, limit="pairs"),
            yarn(1e4, 4, 65536),
            128,
            "0.194",
            {65535: "1.38"},
        ),
        (
            yarn(1e4, 2, 131072, limit="pairs"),
            yarn(1e4, 2, 131072),
            128,
            "0.219",
            {131071: "4.01"},
        ),
        # The length served, or trained for.
        (yarn(1e6, 4, 131072), yarn(1e6, 4, 32768), 128, "1.235", {32767: "17.1"}),
        # Dynamic NTK at 8192 tokens: one base for the longest text, one divisor for all
        # pairs, nothing at all.
        (dynamic(16384), dynamic(8192), 128, "0.615", {8191: "257.8"}),
        (
            rr.scaling.Linear(PAPER, factor=4 ** (128 / 126)),
            dynamic(8192),
            128,
            "0.755",
            {8191: "6188"},
        ),
        (PAPER, dynamic(8192), 128, "4", {8191: "491"}),
        # "NTK" with 8: as vLLM has it, and the base times 8.
        (
            rr.scaling.FixedNTK(PAPER, factor=8),
            rr.scaling.NTK(PAPER, alpha=8),
            128,
            "0.032",
            {4095: "130.9"},
        ),
        (rr.PowerLaw(8e4), rr.scaling.NTK(PAPER, alpha=8), 128, "0.033", {4095: "4.39"}),
        # LongRoPE's long list where the short one is in use.
        (longrope(4097), longrope(4096), 96, "0.984", {4096: "2032"}),
        # llama3 with the length of lmdeploy, and with other ends of the blend.
        (llama3(original_length=8194), llama3(), 128, "4.6e-4", {8191: "5.2e-3"}),
        (llama3(16, 1, 1), llama3(16), 128, "6.55", {8191: "7.8"}),
        (llama3(16, 1, 32), llama3(16), 128, "0.841", {8191: "48"}),
        # The width of the head, or of what rotates, below 2i.
        (rr.PowerLaw(1e4, denominator=128), PAPER, 64, "85.6", {4095: "1023"}),
    ],
)
def test_the_size_of_a_disagreement(printed, rule, reference, rotary_dim, size, angles):
    """How far one reading is from the other."""
    assert relative(rule, reference, rotary_dim) == printed(size)
    assert {p: angle(rule, reference, rotary_dim, p) for p in angles} == {
        p: printed(text) for p, text in angles.items()
    }


def test_rounded_ends_show_in_the_cosine(printed):
    """gpt-oss run with rounded ends: at position 1000 a cosine, times 1.35, is off by a fifth."""
    cos = [
        rr.cos_sin(1000, rr.RopeSpec(64, layout="half", frequencies=rule))[0]
        for rule in (yarn(150000, 32, 4096), yarn(150000, 32, 4096, truncate=False))
    ]
    assert np.max(np.abs(cos[0] - cos[1])) == printed("0.206")


@pytest.mark.parametrize(
    ("options", "amplitudes"),
    [
        # Nothing is said, one weight or the other, zeros.
        ({}, {"truthy": "1.36889", "given": "1.36889", "defaults": "1.36889", "single": "1.0"}),
        ({"mscale": 0.707}, {"truthy": "1.36889", "defaults": "1.26080", "single": "1.26080"}),
        (
            {"mscale_all_dim": 0.707},
            {"truthy": "1.36889", "defaults": "1.08573", "single": "1.26080"},
        ),
        (
            {"mscale": 0, "mscale_all_dim": 0},
            {"truthy": "1.36889", "given": "1.0", "defaults": "1.0"},
        ),
    ],
)
def test_yarns_amplitude_at_40(printed, options, amplitudes):
    """One config, and what systems multiply cos and sin by."""
    assert {
        word: float(yarn(1e4, 40, 4096, amplitude_rule=word, **options).amplitude)
        for word in amplitudes
    } == {word: printed(text) for word, text in amplitudes.items()}
    assert yarn(1e4, 40, 4096, amplitude_rule="one", **options).amplitude == 1


@pytest.mark.parametrize(
    ("rule", "amplitude"),
    [
        (yarn(1e4, 40, 4096, coefficient=0.07), "1.25822"),
        # A factor below 1, with and without the guard.
        (yarn(1e4, 0.5, 4096), "1"),
        (yarn(1e4, 0.5, 4096, below_one=True), "0.930685"),
        # attention_factor is read, or not.
        (yarn(1e4, 4, 4096, attention_factor=1.0), "1.0"),
        (yarn(1e4, 4, 4096), "1.138629"),
        # Two equal weights are read, or not.
        (yarn(1e4, 16, 4096, mscale=1, mscale_all_dim=1), "1.0"),
        (yarn(1e4, 16, 4096), "1.27726"),
        # LongRoPE by `factor`, or by the ratio of the two lengths.
        (longrope(factor=32), "1.19024"),
        (longrope(factor=16), "1.15470"),
    ],
)
def test_amplitudes_by_another_reading(printed, rule, amplitude):
    """Pairs of readings, each with what cos and sin are multiplied by."""
    assert float(rule.amplitude) == printed(amplitude)


def test_the_amplitude_is_squared_in_scores(printed):
    """A system that leaves the amplitude out changes every score by its square."""
    assert float(yarn(1e4, 32, 4096).amplitude ** 2) == printed("1.81326")
    assert float(longrope().amplitude ** 2) == printed("1.41667")


def test_an_amplitude_on_the_angle(printed):
    """LongRoPE's amplitude 1.19 put on the angles instead: 778 rad at position 4095."""
    on_angles = rr.scaling.Linear(PAPER, factor=Fraction(100, 119))
    assert angle(on_angles, PAPER, 96, 4095) == printed("778")


@pytest.mark.parametrize(
    ("length", "base"), [(4096, "10000"), (8192, "51293.8"), (16384, "135402"), (65536, "651131")]
)
def test_dynamic_bases(printed, length, base):
    """The base that goes with each length; a system with one table always has that of 16384."""
    second = dynamic(length).frequencies(128)[1].digits(80)
    assert float(second ** Decimal(-64)) == printed(base)


def test_cached_keys_keep_the_old_base(printed):
    """A key at 8192 rotated at that length lags behind by 0.055 rad when one more token comes."""
    assert angle(dynamic(8192), dynamic(8193), 128, 8192) == printed("0.055")


def test_llama3_without_a_blend_may_be_no_scaling():
    """Llama-4 has low = high = 1. Read as no scaling, every slow pair is 16 times too fast."""
    ratios = theta(LLAMA, 128) / theta(llama3(16, 1, 1), 128)
    assert set(ratios.tolist()) == {1.0, 16.0}
    assert ratios[-1] == 16.0


def test_partial_is_not_proportional(printed):
    """Of 512 channels a quarter: other frequencies, and other partners."""
    whole = rr.RopeSpec(
        512, layout="half", frequencies=rr.scaling.Proportional(rr.PowerLaw(1e6), fraction=0.25)
    )
    partial = rr.RopeSpec(512, layout="half", rotary_dim=128, frequencies=rr.PowerLaw(1e6))
    assert whole.theta()[63] == printed("0.0334")
    assert partial.theta()[63] == printed("1.24e-6")
    assert rr.pair_channels(whole)[:, 0].tolist() == [0, 256]
    assert rr.pair_channels(partial)[:, 0].tolist() == [0, 64]


def test_a_partial_factor_that_is_ignored(printed):
    """Half of 128 channels or all of them: 32 pairs or 64, and another second frequency."""
    half = rr.RopeSpec(128, layout="half", rotary_dim=64)
    ignored = rr.RopeSpec(128, layout="half")
    assert (half.theta().size, ignored.theta().size) == (32, 64)
    assert half.theta()[1] == printed("0.749894")
    assert ignored.theta()[1] == printed("0.865964")


def test_a_linear_factor_that_is_ignored(printed):
    """At position 8191 the first pair has turned by 8191 rad instead of 2047.75."""
    angles = [8191 * rule.theta(128)[0] for rule in (PAPER, rr.scaling.Linear(PAPER, factor=4))]
    assert angles == [printed("8191"), printed("2047.75")]

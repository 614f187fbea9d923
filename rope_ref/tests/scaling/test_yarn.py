"""YaRN: worked values of real models, the ends of the ramp, and the amplitude.

`printed` asks for the digits that were printed of a float64 number.
"""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

QWEN = rr.scaling.YaRN(rr.PowerLaw(1e6), factor=4, original_length=32768)
LLAMA2 = rr.scaling.YaRN(rr.PowerLaw(1e4), factor=16, original_length=4096)
GPT_OSS = rr.scaling.YaRN(rr.PowerLaw(150000), factor=32, original_length=4096, truncate=False)
GPT_OSS_ROUNDED = rr.scaling.YaRN(rr.PowerLaw(150000), factor=32, original_length=4096)
DEEPSEEK = rr.scaling.YaRN(rr.PowerLaw(1e4), factor=40, original_length=4096)
KIMI = rr.scaling.YaRN(rr.PowerLaw(5e4), factor=32, original_length=4096, beta_fast=1, beta_slow=1)


def yarn(factor=4, original_length=4096, base=1e4, **options):
    return rr.scaling.YaRN(
        rr.PowerLaw(base), factor=factor, original_length=original_length, **options
    )


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "exact", "rounded"),
    [
        (QWEN, 128, ("23.5959476083", "39.6508807104"), (23, 40)),
        (LLAMA2, 128, ("20.9444816206", "45.0268812738"), (20, 46)),
        (GPT_OSS, 64, ("8.09277911551", "17.3980245016"), (8, 18)),
        (DEEPSEEK, 64, ("10.4722408103", "22.5134406369"), (10, 23)),
        (KIMI, 64, ("19.1645748886", "19.1655748886"), (19, 20)),
    ],
)
def test_worked_ends(printed, rule, rotary_dim, exact, rounded):
    """Where the ramp begins and ends: a real number of pairs, or rounded outwards.

    Kimi-K2 has one number of turns for both ends: without rounding 0.001 keeps them apart.
    """
    ends = replace(rule, truncate=False).ends(rotary_dim)
    assert [float(end) for end in ends] == [printed(text) for text in exact]
    assert replace(rule, truncate=True).ends(rotary_dim) == rounded


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "theta"),
    [
        (QWEN, 128, {32: "6.02941176471e-4"}),
        (LLAMA2, 128, {30: "8.52684377297e-3", 40: "8.81788962932e-4"}),
        (GPT_OSS, 64, {8: "0.0508132748155", 12: "6.79495948973e-3", 17: "1.29318701245e-4"}),
        (GPT_OSS_ROUNDED, 64, {12: "7.0157139105e-3", 17: "2.27947795795e-4"}),
        (DEEPSEEK, 64, {11: "0.0390069265671", 16: "5.5e-3", 23: "3.33380358041e-5"}),
    ],
)
def test_worked_frequencies(printed, rule, rotary_dim, theta):
    """theta of single pairs."""
    assert {i: rule.theta(rotary_dim)[i] for i in theta} == {
        i: printed(text) for i, text in theta.items()
    }


def test_worked_ratios(printed):
    """Qwen2.5: what the pairs along the ramp from 23 to 40 are multiplied by."""
    ratios = {
        23: "1",
        24: "0.955882352941",
        32: "0.602941176471",
        39: "0.294117647059",
        40: "0.25",
    }
    theta, plain = QWEN.theta(128), QWEN.rule.theta(128)
    assert {i: theta[i] / plain[i] for i in ratios} == {
        i: printed(text) for i, text in ratios.items()
    }


def test_one_number_of_turns_is_a_step():
    """Kimi-K2 has beta_fast = beta_slow: pairs up to 19 are kept, from 20 on divided by 32."""
    plain = KIMI.rule.theta(64)
    for truncate in (True, False):
        theta = replace(KIMI, truncate=truncate).theta(64)
        assert theta == (*plain[:20], *(each / 32 for each in plain[20:]))


@pytest.mark.parametrize(
    ("rule", "amplitude"),
    [
        (QWEN, "1.13862943611"),
        (LLAMA2, "1.27725887222"),
        (GPT_OSS, "1.34657359028"),
        # telechat3.
        (yarn(4, coefficient=0.07), "1.09704060528"),
        # DeepSeek: V2 has two equal weights, as V3; the weight in the softmax is squared.
        (yarn(40, mscale=0.707, mscale_all_dim=0.707), "1"),
        (yarn(40, mscale=1, mscale_all_dim=1), "1"),
        (yarn(40, mscale=0.707, amplitude_rule="single"), "1.26080377741"),
        (yarn(40), "1.36888794541"),
    ],
)
def test_worked_amplitudes(printed, rule, amplitude):
    """What cos and sin are multiplied by."""
    assert float(rule.amplitude) == printed(amplitude)


def test_worked_softmax_weights(printed):
    """DeepSeek puts the square of the amplitude it leaves out into the softmax."""
    v2 = yarn(40, mscale=0.707, amplitude_rule="single").amplitude
    v3 = yarn(40).amplitude
    assert float(v2**2) == printed("1.58962616512")
    assert float(v3**2) == printed("1.87385420709")
    assert 192**-0.5 * float(v3**2) == printed("0.135233778861")


M, N = 0.707, 0.5
WEIGHTS = [(None, None), (M, None), (None, N), (M, N), (0, 0), (M, 0), (0, N)]


@pytest.mark.parametrize(
    ("amplitude_rule", "ratios"),
    [
        # For each of WEIGHTS the weight of the logarithm above and below the line: 0 says 1.
        ("truthy", [(1, 0), (1, 0), (1, 0), (M, N), (1, 0), (1, 0), (1, 0)]),
        ("given", [(1, 0), (1, 0), (1, 0), (M, N), (0, 0), (M, 0), (0, N)]),
        ("defaults", [(1, 0), (M, 0), (1, N), (M, N), (0, 0), (M, 0), (0, N)]),
        ("single", [(0, 0), (M, 0), (N, 0), (M, N), (0, 0), (M, 0), (0, N)]),
        ("one", [(0, 0)] * 7),
    ],
)
@pytest.mark.parametrize("factor", [40, 1.5, 1, 0.5])
def test_amplitude_rules(oracle, amplitude_rule, ratios, factor):
    """Each rule for each way to give the two weights, to 80 digits; 1 for factors up to 1.

    With `below_one` the formula goes on below 1.
    """
    logarithm = oracle.exact(factor).log()
    for below_one in (False, True):
        unit = arb(0) if factor <= 1 and not below_one else logarithm * arb("0.1")
        for (mscale, mscale_all_dim), (above, below) in zip(WEIGHTS, ratios, strict=True):
            rule = yarn(
                factor,
                mscale=mscale,
                mscale_all_dim=mscale_all_dim,
                amplitude_rule=amplitude_rule,
                below_one=below_one,
            )
            true = (1 + unit * oracle.exact(above)) / (1 + unit * oracle.exact(below))
            assert abs(oracle.exact(rule.amplitude) - true) < arb(10) ** -79
            given_one = replace(rule, attention_factor=0.25)
            assert given_one.amplitude == Fraction(1, 4)


@pytest.mark.parametrize(
    ("original_length", "equal_ends", "ends", "kept"),
    [
        # One pair, the first, lies at the end of the ramp that has no length.
        (6, "raise", ("0", "0.001"), 1),
        (6, "least", ("0", "0.001"), 1),
        (6, "lower", ("-0.001", "0"), 0),
        # The upper end lies below the first pair: the ramp runs backwards, or is kept apart.
        (1, "raise", ("0", "-12"), 64),
        (1, "lower", ("0", "-12"), 64),
        (1, "least", ("0", "0.001"), 1),
        # The lower end lies above the last channel: backwards again, and nothing is kept.
        (10**12, "raise", ("155", "127"), 0),
        (10**12, "lower", ("155", "127"), 0),
        (10**12, "least", ("155", "155.001"), 64),
    ],
)
def test_ends_beyond_the_ladder(original_length, equal_ends, ends, kept):
    """Ends are cut at 0 and R - 1, each on its own, and so may meet or change places."""
    rule = yarn(8, original_length, equal_ends=equal_ends)
    assert rule.ends(128) == tuple(map(Decimal, ends))
    plain = rule.rule.theta(128)
    assert rule.theta(128) == (*plain[:kept], *(each / 8 for each in plain[kept:]))


@pytest.mark.parametrize(
    ("equal_ends", "below", "above"),
    [("raise", "0", "0.001"), ("least", "0", "0.001"), ("lower", "0.001", "0")],
)
def test_ends_that_are_equal_are_kept_apart(oracle, equal_ends, below, above):
    """A thousandth of a pair is added above, or taken off below."""
    ends = replace(KIMI, truncate=False, equal_ends=equal_ends).ends(64)
    turns = oracle.exact(4096) / (2 * oracle.pi)
    corr = 32 * turns.log() / oracle.exact(50000).log()
    for end, true in zip(ends, (corr - arb(below), corr + arb(above)), strict=True):
        assert abs(oracle.exact(Fraction(end)) - true) < arb(10) ** -79


def test_the_last_pair_or_the_last_channel():
    """limit="pairs" ends the ramp at the last pair, where most systems let it run to R - 1."""
    assert yarn(4, 65536).ends(128) == (40, 65)
    assert yarn(4, 65536, limit="pairs").ends(128) == (40, 63)
    assert yarn(4, 32768).ends(128) == yarn(4, 32768, limit="pairs").ends(128) == (35, 60)


def test_a_ramp_that_never_ends_is_cut():
    """The upper end lies at R - 1 at most, where no pair is."""
    low, high = yarn(4, 10**9).ends(128)
    assert (low, high) == (107, 127)
    assert yarn(4, 10**9).theta(128) == rr.PowerLaw(1e4).theta(128)


FACTORS = st.sampled_from([1, 1.5, 4, 40, 1e6]) | st.floats(1, 100)
BASES = st.sampled_from([1.5, 100.0, 1e4, 5e5, 1e7, 1e12]) | st.floats(1.5, 1e9)
LENGTHS = st.sampled_from([1, 7, 100, 2048, 4096, 131072, 10**9]) | st.integers(1, 10**6)
TURNS = st.sampled_from([1e-3, 0.75, 1, 1.25, 2, 8, 32, 1e5]) | st.floats(0.1, 100)
WIDTHS = st.integers(1, 64).map(lambda pairs: 2 * pairs)


@settings(max_examples=60, deadline=None)
@given(FACTORS, BASES, LENGTHS, TURNS, TURNS, WIDTHS, st.booleans())
def test_fast_pairs_are_kept_and_slow_ones_divided(
    oracle, factor, base, length, first, second, rotary_dim, truncate
):
    """What makes beta_fast turns or more is plain, bit for bit, and up to beta_slow divided.

    Nothing is outside the two, nor slower than the pair after it.
    """
    slow, fast = sorted((first, second))
    rule = yarn(factor, length, base, beta_fast=fast, beta_slow=slow, truncate=truncate)
    turns = [theta * length / (2 * oracle.pi) for theta in oracle.power_law(base, rotary_dim)]
    low, high = rule.ends(rotary_dim)
    plain = rule.rule.theta(rotary_dim)
    divided = rr.scaling.Linear(rule.rule, factor=factor).theta(rotary_dim)
    theta = rule.theta(rotary_dim)
    if low < high:
        for i, n in enumerate(turns):
            if n >= fast:
                assert theta[i] == plain[i]
            elif n <= slow and i >= high:
                assert theta[i] == divided[i]
        assert list(theta) == sorted(theta, reverse=True)
    assert all(d <= t <= p for d, t, p in zip(divided, theta, plain, strict=True))


def test_it_is_the_ramp_that_differs():
    """The base, the length and the turns move the ends; the factor does not."""
    assert {yarn(factor).ends(128) for factor in (0.5, 1, 4, 1e30)} == {(20, 46)}
    assert yarn(base=1e6).ends(128) == (13, 31)
    assert yarn(original_length=32768).ends(128) == (35, 60)
    assert yarn(beta_fast=64).ends(128) == (16, 46)
    assert yarn(beta_slow=4).ends(128) == (20, 36)
    assert yarn().ends(64) == (10, 23)


def test_the_denominator_counts_as_the_width():
    """Where the power law has a denominator of its own, its ends are those of that width."""
    narrow = rr.scaling.YaRN(rr.PowerLaw(1e4, denominator=128), factor=4, original_length=4096)
    assert narrow.ends(64) == yarn().ends(128)
    np.testing.assert_array_equal(narrow.theta(64), yarn().theta(128)[:32])

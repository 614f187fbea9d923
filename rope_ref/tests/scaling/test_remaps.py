"""Remaps give the numbers that were worked out for real models and public systems.

All of them are float64 numbers printed to some digits; `printed` asks for just these.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr

PAPER = rr.PowerLaw(1e4)
LLAMA = rr.PowerLaw(5e5)


def base_of(rule, rotary_dim):
    """The base of a ladder, told by its second pair."""
    second = rule.frequencies(rotary_dim)[1].digits(80)
    return float(second ** (Decimal(-rotary_dim) / 2))


def dynamic(factor, length):
    return rr.scaling.DynamicNTK(PAPER, factor=factor, original_length=4096, length=length)


def llama3(factor, **options):
    return rr.scaling.Llama3(LLAMA, factor=factor, **options)


def longrope(factor, original_length, **options):
    ones = (1.0,) * 48
    return rr.scaling.LongRoPE(
        PAPER,
        short_factors=ones,
        long_factors=ones,
        original_length=original_length,
        factor=factor,
        **options,
    )


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "theta"),
    [
        (PAPER, 128, {0: "1", 1: "0.86596432336", 32: "0.01", 63: "1.15478198469e-4"}),
        (LLAMA, 128, {1: "0.814617233857", 63: "2.45514079113e-6"}),
        (rr.scaling.Linear(PAPER, factor=4), 128, {0: "0.25", 63: "2.88695496172e-5"}),
        (rr.scaling.NTK(PAPER, alpha=8), 128, {0: "1", 63: "1.44347748086e-5"}),
        (dynamic(2, 8192), 128, {0: "1", 63: "3.8492732823e-5"}),
        (llama3(8), 128, {30: "1.37189356776e-3", 63: "3.06892598891e-7"}),
        # Gemma 4: a quarter of the pairs of a head of 512, and what the same quarter would
        # have if it were a RoPE of its own.
        (
            rr.scaling.Proportional(rr.PowerLaw(1e6), fraction=0.25),
            512,
            {0: "1", 1: "0.947463525655", 63: "0.0333762469429", 64: "0", 255: "0"},
        ),
        (rr.PowerLaw(1e6), 128, {63: "1.24093776075e-6"}),
    ],
)
def test_worked_frequencies(printed, rule, rotary_dim, theta):
    """theta of single pairs."""
    assert {i: rule.theta(rotary_dim)[i] for i in theta} == {
        i: printed(text) for i, text in theta.items()
    }


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "ratios"),
    [
        (rr.scaling.NTK(PAPER, alpha=8), 128, {0: "1", 63: "0.125"}),
        # vLLM's `ntk`, without and with mixed_b.
        (rr.scaling.FixedNTK(PAPER, factor=8), 128, {0: "0.968030896746", 63: "0.125"}),
        (
            rr.scaling.FixedNTK(PAPER, factor=8, mixing=0.625),
            128,
            {0: "0.856796009516", 31: "0.259668094931", 63: "0.125"},
        ),
        (
            rr.scaling.NTKByParts(PAPER, factor=4),
            128,
            {0: "1", 20: "1", 32: "0.620896738051", 40: "0.348823238608", 50: "0.25", 63: "0.25"},
        ),
        # Llama-3.1, and Llama-3.2-1B.
        (
            llama3(8),
            128,
            {
                28: "1",
                29: "0.828168411837",
                30: "0.643743133128",
                31: "0.493507122732",
                32: "0.371122279518",
                33: "0.271425477073",
                34: "0.190210743641",
                35: "0.125",
            },
        ),
        (
            llama3(32),
            64,
            {
                14: "1",
                15: "0.605572754534",
                16: "0.303742523752",
                17: "0.103447609031",
                18: "0.03125",
            },
        ),
    ],
)
def test_worked_ratios(printed, rule, rotary_dim, ratios):
    """What single pairs are multiplied by."""
    theta, plain = rule.theta(rotary_dim), rule.rule.theta(rotary_dim)
    assert {i: theta[i] / plain[i] for i in ratios} == {
        i: printed(text) for i, text in ratios.items()
    }


@pytest.mark.parametrize(
    ("rule", "base"),
    [
        (rr.scaling.NTK(PAPER, alpha=8), "82684.6226406"),
        (rr.scaling.NTK(PAPER, alpha=2), "20221.2616897"),
        # Hunyuan.
        (rr.scaling.NTK(PAPER, alpha=1000), "11158839.9251"),
        (rr.scaling.NTK(PAPER, alpha=50), "532032.03393"),
        # Qwen-1, one step above its length.
        (rr.scaling.NTK(PAPER, alpha=rr.scaling.qwen_alpha(8193, 8192)), "30527.7367488"),
        (dynamic(2, None), "10000"),
        (dynamic(2, 4096), "10000"),
        (dynamic(2, 4097), "10004.9603367"),
        (dynamic(2, 8192), "30527.7367488"),
        (dynamic(2, 32768), "156588.323457"),
        # One table for the longest text, factor x original_length.
        (dynamic(4, 4 * 4096), "135401.973042"),
    ],
)
def test_worked_bases(printed, rule, base):
    """What the base becomes, told by the second of 64 pairs."""
    assert base_of(rule, 128) == printed(base)


@pytest.mark.parametrize(
    ("rule", "amplitude"),
    [
        (longrope(32, 4096), "1.19023807142"),
        (longrope(16, 8192), "1.14354374979"),
        (longrope(16, 4096), "1.15470053838"),
        (longrope(1, 4096), "1"),
        (longrope(0.5, 4096), "1"),
    ],
)
def test_worked_amplitudes(printed, rule, amplitude):
    """LongRoPE's amplitude is the same for short and for long texts."""
    for length in (None, 1, 10**6):
        assert float(rule.at(length).amplitude) == printed(amplitude)


def test_worked_rotations(printed):
    """One vector of four channels at position 3, in each layout and direction, and half of it."""
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    for options, expected in (
        ({"layout": "half"}, "-1.41335252078 1.879118066688 -2.828857481741 4.058191135401"),
        ({"layout": "interleaved"}, "-1.27223251272 -1.838864985141 2.878668100437 4.088186635603"),
        (
            {"layout": "half", "direction": -1},
            "-0.566632472421 2.119082068308 -3.111097497861 3.938209134591",
        ),
        ({"layout": "half", "rotary_dim": 2}, "-1.27223251272 -1.838864985141 3 4"),
    ):
        y = rr.apply_rope(x, [3], rr.RopeSpec(4, **options), axes="td")
        assert y[0].tolist() == [printed(text) for text in expected.split()]


def test_qwen_alpha_doubles_with_the_length():
    """1 up to the trained length, then 3, 7, 15, each up to the next doubling."""
    steps = {1: 1, 8192: 1, 8193: 3, 16384: 3, 16385: 7, 32768: 7, 32769: 15, 65536: 15}
    assert {n: rr.scaling.qwen_alpha(n, 8192) for n in steps} == steps
    assert rr.scaling.qwen_alpha(1, 1) == rr.scaling.qwen_alpha(2047, 2048) == 1


def test_llama3_leaves_the_fast_pairs_and_divides_the_slow_ones():
    """Llama-3.1: pairs 0 to 28 are untouched, 35 to 63 divided by 8, bit for bit."""
    theta, plain = llama3(8).theta(128), LLAMA.theta(128)
    assert theta[:29] == plain[:29]
    assert theta[35:] == tuple(each / 8 for each in plain[35:])


def test_llama3_without_a_blend_is_a_threshold():
    """Llama-4 Scout has low = high = 1: what makes a turn in 8192 positions is left alone."""
    rule = llama3(16, low_freq_factor=1, high_freq_factor=1)
    slow = [8192 * each < 2 * np.pi for each in LLAMA.theta(128)]
    assert slow == sorted(slow)
    assert slow.index(True) == 35
    assert rule.theta(128) == (*LLAMA.theta(128)[:35], *(w / 16 for w in LLAMA.theta(128)[35:]))


@pytest.mark.parametrize(("boundary", "kept"), [("slow", 0), ("fast", 1)])
def test_llama3_on_the_boundary(boundary, kept):
    """A pair that makes exactly `low_freq_factor` turns is slow, or fast as mlx-lm has it.

    A rational part of a turn lies on the boundary exactly, the one beside it does not.
    """
    turns = [Fraction(1, 8192), Fraction(1, 8193), Fraction(4, 8192), Fraction(1, 2)]
    for high in (1, 4):
        rule = rr.scaling.Llama3(
            rr.ExplicitFrequencies(turns=turns), factor=8, high_freq_factor=high, boundary=boundary
        )
        first = turns[0] if kept else turns[0] / 8
        rational = [frequency.rational for frequency in rule.frequencies(8)]
        assert rational == [first, turns[1] / 8, turns[2], turns[3]]
        assert rule.theta(8) == rr.ExplicitFrequencies(turns=rational).theta(8)


def test_longrope_changes_lists_after_the_original_length():
    """Up to `original_length` the short factors are in use, from one more on the long ones."""
    rule = rr.scaling.LongRoPE(
        PAPER,
        short_factors=[1, 2],
        long_factors=[4, 8],
        original_length=4096,
        factor=32,
        short_mscale=1.1,
        long_mscale=1.2,
    )
    for length in (None, 1, 4096):
        assert not rule.at(length).is_long
        assert rule.at(length).theta(4) == (1.0, 0.005)
        assert rule.at(length).amplitude == Fraction(1.1)
    for length in (4097, 4096.5, 10**9):
        assert rule.at(length).is_long
        assert rule.at(length).theta(4) == (0.25, 0.00125)
        assert rule.at(length).amplitude == Fraction(1.2)
    assert rule.at(5000).at(4096) == rule.at(4096)


def test_divided_is_llama3_as_gguf_keeps_it():
    """Each pair by a divisor of its own: those of the rule, taken exactly, give its frequencies."""
    rule = llama3(8)
    turns = [8192 * w / (2 * np.pi) for w in LLAMA.theta(128)]
    kept = np.clip((np.array(turns) - 1) / 3, 0, 1)
    divided = rr.scaling.Divided(LLAMA, factors=1 / (kept + (1 - kept) / 8))
    # The divisors were rounded on the way.
    np.testing.assert_allclose(divided.theta(128), rule.theta(128), rtol=1e-14)
    assert (divided.amplitude, divided.theta(128)[63]) == (1, rule.theta(128)[63])
    assert rr.scaling.Divided(PAPER, factors=[1, Fraction(1, 3)]).factors == (1, Fraction(1, 3))


def test_longrope_amplitudes_come_before_one_another():
    """An mscale comes first where it is given, then attention_factor, then the formula."""
    assert longrope(32, 4096, attention_factor=1.5).at(5000).amplitude == Fraction(1.5)
    mixed = longrope(32, 4096, attention_factor=1.5, long_mscale=2)
    assert [mixed.amplitude, mixed.at(5000).amplitude] == [Fraction(1.5), 2]
    only_short = longrope(32, 4096, short_mscale=2)
    assert only_short.amplitude == 2
    assert only_short.at(5000).amplitude == longrope(32, 4096).amplitude


def test_rational_turns_stay_rational():
    """Parts of a turn that are divided are parts of a turn: no rounding on the way to cos."""
    given = rr.ExplicitFrequencies(turns=[Fraction(1, 2), Fraction(1, 3)], amplitude=3)
    for rule, turns in (
        (rr.scaling.Linear(given, factor=2), (Fraction(1, 4), Fraction(1, 6))),
        (rr.scaling.Proportional(given, fraction=0.5, factor=2), (Fraction(1, 4), Fraction(0))),
        (
            longrope_of(given, [2, 3], attention_factor=1),
            (Fraction(1, 4), Fraction(1, 9)),
        ),
        (rr.scaling.Divided(given, factors=[2, 3]), (Fraction(1, 4), Fraction(1, 9))),
    ):
        assert tuple(frequency.rational for frequency in rule.frequencies(4)) == turns
        assert rule.amplitude == 3
        # A quarter turn per position: cos is exactly 0 or 3 at any integer.
        spec = rr.RopeSpec(4, layout="half", frequencies=rule)
        cos, sin = rr.cos_sin(np.array([1, 2, 2**53 - 1]), spec)
        assert cos[:, 0].tolist() == [0.0, -3.0, 0.0]
        assert sin[:, 0].tolist() == [3.0, 0.0, -3.0]


def longrope_of(rule, factors, **options):
    return rr.scaling.LongRoPE(
        rule,
        short_factors=factors,
        long_factors=factors,
        original_length=4096,
        factor=32,
        **options,
    )


def test_amplitudes_multiply():
    """A remap over a rule with an amplitude keeps it, and multiplies its own into it."""
    given = rr.ExplicitFrequencies([1.0, 0.5], amplitude=1.5)
    kept = [
        rr.scaling.Linear(given, factor=2),
        rr.scaling.Llama3(given, factor=2),
        rr.scaling.Proportional(given, fraction=1),
        longrope_of(given, [1, 2], attention_factor=1),
        rr.scaling.Divided(given, factors=[1, 2]),
    ]
    assert {rule.amplitude for rule in kept} == {Fraction(1.5)}
    assert longrope_of(given, [1, 2], attention_factor=2).amplitude == 3
    over_both = rr.scaling.Linear(longrope_of(given, [1, 2], short_mscale=2), factor=2)
    assert over_both.amplitude == 3

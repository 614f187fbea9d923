"""How fast pairs turn where each axis has a ladder: public models, in numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr
from rope_ref import errors
from rope_ref.positions import (
    alternating_axes,
    axial_axes,
    contiguous_axes,
    glm_axes,
    grid_positions,
    interleaved_axes,
    normalised_coordinates,
    pangu_axes,
)
from rope_ref.scaling import NTK, Axial, Linear, LongRoPE, Reordered


def spec(head_dim, axes, frequencies=None, layout="half", **options):
    frequencies = frequencies or rr.PowerLaw(10000)
    return rr.RopeSpec(head_dim, layout=layout, frequencies=frequencies, pair_axes=axes, **options)


def axial(widths, base=10000, layout="half"):
    """A ladder of the same base for each axis."""
    rule = Axial(rr.PowerLaw(base), widths)
    return spec(sum(widths), axial_axes(widths), rule, layout)


PIXTRAL = Reordered(rr.PowerLaw(1e4), order=(*range(0, 32, 2), *range(1, 32, 2)))
DINO = Axial(rr.ExplicitFrequencies(turns=rr.PowerLaw(100).theta(32)), (32, 32))

WORKED = [
    (
        "Pixtral", spec(64, contiguous_axes((16, 16)), PIXTRAL), (3, 5),
        {0: 3, 1: "1.68702397557", 15: "5.33483823e-4", 16: "3.74947104666",
         31: "6.66760716e-4"},
    ),
    (
        "Qwen2-VL vision", axial((40, 40)), (3, 5),
        {0: 3, 1: "1.89287203344", 19: "4.75467957738e-4", 20: 5, 39: "7.92446596231e-4"},
    ),
    # Patch 25 of 24 in a row: column and row 1, counted from 1.
    ("Llama-4 vision", axial((44, 44), layout="interleaved"), (25 % 24 + 1, 25 // 24 + 1),
     {0: 2, 22: 2}),
    ("Llama-4 class token", axial((44, 44), layout="interleaved"), (0, 0), {0: 0, 43: 0}),
    (
        "DINOv3", spec(64, axial_axes((32, 32)), DINO),
        (normalised_coordinates(14)[0], normalised_coordinates(14)[13]),
        {0: "-5.83438635667", 1: "-4.37517254387", 16: "5.83438635667"},
    ),
    ("CogVideoX", axial((16, 24, 24), layout="interleaved"), (2, 3, 5), {0: 2, 8: 3, 20: 5}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rope", "position", "angles"), [row[1:] for row in WORKED], ids=[row[0] for row in WORKED]
)
def test_worked_phases(rope, position, angles, phases, printed):
    """A_i at one position, to the digits printed for the model; whole numbers are exact."""
    got = phases(rope, *position)
    for pair, angle in angles.items():
        assert got[pair] == (printed(angle) if isinstance(angle, str) else angle), pair


def test_cosmos_has_a_base_for_each_axis(oracle, printed):
    """Time is stretched by 2: its base is multiplied by 2**(44/42) = 2.06711556601."""
    rules = (NTK(rr.PowerLaw(1e4), alpha=2), rr.PowerLaw(1e4), rr.PowerLaw(1e4))
    widths = (44, 42, 42)
    rope = spec(128, axial_axes(widths), Axial(rules, widths))
    # theta_1 of time is base**(-2/44).
    factor = oracle.exact(rope.theta()[1]) ** -22 / 10000
    assert float(factor) == printed("2.06711556601")
    np.testing.assert_array_equal(rope.theta()[22:43], rr.PowerLaw(1e4).theta(42))
    np.testing.assert_array_equal(rope.theta()[43:], rr.PowerLaw(1e4).theta(42))


def test_ltx_turns_every_frequency_with_three_axes(oracle, printed):
    """Width 2048: 341 frequencies theta**(j / 340) pi / 2, two channels in front left alone."""
    pairs = 2048 // 6
    assert (pairs, 2048 % 6) == (341, 2)
    turns = [float((oracle.exact(1e4).log() * j / 340).exp() / 4) for j in range(pairs)]
    rule = rr.ExplicitFrequencies(turns=[turn for turn in turns for _ in range(3)])
    axes = interleaved_axes((pairs,) * 3)
    rope = spec(2048, axes, rule, "interleaved", rotary_start=2)
    assert axes == (0, 1, 2) * 341
    assert rope.theta()[0] == printed("1.57079632679")
    assert rope.theta()[-1] == printed("15707.9632679")
    x = np.arange(2048.0)[None]
    y = rr.apply_rope(x, [[3], [1], [2]], rope, axes="td")
    assert y[0, :2].tolist() == [0, 1]


def rotated_in_its_own_half_layout(x, positions, base):
    """A block of channels as (first half, second half), in float64."""
    half = x.shape[-1] // 2
    angle = np.array(positions)[:, None] * float(base) ** (-np.arange(half) / half)
    u, v = x[..., :half], x[..., half:]
    return np.concatenate(
        [u * np.cos(angle) - v * np.sin(angle), u * np.sin(angle) + v * np.cos(angle)], axis=-1
    )


def test_gemma_4_vision_is_two_ropes():
    """Each half of the head is rotated in the half layout of its own: column, then row."""
    x = np.random.default_rng(0).standard_normal((6, 64))
    _, rows, columns = grid_positions(1, 2, 3)
    first = rr.RopeSpec(64, layout="half", rotary_dim=32, frequencies=rr.PowerLaw(100))
    second = rr.RopeSpec(
        64, layout="half", rotary_dim=32, rotary_start=32, frequencies=rr.PowerLaw(100)
    )
    y = rr.apply_rope(rr.apply_rope(x, columns, first, axes="td"), rows, second, axes="td")
    blocks = [
        rotated_in_its_own_half_layout(x[:, :32], columns, 100),
        rotated_in_its_own_half_layout(x[:, 32:], rows, 100),
    ]
    # In the blocks a phase, at most 2, is off by 4 u from the power and 2 u from the product, so
    # cos and sin by 8 u with their own rounding. Two products with x below 4: 64 u, and less
    # than as much again for the table here and for the rounding of products and sums.
    assert np.abs(x).max() < 4
    np.testing.assert_allclose(y, np.concatenate(blocks, axis=-1), rtol=0, atol=128 * 2.0**-53)
    # One RoPE over the whole head pairs other channels.
    whole = rr.apply_rope(x, [columns, rows], axial((32, 32), 100), axes="td")
    assert np.abs(y - whole).max() > 0.1


def test_kimi_mixes_two_ladders():
    """Pairs w_0 column, w_0 row, w_1 column, ..: the same rotation with other pairs."""
    n = 8
    order = [pair for k in range(n) for pair in (k, n + k)]
    mixed = spec(
        4 * n,
        alternating_axes((n, n)),
        Reordered(Axial(rr.PowerLaw(), (2 * n, 2 * n)), order=order),
    )
    plain = axial((2 * n, 2 * n))
    np.testing.assert_array_equal(mixed.theta()[0::2], plain.theta()[:n])
    np.testing.assert_array_equal(mixed.theta()[1::2], plain.theta()[n:])
    positions = grid_positions(1, 3, 4)[1:]
    for ours, theirs in zip(
        rr.cos_sin(positions, mixed), rr.cos_sin(positions, plain), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs[:, order])


def test_pixtral_sorts_the_pairs_of_alternating_axes():
    """Even pairs are rows, odd ones columns; sorted, no score changes but the channels do."""
    sorted_, plain = WORKED[0][1], spec(64, alternating_axes((16, 16)))
    positions = grid_positions(1, 3, 4)[1:]
    order = [*range(0, 32, 2), *range(1, 32, 2)]
    for ours, theirs in zip(
        rr.cos_sin(positions, sorted_), rr.cos_sin(positions, plain), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs[:, order])


# What holds for all of them

POSITIONS = st.integers(-(2**40), 2**40)

SHIFTED = [
    spec(24, contiguous_axes((4, 4, 4))),
    spec(24, interleaved_axes((6, 3, 3))),
    spec(24, glm_axes((2, 5, 5))),
    spec(24, pangu_axes((2, 5, 5))),
    spec(24, alternating_axes((2, 5, 5)), layout="interleaved"),
    axial((4, 12, 8)),
    axial((4, 12, 8), 256, "interleaved"),
    spec(
        24,
        (0, 1, 2) * 4,
        Reordered(Axial(rr.PowerLaw(), (8, 16)), order=range(12)[::-1]),
    ),
]


@pytest.mark.parametrize("rope", SHIFTED, ids=range(len(SHIFTED)))
@given(st.lists(st.tuples(POSITIONS, POSITIONS, POSITIONS), min_size=3, max_size=3))
@settings(max_examples=20)
def test_only_differences_matter_on_each_axis(rope, triple):
    """M(p)^T M(q) is M(q - p), whatever p is on each of the axes by itself."""
    p, difference, _ = np.array(triple)
    product = rr.rotation_matrix(p, rope).T @ rr.rotation_matrix(p + difference, rope)
    # An entry is c c' + s s'; each factor is at most 1 and off by at most 0.8 ulp, 1.6 u. So the
    # products are off by 4 x 1.6 u, their rounding and that of the sum by 3 u, the other side by
    # 1.6 u: 11 u. Entries that are 0 in every rotation add nothing.
    bound = 12 * 2.0**-53
    np.testing.assert_allclose(product, rr.rotation_matrix(difference, rope), rtol=0, atol=bound)


@given(
    st.integers(1, 12).map(lambda n: 2 * n),
    st.sampled_from([rr.PowerLaw(), rr.PowerLaw(0.3), Linear(rr.PowerLaw(5e5), factor=3)]),
)
def test_one_axis_is_its_rule(width, rule):
    """An axial rule of one width has the numbers of its rule, in all forms."""
    alone = Axial(rule, (width,))
    assert alone.theta(width) == rule.theta(width)
    for ours, theirs in zip(alone.frequencies(width), rule.frequencies(width), strict=True):
        assert ours.rational == theirs.rational
        assert ours.scaled_turns(200) == theirs.scaled_turns(200)
    assert alone.amplitude == rule.amplitude
    positions = [0, 1, -7, 2**45, 0.25]
    for ours, theirs in zip(
        rr.cos_sin(positions, rr.RopeSpec(width, layout="half", frequencies=alone)),
        rr.cos_sin(positions, rr.RopeSpec(width, layout="half", frequencies=rule)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_each_axis_keeps_what_its_rule_knows():
    """Turns stay exact in their block, and amplitudes that agree are the amplitude."""
    half = rr.ExplicitFrequencies(turns=[Fraction(1, 2)], amplitude=Fraction(3, 2))
    slow = rr.ExplicitFrequencies([0.1, 0.0], amplitude=1.5)
    rule = Axial((half, slow), (2, 4))
    assert rule.amplitude == Fraction(3, 2)
    assert [w.rational for w in rule.frequencies(6)] == [Fraction(1, 2), None, 0]
    assert rule.frequencies(6)[0].scaled_turns(100) == 2**99
    turned = Reordered(rule, order=(2, 0, 1))
    assert turned.amplitude == Fraction(3, 2)
    assert [w.rational for w in turned.frequencies(6)] == [0, Fraction(1, 2), None]
    assert turned.frequencies(6)[1].scaled_turns(100) == 2**99
    assert turned.theta(6) == (0.0, rule.theta(6)[0], 0.1)
    cos, sin = rr.cos_sin([[1], [1]], spec(6, (0, 1, 1), rule))
    assert (cos[0, 0], sin[0, 0], cos[0, 2]) == (-1.5, 0.0, 1.5)


def test_the_table_of_an_axial_rule_is_the_real_number(oracle):
    """Within 0.8 ulp on every axis, near and far."""
    widths, bases = (8, 12, 4), (1e4, 256, 2000)
    rule = Axial([rr.PowerLaw(base) for base in bases], widths)
    rope = spec(24, axial_axes(widths), rule)
    positions = np.array([[1, 2**40 + 7, -3], [12345, -(2**52), 5], [2**31, 77, 2**20]])
    theta = [w for base, width in zip(bases, widths, strict=True)
             for w in oracle.power_law(base, width)]  # fmt: skip
    cos, sin = rr.cos_sin(positions, rope)
    for i, w in enumerate(theta):
        row = positions[rope.pair_axes[i]].tolist()
        true_cos, true_sin = zip(*(oracle.cos_sin(p, w) for p in row), strict=True)
        assert oracle.ulps(cos[:, i], true_cos).max() < 0.8
        assert oracle.ulps(sin[:, i], true_sin).max() < 0.8


def test_a_batch_has_the_axes_first():
    """Positions (A, B, T): each row of the batch as if it were alone."""
    rope = axial((4, 6, 6))
    x = np.random.default_rng(1).standard_normal((2, 5, 3, 16))
    positions = np.arange(30).reshape(3, 2, 5) * 7 % 11
    y = rr.apply_rope(x, positions, rope, axes="bthd")
    for b in range(2):
        alone = rr.apply_rope(x[b], positions[:, b], rope, axes="thd")
        np.testing.assert_array_equal(y[b], alone)


def test_equal_rules_are_equal():
    """However they were written down; and they print as what made them."""
    one = Axial(rr.PowerLaw(256), [16, np.int64(24)])
    assert one == Axial((rr.PowerLaw(256.0),) * 2, (16, 24))
    assert hash(one) == hash(Axial(rr.PowerLaw(256), (16, 24)))
    assert one != Axial(rr.PowerLaw(256), (24, 16))
    order = Reordered(one, order=np.arange(20))
    assert order == Reordered(one, order=range(20))
    twice = Reordered(one, order=(0,) * 20, repeats=True)
    names = vars(rr.scaling) | {"Fraction": Fraction}
    assert eval(repr(order), names) == order
    assert eval(repr(twice), names) == twice
    with pytest.raises(AttributeError):
        one.widths = (2,)


# What is refused

AMPLIFIED = rr.ExplicitFrequencies([1.0], amplitude=2)
BEYOND = LongRoPE(
    rr.ExplicitFrequencies([1.0], amplitude=1e308),
    short_factors=[1],
    long_factors=[1],
    original_length=10,
    factor=2,
    attention_factor=1e10,
)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Axial(rr.PowerLaw(), (8, 5)), errors.WidthsError, ["Axial(PowerLaw", "(8, 5)"]),
        (lambda: Axial(1e4, (8, 8)), errors.FrequencyValueError, ["rules", "PowerLaw(10000)"]),
        (lambda: Axial([rr.PowerLaw()], (8, 8)), errors.FrequencyValueError, ["the 2 widths"]),
        (lambda: Axial(rr.PowerLaw, (8,)), errors.FrequencyValueError, ["frequency rule"]),
        (lambda: Axial((AMPLIFIED, rr.PowerLaw()), (2, 2)), errors.AmplitudeError,
         ["amplitudes 2, 1", "give all the same"]),
        (lambda: Axial((BEYOND, rr.PowerLaw()), (2, 2)), errors.AmplitudeError,
         ["amplitudes 1.00000e+318, 1"]),
        (lambda: Axial(rr.PowerLaw(), (-(10**5000), 2)), errors.WidthsError, ["Axial(", "even"]),
        (lambda: Axial(rr.PowerLaw(), np.array(4)), errors.CountTypeError, ["array(4)"]),
        (lambda: spec(64, None, Axial(rr.PowerLaw(), (8, 8))), errors.FrequencyCountError,
         ["rotary_dim=64", "add up to 16", "rotary_dim=16"]),
        (lambda: Reordered(1e4, order=(0,)), errors.FrequencyValueError, ["rule must be"]),
        (lambda: Reordered(rr.PowerLaw(), order=(0, 2)), errors.PairOrderError,
         ["order=(0, 2)", "0 to 1", "once"]),
        (lambda: Reordered(rr.PowerLaw(), order=(0, 0)), errors.PairOrderError,
         ["repeats=True"]),
        (lambda: Reordered(rr.PowerLaw(), order=(0, 2), repeats=True), errors.PairOrderError,
         ["order=(0, 2)"]),
        (lambda: Reordered(rr.PowerLaw(), order=(0.0,)), errors.CountTypeError, ["order"]),
        (lambda: Reordered(rr.PowerLaw(), order=[-(10**5000)]), errors.PairOrderError,
         ["order=a value of type list"]),
        (lambda: spec(8, None, Reordered(rr.PowerLaw(), order=(1, 0))),
         errors.FrequencyCountError, ["2 pairs", "has 4", "rotary_dim=4"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)

"""Which axis a pair follows: the maps of public models."""

from dataclasses import replace

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
    ggml_axes,
    glm_axes,
    interleaved_axes,
    pangu_axes,
)

# T, H, W of one ladder; each map with the sections that it takes.
MAPS = [
    contiguous_axes,
    interleaved_axes,
    ggml_axes,
    glm_axes,
    pangu_axes,
    alternating_axes,
]
THREE = st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9))


def differing(one, other):
    return [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


# Which axis


def test_contiguous():
    """Qwen2-VL, [16, 24, 24]: time for i < 16, rows for i < 40, then columns."""
    axes = contiguous_axes([16, 24, 24])
    assert axes == (0,) * 16 + (1,) * 24 + (2,) * 24
    # The older form: channels tiled over both halves, cut into the sections twice, by turns.
    tiled = [k % 3 for k, size in enumerate([16, 24, 24] * 2) for _ in range(size)]
    assert tiled == [*axes, *axes]


def test_interleaved():
    """Qwen3-VL, [24, 20, 20]: time, row, column by turns below 60, then time."""
    assert interleaved_axes([24, 20, 20]) == (0, 1, 2) * 20 + (0,) * 4
    assert interleaved_axes([11, 11, 10]) == (0, 1, 2) * 10 + (0, 1)


@given(THREE)
def test_interleaved_is_time_with_two_strides_cut_out(sections):
    """Written as in public code: rows at 1, 4, .. below 3 s_H, columns at 2, 5, .. below 3 s_W."""
    axes = np.zeros(sum(sections), dtype=int)
    axes[1 : 3 * sections[1] : 3] = 1
    axes[2 : 3 * sections[2] : 3] = 2
    assert interleaved_axes(sections) == tuple(axes)


def test_ggml_gives_what_is_left_to_a_fourth_axis():
    """With [24, 20, 20] pairs 61 and 62; with Qwen3.5's [11, 11, 10] none."""
    theirs, plain = (
        ggml_axes([24, 20, 20]),
        interleaved_axes([24, 20, 20]),
    )
    assert differing(theirs, plain) == [61, 62]
    assert theirs[61:63] == (3, 3)
    assert ggml_axes([24, 20, 20, 0]) == theirs
    assert ggml_axes([11, 11, 10]) == interleaved_axes([11, 11, 10])


@pytest.mark.parametrize(
    ("position", "angles"),
    [(1000, ("4.1e-4", "3.2e-4")), (32768, ("1.35e-2", "1.06e-2")), (262143, ("0.108", "0.085"))],
)
def test_the_angle_that_ggml_loses(position, angles, phases, printed):
    """Two pairs of Qwen3-VL stand still where the fourth position is 0."""
    ours, theirs = (
        rr.RopeSpec(128, layout="half", frequencies=rr.PowerLaw(5e6), pair_axes=axes)
        for axes in (
            interleaved_axes((24, 20, 20)),
            ggml_axes((24, 20, 20)),
        )
    )
    here, there = phases(ours, *[position] * 3), phases(theirs, *[position] * 3, 0)
    lost = [a - b for a, b in zip(here, there, strict=True)]
    assert [i for i, angle in enumerate(lost) if angle] == [61, 62]
    assert lost[61:63] == [printed(angle) for angle in angles]


def test_glm():
    """[8, 12, 12]: by turns while time lasts, and then rows and columns only."""
    assert glm_axes([8, 12, 12]) == (0, 1, 2) * 8 + (1, 1, 2, 1, 1, 2, 2, 2)


def test_pangu():
    """[8, 12, 12]: the schedule as its authors print it."""
    printed = "0 1 2 1 2 0 1 2 1 2 0 1 2 1 2 0 1 2 0 1 2 1 2 0 1 2 1 2 0 1 2 0"
    assert pangu_axes([8, 12, 12]) == tuple(map(int, printed.split()))
    assert pangu_axes([1, 1]) == (0, 1)
    assert pangu_axes([3, 0, 0]) == (0, 0, 0)


def test_three_maps_are_called_interleaved():
    """They give many pairs to different axes: 43 of 64, 4 of 32, 19 of 32."""
    sections = (24, 20, 20)
    assert len(differing(contiguous_axes(sections), interleaved_axes(sections))) == 43
    sections = (8, 12, 12)
    glm = glm_axes(sections)
    assert len(differing(interleaved_axes(sections), glm)) == 4
    assert len(differing(pangu_axes(sections), glm)) == 19


def test_alternating():
    """Ernie-4.5-VL: rows and columns alternate below 44, then time; VRoPE's four by turns."""
    assert alternating_axes([20, 22, 22]) == (1, 2) * 22 + (0,) * 20
    assert alternating_axes([2, 3, 2]) == (1, 2, 1, 2, 1, 0, 0)
    assert alternating_axes([8, 8]) == (0, 1) * 8
    assert interleaved_axes([16] * 4) == (0, 1, 2, 3) * 16


@given(THREE)
def test_each_axis_has_its_number_of_pairs(sections):
    """In every map, so far as a map that takes turns has room for them."""
    for pairs in MAPS:
        t, h, w = sections
        if pairs in (interleaved_axes, ggml_axes):
            # The last pair of an axis, 3 (s - 1) + its number, lies inside the ladder.
            if any(3 * (s - 1) + k >= sum(sections) for k, s in enumerate(sections) if s):
                continue
        if pairs is alternating_axes:
            w = h
        axes = pairs((t, h, w))
        counts = [axes.count(k) for k in range(4)]
        assert len(axes) == t + h + w
        if pairs is ggml_axes:  # time beyond three times its section goes to the fourth axis
            counts[0] += counts.pop()
        assert counts[:3] == [t, h, w]


@given(THREE)
def test_pangu_repeats_an_axis_only_where_no_other_is_left(sections):
    """Before the closing pair of time, neighbours differ until one axis alone has pairs."""
    *body, last = pangu_axes(sections)
    assert last == 0
    for i, (one, other) in enumerate(zip(body, body[1:], strict=False)):
        assert one != other or set(body[i + 1 :]) == {other}


def test_axial_axes():
    """Half as many pairs as channels."""
    assert axial_axes([16, 24, 24]) == (0,) * 8 + (1,) * 12 + (2,) * 12
    assert [axial_axes([44, 42, 42]).count(axis) for axis in range(3)] == [22, 21, 21]


# On one ladder


@given(THREE, st.integers(-(2**40), 2**40))
@settings(max_examples=30)
def test_equal_positions_are_the_rope_of_text(sections, position):
    """On one ladder, a token that stands at the same number on all axes: bit for bit."""
    t, h, w = sections
    for pairs in MAPS:
        axes = pairs((t, h, h if pairs is alternating_axes else w))
        rotary_dim = 2 * len(axes)
        text = rr.RopeSpec(rotary_dim + 2, layout="half", rotary_dim=rotary_dim, rotary_start=1)
        rope = replace(text, pair_axes=axes)
        x = np.linspace(-1, 1, rope.head_dim)[None]
        everywhere = np.full((max(axes) + 1, 1), position)
        ours = rr.apply_rope(x, everywhere, rope, axes="td")
        np.testing.assert_array_equal(ours, rr.apply_rope(x, [position], text, axes="td"))


# What is refused


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: contiguous_axes([]), errors.SectionsError, ["contiguous_axes([])", "one or"]),
        (lambda: contiguous_axes([3, -1]), errors.SectionsError, ["[3, -1]", "0 or more"]),
        (lambda: contiguous_axes([2**20 + 1]), errors.SectionsError, ["at most 2**20"]),
        (lambda: pangu_axes((0, -(10**5000))), errors.SectionsError, ["pangu_axes(", "tuple"]),
        (lambda: axial_axes([10**5000]), errors.WidthsError, ["2**20"]),
        (lambda: contiguous_axes(np.array([[1, 2], [3, 4]])), errors.CountTypeError,
         ["array([[1, 2],        [3, 4]])"]),
        (lambda: glm_axes(np.array(3)), errors.CountTypeError, ["glm_axes(array(3))"]),
        (lambda: glm_axes([np.array(1.5)]), errors.CountTypeError, ["array(1.5)"]),
        (lambda: contiguous_axes([3.0]), errors.CountTypeError, ["sections", "[3.0]"]),
        (lambda: interleaved_axes(8), errors.CountTypeError, ["interleaved_axes(8)"]),
        (lambda: interleaved_axes([True]), errors.CountTypeError, ["[True]"]),
        (lambda: glm_axes("888"), errors.CountTypeError, ["glm_axes('888')"]),
        (lambda: ggml_axes([8, 8]), errors.SectionsError, ["ggml_axes([8, 8])", "3 or 4 axes"]),
        (lambda: pangu_axes([0, 4, 4]), errors.SectionsError, ["sections[0]", "at least 1"]),
        (lambda: alternating_axes([22, 22, 20]), errors.SectionsError,
         ["rows (22 pairs)", "columns (20)", "time", "first"]),
        (lambda: alternating_axes([3, 4]), errors.SectionsError, ["rows one more"]),
        (lambda: alternating_axes([8]), errors.SectionsError, ["2 or 3 axes"]),
        (lambda: axial_axes([16, 3]), errors.WidthsError, ["axial_axes([16, 3])", "even"]),
        (lambda: axial_axes([0]), errors.WidthsError, ["from 2 to 2**20"]),
        (lambda: axial_axes(()), errors.WidthsError, ["each position axis"]),
        (lambda: axial_axes([8.0]), errors.CountTypeError, ["widths", "integers"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)

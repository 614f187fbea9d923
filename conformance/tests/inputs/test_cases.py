"""Cases reach the places where RoPEs break, stay inside what is claimed, and say everything."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from rope_conformance.inputs.cases import Case, cases, fixed_cases
from rope_conformance.inputs.claimed_positions import HOT_SPOTS, positions_within
from rope_conformance.inputs.shapes import SHAPES
from rope_conformance.judging.probes import numeric_cases, numeric_fixed
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import data_type

SPOTS = (2**8, 2**11, 4096, 32767, 65535, 131071, 2**20, 2**24, 2**31)

# What the fixed ones hold


@pytest.mark.parametrize("spot", SPOTS)
def test_fixed_inputs_hold_each_hot_spot_and_its_neighbours(spot, wide):
    """Every position where a type, a cache or a context ends is tried, with either sign."""
    assert spot in HOT_SPOTS
    met = {p for case in fixed_cases(wide) for p in case.flat()}
    assert {s * (spot + d) for s in (1, -1) for d in (-1, 0, 1)} <= met


def test_fixed_inputs_hold_the_telling_shapes():
    """T = 1, B = T, T = H, one token in several rows, more heads than tokens, a single row."""
    shapes = {(case.batch, case.tokens, case.heads) for case in fixed_cases(Claim())}
    assert set(SHAPES) <= shapes
    assert any(t == 1 and b > 1 for b, t, _ in shapes)
    assert any(b == t > 1 for b, t, _ in shapes)
    assert any(t == h > 1 for _, t, h in shapes)
    assert any(h > t > 1 for _, t, h in shapes)
    assert (1, 1, 1) in shapes


def test_fixed_inputs_hold_one_hot_vectors_and_zeros():
    """A single channel, and nothing at all."""
    values = {case.values for case in fixed_cases(Claim())}
    assert values == {"normal", "small", "large", "one-hot", "zeros"}


# What the strategies reach


@pytest.mark.parametrize("spot", [*SPOTS, 0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_generated_positions_come_near_each_hot_spot(spot, sign, wide):
    """A position within one of it is found."""
    case = find(
        cases(wide),
        lambda case: any(abs(p - sign * spot) <= 1 for p in case.flat()),
        settings=settings(max_examples=5000, database=None, derandomize=True),
    )
    assert case.tokens >= 1


COINCIDENCES = {
    "one token": lambda case: case.tokens == 1,
    "one token in several rows": lambda case: case.tokens == 1 and case.batch > 1,
    "as many rows as tokens": lambda case: case.batch == case.tokens > 1,
    "as many tokens as heads": lambda case: case.tokens == case.heads > 1,
    "one head": lambda case: case.heads == 1,
    "a unit vector": lambda case: case.values == "one-hot",
    "negative positions": lambda case: min(case.flat()) < 0,
    "both signs": lambda case: min(case.flat()) < 0 < max(case.flat()),
    "far away": lambda case: max(case.flat()) > 2**24,
    "a run of tokens": lambda case: case.tokens > 2 and isinstance(case.positions, range),
    "no order": lambda case: list(case.flat()) != sorted(case.flat()),
    "a position twice": lambda case: len(set(case.flat())) < case.tokens,
}


@pytest.mark.parametrize("what", COINCIDENCES)
def test_forty_generated_inputs_hold_every_coincidence(what, wide, sampled):
    """A run with default effort meets each, not only a long one."""
    assert any(map(COINCIDENCES[what], sampled(cases(wide), 40)))


def test_generated_inputs_hold_fractions(wide, sampled):
    """Halves, and fractions that no float holds."""
    drawn = [p for case in sampled(cases(wide, real=True), 40) for p in case.flat()]
    fractions = Counter(p % 1 for p in drawn if isinstance(p, float))
    assert fractions[0.5] > 0
    assert any(float(np.float32(p)) != p for p in drawn)


def test_generated_rows_differ(wide, sampled):
    """With `rows`, every case has a row of positions per batch row, mostly different ones."""
    drawn = sampled(cases(wide, rows=True), 40)
    assert all(case.rows and len(case.positions) == case.batch for case in drawn)
    assert sum(len(set(case.positions)) > 1 for case in drawn) >= 15


# Inside the claim

FORMS = (("t",), ("bt",), ("t", "bt"), ("offset",), ("none",), ("t", "offset"))


@st.composite
def claims(draw):
    """Claims of every kind, ranges of a few positions included."""
    forms = draw(st.sampled_from(FORMS))
    low = draw(st.one_of(st.just(0), st.integers(-(2**31), 2**31)))
    width = draw(st.one_of(st.integers(0, 12), st.integers(0, 2**32)))
    if forms == ("none",):
        low = 0
    axes = draw(st.sampled_from(["bthd", "bhtd", "thd", "btd", "td", "dthb"]))
    return Claim(axes=axes, position_forms=forms, position_range=(low, low + width))


def assert_inside(case, claim):
    low, high = claim.position_range
    assert all(low <= p <= high for p in case.flat())
    assert "b" in claim.axes or case.batch == 1
    assert "h" in claim.axes or case.heads == 1
    assert len(case.flat()) == case.tokens * (case.batch if case.rows else 1)
    assert case.position_array().shape == (
        (case.batch, case.tokens) if case.rows else (case.tokens,)
    )
    if not {"t", "bt"} & set(claim.position_forms):
        steps = np.diff(case.position_array().astype(object))
        assert (steps == 1).all()
    if claim.position_forms == ("none",):
        assert case.flat()[:1] in ([0], [])


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.data())
def test_generated_inputs_stay_inside_the_claim(context_of, data):
    """Positions, rows and heads are what the implementation says it takes, nothing else."""
    claim = data.draw(claims())
    context = context_of(claim)
    assert_inside(data.draw(numeric_cases(context)), claim)
    low, high = claim.position_range
    if "bt" in claim.position_forms and "b" in claim.axes:
        assert_inside(context.cut(data.draw(cases(claim, rows=True))), claim)
    if "t" in claim.position_forms:
        case = context.cut(data.draw(cases(claim, real=True)))
        assert_inside(case, claim)
    middle = (low + high) // 2
    narrow = context.cut(data.draw(cases(claim, low=low, high=middle)))
    assert_inside(narrow, replace(claim, position_range=(low, middle)))


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(claims())
def test_fixed_inputs_stay_inside_the_claim(context_of, claim):
    """They are cut down to it, and something always remains."""
    fixed = numeric_fixed(context_of(claim))
    assert fixed
    for case in fixed:
        assert_inside(case, claim)
    low, high = claim.position_range
    assert all(low <= p <= high for p in positions_within(claim))


# A case says everything


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.data())
def test_the_repr_of_a_case_rebuilds_it(wide, data):
    """A failure shown is a failure that can be repeated."""
    case = data.draw(st.one_of(cases(wide), cases(wide, rows=True), cases(wide, real=True)))
    again = eval(repr(case), {"Case": Case})
    assert again == case
    np.testing.assert_array_equal(again.position_array(), case.position_array())
    np.testing.assert_array_equal(again.x(6, "float32"), case.x(6, "float32"))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_data_is_the_same_every_time(dtype):
    """A seed gives the same numbers in every type, up to its rounding; another gives others."""
    case = Case(2, 3, 2, (0, 1, 2), seed=5)
    x = case.x(8, dtype)
    assert x.shape == (2, 3, 2, 8)
    assert x.dtype == data_type(dtype)
    np.testing.assert_array_equal(x, case.x(8, dtype))
    np.testing.assert_array_equal(x, case.x(8, "float32").astype(data_type(dtype)))
    assert (x != replace(case, seed=6).x(8, dtype)).mean() > 0.9
    hot = replace(case, values="one-hot", seed=9).x(8, dtype)
    assert (hot[..., 1] == 1).all()
    assert (hot.astype(np.float64).sum(axis=-1) == 1).all()
    assert not replace(case, values="zeros").x(8, dtype).any()


def test_positions_are_integers_unless_one_is_not_whole():
    """int64, or float64 for all of a case if one of them is a fraction."""
    assert Case(1, 2, 1, (0, 2**40)).position_array().dtype == np.int64
    assert Case(1, 2, 1, (0, 0.5)).position_array().dtype == np.float64
    rows = Case(2, 2, 1, ((0, 1), (2, 3)))
    assert rows.rows
    assert rows.position_array().tolist() == [[0, 1], [2, 3]]
    assert rows.flat() == [0, 1, 2, 3]

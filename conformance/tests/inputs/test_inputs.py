"""The inputs reach the places where RoPEs break, and stay inside what is claimed."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st

from rope_conformance.clauses import all_checks
from rope_conformance.clauses.frequency import _WIDTHS
from rope_conformance.inputs.cases import Case, cases, fixed_cases
from rope_conformance.inputs.claimed_positions import HOT_SPOTS, positions_within
from rope_conformance.inputs.shapes import SHAPES
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import numeric_cases, numeric_fixed
from rope_conformance.running.checking import check
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import data_type
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS
from rope_ref import RopeSpec, apply_rope

WIDE = Claim(
    position_forms=("t", "bt"),
    position_range=(-(2**31) - 1, 2**31 + 1),
    position_kinds=("integer", "real"),
    empty=True,
    strided=True,
)
SPOTS = (2**8, 2**11, 4096, 32767, 65535, 131071, 2**20, 2**24, 2**31)
CHECKS = {check.name: check for check in all_checks()}


def context_of(claim, spec=None):
    """What a check sees of an honest implementation with this claim."""
    spec = spec or RopeSpec(64, layout="half")
    return CheckContext(Implementation(CONTROLS["float32_power"].factory, spec, claim), "float32")


def sampled(strategy, count=300):
    """Cases as a run would draw them."""
    drawn = []

    @seed(0)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(case):
        drawn.append(case)

    draw()
    return drawn


# What the fixed inputs hold


@pytest.mark.parametrize("spot", SPOTS)
def test_fixed_inputs_hold_each_hot_spot_and_its_neighbours(spot):
    """Every position where a type, a cache or a context ends is tried, with either sign."""
    assert spot in HOT_SPOTS
    met = {p for case in fixed_cases(WIDE) for p in case.flat()}
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


def test_no_tokens_at_all_are_an_input():
    """T = 0, with one row and with several."""
    empty = CHECKS["data.empty"].fixed(context_of(WIDE))
    assert {(case.batch, case.tokens) for case in empty} == {(1, 0), (2, 0)}
    assert all(case.x(8, "float32").size == 0 for case in empty)


def test_each_row_gets_positions_of_its_own():
    """Rows differ, also where B = T and where there is one token."""
    fixed = CHECKS["frequency.rows"].fixed(context_of(WIDE))
    assert all(case.rows and len(set(case.positions)) == case.batch > 1 for case in fixed)
    assert any(case.batch == case.tokens for case in fixed)
    assert any(case.tokens == 1 for case in fixed)


def test_widths_are_no_powers_of_two_and_parts_of_a_head():
    """R of 6, 48, 80 and 96 by themselves, and R below D."""
    assert {6, 48, 80, 96} <= {rotary for head, rotary in _WIDTHS if head == rotary}
    assert sum(rotary < head for head, rotary in _WIDTHS) >= 2
    cases_of = CHECKS["frequency.widths"].fixed(context_of(WIDE))
    assert sorted(case.parameter for case in cases_of) == list(range(len(_WIDTHS)))


def test_a_nan_is_really_put_in():
    """The check hands the implementation exactly one NaN, then looks at everything else."""
    seen = []
    claim = Claim()

    def rope(x, positions):
        seen.append(int(np.isnan(x).sum()))
        return x

    context = CheckContext(Implementation(rope, RopeSpec(8, layout="half"), claim), "float32")
    check = CHECKS["independence.nan"]
    for case in check.fixed(context):
        check.body(context, case)
    assert set(seen) == {0, 1}


def test_strided_views_have_no_contiguous_axis():
    """Each axis longer than one skips every second element, and the numbers are the same."""
    claim = replace(WIDE, axes="bhtd")
    context = context_of(claim)
    fixed = CHECKS["data.strides"].fixed(context)
    assert all(case.strided for case in fixed)
    assert all(case.strided for case in sampled(CHECKS["data.strides"].generated(context), 20))
    for case in (case for case in fixed if case.strided is True):
        x = context.x(case)
        view, copy = (context.arrays.native(x, strided=s) for s in (True, False))
        assert copy.flags.c_contiguous
        assert view.base is not None
        if x.size > 1:
            assert not view.flags.c_contiguous
            assert not view.flags.f_contiguous
            assert view.strides[-1] == 2 * x.itemsize
        np.testing.assert_array_equal(view, copy)


def test_views_run_backwards_and_share_heads_and_positions_are_views():
    """Strides are negative, or 0 along the heads or rows, or those of the positions."""
    context = context_of(replace(WIDE, axes="bhtd"))
    fixed = CHECKS["data.strides"].fixed(context)
    kinds = Counter(case.strided for case in fixed)
    assert min(kinds[kind] for kind in ("backwards", "expanded", "positions")) >= 3
    for case in fixed:
        x = context.x(case)
        native = context.arrays.native(x, strided=case.strided)
        np.testing.assert_array_equal(native, context.arrays.to_claimed_axes(x))
        if case.strided == "backwards":
            assert max(native.strides) < 0
        if case.strided == "expanded":
            assert native.strides["bhtd".index("h" if case.heads > 1 else "b")] == 0
        if case.strided == "positions":
            assert native.flags.c_contiguous
            p = context.positions(case)
            (view,) = context.arrays.position_arguments(p, x.shape, view=True)
            np.testing.assert_array_equal(view, p)
            assert view.strides[-1] == 2 * p.itemsize


def test_what_shares_memory_is_not_handed_over_to_be_overwritten():
    """Heads that are one and the same cannot hold several results."""
    context = context_of(replace(WIDE, in_place=True))
    assert "expanded" not in {case.strided for case in CHECKS["data.strides"].fixed(context)}


@pytest.mark.parametrize(
    ("forms", "seen"),
    [
        (("t",), {"int64", "int32"}),
        (("t", "bt", "offset"), {"int64", "int32", "offset"}),
        (("bt", "none"), {"int64", "int32", "none"}),
        (("none", "offset"), {"offset", "none"}),
    ],
)
def test_every_claimed_form_of_positions_is_called(forms, seen):
    """Those that `CheckContext.apply` does not choose, and 32-bit integers, in one clause."""
    spec, called = RopeSpec(8, layout="half"), set()

    def rope(x, *given):
        kind = "none" if not given else "offset"
        if given and not isinstance(given[0], int):
            kind = given[0].dtype.name
        called.add(kind)
        p = np.asarray(given[0] if given else 0)
        p = p + np.arange(x.shape[1]) if p.ndim == 0 else p
        return apply_rope(x, p, spec, axes="bthd").astype(x.dtype)

    claim = Claim(position_forms=forms)
    report = check(rope, spec=spec, claim=claim, effort="quick", only=("independence.chunks",))
    assert not report.findings
    assert called == seen


def test_integers_of_32_bits_may_be_refused():
    """That is told, and no fault."""
    spec = RopeSpec(8, layout="half")

    def rope(x, positions):
        if positions.dtype != np.int64:
            raise TypeError("64 bits, please")
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    report = check(rope, spec=spec, effort="quick", only=("independence.chunks",))
    assert not report.findings
    told = {fact.what: fact.text for fact in report.facts}
    assert told["positions of 32 bits"] == "not taken: raises TypeError: 64 bits, please"


def test_views_that_run_backwards_may_be_refused():
    """That is told, and no fault: few frameworks have them."""
    spec = RopeSpec(8, layout="half")

    def rope(x, positions):
        if min(x.strides) < 0:
            raise ValueError("negative strides")
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    report = check(
        rope, spec=spec, claim=Claim(strided=True), effort="quick", only=("data.strides",)
    )
    assert not report.findings
    told = {fact.what: fact.text for fact in report.facts}
    assert told["views that run backwards"] == "not taken: raises ValueError: negative strides"


# What the strategies reach


@pytest.mark.parametrize("spot", [*SPOTS, 0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_generated_positions_come_near_each_hot_spot(spot, sign):
    """A position within one of it is found."""
    case = find(
        cases(WIDE),
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
def test_forty_generated_inputs_hold_every_coincidence(what):
    """A run with default effort meets each, not only a long one."""
    assert any(map(COINCIDENCES[what], sampled(cases(WIDE), 40)))


def test_generated_inputs_hold_fractions():
    """Halves, and fractions that no float holds."""
    drawn = [p for case in sampled(cases(WIDE, real=True), 40) for p in case.flat()]
    fractions = Counter(p % 1 for p in drawn if isinstance(p, float))
    assert fractions[0.5] > 0
    assert any(float(np.float32(p)) != p for p in drawn)


def test_generated_rows_differ():
    """With `rows`, every case has a row of positions per batch row, mostly different ones."""
    drawn = sampled(cases(WIDE, rows=True), 40)
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
def test_generated_inputs_stay_inside_the_claim(data):
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
def test_fixed_inputs_stay_inside_the_claim(claim):
    """They are cut down to it, and something always remains."""
    fixed = numeric_fixed(context_of(claim))
    assert fixed
    for case in fixed:
        assert_inside(case, claim)
    low, high = claim.position_range
    assert all(low <= p <= high for p in positions_within(claim))


# A case says everything


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.one_of(cases(WIDE), cases(WIDE, rows=True), cases(WIDE, real=True)))
def test_the_repr_of_a_case_rebuilds_it(case):
    """A failure shown is a failure that can be repeated."""
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

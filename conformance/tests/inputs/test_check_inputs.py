"""Checks hand over what their inputs say: views, rows, forms of positions, a NaN."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.clauses.frequency import _WIDTHS
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.checking import check
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation
from rope_ref import RopeSpec, apply_rope


@pytest.fixture(scope="module")
def checks():
    return {check.name: check for check in all_checks()}


def test_no_tokens_at_all_are_an_input(checks, wide, context_of):
    """T = 0, with one row and with several."""
    empty = checks["data.empty"].fixed(context_of(wide))
    assert {(case.batch, case.tokens) for case in empty} == {(1, 0), (2, 0)}
    assert all(case.x(8, "float32").size == 0 for case in empty)


def test_each_row_gets_positions_of_its_own(checks, wide, context_of):
    """Rows differ, also where B = T and where there is one token."""
    fixed = checks["frequency.rows"].fixed(context_of(wide))
    assert all(case.rows and len(set(case.positions)) == case.batch > 1 for case in fixed)
    assert any(case.batch == case.tokens for case in fixed)
    assert any(case.tokens == 1 for case in fixed)


def test_widths_are_no_powers_of_two_and_parts_of_a_head(checks, wide, context_of):
    """R of 6, 48, 80 and 96 by themselves, and R below D."""
    assert {6, 48, 80, 96} <= {rotary for head, rotary in _WIDTHS if head == rotary}
    assert sum(rotary < head for head, rotary in _WIDTHS) >= 2
    cases_of = checks["frequency.widths"].fixed(context_of(wide))
    assert sorted(case.parameter for case in cases_of) == list(range(len(_WIDTHS)))


def test_a_nan_is_really_put_in(checks):
    """The check hands the implementation exactly one NaN, then looks at everything else."""
    seen = []
    claim = Claim()

    def rope(x, positions):
        seen.append(int(np.isnan(x).sum()))
        return x

    context = CheckContext(Implementation(rope, RopeSpec(8, layout="half"), claim), "float32")
    check = checks["independence.nan"]
    for case in check.fixed(context):
        check.body(context, case)
    assert set(seen) == {0, 1}


def test_strided_views_have_no_contiguous_axis(checks, wide, context_of, sampled):
    """Each axis longer than one skips every second element, and the numbers are the same."""
    claim = replace(wide, axes="bhtd")
    context = context_of(claim)
    fixed = checks["data.strides"].fixed(context)
    assert all(case.strided for case in fixed)
    assert all(case.strided for case in sampled(checks["data.strides"].generated(context), 20))
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


def test_views_run_backwards_and_share_heads_and_positions_are_views(checks, wide, context_of):
    """Strides are negative, or 0 along the heads or rows, or those of the positions."""
    context = context_of(replace(wide, axes="bhtd"))
    fixed = checks["data.strides"].fixed(context)
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


def test_what_shares_memory_is_not_handed_over_to_be_overwritten(checks, wide, context_of):
    """Heads that are one and the same cannot hold several results."""
    context = context_of(replace(wide, in_place=True))
    assert "expanded" not in {case.strided for case in checks["data.strides"].fixed(context)}


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
    """Those that `ArrayAdapter.apply` does not choose, and 32-bit integers, in one clause."""
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

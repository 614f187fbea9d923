"""Where each new shape is a compilation: few shapes are handed over, and they show as much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.identification.conventions import map_at
from rope_conformance.inputs.cases import Case, fixed_cases
from rope_conformance.inputs.claimed_positions import HOT_SPOTS
from rope_conformance.inputs.shapes import FEW_SHAPES, ROW, repeated
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import all_positions, standard_case
from rope_conformance.target.implementation import Implementation
from rope_ref import RopeSpec, apply_rope

CHECKS = {check.name: check for check in all_checks()}
SPEC = RopeSpec(2 * ROW, layout="half")
WIDE = rc.Claim(namespace="jax", position_forms=("t", "bt"), position_range=(1 - 2**31, 2**31 - 1))
LONG = {(2, ROW, 1), (33, 5, 11), (1, 1025, 1)}


def rope_of(own: Any, seen: set[tuple[int, ...]]) -> Any:
    """A function of JAX's arrays that notes their shapes and compiles nothing."""

    def rope(x: Any, positions: Any) -> Any:
        seen.add((*x.shape, positions.ndim))
        host = own.host(x)
        spec = RopeSpec(x.shape[-1], layout="half")
        y = apply_rope(host, own.host(positions), spec, axes="bthd")
        return own.array(y.astype(host.dtype), "cpu")

    return rope


@pytest.fixture
def context(usable: Any) -> CheckContext:
    """What a check sees of an honest function of JAX's arrays."""
    rope = rope_of(usable("jax"), set())
    return CheckContext(Implementation(rope, SPEC, WIDE), "float32")


def test_a_function_is_handed_seven_shapes(usable):
    """And no tokens at all; one more where another width is tried, which is no clause."""
    seen: set[tuple[int, ...]] = set()
    report = rc.check(rope_of(usable("jax"), seen), namespace="jax", effort="quick")
    assert report.passed, report.findings
    assert report.claim["position_forms"] == ("t", "bt")
    own = {shape[:3] for shape in seen if shape[3] == SPEC.head_dim}
    assert {shape for shape in own if shape[1]} == {*FEW_SHAPES, *LONG}
    assert {shape[:4] for shape in seen if shape[3] != SPEC.head_dim} == {(2, ROW, 1, 6)}


def test_the_few_shapes_hold_what_hides_a_mistaken_axis():
    """Three numbers that differ, all three the same, one token in several rows, one of each."""
    assert len(set(FEW_SHAPES[0])) == 3
    assert any(b == t == h > 1 for b, t, h in FEW_SHAPES)
    assert any(t == 1 and b > 1 and h > 1 for b, t, h in FEW_SHAPES)
    assert (1, 1, 1) in FEW_SHAPES
    assert any(h > t > 1 and b > t for b, t, h in LONG)


def test_one_token_of_the_usual_shape_has_a_shape_of_its_own():
    """So that a sequence rotated token by token is no new shape."""
    batch, _, heads = FEW_SHAPES[0]
    assert (batch, 1, heads) in FEW_SHAPES


@pytest.mark.parametrize("spot", HOT_SPOTS)
def test_every_hot_spot_is_met_with_either_sign(usable, spot):
    """As where shapes are free."""
    usable("jax")
    low, high = WIDE.position_range
    near = {s * (spot + d) for s in (1, -1) for d in (-1, 0, 1)}
    met = {p for case in fixed_cases(WIDE) for p in case.flat()}
    assert {p for p in near if low <= p <= high} <= met


def test_no_position_is_lost_where_tokens_are_more(context):
    """The positions come again from the first, and none that was not asked for comes."""
    for chosen in ([7], [5, 0, 3], [0.5, 1.25, 2.0], all_positions(context, limit=2**20)):
        case = standard_case(context, chosen)
        assert list(case.positions[: len(chosen)]) == chosen
        assert set(case.positions) == set(chosen)
        assert case.tokens in (FEW_SHAPES[0][1], ROW, 2 * ROW)
    assert repeated((1, 2, 3), 2) == (1, 2, 3, 1)
    assert repeated((), 5) == ()


@pytest.mark.parametrize("axes", ["bthd", "thd", "td"])
@pytest.mark.parametrize("head_dim", [6, ROW, 96])
def test_a_map_is_read_from_rows_of_other_inputs_lengths(usable, axes, head_dim):
    """It is the matrix of the reference, whatever the width."""
    own = usable("jax")
    spec = RopeSpec(head_dim, layout="interleaved")

    def rope(x: Any, positions: Any) -> Any:
        assert x.shape[axes.index("t")] == ROW
        y = apply_rope(own.host(x), own.host(positions), spec, axes=axes)
        return own.array(y.astype(np.float32), "cpu")

    claim = rc.Claim(namespace="jax", axes=axes)
    found = map_at(CheckContext(Implementation(rope, spec, claim), "float32"), 3)
    want = apply_rope(np.eye(head_dim), np.full(head_dim, 3), spec, axes="td").T
    np.testing.assert_array_equal(found, want.astype(np.float32))


def test_a_sequence_is_cut_into_its_tokens(context):
    """Far out too: each token by itself, then all of them."""
    chunks = CHECKS["independence.chunks"]
    cases = chunks.fixed_inputs(context)
    assert {case.positions[0] for case in cases} == {0, 100, 2044, 4092}
    for case in cases:
        before = context.implementation.calls
        chunks.body(context, case)
        assert context.implementation.calls - before == 1 + case.tokens


def test_two_legs_pair_each_position_with_the_other(context):
    """Read backwards, p stands where q stood."""
    for name in ("rotation.compose", "rotation.inverse"):
        for case in CHECKS[name].fixed_inputs(context):
            assert isinstance(case, Case)
            p, q = case.positions[0], case.positions[-1]
            assert p != q
            assert set(zip(case.positions, case.positions[::-1], strict=True)) >= {(p, q), (q, p)}


def test_a_score_is_that_of_the_first_and_the_last_token(context):
    """The others stand at the same two positions."""
    cases = CHECKS["score.worked_example"].fixed_inputs(context)
    assert [(c.positions[0], c.positions[-1]) for c in cases] == [(0, 2), (5, 7)]
    assert all(set(c.positions) == {c.positions[0], c.positions[-1]} for c in cases)

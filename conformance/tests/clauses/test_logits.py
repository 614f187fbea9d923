"""The surface `logits`: the bound on scores, and what its clauses see beyond the zoo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import settings
from hypothesis import strategies as st

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.clauses import logits as family
from rope_conformance.clauses._score_inputs import score_cases
from rope_conformance.clauses._scores import LogitsInput, allowed, given, true_scores
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.queries_keys import QueriesKeys
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.frameworks import data_type
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import PowerLaw, RopeSpec, attention_logits, rotation_matrix

CLAUSES = [c.name for c in all_checks() if c.clause.surface == "logits"]
SPEC = RopeSpec(16, layout="half", rotary_dim=8)
SCORING = [
    "attention_layer", "amplified_layer", "half_layer", "scales_queries_first", "scales_scores",
    "scores_head_by_head", "scores_by_distance",
]  # fmt: skip


class Scores:
    """By the reference, for axes of any order."""

    def __init__(self, spec: RopeSpec, axes: str = "bthd", scale: float = 1) -> None:
        self.spec, self.axes, self.scale = spec, axes, scale

    def apply_rope(self, x: Any, positions: Any) -> Any:
        from rope_ref import apply_rope

        return apply_rope(x, positions, self.spec, axes=self.axes).astype(x.dtype)

    def logits(self, q: Any, k: Any, q_positions: Any, k_positions: Any) -> Any:
        scores = attention_logits(
            q, k, q_positions, k_positions, self.spec, axes=self.axes, scale=self.scale
        )
        return scores.astype(q.dtype)


def judged(target: Any, **options: Any) -> Any:
    return rc.check(target, only=CLAUSES, effort="quick", **options)


def verdicts(target: Any, **options: Any) -> dict[str, str]:
    return {r.clause: r.verdict for r in judged(target, **options).results}


def context_of(spec: RopeSpec, dtype: str, profile: str) -> CheckContext:
    claim = rc.Claim(dtypes=(dtype,), profile=profile, position_range=(-(2**20), 2**20))
    return CheckContext(Implementation(Scores(spec), spec, claim), dtype)


# The truth and the bound


def test_the_truth_is_two_matrices_between_query_and_key():
    """A second derivation: (M(m) q) . (M(n) k), head by head."""
    context = context_of(SPEC, "float64", "float64")
    case = QueriesKeys(Case(1, 2, 4, (3, 9)), Case(1, 3, 2, (0, 5, 1)))
    what = given(context, case)
    scores = true_scores(context, what, 0.25)
    for h, i, j in np.ndindex(4, 2, 3):
        q = rotation_matrix(case.q.positions[i], SPEC) @ what.q[0, i, h]
        k = rotation_matrix(case.k.positions[j], SPEC) @ what.k[0, j, h // 2]
        assert abs(scores[0, h, i, j] - 0.25 * (q @ k)) < 1e-14 * 16


def honest(what: LogitsInput, spec: RopeSpec, kind: Any, calc: Any) -> Any:
    """Scores in a type of calculation, q and k rounded to another in between."""
    theta = 1.0 / float(spec.frequencies.base) ** (
        np.arange(0, spec.rotary_dim, 2) / spec.rotary_dim
    )
    turned = []
    for x, p in ((what.q, what.q_positions), (what.k, what.k_positions)):
        phase = p.astype(calc)[:, None] * theta.astype(calc)
        cos, sin = np.cos(phase)[:, None], np.sin(phase)[:, None]
        half = spec.rotary_dim // 2
        u, v = x[..., :half].astype(calc), x[..., half : 2 * half].astype(calc)
        y = x.copy()
        y[..., :half], y[..., half : 2 * half] = u * cos - v * sin, u * sin + v * cos
        turned.append(y.astype(kind).astype(calc))
    q, k = turned
    k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
    total = np.zeros((q.shape[0], q.shape[2], q.shape[1], k.shape[1]), calc)
    for c in range(spec.head_dim):  # one after the other, as the worst case has it
        q_c, k_c = (x[..., c].transpose(0, 2, 1) for x in (q, k))
        total = total + q_c[..., None] * k_c[:, :, None]
    return total


@pytest.mark.parametrize(
    ("dtype", "calc", "profile"),
    [
        ("float64", "float64", "float64"),
        ("float32", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float16", "float32", "float32"),
    ],
)
@pytest.mark.parametrize(
    ("rotary_dim", "base"), [(2, 10000), (48, 500000), (64, 10000), (100, 1e7)]
)
def test_honest_scores_keep_the_bound(dtype, calc, profile, rotary_dim, base):
    """Products added up one by one, q and k rounded before: inside, and not far inside."""
    spec = RopeSpec(
        rotary_dim + 4, layout="half", rotary_dim=rotary_dim, frequencies=PowerLaw(base)
    )
    context = context_of(spec, dtype, profile)
    largest = 0.0
    for seed in range(8):
        q = Case(2, 12, 4, tuple(range(0, 60 * 12, 60)), seed=seed)
        k = Case(2, 9, 2, tuple(range(5, 5 + 900, 100)), seed=seed)
        what = given(context, QueriesKeys(q, k))
        got = honest(what, spec, data_type(dtype), np.dtype(calc)).astype(data_type(dtype))
        limit, size = allowed(context, what, 1.0, dtype)
        ratio = np.abs(got.astype(np.float64) - true_scores(context, what, 1.0)) / limit
        assert (limit <= size / 8).all()
        largest = max(largest, float(ratio.max()))
    assert largest <= 1
    if dtype in ("bfloat16", "float16"):  # in wider types the sum's worst case dominates
        assert largest >= 0.05


def test_a_score_of_nothing_must_be_nothing():
    """Zeros decide nothing, but anything else that comes of them is wrong."""
    context = context_of(SPEC, "float32", "float32")
    zero = np.zeros((1, 1, 1, 16), np.float32)
    what = LogitsInput(zero, zero, np.array([3]), np.array([5]))
    limit, size = allowed(context, what, 1.0, "float32")
    assert size == 0
    assert 0 < limit < 1e-40


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scores_turned_over", "queries and keys are exchanged"),
        ("only_query_behind_all_keys", "queries stand behind all keys"),
        ("keys_of_first_row", "k of row 0 stand for all rows"),
        ("scores_of_rotated_channels_only", "channels that pass through are left out"),
    ],
)
def test_a_fault_beside_the_amplitude_is_no_matter_of_it(name, said):
    """Every clause that fails says the same, and of the same class."""
    told = [r.failure for r in judged(WRONG[name].factory).findings]
    assert {failure.fault for failure in told} == {WRONG[name].fault}
    assert all(said in failure.message for failure in told)


# What passes


@pytest.mark.parametrize("axes", ["bthd", "bhtd", "thd", "td", "btd"])
def test_honest_scores_pass_whatever_the_axes(axes):
    """Axes that are lacking have length 1 in the scores."""
    claim = rc.Claim(axes=axes, position_range=(0, 2**20), profile="exact")
    seen = verdicts(Scores(SPEC, axes), spec=SPEC, claim=claim)
    if "h" not in axes:
        assert seen.pop("logits.groups") == "not claimed"
    assert seen.pop("logits.amplitude") == "not claimed"
    assert set(seen.values()) == {"passed"}


def test_an_axis_that_is_lacking_may_be_left_out_of_the_scores():
    """(Tq, Tk) for one row and one head."""

    class Short(Scores):
        def logits(self, *given: Any) -> Any:
            return super().logits(*given)[0, 0]

    assert judged(Short(SPEC, "td"), spec=SPEC, claim=rc.Claim(axes="td")).passed


@pytest.mark.parametrize("form", ["none", "offset", "bt"])
def test_honest_scores_pass_whatever_their_positions(form):
    """Positions may be given per row, as a start, or not at all."""

    class Counting(Scores):
        def apply_rope(self, x: Any, *start: Any) -> Any:
            p = start[0] if form == "bt" else np.arange(x.shape[1]) + (start[0] if start else 0)
            return super().apply_rope(x, p)

        def logits(self, q: Any, k: Any, *starts: Any) -> Any:
            if form == "bt":
                return super().logits(q, k, *starts)
            both = zip((q, k), starts or (0, 0), strict=True)
            return super().logits(q, k, *(np.arange(x.shape[1]) + start for x, start in both))

    claim = rc.Claim(position_forms=(form,), position_range=(0, 4096), profile="exact")
    seen = set(verdicts(Counting(SPEC), spec=SPEC, claim=claim).values())
    assert seen == {"passed", "not claimed"}


@pytest.mark.parametrize("name", SCORING)
def test_controls_pass_over_seeds(name, seeds):
    """No false alarm, in any of the types they claim."""
    for seed in seeds:
        report = rc.check(CONTROLS[name].factory, only=CLAUSES, effort="quick", seed=seed)
        assert report.passed, [(r.clause, r.failure.message) for r in report.findings]


@pytest.mark.parametrize(
    ("scale", "claimed", "passes"),
    [
        (1.0, None, True),
        (0.25, None, True),
        (0.3, None, False),
        (0.3, 0.3, True),
        (1.0, 0.3, False),
    ],
)
def test_the_factor_is_one_or_one_over_root_d_unless_claimed(scale, claimed, passes):
    """Which of the two it is, is a fact; any other must be claimed."""
    report = judged(
        Scores(SPEC, scale=scale), spec=SPEC, claim=rc.Claim(logit_scale=claimed, profile="exact")
    )
    assert report.passed is passes
    facts = {f.what: f.text for f in report.facts}
    if claimed is None and passes:
        assert facts["scores are scaled by"] == {1: "1", 0.25: "1/sqrt(D)"}[scale]
    if not passes:
        assert report.fault == "scaling"


def test_scores_may_be_wider_than_the_data_but_not_narrower():
    """float32 for half precision is usual; half precision for float32 loses digits."""

    class Cast(Scores):
        to: Any = np.float64

        def logits(self, *given: Any) -> Any:
            return super().logits(*given).astype(self.to)

    assert judged(Cast(SPEC), spec=SPEC).passed
    narrow = Cast(SPEC)
    narrow.to = np.float16
    report = judged(narrow, spec=SPEC)
    assert "returned scores of dtype float16" in report.findings[0].failure.message
    assert report.fault == "dtype"


# What fails, and what is said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("groups_interleaved", "the groups are interleaved"),
        ("scale_on_rotated_part_only", "the factor on channels that pass through is wrong"),
        ("scale_grows_with_keys", "(69 keys)"),
        ("keys_at_query_positions", "position"),
        ("query_positions_ignored", "q_positions are not used: queries stand at 0, 1, 2, ..."),
        ("key_positions_counted_from_zero", "k_positions are not used"),
        ("queries_aligned_to_the_start", "the first query stands with the first key"),
        ("queries_aligned_to_the_end", "queries are the last keys"),
        ("queries_one_position_late", "queries stand one position later"),
        ("distance_sign_flipped", "the distance has the other sign"),
        ("only_queries_rotated", "keys are not rotated"),
        ("scores_rounded_to_half", "something is rounded on the way"),
        ("keys_of_first_call", "a cache may be at work"),
        ("amplitude_once", "all scores are 0.8 times what they should be"),
    ],
)
def test_a_failure_says_what_was_done(name, said):
    """In words, and of the right class."""
    report = judged(WRONG[name].factory)
    told = [(r.failure.message, r.failure.fault) for r in report.findings]
    assert any(said in message and fault == WRONG[name].fault for message, fault in told), told


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda s: s.tolist(), "returned builtins.list"),
        (lambda s: s.swapaxes(-1, -2), "returned shape"),
        (lambda s: s[..., :1], "returned shape"),
    ],
)
def test_what_is_no_array_of_scores_is_said(returned, said):
    """Type and shape are looked at before numbers."""

    class Odd(Scores):
        def logits(self, *given: Any) -> Any:
            return returned(super().logits(*given))

    assert said in judged(Odd(SPEC), spec=SPEC).findings[0].failure.message


def test_one_score_that_is_off_is_enough():
    """The last key of the last query in the last head."""

    class Off(Scores):
        def logits(self, *given: Any) -> Any:
            scores = super().logits(*given)
            scores[-1, -1, -1, -1] += np.float32(0.01)
            return scores

    assert verdicts(Off(SPEC), spec=SPEC)["logits.values"] == "failed"


# The inputs


def test_queries_and_keys_have_numbers_and_positions_of_their_own():
    """Few inputs in which the one could stand for the other."""
    context = context_of(SPEC, "float32", "float32")
    pairs = score_cases(context)
    assert sum(c.q.tokens != c.k.tokens for c in pairs) > len(pairs) / 2
    assert any(c.q.heads > c.k.heads > 1 for c in pairs)
    assert any(c.q.tokens == 1 < c.q.batch for c in pairs)
    assert any(c.q.batch == c.q.tokens == c.k.tokens == c.q.heads for c in pairs)
    assert any(c.q.tokens > c.k.tokens for c in pairs)
    assert all(c.q.batch == c.k.batch and c.q.heads % c.k.heads == 0 for c in pairs)


@settings(max_examples=60, deadline=None)
@drawn_from(st.data())
def test_generated_inputs_fit_together_and_can_be_written_down(data):
    """As many rows, heads that are a multiple, all inside the claim; smaller ones are smaller."""
    context = context_of(SPEC, "float32", "float32")
    case = data.draw(family._drawn(context))
    assert rebuild(repr(case)) == case
    assert case.inside(context.claim)
    steps = list(case.smaller(None))
    for one in [case, *steps]:
        assert one.q.batch == one.k.batch
        assert one.q.heads % one.k.heads == 0
        assert one.size() <= case.size() or one == case
        given(context, one)

"""The surface `attention`: what its clauses see beyond the zoo, and what they must not see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.clauses._layer import key_heads, layer_data
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import RopeSpec, apply_rope

SPEC = RopeSpec(16, layout="half", rotary_dim=8)
CLAUSES = [c.name for c in all_checks() if c.clause.surface == "attention"]
LAYERS = ["attention_layer", "amplified_layer", "half_layer", "layer_in_place"]


class Layer:
    """By the reference, for axes of any order."""

    def __init__(self, spec: RopeSpec, axes: str = "bthd") -> None:
        self.spec, self.axes = spec, axes

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return apply_rope(x, positions, self.spec, axes=self.axes).astype(x.dtype)

    def qkv(self, q: Any, k: Any, v: Any, positions: Any) -> Any:
        return self.apply_rope(q, positions), self.apply_rope(k, positions), v


def verdicts(target: Any, **options: Any) -> dict[str, str]:
    report = rc.check(target, only=CLAUSES, effort="quick", **options)
    return {r.clause: r.verdict for r in report.results}


@pytest.mark.parametrize("axes", ["bthd", "bhtd", "thd", "td", "btd", "htdb"])
def test_honest_layers_pass_whatever_their_axes(axes):
    """One row or one head where there is no axis for more, guards along what is there."""
    claim = rc.Claim(axes=axes, strided=True, profile="exact", position_range=(0, 2**20))
    assert set(verdicts(Layer(SPEC, axes), spec=SPEC, claim=claim).values()) == {"passed"}


@pytest.mark.parametrize("form", ["none", "offset", "bt"])
def test_honest_layers_pass_whatever_their_positions(form):
    """Positions may be given per row, as a start, or not at all."""

    class Counting(Layer):
        def apply_rope(self, x: Any, *start: Any) -> Any:
            p = start[0] if form == "bt" else np.arange(x.shape[1]) + (start[0] if start else 0)
            return super().apply_rope(x, p)

        def qkv(self, q: Any, k: Any, v: Any, *start: Any) -> Any:
            return self.apply_rope(q, *start), self.apply_rope(k, *start), v

    claim = rc.Claim(position_forms=(form,), position_range=(0, 4096), profile="exact")
    assert set(verdicts(Counting(SPEC), spec=SPEC, claim=claim).values()) == {"passed"}


def test_a_range_too_short_for_the_usual_positions_is_used_in_full():
    """Ten positions are enough."""
    claim = rc.Claim(position_range=(0, 9), profile="exact")
    assert set(verdicts(Layer(SPEC), spec=SPEC, claim=claim).values()) == {"passed"}


def test_the_surface_is_not_claimed_without_qkv():
    """A callable has none of it."""
    assert set(verdicts(CONTROLS["float32_power"].factory).values()) == {"not claimed"}


@pytest.mark.parametrize("name", LAYERS)
def test_controls_pass_with_grouped_heads_over_seeds(name, seeds):
    """No false alarm, in any of the types they claim."""
    for seed in seeds:
        report = rc.check(CONTROLS[name].factory, only=CLAUSES, effort="quick", seed=seed)
        assert report.passed, [(r.clause, r.failure.message) for r in report.findings]


def test_inputs_have_fewer_key_heads_one_token_and_lengths_that_coincide():
    """What must be among the fixed inputs for the usual mistakes to show."""
    implementation = Implementation(CONTROLS["attention_layer"].factory, SPEC, rc.Claim())
    context = CheckContext(implementation, "float32")
    check = next(c for c in all_checks() if c.name == "attention.heads")
    seen = [(c.batch, c.tokens, c.heads, key_heads(c)) for c in check.fixed_inputs(context)]
    assert (1, 2, 32, 8) in seen
    assert any(t == 1 and b > 1 for b, t, h, g in seen)
    assert any(b == t for b, t, h, g in seen)
    assert any(t == g != h for b, t, h, g in seen)
    assert {1, 2, 3} <= {g for b, t, h, g in seen}
    assert any(h == g for b, t, h, g in seen)

    assert max(b for b, t, h, g in seen) > 32
    assert max(t for b, t, h, g in seen) > 1024
    assert max(g for b, t, h, g in seen) > 64


def test_numbers_that_are_wrong_alone_are_of_one_class():
    """Guards and earlier calls do not turn a kernel that leaves heads out into another fault."""

    class Short(Layer):
        def qkv(self, q: Any, k: Any, v: Any, positions: Any) -> Any:
            new_q, new_k, v = super().qkv(q, k, v, positions)
            new_q[:, :, 2:] = q[:, :, 2:]
            return new_q, new_k, v

    report = rc.check(Short(SPEC), only=CLAUSES, effort="quick")
    told = {r.clause: r.failure.fault for r in report.findings}
    assert {"attention.heads", "attention.memory", "attention.calls"} <= set(told)
    assert set(told.values()) == {"kernel-shape"}


def test_a_case_with_one_head_is_not_grouped():
    """Smaller inputs keep their parameter, which need not divide the heads any more."""
    case = Case(1, 2, 8, range(2), parameter=4)
    assert key_heads(case) == 4
    assert key_heads(replace(case, heads=1)) == 1
    assert key_heads(replace(case, heads=6)) == 6
    context = CheckContext(Implementation(Layer(SPEC), SPEC, rc.Claim()), "float32")
    q, k, v = layer_data(context, case)
    assert (q.shape[2], k.shape[2], v.shape[2]) == (8, 4, 4)
    assert not np.array_equal(k, v)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda q, k, v: (q, k), "must return the three arrays"),
        (lambda q, k, v: q, "must return the three arrays"),
        (lambda q, k, v: None, "must return the three arrays"),
        (lambda q, k, v: (q, k.tolist(), v), "of q, k and v, k: returned builtins.list"),
        (lambda q, k, v: (q, k, v[:, :1]), "of q, k and v, v: returned shape"),
        (lambda q, k, v: (q.astype("f8"), k, v), "of q, k and v, q: returned dtype float64"),
    ],
)
def test_what_is_no_triple_of_like_arrays_is_said_by_name(returned, said):
    """The message names which of the three it is about."""

    class Odd(Layer):
        def qkv(self, q: Any, k: Any, v: Any, positions: Any) -> Any:
            return returned(*super().qkv(q, k, v, positions))

    report = rc.check(Odd(SPEC), spec=SPEC, only=["attention.kept"], effort="quick")
    assert said in report.findings[0].failure.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crossed_registers", "k came out otherwise when q was replaced by other numbers"),
        ("first_key_head_for_all", "head 1 holds what belongs into head 0"),
        ("takes_key_heads_for_tokens", "the phases go along the heads instead of the tokens"),
        ("keys_swapped_with_queries", "q holds what belongs into the other"),
        ("head_count_of_first_call", "a new object does it rightly"),
        ("writes_past_the_key_heads", "beside q, k and v were overwritten"),
        ("in_place_clears_values", "v was overwritten in the caller's memory"),
        ("overwrites_packed_queries", "q was overwritten in the caller's memory; copy it first"),
        ("overwrites_before_reading", "the second of two channels is made from the other's result"),
    ],
)
def test_a_failure_says_what_was_done(name, said):
    """In words, and of the right class."""
    report = rc.check(WRONG[name].factory, only=CLAUSES, effort="quick")
    told = [(r.failure.message, r.failure.fault) for r in report.findings]
    assert any(said in message and fault == WRONG[name].fault for message, fault in told), told


def test_working_in_place_undeclared_is_a_failure():
    """The same layer that passes when it says so."""
    control = CONTROLS["layer_in_place"].factory
    claim = replace(control.claim, in_place=False)
    assert verdicts(control, claim=claim, spec=control.spec)["attention.memory"] == "failed"
    assert verdicts(control)["attention.memory"] == "passed"


def test_in_place_may_return_nothing():
    """The results are where q and k were."""

    class Silent(Layer):
        def apply_rope(self, x: Any, positions: Any) -> Any:
            x[...] = super().apply_rope(x, positions)

        def qkv(self, q: Any, k: Any, v: Any, positions: Any) -> Any:
            self.apply_rope(q, positions)
            self.apply_rope(k, positions)

    claim = rc.Claim(in_place=True, strided=True, profile="exact")
    assert set(verdicts(Silent(SPEC), spec=SPEC, claim=claim).values()) == {"passed"}


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_one_channel_of_one_head_is_enough(at):
    """A single number that is off, in q or k, in any head, is seen."""

    class Off(Layer):
        def qkv(self, q: Any, k: Any, v: Any, positions: Any) -> Any:
            new_q, new_k, v = super().qkv(q, k, v, positions)
            which = new_q if at % 2 else new_k
            if which.shape[2] > at // 2:
                which[:, -1, at // 2, 5] *= np.float32(1.001)
            return new_q, new_k, v

    assert verdicts(Off(SPEC), spec=SPEC)["attention.heads"] == "failed"

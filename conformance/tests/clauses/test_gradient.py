"""The surface `gradient`: the transpose, what opens its clauses, and what a failure says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.clauses import all_checks
from rope_conformance.clauses._gradients import collected, transposed
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import (
    ExplicitFrequencies,
    PowerLaw,
    RopeSpec,
    apply_rope,
    rotation_matrix,
    transpose_rope,
)

CLAUSES = [c.name for c in all_checks() if c.clause.surface == "gradient"]
SPECS = [
    RopeSpec(8, layout="half"),
    RopeSpec(12, layout="interleaved", output_layout="half", rotary_dim=6, rotary_start=2),
    RopeSpec(
        8,
        layout="half",
        direction=-1,
        frequencies=ExplicitFrequencies([1, 0.5, 0.1, 0.01], amplitude=1.25),
    ),
]


class Rope:
    """By the reference, its gradient too."""

    def __init__(self, spec: RopeSpec, axes: str = "bthd") -> None:
        self.spec, self.axes = spec, axes

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return apply_rope(x, positions, self.spec, axes=self.axes).astype(x.dtype)

    def vjp(self, g: Any, positions: Any) -> Any:
        return transpose_rope(g, positions, self.spec, axes=self.axes).astype(g.dtype)


def judged(target: Any, **options: Any) -> Any:
    return rc.check(target, only=CLAUSES, effort="quick", **options)


def verdicts(target: Any, **options: Any) -> dict[str, str]:
    return {r.clause: r.verdict for r in judged(target, **options).results}


# The truth


@pytest.mark.parametrize("spec", SPECS)
def test_the_gradient_is_a_rope_that_turns_the_other_way(spec):
    """Rotating by the transposed spec is `transpose_rope`, bit for bit."""
    g = np.random.default_rng(0).standard_normal((2, 3, 2, spec.head_dim))
    p = np.array([0, 7, 2**20])
    want = transpose_rope(g, p, spec, axes="bthd")
    assert apply_rope(g, p, transposed(spec), axes="bthd").tobytes() == want.tobytes()
    assert transposed(transposed(spec)) == spec


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("position", [0, 1, 1000])
def test_the_gradient_is_the_transposed_matrix(spec, position):
    """Of a linear map the gradient is the transpose, whatever pairs and amplitude it has."""
    matrix = rotation_matrix(position, spec)
    back = rotation_matrix(position, transposed(spec))
    np.testing.assert_array_equal(back, matrix.T)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_gradient_that_is_collected_in_the_type_of_x_keeps_its_bound(dtype):
    """Both products and their sum rounded to a short type: within the bound, which is not idle."""
    from rope_conformance.target.frameworks import data_type

    kind, rng = data_type(dtype), np.random.default_rng(0)
    g = rng.standard_normal((2, 20000)).astype(kind)
    phase = rng.uniform(-np.pi, np.pi, 20000)
    cos, sin = (f(phase).astype(np.float32) for f in (np.cos, np.sin))
    u, v = g.astype(np.float32)
    got = (u * cos).astype(kind) + (v * sin).astype(kind)
    want = g[0].astype(float) * np.cos(phase) + g[1].astype(float) * np.sin(phase)
    r = np.hypot(*g.astype(float))
    unit = 2.0 ** -{"float32": 24, "bfloat16": 8, "float16": 11}[dtype]
    residual = np.abs(got.astype(float) - want) / (unit * r)
    spec = RopeSpec(2, layout="half")
    allowed = bound(collected(profile_named("float32")), spec, 0, dtype, r[:, None])[..., 0]
    assert 0.2 <= (residual / allowed).max() <= 1
    if dtype != "float32":  # a rotation that is rounded once may err by less
        once = bound(profile_named("float32"), spec, 0, dtype, r[:, None])[..., 0]
        assert (residual / once).max() > 1


# What opens the clauses


def test_a_gradient_of_its_own_is_judged():
    """All but what asks for torch's graph; axes and factories of any kind."""
    for axes in ("bthd", "bhtd", "td"):
        claim = rc.Claim(axes=axes, profile="exact")
        seen = verdicts(Rope(SPECS[0], axes), spec=SPECS[0], claim=claim)
        assert seen.pop("gradient.graph") == "not claimed"
        # An object is one RoPE: with another amplitude, or in part, there is none.
        assert seen.pop("gradient.amplitude") == seen.pop("gradient.passthrough") == "not claimed"
        assert set(seen.values()) == {"passed"}


def test_a_factory_is_also_made_with_an_amplitude_and_with_channels_that_stay():
    """Although the spec asked for has neither."""
    seen = verdicts(Rope, spec=SPECS[0], claim=rc.Claim(profile="exact"))
    assert seen["gradient.amplitude"] == seen["gradient.passthrough"] == "passed"


def test_a_factory_may_refuse_that():
    """The reason is that of its claim."""
    claim = rc.Claim(accepts=lambda spec: spec == SPECS[0] or "one RoPE only")
    report = judged(Rope, spec=SPECS[0], claim=claim)
    reasons = {r.clause: r.reason for r in report.results if r.verdict == "not claimed"}
    assert reasons["gradient.amplitude"] == "with the amplitude 1.25: one RoPE only"
    assert reasons["gradient.passthrough"] == "with channels that do not rotate: one RoPE only"
    assert report.passed


def test_an_amplitude_that_the_rotation_leaves_out_is_no_matter_of_gradients():
    """What does not rotate as the other spec does is not judged by it."""

    class Unit(Rope):
        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(RopeSpec(spec.head_dim, layout="half", frequencies=PowerLaw()))

    report = judged(Unit, spec=SPECS[0])
    reasons = {r.clause: r.reason for r in report.results if r.verdict == "not claimed"}
    assert (
        reasons["gradient.amplitude"] == "with the amplitude 1.25 it does not rotate as it should"
    )


def test_no_gradient_is_claimed_by_saying_so():
    """Even where there is a method."""
    seen = judged(Rope(SPECS[0]), spec=SPECS[0], claim=rc.Claim(gradient=False)).results
    assert {r.verdict for r in seen} == {"not claimed"}
    assert "its claim says that it has no gradient" in {r.reason for r in seen}


def test_without_a_method_numpy_has_no_gradient():
    """The surface is not offered."""
    assert set(verdicts(CONTROLS["float32_power"].factory).values()) == {"not claimed"}


# What a failure says


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gradient_turns_forward", "it turns the way of the forward pass"),
        ("gradient_is_the_inverse", "it is the inverse, divided by the amplitude"),
        ("gradient_without_amplitude", "it has no amplitude"),
        ("gradient_in_the_other_layout", "it reads where the forward pass reads"),
        ("gradient_ignores_positions", "whatever positions are given"),
        ("gradient_drops_pass_through", "channel 32 does not rotate, so its gradient is"),
        ("gradient_overlaps_reads", "had other bits when asked for again"),
        ("gradient_of_last_positions", "of two calls, the gradient of the first"),
        ("gradient_comes_out_wider", "of the gradient: returned dtype float64"),
        ("gradient_overwrites_what_it_is_given", "the gradient that was given was overwritten"),
    ],
)
def test_a_failure_says_what_was_done(name, said):
    """In words, and always of the class gradient."""
    report = judged(WRONG[name].factory)
    messages = [r.failure.message for r in report.findings]
    assert any(said in message for message in messages), messages
    assert {r.failure.fault for r in report.findings} == {"gradient"}


@pytest.mark.parametrize("every", [2, 3, 5, 8])
def test_a_gradient_that_is_wrong_now_and_then_is_caught(every):
    """Whichever of a few calls it is that goes wrong, in one number."""

    class Flaky(Rope):
        calls = 0

        def vjp(self, g: Any, positions: Any) -> Any:
            self.calls += 1
            x = super().vjp(g, positions)
            if self.calls % every == 0:
                x[..., -1, 0] *= np.float32(1 + 2**-20)
            return x

    assert verdicts(Flaky(SPECS[0]), spec=SPECS[0])["gradient.repeats"] == "failed"

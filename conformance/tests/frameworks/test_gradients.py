"""Gradients that torch and JAX make, judged like those an object brings."""

from __future__ import annotations

from typing import Any

import pytest

import rope_backends
import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_ref import RopeSpec

CLAUSES = [c.name for c in all_checks() if c.clause.surface == "gradient"]
SPEC = RopeSpec(32, layout="half", rotary_dim=16)


def judged(rope: Any, framework: str, **claim: Any) -> Any:
    """A function ``f(x, positions, spec)`` of a framework, judged by its gradient."""

    @rc.claims(**{"namespace": framework, "position_range": (0, 4096)} | claim)
    class Target:
        def __init__(self, spec: RopeSpec) -> None:
            self.spec = spec

        def apply_rope(self, x: Any, positions: Any) -> Any:
            return rope(x, positions, self.spec)

    return rc.check(Target, spec=SPEC, only=CLAUSES, effort="quick")


def verdicts(report: Any) -> dict[str, str]:
    return {r.clause: r.verdict for r in report.results}


def reasons(report: Any) -> set[str]:
    return {r.reason for r in report.results}


def backend(framework: str) -> Any:
    rope = rope_backends.load(framework)
    return lambda x, positions, spec: rope.apply_rope(x, positions, spec, axes="bthd")


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_backend_has_the_right_gradient(usable, framework):
    """With an amplitude too, and in half precision."""
    usable(framework)
    report = judged(backend(framework), framework, gradient=True, dtypes=("float32", "bfloat16"))
    seen = verdicts(report)
    if framework == "jax":
        assert seen.pop("gradient.graph") == "not claimed"
    assert set(seen.values()) == {"passed"}, report.findings


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_no_gradient_may_be_claimed(usable, framework):
    """Then nothing is asked of it."""
    usable(framework)
    report = judged(backend(framework), framework, gradient=False)
    assert set(verdicts(report).values()) == {"not claimed"}


def cut_off(framework: str) -> Any:
    rope = backend(framework)

    def torch_rope(x: Any, positions: Any, spec: RopeSpec) -> Any:
        return rope(x.detach(), positions, spec)

    def jax_rope(x: Any, positions: Any, spec: RopeSpec) -> Any:
        import jax

        return jax.lax.stop_gradient(rope(x, positions, spec))

    return {"torch": torch_rope, "jax": jax_rope}[framework]


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_what_is_cut_off_is_not_claimed_unless_it_says_so(usable, framework):
    """A kernel for inference has no gradient; one that claims one must have it."""
    usable(framework)
    report = judged(cut_off(framework), framework)
    assert set(verdicts(report).values()) == {"not claimed"}
    assert any("the result is cut off from x" in reason for reason in reasons(report))

    report = judged(cut_off(framework), framework, gradient=True)
    assert verdicts(report)["gradient.values"] == "failed"
    assert "cut off from x" in report.findings[0].failure.message


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_what_goes_through_numpy_cannot_be_differentiated(usable, framework):
    """The framework says so itself, and the reason repeats it."""
    own, rope = usable(framework), backend(framework)

    def through_numpy(x: Any, positions: Any, spec: RopeSpec) -> Any:
        import numpy as np

        host = np.array(x.numpy() if framework == "torch" else np.asarray(x))
        return rope(own.array(host, "cpu"), positions, spec)

    report = judged(through_numpy, framework)
    assert set(verdicts(report).values()) == {"not claimed"}
    assert any("cannot be differentiated: raised" in reason for reason in reasons(report))


def test_a_backward_pass_that_does_not_exist_is_not_claimed(usable):
    """An operator without one raises only when the gradient is asked for."""
    usable("torch")
    import torch

    rope = backend("torch")

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, positions: Any, spec: RopeSpec) -> Any:
            return rope(x, positions, spec)

    report = judged(Forward.apply, "torch")
    assert set(verdicts(report).values()) == {"not claimed"}
    report = judged(Forward.apply, "torch", gradient=True)
    assert verdicts(report)["gradient.values"] == "failed"


def test_a_backward_pass_that_raises_is_a_fault_whatever_is_claimed(usable):
    """A result that pretends to have a gradient must have one."""
    usable("torch")
    import torch

    scale = torch.ones(1, requires_grad=True)
    rope = backend("torch")

    def in_place(x: Any, positions: Any, spec: RopeSpec) -> Any:
        turned = rope(x * scale, positions, spec)
        x[...] = turned
        return x

    report = judged(in_place, "torch", in_place=True)
    assert verdicts(report)["gradient.values"] == "error"
    assert "modified by an inplace operation" in report.findings[0].failure.message
    assert report.fault == "gradient"


def test_a_module_with_weights_of_its_own_can_be_judged(usable):
    """Its plain results have a graph as well."""
    usable("torch")
    import torch

    one = torch.ones(1, requires_grad=True)
    rope = backend("torch")
    report = judged(lambda x, p, spec: rope(x, p, spec) * one.to(x.dtype), "torch", gradient=True)
    assert report.passed, report.findings


@pytest.mark.parametrize("wrong", ["sign", "zero", "half"])
def test_a_wrong_gradient_in_jax_is_caught(usable, wrong):
    """A custom vjp that keeps the sign, drops what passes through, or works in bfloat16."""
    usable("jax")
    import jax
    import jax.numpy as jnp

    rope = backend("jax")

    def target(x: Any, positions: Any, spec: RopeSpec) -> Any:
        @jax.custom_vjp
        def turn(x: Any) -> Any:
            return rope(x, positions, spec)

        def back(_: Any, g: Any) -> Any:
            if wrong == "sign":
                return (rope(g, positions, spec),)
            if wrong == "half":
                return (rope(g.astype(jnp.bfloat16), -positions, spec).astype(g.dtype),)
            return (rope(g, -positions, spec).at[..., spec.rotary_dim :].set(0),)

        turn.defvjp(lambda x: (turn(x), None), back)
        return turn(x)

    report = judged(target, "jax")
    clause = "gradient.passthrough" if wrong == "zero" else "gradient.values"
    assert verdicts(report)[clause] == "failed"
    assert report.fault == "gradient"

"""torch modules and compiled programs: what a cast, a load or a compiler spoils is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

import rope_backends
import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import RopeSpec

SPEC = RopeSpec(32, layout="half")
CHECKS = {c.name: c for c in all_checks() if c.name.startswith("objects.")}
OURS = [n for n, w in WRONG.items() if w.factory.__module__.endswith(".torch_modules")]
NAMED = [(clause, name) for name in OURS if name in WRONG for clause in WRONG[name].clauses]
HONEST = ("torch_makes_theta_anew", "torch_restores_buffer")


def judged(name, target, claim=None, dtype=None, spec=SPEC):
    """One clause on one target."""
    implementation = Implementation(target, spec, claim)
    context = CheckContext(implementation, dtype or implementation.claim.dtypes[0])
    return run_check(CHECKS[f"objects.{name}"], context, effort="quick", shrink=False)


@pytest.fixture
def torch(usable):
    """The framework itself."""
    return usable("torch")._torch


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("check", "wrong"), NAMED)
def test_a_wrong_module_is_caught_as_what_it_is(check, wrong):
    """The failure is of the class of the wrong module."""
    factory = WRONG[wrong].factory
    result = judged(check.partition(".")[2], factory, spec=factory.spec)
    assert result.verdict == "failed"
    assert result.failure.fault == WRONG[wrong].fault


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("wrong", OURS)
def test_a_wrong_module_is_honest_until_then(wrong):
    """Its mistake is one: where nothing happens to the object, it is right."""
    factory = WRONG[wrong].factory
    plain = ["pairing.direction", "data.determinism"]
    report = rc.check(factory, spec=factory.spec, only=plain, effort="quick")
    assert not report.findings


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_module_passes_every_clause(name):
    """Whatever happens to the object, it is right."""
    report = rc.check(CONTROLS[name].factory, effort="quick")
    assert report.passed, [(r.clause, r.failure.message) for r in report.findings]
    passed = {r.clause for r in report.results if r.verdict == "passed"}
    assert passed >= set(CHECKS) - {"objects.compile"}


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_module_can_be_compiled(name):
    """Compiled and eager agree within the sum of their bounds."""
    factory = CONTROLS[name].factory
    claim = replace(factory.claim, survives=("compile",))
    result = judged("compile", factory, claim=claim, dtype="float32")
    assert result.verdict == "passed", result


def test_a_plain_function_can_be_compiled(torch):
    """A compiler takes functions too."""
    rope = rope_backends.load("torch")

    def own(x, positions):
        return rope.apply_rope(x, positions, SPEC, axes="bthd")

    claim = rc.Claim(namespace="torch", survives=("compile",))
    assert judged("compile", own, claim=claim).verdict == "passed"


# What opens the clauses


def test_the_default_type_is_put_back(torch):
    """Also where making the object under it raises, which is a failure."""

    def raises(spec):
        if torch.get_default_dtype() != torch.float32:
            raise TypeError("float32 only")
        return CONTROLS["torch_makes_theta_anew"].factory(spec)

    claim = rc.Claim(namespace="torch")
    result = judged("ambient", raises, claim=claim)
    assert "float32 only" in result.failure.message
    assert "under the default type bfloat16" in result.failure.message
    assert torch.get_default_dtype() == torch.float32


def test_matrix_products_in_the_type_of_autocast_are_no_fault(torch):
    """Under autocast table and products may be of its type; only the phases may not."""

    class Matrix(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            half = spec.rotary_dim // 2
            self.theta = [float(spec.frequencies.base) ** (-i / half) for i in range(half)]

        def forward(self, x, positions):
            phase = positions.double()[..., None] * torch.tensor(self.theta, dtype=torch.float64)
            cos, sin = (torch.diag_embed(t.float()) for t in (phase.cos(), phase.sin()))
            turn = torch.cat([torch.cat([cos, -sin], -1), torch.cat([sin, cos], -1)], -2)
            return (turn @ x[..., None].transpose(1, 2))[..., 0].transpose(1, 2)

    claim = rc.Claim(namespace="torch")
    x = torch.ones((1, 2, 1, 32))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Matrix(SPEC)(x, torch.arange(2)).dtype == torch.bfloat16
    assert judged("ambient", Matrix, claim=claim).verdict == "passed"


def test_a_default_type_that_widens_the_result_is_caught(torch):
    """Made under float64, a table in the default type makes the result float64."""

    class Wide(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            half = spec.rotary_dim // 2
            self.theta = torch.tensor([float(10000 ** (-i / half)) for i in range(half)])

        def forward(self, x, positions):
            phase = positions[..., None, None] * self.theta
            u, v = x.chunk(2, dim=-1)
            cos, sin = phase.cos(), phase.sin()
            return torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)

    result = judged("ambient", Wide, claim=rc.Claim(namespace="torch", dtypes=("float32",)))
    assert result.verdict == "failed"


def test_what_claims_meta_must_be_a_module(torch):
    """A word that is claimed by itself and cannot be kept is a failure, no excuse."""

    class Plain:
        def __init__(self, spec):
            self.rope = CONTROLS["torch_makes_theta_anew"].factory(spec)

        def apply_rope(self, x, positions):
            return self.rope(x, positions)

    claim = rc.Claim(namespace="torch", survives=("meta",))
    result = judged("meta", Plain, claim=claim)
    assert result.verdict == "failed"
    assert "is no torch.nn.Module" in result.failure.message


def test_a_tensor_that_stays_on_meta_is_caught(torch):
    """What is no buffer is left behind when memory is given out."""

    class Attribute(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            self.inner = CONTROLS["torch_makes_theta_anew"].factory(spec)
            self.one = torch.ones(1)

        def forward(self, x, positions):
            return self.inner(x, positions) * self.one

    claim = rc.Claim(namespace="torch", survives=("meta",))
    result = judged("meta", Attribute, claim=claim)
    assert result.verdict in ("failed", "error")
    assert "meta" in result.failure.message


@pytest.mark.usefixtures("torch")
def test_a_module_of_a_local_class_is_saved_as_its_state():
    """It cannot be pickled, and need not be."""
    factory = CONTROLS["torch_restores_buffer"].factory
    result = judged("save", factory)
    assert result.verdict == "passed"
    assert result.inputs == 4


def test_a_copy_of_what_recorded_a_graph_fails(torch):
    """A table that hangs on a parameter cannot be copied once it was made."""

    class Records(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            self.inner = CONTROLS["torch_makes_theta_anew"].factory(spec)
            self.one = torch.nn.Parameter(torch.ones(1))
            self.kept = None

        def forward(self, x, positions):
            if self.kept is None:
                self.kept = self.one * 1
            return self.inner(x, positions) * self.kept

    result = judged("copy", Records, claim=rc.Claim(namespace="torch"))
    assert result.verdict == "failed"
    assert "a deep copy of the used object raised" in result.failure.message


# JAX


@pytest.fixture
def jax(usable):
    """The framework itself."""
    return usable("jax")._jax


JAX = rc.Claim(namespace="jax", survives=("compile",), profile="exact")


def jax_rope(spec, before):
    """The backend, after what is done to the positions."""
    rope = rope_backends.load("jax")
    return lambda x, p: rope.apply_rope(x, before(p), spec, axes="bthd")


@pytest.mark.usefixtures("jax")
def test_an_honest_function_can_be_jitted():
    """jit and eager agree within the sum of their bounds."""
    result = judged("compile", lambda spec: jax_rope(spec, lambda p: p), claim=JAX)
    assert result.verdict == "passed", result


def test_positions_frozen_when_traced_are_caught(jax):
    """A traced program that counts its tokens from 0 is wrong from the second call on."""

    def frozen(positions):
        traced = isinstance(positions, jax.core.Tracer)
        return jax.numpy.arange(positions.shape[-1]) if traced else positions

    result = judged("compile", lambda spec: jax_rope(spec, frozen), claim=JAX)
    assert (result.verdict, result.failure.fault) == ("failed", "compile")
    assert "compiled and eager differ" in result.failure.message


def test_what_cannot_be_traced_and_claims_it_fails(jax):
    """NumPy inside is an error under jit."""
    import numpy as np

    result = judged(
        "compile",
        lambda spec: jax_rope(spec, lambda p: jax.numpy.asarray(np.asarray(p))),
        claim=JAX,
    )
    assert result.verdict == "error"
    assert "Tracer" in result.failure.message


@pytest.mark.usefixtures("jax")
def test_jax_has_no_default_type_to_judge():
    """What only torch has is not asked of JAX."""
    result = judged("ambient", lambda spec: jax_rope(spec, lambda p: p), claim=JAX)
    assert (result.verdict, result.reason[:10]) == ("not claimed", "only torch")

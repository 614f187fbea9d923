"""The suite on arrays of other frameworks: what travels, what is right, what is caught."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rope_backends
import rope_conformance as rc
from rope_conformance.target.frameworks import NAMESPACES, NamespaceError, data_type, namespace
from rope_ref import RopeSpec, apply_rope

SPEC = RopeSpec(64, layout="half", rotary_dim=48)
EVERYTHING = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**31) + 1, 2**31 - 1),
    "position_kinds": ("integer", "real"),
    "empty": True,
    "strided": True,
    "profile": "exact",
}
PLACES = {
    "numpy": (("cpu",), ("float64", "float32", "bfloat16", "float16")),
    "strict": (("cpu", "device1"), ("float64", "float32")),
    "torch": (("cpu",), ("float64", "float32", "bfloat16", "float16")),
    "jax": (("cpu",), ("float32", "bfloat16", "float16")),
    "cupy": (("cuda",), ("float64", "float32", "float16")),
}


def names(variable: str) -> list[str]:
    """The frameworks an environment variable lists; what runs on CUDA only has other tests."""
    return [n for n in os.environ.get(variable, "").split(",") if n in NAMESPACES]


@pytest.fixture(scope="module", params=[n for n in NAMESPACES if n in PLACES])
def framework(request: pytest.FixtureRequest) -> Any:
    """The namespace of each framework that is selected; one that is required must be there."""
    name = request.param
    if names("ROPE_BACKENDS") and name not in names("ROPE_BACKENDS"):
        pytest.skip(f"{name} is not among ROPE_BACKENDS={os.environ['ROPE_BACKENDS']}")
    try:
        return namespace(name)
    except NamespaceError as error:
        if name in names("ROPE_REQUIRE"):
            pytest.fail(f"required, but unavailable: {error}", pytrace=False)
        pytest.skip(str(error))


def backend_as_target(name: str, rope: Any = None) -> Any:
    """A backend, or a way to call it, as a factory with an honest claim."""
    devices, dtypes = PLACES[name]

    @rc.claims(namespace=name, devices=devices, dtypes=dtypes, **EVERYTHING)
    class Target:
        def __init__(self, spec: RopeSpec) -> None:
            self.spec, self.rope = spec, rope or rope_backends.load(name).apply_rope

        def apply_rope(self, x: Any, positions: Any) -> Any:
            return self.rope(x, positions, self.spec, axes="bthd")

    return Target


def told(report: Any) -> Any:
    return [(r.clause, r.dtype, r.failure.message) for r in report.findings], report.doubts


def test_every_bit_comes_back(framework):
    """Arrays of every dtype travel to a framework and back with every bit, NaN included."""
    (device, *_), dtypes = PLACES[framework.name]
    for dtype in dtypes:
        if dtype == "float64" and not framework.wide:
            continue
        kind = data_type(dtype)
        bits = np.random.default_rng(0).integers(0, 256, (3, 5, kind.itemsize), dtype=np.uint8)
        host = bits.view(kind)[..., 0]
        array = framework.array(host, device)

        assert framework.owns(array)
        assert framework.dtype(array) == dtype
        assert framework.device(array) == device
        assert framework.host(array).tobytes() == np.ascontiguousarray(host).tobytes()


def test_no_framework_owns_an_array_of_numpy(framework):
    """NumPy's arrays count as NumPy's only."""
    assert framework.owns(np.zeros(1)) == (framework.name == "numpy")


def test_the_backend_passes_every_clause_in_every_dtype_and_place(framework):
    """Each backend keeps the profile exact, on every device and dtype it claims."""
    report = rc.check(backend_as_target(framework.name), spec=SPEC, effort="quick")

    assert report.passed, told(report)
    assert report.tightest_profile == "exact"
    seen = {r.dtype for r in report.results if r.verdict == "passed"}
    assert seen == set(PLACES[framework.name][1])


def test_numpy_cannot_answer_for_another_framework(framework):
    """A rope that returns NumPy's arrays is caught wherever others are expected."""
    if framework.name == "numpy":
        pytest.skip("NumPy may answer for itself")

    def rope(x: Any, positions: Any, spec: RopeSpec, axes: str) -> Any:
        own, where = framework.host(x), framework.host(positions)
        return apply_rope(own, where, spec, axes=axes).astype(own.dtype)

    report = rc.check(backend_as_target(framework.name, rope), spec=SPEC, effort="quick")

    assert "not an array of the type it was given" in report.findings[0].failure.message


def test_an_upcast_is_caught(framework):
    """A rope that returns a wider type than it was given is caught."""
    rope = rope_backends.load(framework.name)
    wider = {"float32": "float64", "bfloat16": "float32", "float16": "float32"}

    def upcasts(x: Any, positions: Any, spec: RopeSpec, axes: str) -> Any:
        y = rope.apply_rope(x, positions, spec, axes=axes)
        name = wider.get(framework.dtype(x), "float64")
        if name == "float64" and not framework.wide:
            name = "float16"
        return framework.array(framework.host(y).astype(name), framework.device(x))

    report = rc.check(backend_as_target(framework.name, upcasts), spec=SPEC, effort="quick")

    assert any("returned dtype" in r.failure.message for r in report.findings)


def test_a_rope_that_forgets_the_device_is_caught():
    """Tables made on the default device meet data on another: caught on device1."""
    pytest.importorskip("array_api_strict")
    import array_api_strict as xp

    def rope(x: Any, positions: Any, spec: RopeSpec, axes: str) -> Any:
        theta = xp.asarray(spec.theta())  # the mistake: device= is missing
        phase = xp.astype(positions, xp.float64)[..., None] * theta
        return x * xp.cos(phase)[0, 0]

    report = rc.check(backend_as_target("strict", rope), spec=SPEC, effort="quick")
    elsewhere = [r for r in report.findings if "different devices" in r.failure.message]

    assert elsewhere


def test_a_silent_transfer_is_caught():
    """A rope that moves the data elsewhere and leaves it there is caught."""
    pytest.importorskip("array_api_strict")
    import array_api_strict as xp

    rope = rope_backends.load("strict")

    def transfers(x: Any, positions: Any, spec: RopeSpec, axes: str) -> Any:
        home = xp.Device("CPU_DEVICE")
        return rope.apply_rope(x.to_device(home), positions.to_device(home), spec, axes=axes)

    report = rc.check(backend_as_target("strict", transfers), spec=SPEC, effort="quick")

    assert any("on cpu for x on device1" in r.failure.message for r in report.findings)


def test_jax_without_x64_does_not_count_float32_as_float64():
    """A claim of float64 that JAX cannot keep without x64 is not run, and says why."""
    pytest.importorskip("jax")
    claim = rc.Claim(namespace="jax", dtypes=("float64",))
    rope = rope_backends.load("jax")

    report = rc.check(lambda x, p: rope.apply_rope(x, p, SPEC, axes="bthd"), spec=SPEC, claim=claim)

    assert not report.passed
    assert any("set jax_enable_x64" in doubt for doubt in report.doubts)


@pytest.mark.parametrize("compiled", ["jax.jit", "torch.compile"])
def test_a_compiled_backend_passes_every_clause(compiled):
    """Under jit and compile, positions traced, the backends keep the profile exact."""
    name = compiled.partition(".")[0]
    pytest.importorskip(name)
    rope = rope_backends.load(name)
    made: dict[RopeSpec, Any] = {}

    def call(x: Any, positions: Any, spec: RopeSpec, axes: str) -> Any:
        if spec not in made:

            def own(x: Any, positions: Any) -> Any:
                return rope.apply_rope(x, positions, spec, axes=axes)

            if name == "jax":
                import jax

                made[spec] = jax.jit(own)
            else:
                import torch

                made[spec] = torch.compile(own, backend="aot_eager", dynamic=True)
        return made[spec](x, positions)

    target = backend_as_target(name, call)
    # Fractions that are traced have float32 phases, which is another claim.
    changed = {"position_kinds": ("integer",), "dtypes": ("float32",)}
    claim = rc.Claim(**{**vars(target.claim), **changed})

    report = rc.check(target, spec=SPEC, claim=claim, effort="quick")

    assert report.passed, told(report)
    assert report.tightest_profile == "exact"


def test_jax_with_x64_passes_every_clause_in_float64():
    """With 64-bit types switched on, the JAX backend is exact in float64 too."""
    pytest.importorskip("jax")
    # x64 is a setting of the whole process.
    command = [sys.executable, "-m", "rope_conformance.cli", "check", "rope-backends/jax"]
    run = subprocess.run(
        [*command, "--dtype", "float64", "--effort", "quick", "--json"],
        env=os.environ | {"JAX_ENABLE_X64": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["tightest_profile"] == "exact"

"""The tests can fail: wrong ropes, each caught by the check that is meant for it."""

from functools import partial

import numpy as np
import pytest

import rope_ref as rr
from rope_backends import array_api

SPEC = rr.RopeSpec(8, layout="half")
P = np.arange(3, dtype=np.int32)
X = np.random.default_rng(0).standard_normal((3, 8)).astype("float32")


def test_numpy_never_answers_for_another_framework(bench):
    def by_numpy(a):
        return rr.apply_rope(bench.host(a), P, SPEC, axes="td").astype("float32")

    if bench.backend.name == "numpy":
        bench.rotated(X, by_numpy)
        return
    with pytest.raises(AssertionError):
        bench.rotated(X, by_numpy)


def test_the_right_rope_passes(bench, ratio):
    y = bench.rotated(X, lambda a: bench.backend.apply_rope(a, P, SPEC, axes="td"))
    assert ratio(y, X, P, SPEC, "td", "float32") <= 1


def test_a_rope_that_forgets_the_device_is_caught(bench, changed):
    if bench.place not in ("strict-device1", "torch-cuda"):
        pytest.skip("only where another device than the default one is in use")
    forgetful = changed(bench.backend, place=lambda self, host, device: self.xp.asarray(host))
    with pytest.raises((ValueError, RuntimeError), match="device"):
        bench.rotated(X, lambda a: forgetful.apply_rope(a, P, SPEC, axes="td"))


def test_a_result_on_another_device_is_caught(bench):
    if len(bench.backend.devices()) < 2:
        pytest.skip(f"{bench.backend.name} has one device here")
    other = next(d for d in bench.backend.devices() if d != bench.device)
    with pytest.raises(AssertionError):
        bench.rotated(X, lambda a: bench.backend.framework.place(X, other))


def test_a_wider_result_is_caught(bench):
    def upcast(a):
        narrow = bench.backend.apply_rope(a, P, SPEC, axes="td")
        return bench.backend.xp.astype(narrow, bench.backend.dtypes["float64"])

    if bench.place == "strict-no_float64":
        pytest.skip("nothing is wider than float32 here")
    with bench.types("float64"), pytest.raises(AssertionError):
        bench.rotated(X, upcast)


def test_a_rope_that_writes_to_its_input_is_caught(bench):
    if bench.backend.name == "jax":
        pytest.skip("nobody can write to a JAX array")

    def in_place(a):
        a *= 2
        return bench.backend.apply_rope(a, P, SPEC, axes="td")

    with pytest.raises(AssertionError, match="written to"):
        bench.rotated(X, in_place)


def test_float64_counted_as_float32_is_caught(bench):
    if bench.backend.name != "jax":
        pytest.skip("only JAX does so")
    with pytest.raises(AssertionError, match="counts float64 as float32"):
        bench.array(X.astype("float64"))


def test_angles_in_float32_do_not_pass_for_exact(bench, ratio):
    p = np.array([0, 1, 70_001])
    phase = p[:, None].astype("float32") * SPEC.theta().astype("float32")
    for dtype in {"float32", "float64"} & set(bench.dtypes):
        x = X.astype(dtype)
        with bench.types(dtype):
            cos, sin = (bench.array(t.astype(dtype)) for t in (np.cos(phase), np.sin(phase)))
            rope = partial(array_api.rotate, cos=cos, sin=sin, spec=SPEC, axes="td", table_axes="t")
            y = bench.rotated(x, partial(rope, xp=bench.backend.xp))
        assert ratio(y, x, p, SPEC, "td", dtype) > 10

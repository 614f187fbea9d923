"""CuPy: what can be tested without a GPU."""

import importlib
from importlib.util import find_spec

import pytest

import rope_backends
from rope_backends import BackendUnavailable

pytestmark = pytest.mark.skipif(not find_spec("cupy"), reason="cupy is not installed")


def cuda_devices():
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def test_cupy_without_a_device_says_what_the_driver_says(monkeypatch):
    import cupy

    def refuse():
        # 35: the driver is older than the runtime
        raise cupy.cuda.runtime.CUDARuntimeError(35)

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", refuse)
    with pytest.raises(BackendUnavailable, match="no usable CUDA device .*InsufficientDriver"):
        rope_backends.load("cupy")
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(BackendUnavailable, match="counts 0 devices"):
        rope_backends.load("cupy")


def test_cupy_dispatch(monkeypatch):
    import cupy
    import numpy as np

    from rope_ref import RopeError, RopeSpec

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 1)
    rope = rope_backends.load("cupy")
    assert (rope.name, list(rope.dtypes)) == ("cupy", ["float64", "float32", "float16"])
    # NumPy's array is refused before anything is asked of a device.
    with pytest.raises(RopeError, match=r"not a cupy\..*ndarray"):
        rope.apply_rope(np.zeros((2, 4)), [0, 1], RopeSpec(4, layout="half"), axes="td")
    np.testing.assert_array_equal(rope.framework.concrete([1, 2]), [1, 2])


def test_cupy_has_every_function_that_the_rotation_calls():
    import ast
    from pathlib import Path

    namespace = importlib.import_module("array_api_compat.cupy")
    called = set()
    for module in ("array_api", "traced", "framework"):
        path = Path(importlib.import_module(f"rope_backends.{module}").__file__)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("xp", "self.xp"):
                called.add(node.attr)
    assert {"concat", "stack", "round", "take"} <= called
    assert not [name for name in called if not hasattr(namespace, name)]


@pytest.mark.skipif(bool(find_spec("cupy")) and cuda_devices() > 0, reason="there is a GPU")
def test_cupy_here_is_unavailable_with_a_reason():
    with pytest.raises(BackendUnavailable, match="finds no usable CUDA device"):
        rope_backends.load("cupy")

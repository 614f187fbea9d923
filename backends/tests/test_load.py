"""Loading: one framework at a time, and one clear reason where there is none."""

import importlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

import rope_backends
from rope_backends import BackendUnavailable

PACKAGES = {
    "numpy": "numpy",
    "strict": "array_api_strict",
    "torch": "torch",
    "jax": "jax",
    "cupy": "cupy",
}


def loaded_by(code):
    """Which of the frameworks a fresh interpreter has imported after `code`."""
    show = f"import sys; {code}; print(*({set(PACKAGES.values())} & set(sys.modules)))"
    # The path of this process: the packages are those under test, installed or not.
    run = f"import sys; sys.path[:] = {sys.path!r}; " + show
    result = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_every_name_is_a_backend():
    assert rope_backends.BACKENDS == tuple(PACKAGES)


def test_import_loads_no_framework():
    assert loaded_by("import rope_backends") == {"numpy"}


def test_load_imports_that_framework_and_no_other(bench):
    name = bench.backend.name
    code = f"import rope_backends; rope_backends.load({name!r})"
    assert loaded_by(code) == {"numpy", PACKAGES[name]}
    assert rope_backends.load(name).name == name


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"'tensorflow'.*'numpy', 'strict', 'torch'"):
        rope_backends.load("tensorflow")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package_is_named_with_the_way_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, PACKAGES[name], None)  # what an import finds missing
    with pytest.raises(BackendUnavailable) as caught:
        rope_backends.load(name)
    assert PACKAGES[name] in str(caught.value)
    assert "pip install" in str(caught.value)


def test_a_broken_package_is_unavailable_for_its_own_reason(monkeypatch):
    def broken(name):
        raise OSError("libcudart.so.13: cannot open shared object file")

    monkeypatch.setattr(rope_backends, "import_module", broken)
    with pytest.raises(BackendUnavailable, match="OSError: libcudart"):
        rope_backends.load("torch")


def test_a_mistake_of_our_own_is_not_taken_for_a_missing_framework(monkeypatch):
    monkeypatch.setitem(sys.modules, "rope_backends._numpy", None)
    with pytest.raises(ImportError):
        rope_backends.load("numpy")


# What can be seen of CuPy without a GPU

needs_cupy = pytest.mark.skipif(not find_spec("cupy"), reason="cupy is not installed")


def cuda_devices():
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


@needs_cupy
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


@needs_cupy
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
    np.testing.assert_array_equal(rope.concrete([1, 2]), [1, 2])


@needs_cupy
def test_cupy_has_every_function_that_the_rotation_calls():
    import ast
    from pathlib import Path

    namespace = importlib.import_module("array_api_compat.cupy")
    called = set()
    for module in ("array_api", "traced", "backend"):
        path = Path(importlib.import_module(f"rope_backends.{module}").__file__)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("xp", "self.xp"):
                called.add(node.attr)
    assert {"concat", "stack", "round", "take"} <= called
    assert not [name for name in called if not hasattr(namespace, name)]


@needs_cupy
@pytest.mark.skipif(bool(find_spec("cupy")) and cuda_devices() > 0, reason="there is a GPU")
def test_cupy_here_is_unavailable_with_a_reason():
    with pytest.raises(BackendUnavailable, match="finds no usable CUDA device"):
        rope_backends.load("cupy")

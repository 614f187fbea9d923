"""Loading: one framework at a time, and one clear reason where there is none."""

import subprocess
import sys

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
# Those of torch and what they import; JAX is a compiler itself.
COMPILERS = {"torch._dynamo", "torch._inductor", "sympy", "triton", "numba", "llvmlite"}


def loaded_by(code, modules):
    """Which of some modules a fresh interpreter has imported after `code`."""
    show = f"import sys; {code}; print(*({set(modules)} & set(sys.modules)))"
    # The path of this process: the packages are those under test, installed or not.
    run = f"import sys; sys.path[:] = {sys.path!r}; " + show
    result = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_every_name_is_a_backend():
    assert rope_backends.BACKENDS == tuple(PACKAGES)


def test_import_loads_no_framework():
    assert loaded_by("import rope_backends", PACKAGES.values()) == {"numpy"}


def test_load_imports_that_framework_and_no_other(bench):
    name = bench.backend.name
    code = f"import rope_backends; rope_backends.load({name!r})"
    assert loaded_by(code, PACKAGES.values()) == {"numpy", PACKAGES[name]}
    assert rope_backends.load(name).name == name


def test_load_imports_no_compiler(bench):
    name = bench.backend.name
    own = loaded_by(f"import {PACKAGES[name]}", COMPILERS)
    assert loaded_by(f"import rope_backends; rope_backends.load({name!r})", COMPILERS) == own
    if name == "numpy":
        assert not own


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

"""What is packaged: versions agree, commands are those written down, imports go one way."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {
    "rope_ref": ROOT / "rope_ref",
    "rope_backends": ROOT / "backends/rope_backends",
    "rope_conformance": ROOT / "conformance/rope_conformance",
}

FIRST_COMMAND = (
    "python3 -m venv .venv && .venv/bin/pip install -q '.[check]'"
    " && .venv/bin/rope-ref check examples/my_rope.py:apply_rope"
)
SECOND_COMMAND = (
    "python3 -m venv .venv && .venv/bin/pip install -q tox"
    " && .venv/bin/tox run-parallel --parallel-no-spinner"
)


# What the distribution says of itself


def test_citation_and_installed_version_are_the_version_of_pyproject():
    version = PYPROJECT["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: *(\S+)$", citation, re.MULTILINE) == [version]
    assert metadata.version("rope-ref") == version


def test_changelog_begins_with_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == PYPROJECT["project"]["version"]


def test_installed_metadata_lists_only_the_agreed_requirements():
    core, check = set(), set()
    for requirement in map(Requirement, metadata.requires("rope-ref")):
        if requirement.marker is None:
            core.add(requirement.name)
        elif requirement.marker.evaluate({"extra": "check"}):
            check.add(requirement.name)
    assert core == {"numpy", "array-api-compat"}
    assert check == {
        "click",
        "rich",
        "pytest",
        "hypothesis",
        "python-flint",
        "ml-dtypes",
        "safetensors",
    }


def test_the_only_script_and_the_pytest_plugin():
    entry_points = metadata.distribution("rope-ref").entry_points
    assert {(e.group, e.name, e.value) for e in entry_points} == {
        ("console_scripts", "rope-ref", "rope_conformance.cli:main"),
        ("pytest11", "rope_conformance", "rope_conformance.pytest_plugin"),
    }


def test_wheel_holds_the_three_typed_packages_and_none_of_their_tests():
    distribution = metadata.distribution("rope-ref")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip("an editable install has no wheel to look into; tox installs one")
    files = {path.as_posix() for path in distribution.files}
    assert {f"{package}/py.typed" for package in PACKAGES} <= files
    assert not [name for name in files if "tests" in Path(name).parts]


# What is written down to be typed


def test_readme_shows_both_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)\n```$", readme, re.M | re.S)
    assert FIRST_COMMAND in blocks
    assert SECOND_COMMAND in blocks


def test_ci_runs_the_second_command():
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert lines[-1] == SECOND_COMMAND
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


# Which way the imports go


def run_python(code: str) -> str:
    # -I: neither the current folder nor PYTHONPATH may lend a module.
    command = [sys.executable, "-I", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def modules_loaded_by(statement: str, *, after: str = "pass") -> set[str]:
    """Names of all modules that ``statement`` loads in a fresh interpreter."""
    code = (
        f"import sys\n{after}\nbefore = set(sys.modules)\n{statement}\n"
        "print(*(set(sys.modules) - before), sep='\\n')"
    )
    return set(run_python(code).split())


def top_level(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def sources(package: str) -> list[Path]:
    return sorted(p for p in PACKAGES[package].rglob("*.py") if "tests" not in p.parts)


def imported(tree: ast.AST, *, at_import_only: bool = False) -> Iterator[str]:
    """Top-level names of what ``tree`` imports, in function bodies too unless told otherwise."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]
        elif not (at_import_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            yield from imported(node, at_import_only=at_import_only)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_importing_the_reference_loads_numpy_and_the_standard_library_only():
    allowed = {"rope_ref", "numpy"} | sys.stdlib_module_names
    assert top_level(modules_loaded_by("import rope_ref")) <= allowed


def test_importing_the_backends_loads_no_framework():
    loaded = top_level(modules_loaded_by("import rope_backends"))
    assert not loaded & {"torch", "jax", "cupy", "array_api_strict", "rope_conformance"}


def test_importing_the_suite_loads_nothing_heavy():
    loaded = top_level(modules_loaded_by("import rope_conformance"))
    assert not loaded & {"torch", "jax", "cupy", "hypothesis", "pytest", "click", "rich"}


def test_the_pytest_plugin_costs_nothing_when_unused():
    loaded = modules_loaded_by("import rope_conformance.pytest_plugin", after="import pytest")
    assert top_level(loaded) <= {"rope_conformance", "pytest", "_pytest"} | sys.stdlib_module_names
    assert {n for n in loaded if n.startswith("rope_conformance")} == {
        "rope_conformance",
        "rope_conformance.pytest_plugin",
    }


def test_source_of_the_reference_imports_numpy_and_the_standard_library_only():
    allowed = {"rope_ref", "numpy"} | sys.stdlib_module_names
    stray = {p.name: set(imported(parsed(p))) - allowed for p in sources("rope_ref")}
    assert stray
    assert not {name: names for name, names in stray.items() if names}


def test_source_of_the_backends_imports_a_framework_in_its_own_file_only():
    allowed = {"rope_backends", "rope_ref", "numpy", "array_api_compat"} | sys.stdlib_module_names
    own = {
        "_torch.py": "torch",
        "_torch_compile.py": "torch",
        "_jax.py": "jax",
        "_cupy.py": "cupy",
        "_strict.py": "array_api_strict",
    }
    stray = {
        p.name: set(imported(parsed(p), at_import_only=True)) - allowed - {own.get(p.name)}
        for p in sources("rope_backends")
    }
    assert stray
    assert not {name: names for name, names in stray.items() if names}


def test_source_of_the_backends_never_imports_the_suite():
    assert not [p for p in sources("rope_backends") if "rope_conformance" in imported(parsed(p))]

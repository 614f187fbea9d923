"""The rooms of the house: which may import which, one way, down, and no file in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "rope_ref": ROOT / "rope_ref",
    "rope_backends": ROOT / "backends/rope_backends",
    "rope_conformance": ROOT / "conformance/rope_conformance",
}

# From the ground up: a room, and the rooms below that it may import. A file that is no folder
# is a room by itself; `rope_ref` alone is what a package offers by its own name.
ROOMS = {
    "rope_ref.errors": "",
    "rope_ref.arguments": "errors",
    "rope_ref.exact": "errors arguments",
    "rope_ref.positions": "errors arguments exact",
    "rope_ref.scaling": "errors arguments exact positions",
    "rope_ref.spec": "errors arguments exact scaling",
    "rope_ref.definition": "exact scaling spec",
    "rope_ref.phase": "exact scaling",
    "rope_ref.table": "errors arguments exact spec phase",
    "rope_ref.rotation": "errors arguments exact spec table",
    "rope_ref.attention": "errors arguments spec rotation",
    "rope_ref.models": "errors arguments exact positions scaling spec",
    "rope_ref.extensions": "errors arguments exact positions scaling spec table rotation",
    "rope_ref": "errors positions scaling spec definition table rotation attention models "
    "extensions",
}


def module_name(path):
    """The dotted name of a file of one of the packages."""
    for package, home in PACKAGES.items():
        if path.is_relative_to(home):
            parts = [package, *path.relative_to(home).with_suffix("").parts]
            return ".".join(parts).removesuffix(".__init__")
    raise AssertionError(path)


SOURCES = {
    module_name(path): path
    for home in PACKAGES.values()
    for path in home.rglob("*.py")
    if "tests" not in path.relative_to(home).parts
}


def imported(path):
    """The modules of ours that a file imports, for its types and inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in SOURCES)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in SOURCES:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in SOURCES else node.module


IMPORTS = {name: set(imported(path)) - {name} for name, path in SOURCES.items()}


def room(module):
    """The room that a module stands in: a package's own file, or a folder of it."""
    return ".".join(module.split(".")[:2])


def arrows():
    """Which room imports which, as the sources have it."""
    found = {}
    for name, targets in IMPORTS.items():
        for target in targets:
            if room(name) != room(target):
                found.setdefault(room(name), set()).add(room(target))
    return found


def test_no_file_stands_in_a_circle():
    """Imports for types and inside functions count: what is known by name is known."""
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]), pytrace=False)

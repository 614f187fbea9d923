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

# From the ground up: a room, and the rooms below that it may import. A folder is a room, and a
# file that stands beside the folders; a package's own name is what it offers to others.
ROOMS = {
    "rope_ref": {
        "errors": "",
        "arguments": "errors",
        "exact": "errors arguments",
        "positions": "errors arguments exact",
        "scaling": "errors arguments exact positions",
        "spec": "errors arguments exact scaling",
        "definition": "exact scaling spec",
        "phase": "arguments exact scaling",
        "table": "errors arguments exact spec phase",
        "rotation": "errors arguments exact spec table",
        "attention": "errors arguments spec rotation",
        "models": "errors arguments exact positions scaling spec",
        "extensions": "errors arguments exact positions scaling spec table rotation",
        "": "errors positions scaling spec definition table rotation attention models extensions",
    },
    "rope_backends": {
        "exact_rows": "",
        "framework": "exact_rows",
        "_torch_compile": "exact_rows",
        "_numpy": "framework",
        "_strict": "framework",
        "_torch": "framework _torch_compile",
        "_jax": "exact_rows framework",
        "_cupy": "framework",
        "traced": "exact_rows framework",
        "array_api": "framework traced",
        "backend": "framework array_api",
        "": "framework backend",
    },
    "rope_conformance": {
        "faults": "",
        "target": "",
        "describing": "target",
        "inputs": "target",
        "accuracy": "target",
        "judging": "faults target inputs accuracy",
        "report": "faults target describing accuracy judging",
        "identification": "target describing inputs accuracy judging",
        "diagnosis": "faults target describing inputs accuracy judging identification",
        "clauses": "faults target describing inputs accuracy judging identification diagnosis",
        "adapters": "target inputs",
        "running": "faults target describing inputs accuracy judging report identification "
        "diagnosis clauses adapters",
        "zoo": "faults target inputs judging report clauses running",
        "testing": "target judging report clauses running",
        "pytest_plugin": "report running",
        "test_implementation": "target report clauses running testing pytest_plugin",
        "": "target report running testing",
        "cli": "target describing accuracy report clauses adapters running zoo",
    },
}
# Which package may import which, and which room of it alone if not all may.
PACKAGES_BELOW = {
    ("rope_backends", "rope_ref"): None,
    ("rope_conformance", "rope_ref"): None,
    ("rope_conformance", "rope_backends"): "adapters",
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
    """The package and the room that a module stands in."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def test_each_room_has_a_row():
    """Neither a room without a row nor a row without a room."""
    found = {}
    for name in SOURCES:
        package, own = room(name)
        found.setdefault(package, set()).add(own)
    assert found == {package: set(rooms) for package, rooms in ROOMS.items()}


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_what_stands_below_and_is_listed(package):
    """The table goes up: a room names rooms above it in the table, and the sources keep to it."""
    below = set()
    for name, allowed in ROOMS[package].items():
        assert set(allowed.split()) <= below, name
        below.add(name)
    used = {name: set() for name in ROOMS[package]}
    for name, targets in IMPORTS.items():
        for target in targets:
            if room(name)[0] == room(target)[0] == package and room(name) != room(target):
                used[room(name)[1]].add(room(target)[1])
    assert used == {name: set(allowed.split()) for name, allowed in ROOMS[package].items()}


def test_packages_import_each_other_one_way():
    """The reference knows neither of the others; only adapters know the backends."""
    for name, targets in IMPORTS.items():
        for target in targets:
            pair = room(name)[0], room(target)[0]
            if pair[0] != pair[1]:
                assert pair in PACKAGES_BELOW, (name, target)
                assert PACKAGES_BELOW[pair] in (None, room(name)[1]), (name, target)


def test_what_is_private_stays_in_its_room():
    """A module or a name that begins with an underscore is imported by its own folder alone."""
    for name, path in SOURCES.items():
        home = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                if node.module.partition(".")[0] not in PACKAGES:
                    continue
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    parts = full.split(".")
                    private = [n for n, part in enumerate(parts) if part.startswith("_")]
                    for n in private:
                        assert ".".join(parts[:n]) == home, (name, full)


def test_no_file_stands_in_a_circle():
    """Imports for types and inside functions count: what is known by name is known."""
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]), pytrace=False)

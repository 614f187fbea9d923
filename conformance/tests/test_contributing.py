"""CONTRIBUTING.md is a map of what is there: rooms, files, commands, environments."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("rope_ref", "backends/rope_backends", "conformance/rope_conformance")


def section(title: str, level: str = "##") -> str:
    """The text below a heading, as far as the next of its level."""
    head, found, rest = TEXT.partition(f"\n{level} {title}\n")
    assert found, f"no heading {title!r}"
    return re.split(rf"^#{{2,{len(level)}}} ", rest, flags=re.M)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the tables in a text, heads left out."""
    lines = [line for line in text.split("\n") if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [
        row
        for row, after in zip(cells, [*cells[1:], []], strict=True)
        if not (dashes(row) or dashes(after))
    ]


def dashes(row: list[str]) -> bool:
    return bool(row) and set("".join(row)) <= {"-", "|"}


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def mapped(package: str) -> dict[str, str]:
    """Each room of a package on the map, with what it answers."""
    text = section("The rooms").partition(f"\n`{package}/`")[2].partition("\n\n`")[0]
    return {name: meaning for names, meaning in rows(text) for name in code(names)}


def in_the_tree(package: str) -> set[str]:
    """Modules and folders of a package that hold code of it."""
    folder = ROOT / package
    modules = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in folder.glob("*/*.py")}
    return modules | (folders - {"tests/"})


@pytest.mark.parametrize("package", PACKAGES)
def test_the_map_has_every_room_and_no_other(package):
    assert set(mapped(package)) == in_the_tree(package)
    assert all(meaning[0].isupper() and meaning[-1] in ".?" for meaning in mapped(package).values())


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_what_it_is(package):
    for name in in_the_tree(package):
        file = ROOT / package / name
        file = file / "__init__.py" if name.endswith("/") else file
        assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file


# What to run


def commands() -> list[list[str]]:
    return rows(section("What to run for which change"))


def test_every_room_has_something_to_run():
    said = Counter(name for changed, _, _ in commands() for name in code(changed))
    rooms = [name for package in PACKAGES for name in mapped(package)]
    assert len(set(rooms)) == len(rooms)
    assert said == Counter(rooms)


def test_each_takes_less_than_a_minute():
    """As measured when it was written down; no test fails for being slow."""
    assert all(0 < int(seconds) < 60 for _, _, seconds in commands())


def test_what_is_run_exists():
    named = [word for _, run, _ in commands() for each in code(run) for word in each.split()]
    paths = [word for word in named if "/" in word]
    assert len(paths) > 15
    assert [path for path in paths if not list(ROOT.glob(path))] == []


def paths_in(text: str) -> Iterator[str]:
    """What looks like a path of the repository; for a name to be chosen, the folder."""
    for each in re.findall(
        r"(?<![\w/])((?:[\w.-]+/)+[\w.<>*-]*|[\w-]+\.(?:md|toml|ini|txt))", text
    ):
        yield each.rpartition("/")[0] if "<" in each else each


def test_files_named_anywhere_exist():
    paths = set(paths_in(section("The rooms").partition("`rope_ref/`")[0]))
    paths |= {
        path
        for title in ("Environments", "How to add", "Rules")
        for path in paths_in(section(title))
    }
    assert len(paths) > 30
    assert {path for path in paths if not list(ROOT.glob(path))} == set()


HOW_TO = ("A clause", "A scaling rule", "An adapter", "A wrong RoPE", "A config key")


@pytest.mark.parametrize("title", HOW_TO)
def test_how_to_add_is_numbered_steps_that_name_files(title):
    steps = re.findall(r"^(\d)\. (.*?)(?=^\d\. |\Z)", section(title, "###"), re.M | re.S)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert len(steps) >= 4
    assert sum(bool(list(paths_in(step))) for _, step in steps) >= len(steps) - 1


def test_names_of_code_in_the_steps_exist():
    def defined(folder: str) -> set[str]:
        found = set()
        for path in (ROOT / folder).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.add(node.id)
        return found

    package = "conformance/rope_conformance"
    for name, folder in {
        "clause": f"{package}/judging",
        "FAMILIES": f"{package}/clauses",
        "ScaledRule": "rope_ref/scaling",
        "BUNDLED": f"{package}/adapters",
        "wrong": f"{package}/zoo",
    }.items():
        assert f"`{name}`" in section("How to add")
        assert name in defined(folder)


# Environments


def test_the_default_environments_are_those_of_tox():
    listed = re.search(r"`tox` without arguments runs `([^`]+)`", section("Environments"))[1]
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    assert listed == re.search(r"^env_list = (.+)$", tox, re.M)[1]

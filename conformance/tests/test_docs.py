"""The pages, as far as they can be judged without building them."""

import importlib.util
import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import rope_conformance
import rope_ref
from rope_conformance import Claim
from rope_conformance.accuracy import PROFILES
from rope_conformance.implementation import SURFACES
from rope_conformance.registry import EDITION, EITHER, all_checks, all_clauses
from rope_conformance.report import Verdict
from rope_conformance.wrong import CONTROLS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def parts() -> ModuleType:
    """docs/_ext/parts.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("_docs_parts", DOCS / "_ext/parts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The pages hang together


def test_first_page_shows_the_commands_of_the_readme():
    def commands(text: str) -> list[str]:
        section = text.partition("\n## Two commands\n")[2].partition("\n## ")[0]
        return re.findall(r"^```sh\n(.*?)\n```$", section, re.M | re.S)

    of_the_readme = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(of_the_readme) == 2
    assert commands(text_of("index.md")) == of_the_readme


def test_every_page_is_in_the_table_of_contents_and_exists():
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", text_of("index.md"), re.M | re.S)
    entries = [line for tree in trees for line in tree.split("\n") if line and line[0] != ":"]
    assert sorted(entries) == sorted(page.stem for page in PAGES if page.stem != "index")


def test_links_to_clauses_name_clauses(parts):
    anchors = {parts.anchor(clause.id) for clause in all_clauses()}
    linked = {
        (page.name, anchor)
        for page in PAGES
        for anchor in re.findall(r"#(clause-[\w-]+)", page.read_text(encoding="utf-8"))
    }
    assert linked
    assert {(page, anchor) for page, anchor in linked if anchor not in anchors} == set()


def test_pages_use_parts_that_exist(parts):
    used = {
        name
        for page in PAGES
        for name in re.findall(r"^```\{generated\} (\S+)$", page.read_text(encoding="utf-8"), re.M)
    }
    assert used == set(parts.PARTS)


def test_no_page_counts_by_hand_what_the_code_counts():
    counted = re.compile(r"\b\d+ (?:checks|clauses|families|inputs|wrong|controls|tests)\b")
    assert {page.name: counted.findall(page.read_text(encoding="utf-8")) for page in PAGES} == {
        page.name: [] for page in PAGES
    }


# What the code writes


def test_specification_holds_every_clause_once_at_its_anchor(parts):
    text = parts.specification()
    headings = re.findall(r"^\((\S+)\)=\n### (\S+)$", text, re.M)
    assert headings == [(parts.anchor(clause.id), clause.id) for clause in all_clauses()]
    assert len(set(headings)) == len(headings) == text.count("\n### ")


def test_an_anchor_is_an_html_id_as_it_stands(parts):
    # Sphinx would rewrite capitals, dots and underscores, and the address would be another.
    for clause in all_clauses():
        assert re.fullmatch(r"clause(-[a-z0-9]+)+", parts.anchor(clause.id))
    assert parts.anchor("score.worked_example") == "clause-score-worked-example"


def test_specification_says_what_each_clause_says(parts):
    sections = re.split(r"^### ", parts.specification(), flags=re.M)[1:]
    for section, check in zip(sections, all_checks(), strict=True):
        clause = check.clause
        # Back from markup to text.
        plain = re.sub(r"\\(.)", r"\1", section)
        assert section.startswith(f"{clause.id}\n")
        assert clause.sentence in plain
        assert f"$$\n{clause.formula}\n$$" in section
        assert parts.SURFACES[clause.surface] in section
        assert all(f"- `{name}`: " in section for name in check.kills)
        module, _, name = clause.reference.partition(":")
        assert f"`{module}.{name}` ({module.replace('.', '/')}.py, line " in section


def test_code_shown_stands_on_the_lines_named(parts):
    for clause in all_clauses():
        number, code = parts.source(clause.reference)
        module = importlib.import_module(clause.reference.partition(":")[0])
        lines = inspect.getsource(module).split("\n")[number - 1 :]
        shown = code.split("\n")
        assert [line.strip() for line in lines[: len(shown)]] == [line.strip() for line in shown]
        assert '"""' not in code


def test_edition_is_that_of_the_registry(parts):
    assert EDITION in parts.edition()


def test_surfaces_shown_are_those_that_exist(parts):
    assert tuple(parts.SURFACES) == SURFACES
    judging = text_of("judging.md")
    assert all(f"`{call}`" in judging for name, call in parts.SURFACES.items() if name != EITHER)


def test_tables_have_a_row_for_each_entry(parts):
    def first_cells(table: str) -> list[str]:
        return [row.split("|")[1].strip(" `") for row in table.split("\n")[2:]]

    assert first_cells(parts.claim_fields()) == [field.name for field in fields(Claim)]
    assert first_cells(parts.profiles()) == [profile.name for profile in PROFILES]
    assert re.findall(r"^- `(\w+)`", parts.controls(), re.M) == list(CONTROLS)


def test_every_verdict_is_explained():
    section = text_of("judging.md").partition("## What a verdict means")[2]
    assert re.findall(r"^\| ([a-z ]+) \|", section, re.M)[: len(get_args(Verdict)) + 1] == [
        "verdict",
        *get_args(Verdict),
    ]


def test_reference_lists_every_public_name():
    text = text_of("reference.md")
    listed = set(re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)", text, re.M))
    assert set(rope_ref.__all__) - {"errors", "RopeError"} <= listed
    assert ".. automodule:: rope_ref.errors" in text
    assert set(rope_conformance.__all__) <= listed

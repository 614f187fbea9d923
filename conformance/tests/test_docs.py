"""The pages, as far as they can be judged without building them."""

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import rope_conformance
import rope_ref
from rope_conformance import Claim, TargetError
from rope_conformance.accuracy.profiles import PROFILES
from rope_conformance.adapters import BUNDLED
from rope_conformance.clauses import all_checks, all_clauses
from rope_conformance.judging.clause import EDITION, EITHER
from rope_conformance.report.model import Verdict
from rope_conformance.target.implementation import SURFACES
from rope_conformance.zoo import CONTROLS
from rope_conformance.zoo.kills import kills

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def loaded(name: str, path: Path) -> ModuleType:
    """A module that is in no package."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def parts() -> Iterator[ModuleType]:
    """docs/_ext/parts.py; the modules beside it can be imported, as when pages are built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "_ext")
        yield loaded("_docs_parts", DOCS / "_ext/parts.py")
        sys.modules.pop("found", None)


@pytest.fixture(scope="module")
def found() -> ModuleType:
    return loaded("_docs_found", DOCS / "_ext/found.py")


@pytest.fixture(scope="module")
def public_reports() -> ModuleType:
    return loaded("_public_reports", ROOT / "tools/public_reports.py")


# The pages hang together


def test_pages_name_the_group_of_entry_points():
    """What a package writes down to be found is a promise; the message on a bad name has it too."""
    group = "rope_conformance.implementations"
    assert f"in the group `{group}`" in text_of("judging.md")
    with pytest.raises(TargetError, match=rf"entry point of the group {group} "):
        rope_conformance.check("a_name_that_is_nothing")


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
        assert all(
            f"- `{name}`: " in section for name in (member.name for member in kills()[check.name])
        )
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


# Every module whose `__all__` is a promise.
PUBLIC = (
    "rope_ref",
    "rope_ref.definition",
    "rope_ref.errors",
    "rope_ref.extensions",
    "rope_ref.models",
    "rope_ref.positions",
    "rope_ref.scaling",
    "rope_backends",
    "rope_conformance",
    "rope_conformance.adapters",
)
# What implementers are handed from a module that is not public as a whole.
HANDED = {"rope_conformance.inputs.requests.PositionRequest"}


def documented(text: str) -> tuple[set[str], set[str]]:
    """What reference.md has an entry for: modules, and names with their module in front.

    A module that documents its members has an entry for each of its public names.
    """
    modules: set[str] = set()
    names: set[str] = set()
    current = ""
    directive = re.compile(r"^\.\. (?:py:)?(\w+):: ([\w.]+)(?:\(\))?\n((?:   :.*\n)*)", re.M)
    for kind, name, options in directive.findall(text):
        if kind in ("module", "automodule", "currentmodule"):
            current = name
        if kind in ("module", "automodule"):
            modules.add(name)
        if kind == "automodule" and ":members:" in options:
            names |= {f"{name}.{own}" for own in exported(name)}
        if kind in ("autoclass", "autoexception", "autofunction", "data"):
            names.add(f"{current}.{name}")
    return modules, names


def exported(module: str) -> list[str]:
    return importlib.import_module(module).__all__


def value_of(name: str) -> object:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def test_reference_lists_every_public_name():
    modules, names = documented(text_of("reference.md"))
    assert modules == set(PUBLIC)
    # By identity: what two rooms export has one entry, and another thing of the same name counts
    # for nothing.
    values = {id(value_of(name)): name for name in names}
    missing = {
        f"{module}.{name}"
        for module in PUBLIC
        for name in exported(module)
        if id(value_of(f"{module}.{name}")) not in values and f"{module}.{name}" not in modules
    }
    assert missing == set()


def test_reference_lists_nothing_else_and_nothing_twice():
    _, names = documented(text_of("reference.md"))
    public = {f"{module}.{name}" for module in PUBLIC for name in exported(module)}
    assert HANDED <= names <= public | HANDED
    assert len({id(value_of(name)) for name in names}) == len(names)


def test_public_rooms_of_the_reference_are_all_in_the_page():
    rooms = {
        f"rope_ref.{name}"
        for name, value in vars(rope_ref).items()
        if name in rope_ref.__all__ and isinstance(value, ModuleType)
    }
    assert rooms <= set(PUBLIC)


# What was found in public libraries

LIBRARIES = [name for name in BUNDLED if not name.startswith("rope-backends/")]


def report_of(name: str) -> dict:
    path = DOCS / "reports" / f"{name.replace('/', '-')}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_public_library_has_a_report_and_no_report_is_left_over(public_reports):
    names = [public_reports.path_of(name).name for name in LIBRARIES]
    assert public_reports.public_names() == LIBRARIES
    assert sorted(path.name for path in (DOCS / "reports").glob("*.json")) == sorted(names)


@pytest.mark.parametrize("name", LIBRARIES)
def test_report_holds_what_the_page_takes_from_it(name, public_reports):
    data = report_of(name)
    assert data["schema"] == public_reports.SCHEMA
    assert (data["name"], data["package"]) == (name, BUNDLED[name].package)
    assert data["sentence"] == BUNDLED[name].sentence
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", data["date"])
    assert set(data["beside"]) == set(BUNDLED[name].needs)
    assert set(data["probes"]) == {
        "transformers/llama": {"claimed_interleaved"},
        "rotary-embedding-torch": {"bfloat16_error"},
        "ibm-fms": {"past_the_table"},
    }.get(name, set())
    report = data["report"]
    assert report["edition"] == EDITION
    assert report["versions"]["rope-ref"] != "not installed"
    assert (report["effort"], report["interrupted"], report["doubts"]) == ("default", False, [])
    assert report["passed"] == (not any(result["failure"] for result in report["results"]))
    assert set(report["horizon"]) == {"error", "position", "ends"}
    # The page has "1 %" in its head.
    assert report["horizon"]["error"] == 0.01
    assert isinstance(report["largest_ratio"], float) or report["largest_ratio"] == "inf"
    assert report["tightest_profile"] in [None, *(profile.name for profile in PROFILES)]


@pytest.mark.parametrize("name", LIBRARIES)
def test_report_is_of_the_claim_and_the_clauses_of_today(name):
    report = report_of(name)["report"]
    claim, spec = BUNDLED[name].load().claim, BUNDLED[name].spec
    judged = {field.name: getattr(claim, field.name) for field in fields(claim)}
    del judged["accepts"]  # a function
    second, told = judged.pop("second_channels"), report["claim"]["second_channels"]
    assert (told and told["frequencies"]) == (second and repr(second.frequencies))
    expected = json.loads(json.dumps(judged))
    assert {key: report["claim"][key] for key in expected} == expected
    assert report["spec"]["head_dim"] == spec.head_dim
    assert report["spec"]["layout"] == spec.layout
    assert sum(report["counts"].values()) == len(all_checks()) * len(claim.dtypes)
    assert {result["clause"] for result in report["results"]} <= {c.id for c in all_clauses()}


@pytest.mark.parametrize("name", LIBRARIES)
def test_report_is_of_the_version_that_tox_installs(name, found):
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    pinned = found.pins(tox.partition("[testenv:public]")[2].partition("\n[testenv")[0])
    data = report_of(name)
    of_report = {data["package"]: data["version"], **data["beside"]}
    assert data["package"] in pinned
    assert of_report == {package: pinned[package][0] for package in of_report}


def test_a_library_has_one_version_on_the_page():
    versions: dict[str, set[str]] = {}
    for name in LIBRARIES:
        versions.setdefault(report_of(name)["package"], set()).add(report_of(name)["version"])
    assert {package: len(found) for package, found in versions.items() if len(found) > 1} == {}


def test_page_quotes_what_the_reports_hold(found, capsys):
    cells = re.findall(r"^found\.(quote(?:_fact)?|probe)\((.*)\)$", text_of("public.md"), re.M)
    assert len(cells) >= 5
    for function, arguments in cells:
        eval(f"found.{function}({arguments})", {"found": found})
    # Each clause that is broken somewhere is in the list, with a link.
    broken = {
        result["clause"]
        for name in LIBRARIES
        for result in report_of(name)["report"]["results"]
        if result["failure"]
    }
    linked = set(re.findall(r"\[([\w.]+)\]\(specification", found.broken()))
    assert broken == linked
    assert "257" in capsys.readouterr().out


def test_what_the_page_says_of_all_other_clauses_is_so():
    def broken(name: str, *dtypes: str) -> set[str]:
        results = report_of(name)["report"]["results"]
        return {r["clause"] for r in results if r["failure"] and r["dtype"] in dtypes}

    assert broken("rotary-embedding-torch", "float32") == {"data.types"}
    assert broken("equinox", "float32", "bfloat16", "float16") == {
        "frequency.bases",
        "objects.apart",
    }
    assert broken("transformers/gptj", "float32", "bfloat16", "float16") == {"objects.ambient"}
    # One fault: in the narrow types each failure names positions as the cause. The gradient
    # is turned at the same positions, and its own check names no cause.
    for result in report_of("rotary-embedding-torch")["report"]["results"]:
        if result["failure"] and result["dtype"] != "float32":
            cause = result["failure"]["cause"]
            expected = None if result["clause"] == "gradient.values" else "positions are rounded to"
            assert cause is None if expected is None else cause.startswith(expected), result
    assert broken("transformers/olmo3", "float32", "bfloat16") == {"scaling.parameters"}
    assert broken("transformers/qwen2.5-vl", "float32", "bfloat16") == {"segments.next"}
    others = set(LIBRARIES) - {
        "rotary-embedding-torch", "equinox", "transformers/gptj", "transformers/olmo3",
        "transformers/qwen2.5-vl", "transformers/phimoe", "transformers/hunyuan-vl",
        "keras-hub/dynamic", "ibm-fms/yarn", "litgpt/yarn",
    }  # fmt: skip
    assert [name for name in others if not report_of(name)["report"]["passed"]] == []


def test_overview_has_a_row_for_each_library(found, parts):
    def names(table: str) -> list[str]:
        return re.findall(r"^\| `(\S+)` \|", table, re.M)

    assert names(found.overview()) == names(found.warnings()) == LIBRARIES
    assert found.anchor("score.worked_example") == parts.anchor("score.worked_example")


def test_page_says_whether_a_gpu_was_used(found, monkeypatch, tmp_path):
    monkeypatch.setattr(found, "REPORTS", tmp_path)
    assert found.gpu() == "**Nothing has been run on a GPU yet.**\n"
    (tmp_path / "gpu").mkdir()
    places = {"cupy": {"verdict": "passed", "reason": "21 clauses"}}
    report = {"date": "2026-01-02", "versions": {"cupy-cuda13x": "14.2.0"}, "places": places}
    (tmp_path / "gpu/a.json").write_text(json.dumps(report), encoding="utf-8")
    assert "| 2026-01-02 | cupy | passed | 21 clauses | cupy-cuda13x 14.2.0 |" in found.gpu()


def test_pins_are_read_with_extras_and_markers(found):
    text = "    mlx[cpu]==0.32.4\n# x==1\njax==1.0; python_version < '3'\njax==2.0\n"
    assert found.pins(text) == {"mlx": ["0.32.4"], "jax": ["1.0", "2.0"]}


def test_report_text_is_the_data_one_line_each(public_reports):
    data = report_of("equinox")
    assert json.loads(public_reports.as_text(data)) == data
    for name in LIBRARIES:
        path = public_reports.path_of(name)
        assert path.read_text(encoding="utf-8") == public_reports.as_text(report_of(name))
        assert path.stat().st_size < 60_000

"""docs/terms.md has the words that code, clauses and pages use, and none that was given up."""

import importlib
import importlib.util
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import rope_ref
from rope_conformance import Claim
from rope_conformance.clauses import FAMILIES, all_clauses
from rope_conformance.faults import FAULTS
from rope_conformance.report.model import Verdict
from rope_conformance.target.implementation import EITHER, SURFACES
from rope_ref import RopeSpec

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TERMS = (DOCS / "terms.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# The pages that use the terms. CHANGELOG.md and CONTRIBUTING.md quote what is not to be said;
# the latter uses the terms of what is inside the suite.
PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in sorted([*DOCS.glob("*.md"), ROOT / "README.md"])
    if page.name not in ("terms.md", "changelog.md")
}

# Words of our own that the field's words have replaced: a pattern, how it was used, what to say.
GIVEN_UP = [
    (r"(?i)\bremap\w*", "frequencies that are remapped", "scaling, scaled"),
    (r"(?i)\bbystanders?\b", "the bystanders are restored", "process state"),
    (r"(?i)\btrials?\b", "a trial of it", "check context, or that something is tried"),
    (r"(?i)\bturns no way\b", "an output that turns no way", "has no direction"),
    (r"(?i)\btelling[ _]position", "at a telling position", "probe position"),
    (r"\b(Settled|Told|Watched)\b", "run.prepare returns Settled", "the new name of the class"),
    (r"\b(left_alone|judge_apart)\b", "it calls judge_apart", "restored, judge_two_angles"),
    (r"\bGiven\(", "frequencies=rr.Given([1.0])", "ExplicitFrequencies("),
    (r"\bModelRope\b", "a ModelRope", "LayerRopes"),
    (r"\bconfig_(words|rules|values)\b", "see config_words", "hf_switches, hf_scaling, keys"),
    (r"\.from_(hf_config|gguf)\b", "RopeSpec.from_hf_config(c)", "spec_from_hf_config"),
    (r"\brope_conformance\.wrong\b", "rope_conformance.wrong:base_off", "rope_conformance.zoo"),
    (r"\btest_house\b", "conformance/tests/test_house.py", "test_packaging"),
]

# What papers, configs and other libraries say, and where a reader will look for it.
NAMES_OF_THE_FIELD = {
    "inv_freq": "theta",
    "rope_theta": "base",
    "rotary_ndims": "rotary_dim",
    "head_size": "head_dim",
    "partial_rotary_factor": "partial rotation",
    "rotate_half": "half",
    "adjacent": "interleaved",
    "mscale": "amplitude",
    "attention factor": "amplitude",
    "rope_scaling": "scaling",
    "original_max_position_embeddings": "original length",
    "position interpolation": "linear scaling",
    "mrope_section": "pair_axes",
    "freqs_cis": "cos/sin cache",
    "varlen": "pack",
    "GQA": "grouped heads",
}


@dataclass(frozen=True)
class Entry:
    """A definition, and the names that it defines; the first is ours."""

    names: tuple[str, ...]
    definition: str


def entries(text: str) -> list[Entry]:
    """The entries of all glossaries on a page."""
    found = []
    for body in re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.M | re.S):
        for block in re.split(r"\n\s*\n", body.strip("\n")):
            lines = block.split("\n")
            names = tuple(line for line in lines if not line.startswith(" "))
            meaning = " ".join(line.strip() for line in lines[len(names) :])
            assert all(line.startswith("  ") for line in lines[len(names) :]), block
            found.append(Entry(names, meaning))
    return found


ENTRIES = entries(TERMS)
DEFINED = {name: entry for entry in ENTRIES for name in entry.names}


def definition(name: str) -> str:
    return DEFINED[name].definition


@cache
def generated() -> dict[str, str]:
    """The text on pages that the code writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "_ext")
        spec = importlib.util.spec_from_file_location("_terms_parts", DOCS / "_ext/parts.py")
        parts = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(parts)
        for name in ("found", "zoo"):
            sys.modules.pop(name, None)
        return {name: part() for name, part in parts.PARTS.items()}


def rooms() -> dict[str, ModuleType]:
    """The rooms of rope_ref that are public."""
    public = {name: getattr(rope_ref, name) for name in rope_ref.__all__}
    return {name: value for name, value in public.items() if isinstance(value, ModuleType)}


@cache
def docstrings() -> dict[str, str]:
    """The docstrings of what is public, by name."""
    modules = [rope_ref, *rooms().values()]
    modules += map(
        importlib.import_module, ("rope_backends", "rope_conformance", "rope_conformance.adapters")
    )
    found = {}
    for module in modules:
        found[module.__name__] = module.__doc__
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{module.__name__}.{name}"] = value.__doc__
            if inspect.isclass(value):
                own = {key: each for key, each in vars(value).items() if not key.startswith("_")}
                found |= {f"{module.__name__}.{name}.{k}": e.__doc__ for k, e in own.items()}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def texts() -> Iterator[tuple[str, str]]:
    """Everything that a user reads, with where it stands."""
    yield from PAGES.items()
    yield from generated().items()
    yield from ((clause.id, clause.sentence) for clause in all_clauses())
    yield from docstrings().items()


# The glossary by itself


def test_each_name_is_defined_once():
    counted = Counter(name.lower() for entry in ENTRIES for name in entry.names)
    assert len(ENTRIES) > 90
    assert [name for name, times in counted.items() if times > 1] == []


def test_a_definition_is_one_or_two_sentences():
    def sentences(text: str) -> int:
        return len(re.findall(r"[.?!](?=\s|$)", text))

    assert {e.names[0]: n for e in ENTRIES if (n := sentences(e.definition)) not in (1, 2)} == {}


def test_what_a_definition_links_to_exists():
    linked = re.findall(r"\{(?:class|func|mod)\}`([\w.]+)`", TERMS)
    assert linked
    for name in linked:
        module, _, own = name.rpartition(".")
        assert hasattr(importlib.import_module(module), own), name


def test_names_of_the_field_lead_to_ours():
    assert {name: DEFINED[name].names[0] for name in NAMES_OF_THE_FIELD} == NAMES_OF_THE_FIELD


def test_links_to_terms_name_terms():
    known = {name.lower() for name in DEFINED}
    roles = [
        (page, role)
        for page, text in PAGES.items()
        for role in re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]*)>?`", text)
    ]
    assert len(roles) > 20
    assert [(page, role) for page, role in roles if role.lower() not in known] == []


# What the code exports


def test_every_field_of_a_spec_is_a_term():
    assert {field.name for field in fields(RopeSpec)} <= set(DEFINED)


def test_every_verdict_is_a_term():
    assert set(get_args(Verdict)) <= set(DEFINED)


def test_every_public_concept_of_the_reference_is_a_term_or_linked_from_one():
    concepts = {f"rope_ref.{name}" for name in rope_ref.__all__} - {"rope_ref.RopeError"}
    concepts |= {
        f"rope_ref.{room}.{name}"
        for room, module in rooms().items()
        if room != "errors"
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) and name not in rope_ref.__all__
    }
    linked = {
        name for entry in ENTRIES for name in re.findall(r"\{\w+\}`([\w.]+)`", entry.definition)
    }
    assert {name for name in concepts if name.rpartition(".")[2] not in DEFINED} - linked == set()


def test_fault_classes_have_a_row_each():
    section = TERMS.partition("\n## Fault classes\n")[2]
    assert tuple(re.findall(r"^\| `([\w-]+)` \| \w", section, re.M)) == FAULTS


def first_cells(table: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", table, re.M)


def test_words_that_a_page_lists_are_linked_from_a_term():
    """Fields of a claim, surfaces, profiles and families: the page, and the way to it."""
    judging = PAGES["judging.md"]

    assert "judging.md#what-it-claims" in definition("claim")
    assert "```{generated} claim-fields" in judging.partition("\n## What it claims\n")[2]
    assert first_cells(generated()["claim-fields"]) == [field.name for field in fields(Claim)]

    assert "judging.md#what-can-be-judged" in definition("surface")
    section = judging.partition("\n## What can be judged\n")[2].partition("\n## ")[0]
    assert set(first_cells(section)) == set(SURFACES) - {EITHER}

    assert "judging.md#accuracy" in definition("profile")
    assert "```{generated} profiles" in judging.partition("\n## Accuracy\n")[2]
    assert "float32-power" in first_cells(generated()["profiles"])  # test_docs.py counts them all

    assert "specification.md" in definition("clause family")
    headings = re.findall(r"^## (\w+)$", generated()["specification"], re.M)
    assert [heading.lower() for heading in headings] == list(FAMILIES)

    assert "judging.md#what-a-verdict-means" in definition("verdict")
    assert "reports.md" in definition("report")


# What is said


def test_every_term_is_used():
    """An entry that no page, clause or docstring uses explains nothing."""
    said = "\n".join([*(text for _, text in texts()), CONTRIBUTING])

    def used(name: str) -> bool:
        return len(name) > 1 and bool(re.search(rf"(?i)(?<!\w){re.escape(name)}s?(?!\w)", said))

    assert [entry.names[0] for entry in ENTRIES if not any(map(used, entry.names))] == []


@pytest.mark.parametrize(("pattern", "example", "say"), GIVEN_UP)
def test_a_word_that_was_given_up_is_not_used(pattern, example, say):
    assert re.search(pattern, example)
    found = {
        where: text[max(0, match.start() - 30) : match.end() + 30]
        for where, text in [*texts(), ("terms.md", TERMS)]
        if (match := re.search(pattern, text))
    }
    assert found == {}, f"say: {say}"

"""Parts of pages that are made from the code they are about, as MyST text.

No clause, profile or number is written here: all come from the code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields
from typing import Any

import found
import numpy as np
import zoo

from rope_conformance import clauses
from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import PROFILES, Profile
from rope_conformance.accuracy.residual import DECISIVE
from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import EDITION, Check
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS
from rope_conformance.zoo.kills import kills
from rope_ref import RopeSpec

SURFACES = {
    "apply": "apply_rope(x, positions)",
    "apply or rotate": "apply_rope(x, positions) or apply_cos_sin(x, cos, sin)",
    "rotate": "apply_cos_sin(x, cos, sin)",
    "theta": "theta()",
    "table": "cos_sin(positions)",
    "attention": "qkv(q, k, v, positions)",
    "gradient": "vjp(g, positions)",
    "logits": "logits(q, k, q_positions, k_positions)",
    "decode": "start(), prefill(x, lengths=None), step(x)",
    "positions": "positions(request)",
    "segments": "segment_positions(segments)",
    "weights": "convert(array, n_heads, n_kv_heads, which, to)",
    "config": "from_config(mapping)",
}

USUAL = RopeSpec(128, layout="half")


def anchor(clause_id: str) -> str:
    """The HTML id of a clause: what comes after ``specification.html#``."""
    return "clause-" + re.sub(r"[._]", "-", clause_id)


def edition() -> str:
    """Which edition this is, and how to cite it."""
    example = all_checks()[0].clause.id
    return (
        f"This is **edition {EDITION}**.\n"
        "An edition is a version of the sentences below, apart from the version of the package.\n"
        f"Cite a clause by edition and id, for example *rope-ref {EDITION}, {example}*.\n"
        f"Its address is this page's with [`#{anchor(example)}`](#{anchor(example)}) added.\n"
        "Within an edition no id is removed or given another meaning.\n"
    )


def specification() -> str:
    """Every clause of the registry, family by family."""
    checks = all_checks()
    lines: list[str] = []
    for family in clauses.FAMILIES:
        module = importlib.import_module(f"rope_conformance.clauses.{family}")
        own = [check for check in checks if check.clause.id.split(".")[0] == family]
        lines += [f"## {family.capitalize()}", "", _plain(_first_line(module)), ""]
        for check in own:
            lines += [*_clause(check), ""]
        checks = tuple(check for check in checks if check not in own)
    if checks:
        raise ValueError(f"clauses of no family: {', '.join(c.clause.id for c in checks)}")
    return "\n".join(lines)


def _clause(check: Check) -> Iterator[str]:
    clause = check.clause
    number, code = source(clause.reference)
    yield from (f"({anchor(clause.id)})=", f"### {clause.id}", "")
    yield from (_plain(clause.sentence), "", "$$", clause.formula, "$$", "")
    yield "````{container} clause-facts"
    yield from (f"**In the reference:** {_where(clause.reference)}", "")
    yield from ("```{code-block} python", f":lineno-start: {number}", "", code, "```", "")
    yield from (f"**Judged through** `{SURFACES[clause.surface]}`{_opened(check)}.", "")
    yield from (f"**The check:** {_plain(_first_line(check.body))} {_evidence(check)}", "")
    yield from ("**It catches:**", "")
    yield from (f"- `{each.name}`: {_plain(each.sentence)}" for each in kills()[check.name])
    yield "````"


def _where(reference: str) -> str:
    module, _, name = reference.partition(":")
    number = inspect.getsourcelines(_resolve(reference))[1]
    return f"`{module}.{name}` ({module.replace('.', '/')}.py, line {number})"


def source(reference: str) -> tuple[int, str]:
    """The code of a ``module:function`` and its first line's number, signature and text left out.

    Of a class, its fields.
    """
    lines, start = inspect.getsourcelines(_resolve(reference))
    (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    if isinstance(tree, ast.ClassDef):
        body = [node for node in body if isinstance(node, ast.AnnAssign)]
    first, last = body[0].lineno, max(node.end_lineno or node.lineno for node in body)
    return start + first - 1, textwrap.dedent("".join(lines[first - 1 : last])).rstrip()


def _resolve(reference: str) -> Any:
    module, _, path = reference.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return inspect.unwrap(found)


def _opened(check: Check) -> str:
    """Whether a plain function is judged by it; if not, what its claim lacks."""
    if check.clause.surface != "apply":
        return ""
    plain = CheckContext(Implementation(lambda x, positions: x, USUAL), "float32")
    closed = check.clause.opened_by(plain)
    if closed is None:
        return ""
    return f", if the claim opens the clause; that of a plain function does not ({_plain(closed)})"


def _evidence(check: Check) -> str:
    plural = "" if check.minimum == 1 else "s"
    what = f"decisive comparison{plural}" if check.numeric else f"input{plural}"
    return f"A pass needs at least {check.minimum} {what}."


def controls() -> str:
    """The honest implementations on which no check may fail."""
    return "\n".join(f"- `{c.name}`: {_plain(c.sentence)}" for c in CONTROLS.values())


def claim_fields() -> str:
    """The fields of `Claim`, what each means, and its default."""
    meaning = _parameters(Claim)
    rows = []
    for field in fields(Claim):
        default = "" if field.default is MISSING else f"`{field.default!r}`"
        rows.append((f"`{field.name}`", default, _plain(meaning[field.name], code=True)))
    return _table(("field", "default", "meaning"), rows)


def profiles() -> str:
    """The named profiles, what they allow, and how far they decide anything."""
    rows = []
    for profile in PROFILES:
        dtype = "float64" if profile.phase == "float64" else "float32"
        m = profile.amplification(USUAL)
        rows.append(
            (
                f"`{profile.name}`",
                _plain(profile.sentence),
                f"{m[0]:.3g} to {m[-1]:.3g}",
                f"{_largest_error(profile, dtype):.1e}",
                _decides_to(profile, dtype),
            )
        )
    head = ("profile", "what it says", "$m_i$", "allowed at 1000", "decides up to")
    return _table(head, rows)


def _largest_error(profile: Profile, dtype: str) -> float:
    """What a pair may be off by at position 1000, as a share of its length."""
    allowed = bound(profile, USUAL, 1000, dtype, 1.0)
    return float(np.max(allowed)) * unit_roundoff(dtype)


def _decides_to(profile: Profile, dtype: str) -> str:
    """The last position where the bound of the fastest pair tells right from wrong."""

    def decides(position: int) -> bool:
        allowed = bound(profile, USUAL, position, dtype, 1.0)[0]
        return bool(allowed * unit_roundoff(dtype) <= DECISIVE)

    low, high = 0, profile.position_limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if decides(middle) else (low, middle)
    return f"{low:,}"


PARTS: dict[str, Callable[[], str]] = {
    "edition": edition,
    "specification": specification,
    "controls": controls,
    "claim-fields": claim_fields,
    "profiles": profiles,
    **found.PARTS,
    **zoo.PARTS,
}


def _parameters(documented: type) -> dict[str, str]:
    """Name -> text of the section ``Parameters`` of a numpydoc docstring."""
    text = inspect.getdoc(documented) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    meaning: dict[str, list[str]] = {}
    for line in section.splitlines():
        if not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
            for name in names:
                meaning[name] = []
        else:
            for name in names:
                meaning[name].append(line.strip())
    return {name: " ".join(words) for name, words in meaning.items()}


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(text: str, *, code: bool = False) -> str:
    """Text in which nothing is markup; with `code`, ````text```` stays code."""
    pieces = re.split(r"(``.*?``)", " ".join(text.split())) if code else [text]
    return "".join(
        piece
        if code and piece.startswith("``")
        else re.sub(r"([\\`*_{}\[\]<>|$~#])", r"\\\1", piece)
        for piece in pieces
    )


def _first_line(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").split("\n\n")[0].replace("\n", " ")

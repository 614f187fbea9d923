"""The zoo as MyST text: what each wrong implementation does, and what catches it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.corpus import corpus

FILE = Path(__file__).parents[1] / "kill-matrix.json"


def read() -> dict[str, dict[str, Any]]:
    """The rows of the kill matrix."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["wrong"]
    return rows


def summary() -> str:
    """How many there are, and how many are reported with the right fault class."""
    rows = read()
    right = sum(each["found"] == each["fault"] for each in rows.values())
    return (
        f"There are {len(rows)} wrong implementations. All are caught, and {right} of them are "
        f"reported with their own fault class. On the {len(CONTROLS)} controls no check fails.\n"
    )


def table() -> str:
    """Each wrong implementation with its class, what sufficed, and how many checks catch it."""
    sources = _sources()
    lines = ["| name | what it does wrong | class | enough | checks |", "|---|---|---|---|---|"]
    for name, each in read().items():
        what = WRONG[name].sentence
        if name in sources:
            what += f" ({', '.join(sources[name])})"
        fault = each["fault"]
        if each["found"] != fault:
            fault += f" (found: {each['found']})"
        names = [f"`{name}`", what, fault, _smallest(each["smallest"]), str(len(each["caught_by"]))]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in names) + " |")
    return "\n".join(lines) + "\n"


def checks() -> str:
    """Each check with how many wrong implementations it catches, and which it alone does."""
    killed: dict[str, list[str]] = {}
    rows = read()
    for name, each in rows.items():
        for clause in each["caught_by"]:
            killed.setdefault(clause, []).append(name)
    lines = ["| check | catches | alone |", "|---|---|---|"]
    for clause, names in killed.items():
        alone = [f"`{name}`" for name in names if rows[name]["caught_by"] == [clause]]
        lines.append(f"| {clause} | {len(names)} | {', '.join(alone)} |")
    return "\n".join(lines) + "\n"


def reported() -> str:
    """Each public report with the wrong implementation that stands for it, or why none does."""
    lines = ["| report | class | in the zoo |", "|---|---|---|"]
    for entry in corpus():
        repository, _, number = entry.source.partition("#")
        link = f"[{entry.source}](https://github.com/{repository}/issues/{number})"
        names = ", ".join(f"`{name}`" for name in entry.members)
        lines.append(f"| {link} | {entry.fault} | {names or entry.why_not} |")
    return "\n".join(lines) + "\n"


def _sources() -> dict[str, list[str]]:
    """Public reports by the wrong implementation that stands for them."""
    found: dict[str, list[str]] = {}
    for entry in corpus():
        for name in entry.members:
            found.setdefault(name, []).append(entry.source)
    return found


def _smallest(found: dict[str, Any]) -> str:
    calls = f"{found['calls']} call{'s' if found['calls'] != 1 else ''}"
    if "position" not in found:
        return calls
    shape = " x ".join(map(str, found["shape"]))
    return f"position {found['position']}, {shape}, {calls}"


PARTS = {
    "zoo-summary": summary,
    "zoo-table": table,
    "zoo-checks": checks,
    "zoo-reported": reported,
}

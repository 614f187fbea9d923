"""What reports in docs/reports say, as MyST text and as quotations.

`tools/public_reports.py` and `tools/gpu_conformance.py` write them. A page repeats none of their
numbers: they are read when the page is built, and a finding that is gone fails the build.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rope_conformance.adapters import BUNDLED

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "docs" / "reports"


def read() -> dict[str, dict[str, Any]]:
    """Every report on a public library, by name, in the order of the registry."""
    found = {}
    for file in REPORTS.glob("*.json"):
        data = json.loads(file.read_text(encoding="utf-8"))
        found[data["name"]] = data
    return {name: found[name] for name in BUNDLED if name in found}


# Quotations, for cells that hide how they are made


def quote(name: str, clause: str, dtype: str) -> None:
    """Print what a report says of a broken clause."""
    (result,) = (
        r
        for r in read()[name]["report"]["results"]
        if (r["clause"], r["dtype"]) == (clause, dtype) and r["failure"]
    )
    failure = result["failure"]
    say(f"{name}, {dtype} data, {clause}", failure["message"])
    if failure["cause"]:
        say("cause", failure["cause"])


def quote_fact(what: str, *, warn: bool) -> None:
    """Print what each report says of something beside the claim, where it warns or does not."""
    quoted = [
        (name, fact["text"])
        for name, data in read().items()
        for fact in data["report"]["facts"]
        if fact["what"] == what and fact["warn"] == warn
    ]
    if not quoted:
        raise LookupError(f"no report says {'with' if warn else 'without'} a warning: {what}")
    for name, text in quoted:
        say(f"{name}, {what}", text)


def probe(name: str, key: str) -> dict[str, Any]:
    """What was measured of a library apart from its report."""
    found: dict[str, Any] = read()[name]["probes"][key]
    return found


def say(head: str, text: str) -> None:
    """Print a text after what it is about, no wider than a page."""
    print(textwrap.fill(f"{head}: {text}", 76, subsequent_indent="    "))


# Tables


def judged() -> str:
    """When, by what, and how thoroughly the reports were made."""
    reports = read().values()
    dates = sorted({data["date"] for data in reports})
    own = [data["report"] for data in reports]
    efforts = " and ".join(sorted({report["effort"] for report in own}))
    editions = " and ".join(sorted({report["edition"] for report in own}))
    versions = {
        package: " and ".join(sorted({report["versions"][package] for report in own}))
        for package in ("rope-ref", "python", "numpy")
    }
    beside = {
        package: version for data in reports for package, version in data["beside"].items()
    } | {data["package"]: data["version"] for data in reports}
    return (
        f"Judged on {dates[0]}{f' to {dates[-1]}' if len(dates) > 1 else ''} by edition "
        f"{editions} of the specification (rope-ref {versions['rope-ref']}), with effort "
        f"*{efforts}*, on Python {versions['python']} with NumPy {versions['numpy']}, "
        "on CPUs.\nThe libraries: "
        f"{', '.join(f'{p} {beside[p]}' for p in sorted(beside, key=str.lower))}.\n"
    )


def overview() -> str:
    """A row for each public implementation."""
    rows = []
    for name, data in read().items():
        report = data["report"]
        rows.append(
            (
                f"`{name}`",
                data["version"],
                verdict(report),
                f"`{report['profile']}`",
                f"`{report['tightest_profile']}`" if report["tightest_profile"] else "none",
                ratio(report["largest_ratio"]),
                horizon(report),
            )
        )
    head = (
        "implementation", "version", "verdict", "claims", "keeps", "error / bound",
        "horizon at 1\N{NO-BREAK SPACE}%",
    )  # fmt: skip
    return table(head, rows)


def verdict(report: dict[str, Any]) -> str:
    """The verdict of a report in a word or three."""
    if report["passed"]:
        return "conformant"
    broken = any(result["failure"] for result in report["results"])
    return "**not conformant**" if broken else "not enough evidence"


def ratio(value: float | str) -> str:
    """A multiple of the bound; "not finite" where the output was NaN or infinite."""
    return f"{value:.3g}" if isinstance(value, float) and value < 10 else _large(value)


def _large(value: float | str) -> str:
    return "not finite" if isinstance(value, str) else f"{value:,.0f}"


def horizon(report: dict[str, Any]) -> str:
    """The horizon of a report in a few words."""
    if report["table_given"]:
        return "the caller's"
    position = report["horizon"]["position"]
    if position is None:
        return "none" if report["horizon"]["ends"] else "not measured"
    ends = "" if report["horizon"]["ends"] else "beyond "
    return f"{ends}{int(position):,}"


def broken() -> str:
    """The clauses that each library broke, with the types of data, as a list."""
    lines = []
    for name, data in read().items():
        clauses: dict[str, list[str]] = {}
        for result in data["report"]["results"]:
            if result["failure"]:
                clauses.setdefault(result["clause"], []).append(result["dtype"])
        if clauses:
            lines.append(f"`{name}`")
            said = (
                f"[{clause}](specification.md#{anchor(clause)}) ({', '.join(dtypes)})"
                for clause, dtypes in clauses.items()
            )
            lines += [f": {', '.join(said)}", ""]
    return "\n".join(lines) or "No clause was broken.\n"


def anchor(clause: str) -> str:
    """The HTML id of a clause, as `parts.anchor` has it."""
    return "clause-" + re.sub(r"[._]", "-", clause)


def warnings() -> str:
    """What no claim covers and may surprise: a column for each such thing, a row for each name."""
    reports = read()
    facts = {
        name: {f["what"]: f for f in data["report"]["facts"]} for name, data in reports.items()
    }
    columns = list(
        dict.fromkeys(what for own in facts.values() for what, f in own.items() if f["warn"])
    )
    rows = [
        (f"`{name}`", *(_in_a_word(own.get(what)) for what in columns))
        for name, own in facts.items()
    ]
    return table(("implementation", *columns), rows)


def _in_a_word(fact: dict[str, Any] | None) -> str:
    if fact is None:
        return ""
    text = str(fact["text"])
    if returned := re.search(r"returned dtype (\w+)", text):
        return f"returns {returned[1]}"
    for start, word in (("not taken", "refused"), ("not tried", "not tried"), ("taken, ", "right")):
        if text.startswith(start):
            return word
    return "**outside the bound**" if fact["warn"] else cell(text)


def frameworks() -> str:
    """What each backend is tested with, and where."""
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    rows = []
    for entry in BUNDLED.values():
        group, _, name = entry.name.partition("/")
        if group != "rope-backends":
            continue
        where = "`tox run -e cupy`, with a CUDA device" if name == "cupy" else "`tox run -e cpu`"
        if name == "numpy":
            where = "`tox run -e numpy` and `lowest`"
        rows.append((f"`{name}`", f"{entry.package} {' or '.join(pinned[entry.package])}", where))
    return table(("backend", "package, version pinned", "tests"), rows)


def pins(text: str) -> dict[str, list[str]]:
    """Package -> versions, wherever ``package==version`` stands; extras and markers left out."""
    found: dict[str, list[str]] = {}
    text = re.sub(r"#.*", "", text)
    for package, version in re.findall(r"([\w.-]+)(?:\[[\w,]+\])?==(\d[\w.!+]*)", text):
        found.setdefault(package, []).append(version)
    return found


def gpu() -> str:
    """What has been run on a GPU: a row for each place of each report, newest first."""
    rows = []
    for file in sorted((REPORTS / "gpu").glob("*.json"), reverse=True):
        data = json.loads(file.read_text(encoding="utf-8"))
        versions = ", ".join(f"{p} {v}" for p, v in data["versions"].items())
        rows += [
            (data["date"], place, found["verdict"], cell(found["reason"]), versions)
            for place, found in data["places"].items()
        ]
    if not rows:
        return "**Nothing has been run on a GPU yet.**\n"
    return table(("date", "place", "verdict", "what was run, or why not", "versions"), rows)


def cell(text: str) -> str:
    """Text in a cell of a table, in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|$~#])", r"\\\1", " ".join(text.split()))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


PARTS = {
    "public-judged": judged,
    "public-overview": overview,
    "public-broken": broken,
    "public-warnings": warnings,
    "frameworks": frameworks,
    "gpu": gpu,
}

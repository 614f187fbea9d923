"""The end of a run in words: what was not claimed, the summary, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.report.model import Report

__all__ = ["not_claimed_rows", "position_text", "ratio_text", "summary_rows", "verdict_line"]


def not_claimed_rows(report: Report) -> Iterator[tuple[Text, Text]]:
    """Return the clauses that were not claimed, and why; whole families by their name."""
    families = Counter(r.clause.partition(".")[0] for r in report.results)
    reasons: dict[str, list[str]] = {}
    for result in report.results:
        if result.verdict == "not claimed":
            reasons.setdefault(result.reason, []).append(result.clause)
    for reason, clauses in reasons.items():
        own = Counter(clause.partition(".")[0] for clause in clauses)
        whole = [family for family in own if own[family] == families[family]]
        names = [f"{family}.*" for family in whole]
        names += dict.fromkeys(c for c in clauses if c.partition(".")[0] not in whole)
        yield Text("\n".join(names)), Text(reason)


def summary_rows(report: Report) -> Iterator[tuple[Text, Text]]:
    """Return what the summary says: what each row is about, and its text."""

    def row(key: str, value: str) -> tuple[Text, Text]:
        return Text(f"  {key}", style="dim"), Text(value)

    yield row("clauses", ", ".join(f"{n} {verdict}" for verdict, n in report.counts().items()))
    broken = dict.fromkeys(r.clause for r in report.findings if r.failure is not None)
    if broken:
        yield row("broken", ", ".join(broken))
    # Once, though there may be a result for each dtype.
    for clause, reason in dict.fromkeys((r.clause, r.reason) for r in report.waived):
        yield row("waived", f"{clause}: {reason}")
    for result in report.findings:
        if result.failure is None:
            yield row("to remove", f"{result.clause}: {result.reason}")
    for doubt in report.doubts:
        yield row("doubt", doubt)
    if broken and not report.counts()["passed"]:
        yield row("hint", _how_it_was_called(report))
    yield row("evidence", _evidence(report))
    yield row("accuracy", _accuracy(report))
    yield row("largest error", f"{ratio_text(report.largest_ratio)} what the claim allows")
    given = "none of its own: the caller gives the table"
    yield row("horizon", given if report.table_given else _horizon(report.horizon))
    yield row("time", f"{report.seconds:.1f} s (effort {report.effort}, seed {report.seed})")
    if report.fault is not None:
        yield row("likely class", f"{report.fault}, of all failures taken together")


def _how_it_was_called(report: Report) -> str:
    """How a target was called on which no clause passes: it may want other arguments."""
    claim = report.claim
    return (
        f"it was called as f(x, positions), x with axes {claim['axes']}, {claim['dtypes'][0]}, in "
        f"{claim['namespace']} arrays, positions as {' or '.join(claim['position_forms'])}; if it "
        "takes others, say so with --axes, --dtype, --namespace, --positions"
    )


def _evidence(report: Report) -> str:
    words = (
        f"{report.checks:,} checks, {report.inputs:,} inputs, {report.calls:,} calls; "
        f"{report.samples:,} pairs compared, {report.not_decisive:,} not decisive"
    )
    if report.not_decisive:
        words += ": the accuracy claimed allows nearly any value there"
    return words


def _accuracy(report: Report) -> str:
    tightest = report.tightest_profile
    if report.table_given:
        return f"claimed {report.profile}, of which the rotation alone is its own"
    if not any(r.samples for r in report.results):
        return f"claimed {report.profile}, not measured"
    if tightest is None:
        return f"claimed {report.profile}, not met, nor any other profile"
    if tightest == report.profile:
        return f"claimed {tightest}, and met; no tighter profile is"
    sentence = profile_named(tightest).sentence
    return f"claimed {report.profile}; the tightest met is {tightest}: {sentence}"


def ratio_text(ratio: float) -> str:
    """Return how many times the bound an error is."""
    if 100 <= ratio < 1e9:
        return f"{float(f'{ratio:.3g}'):,.0f} times"
    return f"{ratio:.2g} times"


def position_text(position: float) -> str:
    """Return a position, an integer with commas between its thousands."""
    return f"{int(position):,}" if position == int(position) else repr(position)


def _horizon(horizon: dict[str, Any]) -> str:
    size = f"{100 * horizon['error']:g} % of a pair's length"
    position = horizon["position"]
    if position is None:
        return f"the error is above {size} everywhere" if horizon["ends"] else "not measured"
    if horizon["ends"]:
        return f"the error stays below {size} up to position {position_text(position)}"
    return f"the error stays below {size} at every position tried, up to {position_text(position)}"


def verdict_line(report: Report, *, reasons: bool, partial: bool) -> Text:
    """Return the last line: the verdict, the target, and why if `reasons` or `partial`."""
    if report.passed and partial:
        words, style = f" PASSED{_with_waivers(report)} ", "bold reverse green"
        reasons, why = True, "the clauses asked for, which is no verdict on the whole"
    elif report.passed:
        words, style, why = f" CONFORMANT{_with_waivers(report)} ", "bold reverse green", ""
    elif report.findings:
        words, style = " NOT CONFORMANT ", "bold reverse red"
        why = ", ".join(
            dict.fromkeys(
                r.clause + ("" if r.failure else " (its waiver is not needed)")
                for r in report.findings
            )
        )
        if report.fault is not None:
            why += f"; likely class {report.fault}"
    else:
        words, style = " NOT ENOUGH EVIDENCE ", "bold reverse yellow"
        why = "; ".join(report.doubts)
    return Text.assemble(
        (words, style), f" {report.target}" + (f": {why}" if reasons and why else "")
    )


def _with_waivers(report: Report) -> str:
    """How many waivers were needed; one may be for several dtypes."""
    number = len({(r.clause, r.reason) for r in report.waived})
    return f" WITH {number} WAIVER{'S' if number > 1 else ''}" if number else ""

"""What a run looks like on a terminal: one line per clause as it is judged, then the verdict."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.judging.context import default_profile
from rope_conformance.judging.failures import Spot
from rope_conformance.report.model import (
    Fact,
    Failure,
    JudgedAs,
    Report,
    Result,
    Verdict,
    cause_in_words,
)
from rope_conformance.report.words import claim_in_words

__all__ = ["Screen", "show_names"]

_STYLES: dict[Verdict, str] = {
    "passed": "green",
    "failed": "bold red",
    "error": "bold red",
    "waived": "yellow",
    "not run": "yellow",
    "unsupported": "dim",
    "not claimed": "dim",
}


class Screen:
    """Shows a run while it goes on.

    Parameters
    ----------
    stream
        Where to. A terminal gets colours and a line of progress.
    quiet
        Whether to show the last line only.
    partial
        Whether only some of the clauses are judged: that is no verdict on the whole.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False, partial: bool = False) -> None:
        self.console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self.quiet = quiet
        self.partial = partial
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._left: list[str] = []
        self._several = False
        self._dtype = ""
        self._found: tuple[Fact, ...] = ()
        self._told: dict[tuple[str, str, str | None], str] = {}
        self._causes: dict[str, str] = {}

    @contextlib.contextmanager
    def running(self, target: str, judged_as: JudgedAs, clauses: Sequence[str]) -> Iterator[None]:
        """Show what will be judged, and progress as long as the context lasts."""
        if self.quiet:
            yield
            return
        self._header(target, judged_as)
        dtypes = judged_as.claim.dtypes
        self._left = [clause for _ in dtypes for clause in clauses]
        self._several = len(dtypes) > 1
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            # Colours may be forced upon a file; a line that rewrites itself is for terminals.
            disable=not self.console.file.isatty(),
            # What the target prints must not tear the line of progress, and stays what it
            # is where it goes to a file.
            redirect_stdout=sys.stderr.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(self._left[0], total=len(self._left))
        with self._progress:
            yield

    def show(self, result: Result) -> None:
        """Show one verdict."""
        if self.quiet or self._progress is None:
            return
        if self._several and result.dtype != self._dtype:
            self._dtype = result.dtype
            self._print(Text(f"\n{result.dtype} data", style="bold"))
        # Those are many, and few reasons: they come together at the end.
        if result.verdict != "not claimed":
            self._print(_row(result))
        for note in result.notes:
            self._print(_indented(Text(note, style="dim")))
        if result.verdict == "waived" and result.failure is not None:
            self._brief(result, result.failure)
        elif result.failure is not None:
            self._failure(result, result.failure)
        self._left = self._left[1:]
        self._progress.update(
            self._task,
            advance=1,
            description=self._left[0] if self._left else "what is not claimed",
        )

    def finish(self, report: Report) -> None:
        """Show what was found beside the clauses, and the verdict."""
        if not self.quiet:
            closed = list(_closed(report))
            if closed:
                self._print(Text("\nNot claimed", style="bold"))
                self._print(_grid(closed, keys=22))
            facts = [fact for fact in report.facts if fact not in self._found]
            if facts:
                self._print(Text("\nBeside what is claimed", style="bold"))
                brief = bool(report.findings)
                self._print(_grid((_fact(fact, brief) for fact in facts), keys=22))
            self._print(Text("\nSummary", style="bold"))
            self._print(_grid(_summary(report), keys=22))
            self._print(Text())
        verdict = _verdict(report, reasons=self.quiet, partial=self.partial)
        self._print(verdict, soft_wrap=True)

    def _header(self, target: str, judged_as: JudgedAs) -> None:
        claim = judged_as.claim
        profiles = dict.fromkeys(default_profile(claim, dtype) for dtype in claim.dtypes)
        rows = [
            ("target", target),
            ("judged as", judged_as.words),
            ("claims", claim_in_words(claim)),
            *(("accuracy", f"{each.name}: {each.sentence}") for each in profiles),
            *(("by trying", f"{fact.what}: {fact.text}") for fact in judged_as.facts),
        ]
        self._found = judged_as.facts
        self._print(_grid(((Text(k, style="dim"), Text(v)) for k, v in rows), keys=11))
        heads = ("verdict", "clause", "inputs", "pairs compared")
        self._print(Text())
        self._print(_columns([Text(head, style="bold") for head in heads]))

    def _failure(self, result: Result, failure: Failure) -> None:
        """The first in full; what repeats one already shown in a few words."""
        what = _without_spot(failure)
        key = (what, failure.fault, failure.cause)
        if key in self._told:
            self._print(_indented(Text(f"class: {failure.fault}, the same as {self._told[key]}")))
            return
        first = not self._told
        self._told[key] = result.clause
        if not first:
            self._brief(result, failure)
            return
        rows: list[tuple[str, Text]] = [("found", Text(what, style="bold"))]
        if failure.spot is not None:
            spot = failure.spot
            rows += [
                ("where", Text(Spot(**spot).where(_number))),
                ("got", Text(f"{spot['got']:.9g}", style="red")),
                ("want", Text(f"{spot['want']:.9g}", style="green")),
                ("error", Text(f"{_times(spot['ratio'])} the bound")),
            ]  # fmt: skip
        rows.append(("class", Text(failure.fault, style="yellow")))
        if failure.cause:
            self._causes[failure.cause] = result.clause
            rows.append(("likely cause", Text(cause_in_words(failure), style="yellow")))
        rows.append(("input", Text(failure.case)))
        self._print(Text())
        self._print(_indented(Text(result.sentence, style="italic"), by=2))
        self._print(_indented(_grid(((Text(k, style="dim"), v) for k, v in rows), keys=13), by=2))
        if failure.reproduce:
            # Not broken into lines: it is there to be copied.
            command = Text("  again          ", style="dim") + Text(failure.reproduce, style="cyan")
            self._print(command, soft_wrap=True)
        self._print(Text())

    def _brief(self, result: Result, failure: Failure) -> None:
        """On a few lines; a cause already shown is not told again."""
        lines = [Text(failure.message), Text(f"class: {failure.fault}", style="yellow")]
        if failure.cause:
            told = self._causes.setdefault(failure.cause, result.clause)
            cause = cause_in_words(failure) if told == result.clause else f"that of {told}"
            lines.append(Text(f"likely cause: {cause}", style="yellow"))
        self._print(_indented(Group(*lines)))

    def _print(self, what: RenderableType, *, soft_wrap: bool = False) -> None:
        _print(self.console, what, soft_wrap=soft_wrap)


def _closed(report: Report) -> Iterator[tuple[Text, Text]]:
    """What was not judged, and why: whole families by their name, other clauses by theirs."""
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


def show_names(lines: Iterable[tuple[str, str]]) -> None:
    """Show names, each with a sentence."""
    console = Console(highlight=False, markup=False, emoji=False)
    lines = list(lines)
    width = max(len(name) for name, _ in lines) + 2
    _print(console, _grid(((Text(k, style="bold"), Text(v)) for k, v in lines), keys=width))


def _print(console: Console, what: RenderableType, *, soft_wrap: bool = False) -> None:
    if not console.is_terminal:
        # A table is filled up with spaces, which are of no use in a file.
        with console.capture() as captured:
            console.print(what, soft_wrap=soft_wrap)
        what = "\n".join(line.rstrip() for line in captured.get().splitlines())
        soft_wrap = True
    console.print(what, soft_wrap=soft_wrap)


def _columns(cells: Sequence[RenderableType]) -> Table:
    """One line of the list of clauses; its columns stand below those of the line before."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=11)
    table.add_column(width=21)
    table.add_column(width=6, justify="right")
    table.add_column(ratio=1)
    table.add_row(*cells)
    return table


def _row(result: Result) -> RenderableType:
    style = _STYLES[result.verdict]
    verdict, clause = Text(result.verdict, style=style), Text(result.clause)
    if result.reason:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=11)
        table.add_column(width=21)
        table.add_column(ratio=1)
        clause.style = style
        table.add_row(verdict, clause, Text(result.reason, style=style))
        return table
    pairs = f"{result.samples:,}" if result.samples else ""
    if result.decisive != result.samples:
        pairs = f"{result.decisive:,} of {pairs}"
    return _columns([verdict, clause, Text(f"{result.inputs:,}"), Text(pairs)])


def _grid(rows: Iterable[tuple[Text, Text]], *, keys: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=keys)
    table.add_column()
    for key, value in rows:
        table.add_row(key, value)
    return table


def _indented(what: RenderableType, by: int = 13) -> Padding:
    return Padding(what, (0, 0, 0, by))


def _without_spot(failure: Failure) -> str:
    """The message alone, where the numbers stand beside it."""
    if failure.spot is None:
        return failure.message
    return failure.message.removesuffix(f": {Spot(**failure.spot)}")


def _fact(fact: Fact, brief: bool) -> tuple[Text, Text]:
    """Without numbers where the target is wrong anyway."""
    text = fact.text.partition(": position ")[0] if brief else fact.text
    mark, style = ("! ", "yellow") if fact.warn else ("  ", "")
    return Text(mark + fact.what, style=style), Text(text)


def _summary(report: Report) -> Iterator[tuple[Text, Text]]:
    def row(key: str, value: str) -> tuple[Text, Text]:
        return Text(f"  {key}", style="dim"), Text(value)

    yield row("clauses", ", ".join(f"{n} {verdict}" for verdict, n in report.counts().items()))
    broken = dict.fromkeys(r.clause for r in report.findings if r.failure is not None)
    if broken:
        yield row("broken", ", ".join(broken))
    # Once for several types of data.
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
    yield row("largest error", f"{_times(report.largest_ratio)} what the claim allows")
    given = "none of its own: the caller gives the table"
    yield row("horizon", given if report.table_given else _horizon(report.horizon))
    yield row("time", f"{report.seconds:.1f} s (effort {report.effort}, seed {report.seed})")
    if report.fault is not None:
        yield row("likely class", f"{report.fault}, of all failures taken together")


def _how_it_was_called(report: Report) -> str:
    """For a target that nothing passes on: perhaps it wants to be called otherwise."""
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


def _times(ratio: float) -> str:
    if 100 <= ratio < 1e9:
        return f"{float(f'{ratio:.3g}'):,.0f} times"
    return f"{ratio:.2g} times"


def _number(position: float) -> str:
    return f"{int(position):,}" if position == int(position) else repr(position)


def _horizon(horizon: dict[str, Any]) -> str:
    size = f"{100 * horizon['error']:g} % of a pair's length"
    position = horizon["position"]
    if position is None:
        return f"the error is above {size} everywhere" if horizon["ends"] else "not measured"
    if horizon["ends"]:
        return f"the error stays below {size} up to position {_number(position)}"
    return f"the error stays below {size} at every position tried, up to {_number(position)}"


def _verdict(report: Report, *, reasons: bool, partial: bool) -> RenderableType:
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
    """How many failures are forgiven; one waiver may be for several types of data."""
    number = len({(r.clause, r.reason) for r in report.waived})
    return f" WITH {number} WAIVER{'S' if number > 1 else ''}" if number else ""

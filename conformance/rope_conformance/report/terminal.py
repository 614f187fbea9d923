"""Shows a run on a terminal: a line for each clause as it is judged, then the whole report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

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
from rope_conformance.report.summary import (
    not_claimed_rows,
    position_text,
    ratio_text,
    summary_rows,
    verdict_line,
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
        Where it is written to. A terminal gets colours and a progress bar.
    quiet
        Whether only the last line is shown.
    partial
        Whether only some of the clauses are judged: the last line then claims no conformance.
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
        # By failure, and by cause: the clause at which it was shown first.
        self._shown: dict[tuple[str, str, str | None], str] = {}
        self._causes: dict[str, str] = {}

    @contextlib.contextmanager
    def running(self, target: str, judged_as: JudgedAs, clauses: Sequence[str]) -> Iterator[None]:
        """Show what will be judged, and progress as long as the context lasts.

        Parameters
        ----------
        target
            The TARGET, as it was given.
        judged_as
            What it is judged as.
        clauses
            The ids of the clauses that will be judged.
        """
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
            # Colours may be forced on a file, but a progress bar is for terminals only.
            disable=not self.console.file.isatty(),
            # On a terminal, what the target prints goes above the progress bar; in a file it
            # stays as it is.
            redirect_stdout=sys.stderr.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(self._left[0], total=len(self._left))
        with self._progress:
            yield

    def show(self, result: Result) -> None:
        """Show the verdict on one clause."""
        if self.quiet or self._progress is None:
            return
        if self._several and result.dtype != self._dtype:
            self._dtype = result.dtype
            self._print(Text(f"\n{result.dtype} data", style="bold"))
        # These are many with few reasons: they are shown together at the end.
        if result.verdict != "not claimed":
            self._print(_result_line(result))
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
        """Show what is not claimed, what was found beside the claim, summary and verdict."""
        if not self.quiet:
            closed = list(not_claimed_rows(report))
            if closed:
                self._print(Text("\nNot claimed", style="bold"))
                self._print(_grid(closed, keys=22))
            facts = [fact for fact in report.facts if fact not in self._found]
            if facts:
                self._print(Text("\nBeside what is claimed", style="bold"))
                brief = bool(report.findings)
                self._print(_grid((_fact(fact, brief) for fact in facts), keys=22))
            self._print(Text("\nSummary", style="bold"))
            self._print(_grid(summary_rows(report), keys=22))
            self._print(Text())
        line = verdict_line(report, reasons=self.quiet, partial=self.partial)
        self._print(line, soft_wrap=True)

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
        self._print(_line(*(Text(head, style="bold") for head in heads)))

    def _failure(self, result: Result, failure: Failure) -> None:
        """Show a failure: the first in full, others on a few lines, a repeated one on one line."""
        what = _without_spot(failure)
        key = (what, failure.fault, failure.cause)
        if key in self._shown:
            self._print(_indented(Text(f"class: {failure.fault}, the same as {self._shown[key]}")))
            return
        first = not self._shown
        self._shown[key] = result.clause
        if not first:
            self._brief(result, failure)
            return
        rows: list[tuple[str, Text]] = [("found", Text(what, style="bold"))]
        if failure.spot is not None:
            spot = failure.spot
            rows += [
                ("where", Text(Spot(**spot).where(position_text))),
                ("got", Text(f"{spot['got']:.9g}", style="red")),
                ("want", Text(f"{spot['want']:.9g}", style="green")),
                ("error", Text(f"{ratio_text(spot['ratio'])} the bound")),
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
            # Never broken into lines: it is there to be copied.
            command = Text("  again          ", style="dim") + Text(failure.reproduce, style="cyan")
            self._print(command, soft_wrap=True)
        self._print(Text())

    def _brief(self, result: Result, failure: Failure) -> None:
        """Show a failure on a few lines; a cause that was shown before by its clause only."""
        lines = [Text(failure.message), Text(f"class: {failure.fault}", style="yellow")]
        if failure.cause:
            first = self._causes.setdefault(failure.cause, result.clause)
            cause = cause_in_words(failure) if first == result.clause else f"that of {first}"
            lines.append(Text(f"likely cause: {cause}", style="yellow"))
        self._print(_indented(Group(*lines)))

    def _print(self, what: RenderableType, *, soft_wrap: bool = False) -> None:
        _print(self.console, what, soft_wrap=soft_wrap)


def show_names(lines: Iterable[tuple[str, str]]) -> None:
    """Show names, each with its sentence."""
    console = Console(highlight=False, markup=False, emoji=False)
    lines = list(lines)
    width = max(len(name) for name, _ in lines) + 2
    _print(console, _grid(((Text(k, style="bold"), Text(v)) for k, v in lines), keys=width))


def _print(console: Console, what: RenderableType, *, soft_wrap: bool = False) -> None:
    if not console.is_terminal:
        # rich pads the cells of a table with spaces, which are of no use in a file.
        with console.capture() as captured:
            console.print(what, soft_wrap=soft_wrap)
        what = "\n".join(line.rstrip() for line in captured.get().splitlines())
        soft_wrap = True
    console.print(what, soft_wrap=soft_wrap)


def _line(verdict: Text, clause: Text, *rest: Text) -> Table:
    """One line of the list of clauses: behind the clause a reason, or inputs and pairs."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=11)
    table.add_column(width=21)
    if len(rest) > 1:
        table.add_column(width=6, justify="right")
    table.add_column(ratio=1)
    table.add_row(verdict, clause, *rest)
    return table


def _result_line(result: Result) -> Table:
    style = _STYLES[result.verdict]
    verdict, clause = Text(result.verdict, style=style), Text(result.clause)
    if result.reason:
        clause.style = style
        return _line(verdict, clause, Text(result.reason, style=style))
    pairs = f"{result.samples:,}" if result.samples else ""
    if result.decisive != result.samples:
        pairs = f"{result.decisive:,} of {pairs}"
    return _line(verdict, clause, Text(f"{result.inputs:,}"), Text(pairs))


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
    """The message of a failure without its numbers, which are shown beside it."""
    if failure.spot is None:
        return failure.message
    return failure.message.removesuffix(f": {Spot(**failure.spot)}")


def _fact(fact: Fact, brief: bool) -> tuple[Text, Text]:
    """A fact on a row; `brief` leaves out its numbers, where the target is wrong anyway."""
    text = fact.text.partition(": position ")[0] if brief else fact.text
    mark, style = ("! ", "yellow") if fact.warn else ("  ", "")
    return Text(mark + fact.what, style=style), Text(text)

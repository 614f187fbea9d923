"""The commands of ``rope-ref``: their options, what they print, how they exit.

Modules that take time to load are imported inside the commands: ``--help`` is quick.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from rope_conformance.cli.describe import describe

if TYPE_CHECKING:
    from rope_conformance.running.child_process import ChildProcess
    from rope_conformance.running.isolation import Isolated
    from rope_conformance.running.run import Run
    from rope_conformance.running.settings import RunOptions, TargetOptions

CONFORMANT, NOT_CONFORMANT, NO_VERDICT = 0, 1, 2


class NoVerdict(click.ClickException):
    """The target could not be loaded, or the call is wrong."""

    exit_code = NO_VERDICT


# How a run is shown or what is forgiven, not what is judged: no part of a command that
# reproduces a failure.
_SHOWING = ("target", "only", "waivers", "as_json", "quiet")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rope-ref", message="%(package)s %(version)s")
def rope_ref() -> None:
    """Judge implementations of rotary position embedding (RoPE)."""


rope_ref.add_command(describe)


@rope_ref.command(short_help="Judge one implementation.")
@click.argument("target")
@click.option(
    "--layout",
    type=click.Choice(["half", "interleaved"]),
    help="Which channels form a pair; found by trying if left out.",
)
@click.option(
    "--output-layout",
    type=click.Choice(["half", "interleaved"]),
    help="Where pairs are written, if not where they are read.",
)
@click.option(
    "--head-dim", type=int, metavar="D", help="Width of a head; 128, or one that it takes."
)
@click.option("--rotary-dim", type=int, metavar="R", help="How many channels rotate; all.")
@click.option("--rotary-start", type=int, metavar="N", help="The first channel that rotates; 0.")
@click.option("--base", type=float, metavar="B", help="theta_i = B**(-2i/R); 10000.")
@click.option(
    "--config",
    type=click.Path(exists=True),
    metavar="FILE",
    help="A model's config.json or GGUF file, from which the RoPE is read.",
)
@click.option("--layer-type", metavar="NAME", help="Which layers of the config; the only ones.")
@click.option("--length", type=int, metavar="N", help="The length of text that a config scales by.")
@click.option(
    "--direction",
    type=click.Choice(["1", "-1"]),
    help="1 turns counter-clockwise, -1 clockwise; 1.",
)
@click.option("--axes", metavar="LETTERS", help="Order of x's axes: b, t, h, d; bthd.")
@click.option(
    "--positions",
    metavar="FORMS",
    help="How positions are given, separated by commas: t for an array (T,), bt for (B, T), "
    "offset for the first token's, none for no positions; t, and bt if it takes them.",
)
@click.option(
    "--position-range", metavar="LOW:HIGH", help="Smallest and largest position; 0:1048576."
)
@click.option("--real", is_flag=True, help="Positions may be fractions.")
@click.option(
    "--namespace",
    type=click.Choice(["numpy", "strict", "torch", "jax", "cupy"]),
    help="Whose arrays it takes; numpy.",
)
@click.option("--device", metavar="NAMES", help="Where it works: cpu, cuda, cuda:1, ...; cpu.")
@click.option(
    "--dtype",
    metavar="NAMES",
    help="Type of the data: float64, float32, float16, bfloat16, or several separated by commas; "
    "float32.",
)
@click.option(
    "--profile", metavar="NAME", help="Accuracy claimed, see `rope-ref list --profiles`; float32."
)
@click.option(
    "--effort",
    type=click.Choice(["quick", "default", "thorough"]),
    default="default",
    help="How many inputs are generated.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Of the generated inputs; 0.")
@click.option(
    "--only",
    multiple=True,
    metavar="CLAUSE",
    help="Judge this clause only, see `rope-ref list --clauses`; may be repeated.",
)
@click.option("--waivers", metavar="FILE", help="Failures that are forgiven for a while, in TOML.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    metavar="SECONDS",
    help="How long one call may take; 30.",
)
@click.option(
    "--no-isolation",
    is_flag=True,
    help="Run TARGET in this process: for targets that are trusted. What it prints is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout, all else on stderr.")
@click.option("--quiet", "-q", is_flag=True, help="Show the verdict only.")
def check(
    target: str,
    only: tuple[str, ...],
    waivers: str | None,
    timeout: float,
    no_isolation: bool,
    as_json: bool,
    quiet: bool,
    effort: str,
    seed: int,
    direction: str | None,
    **asked: Any,
) -> None:
    """Judge TARGET, and say what is wrong with it.

    TARGET is package.module:object, path/to/file.py:object, or an installed entry point of the
    group rope_conformance.implementations. The object is a function f(x, positions), or a factory
    that is called with a RopeSpec and returns one.

    Options say what the target claims to be. Left out, its own attributes `spec` and `claim` are
    taken, then what trying it shows, then the defaults named below.

    TARGET gets a process of its own: if it hangs, crashes or ends the process, the clause gets the
    verdict `error`, and the next one is judged in a new process.

    Exit status: 0 conformant; 1 not conformant, or not enough evidence; 2 no verdict, as the
    target could not be loaded or the call is wrong.
    """
    with _own_stdout() as stdout, contextlib.ExitStack() as ending:
        python = None
        if not no_isolation:
            from rope_conformance.running.child_process import Limits, new_python

            # It loads what it needs while this process does the same.
            python = new_python(Limits(timeout))
            ending.callback(python.close)

        from rope_conformance.clauses import all_checks
        from rope_conformance.report.terminal import Screen
        from rope_conformance.running.checking import judged
        from rope_conformance.running.settings import RunOptions, TargetOptions, command_line
        from rope_conformance.running.waivers import WaiverError, load_waivers, waived

        clauses = [each.name for each in all_checks()]
        if unknown := [name for name in only if name not in clauses]:
            raise NoVerdict(
                f"there is no clause {unknown[0]!r}; `rope-ref list --clauses` shows all"
            )
        try:
            forgiven = load_waivers(waivers)
        except WaiverError as error:
            raise NoVerdict(str(error)) from None
        screen = Screen(sys.stderr if as_json else stdout, quiet=quiet, partial=bool(only))
        with _no_verdict_if_it_raises(target), _no_bytecode(), _interrupts() as interrupted:

            def show(result: Any) -> None:
                screen.show(waived(result, forgiven, target))
                if interrupted:
                    raise KeyboardInterrupt

            command = command_line(target, _given(click.get_current_context()))
            options = RunOptions(
                effort=effort,
                seed=seed,
                only=only or None,
                command=command,
                isolate=python is not None,
                timeout=timeout,
            )
            turning = None if direction is None else int(direction)
            run = _started(target, TargetOptions(direction=turning, **asked), options, python)
            chosen = [name for name in clauses if not only or name in only]
            with contextlib.closing(run), screen.running(target, run.judged_as, chosen):
                report = judged(run, waivers=forgiven, progress=show)
        screen.finish(report)
        if as_json:
            stdout.write(report.to_json() + "\n")
    sys.exit(CONFORMANT if report.passed else NOT_CONFORMANT)


@rope_ref.command("list", short_help="Show what is built in.")
@click.option(
    "--bundled", "kinds", flag_value="bundled", default=True, help="Public libraries; the default."
)
@click.option("--clauses", "kinds", flag_value="clauses", help="What is judged.")
@click.option("--profiles", "kinds", flag_value="profiles", help="Accuracies that can be claimed.")
@click.option("--wrong", "kinds", flag_value="wrong", help="Wrong RoPEs to try a suite on.")
@click.option("--controls", "kinds", flag_value="controls", help="Honest RoPEs beside them.")
def list_(kinds: str) -> None:
    """Show the public libraries that can be judged by name, and what else comes along.

    A library's name is a TARGET, as in: rope-ref check transformers/llama. So is a wrong or
    honest RoPE: rope-ref check rope_conformance.zoo:NAME
    """
    from rope_conformance import zoo
    from rope_conformance.accuracy.profiles import PROFILES
    from rope_conformance.adapters import BUNDLED
    from rope_conformance.clauses import all_clauses
    from rope_conformance.report.terminal import show_names

    lines = {
        "bundled": lambda: [(name, _bundled_in_words(name)) for name in BUNDLED],
        "clauses": lambda: [(clause.id, clause.sentence) for clause in all_clauses()],
        "profiles": lambda: [(profile.name, profile.sentence) for profile in PROFILES],
        "wrong": lambda: [(each.name, each.sentence) for each in zoo.WRONG.values()],
        "controls": lambda: [(each.name, each.sentence) for each in zoo.CONTROLS.values()],
    }
    show_names(lines[kinds]())


def _bundled_in_words(name: str) -> str:
    """A bundled implementation on a few lines: its version or what is missing, and its claim."""
    from rope_conformance.adapters import BUNDLED, installed
    from rope_conformance.report.words import claim_in_words

    entry = BUNDLED[name]
    version, missing = installed(name)
    found = f"{entry.package} {version}" if version else missing
    adapter = entry.load()
    profile = adapter.claim.profile or "float32"
    return f"{found}. {entry.sentence}. Claims {profile}; {claim_in_words(adapter.claim)}"


def _started(
    target: str, asked: TargetOptions, options: RunOptions, python: ChildProcess | None
) -> Run | Isolated:
    """The target, ready to be judged; what is asked of it wrongly gives no verdict."""
    import hypothesis  # noqa: F401  # loaded before bytecode is no longer written

    from rope_conformance.running.checking import start
    from rope_conformance.target.frameworks import NamespaceError
    from rope_ref import RopeError

    try:
        return start(target, asked, options, python=python)
    except (NamespaceError, RopeError, ValueError) as error:
        raise NoVerdict(str(error)) from None


def _given(context: click.Context) -> dict[str, Any]:
    """The options of the command line by which the same is judged again."""
    return {
        name: value
        for name, value in context.params.items()
        if name not in _SHOWING
        and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


@contextlib.contextmanager
def _no_verdict_if_it_raises(target: str) -> Iterator[None]:
    """Exit with the status for no verdict: 1 would say that the target is wrong."""
    from rope_conformance.target.implementation import TargetError

    try:
        yield
    except NoVerdict:
        raise
    except TargetError as error:
        raise NoVerdict(str(error)) from None
    except SystemExit as error:
        raise NoVerdict(
            f"TARGET {target!r} called sys.exit({error.code!r}) as it was made"
        ) from None
    except Exception:
        traceback.print_exc()
        raise NoVerdict(
            f"TARGET {target!r} was not judged: an error of rope_conformance, please report it"
        ) from None


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Yield a list that is not empty once Ctrl-C was pressed, or the run was asked to end.

    Python raises KeyboardInterrupt wherever it is, and where that is a callback of the
    garbage collector, such as Hypothesis has, the exception is lost.
    """
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    before = {}
    # Only the main thread is interrupted, and may say how.
    with contextlib.suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _no_bytecode() -> Iterator[None]:
    """Write nothing beside the modules of a target, which may lie in the caller's folder."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextlib.contextmanager
def _own_stdout() -> Iterator[TextIO]:
    """Keep stdout for what rope-ref prints; what the target prints goes to stderr.

    By the file descriptor too, so that it holds for code that is not Python.
    """
    ours, theirs = sys.stdout, sys.stderr
    with contextlib.redirect_stdout(theirs):
        try:
            descriptor, other = ours.fileno(), theirs.fileno()
        except OSError:  # no file: a stream that a test put there
            yield ours
            return
        ours.flush()
        kept = os.dup(descriptor)
        os.dup2(other, descriptor)
        try:
            # A message may hold what the encoding of a terminal does not.
            with open(
                kept, "w", encoding=ours.encoding, errors="backslashreplace", closefd=False
            ) as stdout:
                yield stdout
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)

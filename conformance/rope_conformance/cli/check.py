"""The command ``rope-ref check``."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rope_conformance.cli.exits import CONFORMANT, NOT_CONFORMANT, Unusable
from rope_conformance.cli.process import interrupts, no_bytecode, own_stdout

if TYPE_CHECKING:
    from rope_conformance.report.model import Result
    from rope_conformance.running.child_process import ChildProcess
    from rope_conformance.running.isolation import IsolatedRun
    from rope_conformance.running.run import Run
    from rope_conformance.running.settings import RunOptions, TargetOptions

__all__ = ["check"]

# These are not repeated in a command that reproduces a failure: they say what is shown or
# forgiven, not how the target is judged.
_NOT_REPEATED = ("target", "only", "waivers", "as_json", "quiet")


@click.command(short_help="Judge one implementation.")
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
    with own_stdout() as stdout, contextlib.ExitStack() as ending:
        python = None
        if not no_isolation:
            from rope_conformance.running.child_process import Limits, new_python

            # It starts first, and imports what it needs while this process does the same.
            python = new_python(Limits(timeout))
            ending.callback(python.close)

        from rope_conformance.clauses import all_checks
        from rope_conformance.report.terminal import Screen
        from rope_conformance.running.checking import judge_run
        from rope_conformance.running.settings import RunOptions, TargetOptions, command_line
        from rope_conformance.running.waivers import WaiverError, load_waivers, waived

        clauses = [each.name for each in all_checks()]
        if unknown := [name for name in only if name not in clauses]:
            raise Unusable(
                f"there is no clause {unknown[0]!r}; `rope-ref list --clauses` shows all"
            )
        try:
            forgiven = load_waivers(waivers)
        except WaiverError as error:
            raise Unusable(str(error)) from None
        screen = Screen(sys.stderr if as_json else stdout, quiet=quiet, partial=bool(only))
        with _unusable_if_it_raises(target), no_bytecode(), interrupts() as interrupted:

            def show(result: Result) -> None:
                screen.show(waived(result, forgiven, target))
                if interrupted:
                    raise KeyboardInterrupt

            options = RunOptions(
                effort=effort,
                seed=seed,
                only=only or None,
                command=command_line(target, _given(click.get_current_context())),
                isolate=python is not None,
                timeout=timeout,
            )
            sign = None if direction is None else int(direction)
            run = _started(target, TargetOptions(direction=sign, **asked), options, python)
            chosen = [name for name in clauses if not only or name in only]
            with contextlib.closing(run), screen.running(target, run.judged_as, chosen):
                report = judge_run(run, waivers=forgiven, progress=show)
        screen.finish(report)
        if as_json:
            stdout.write(report.to_json() + "\n")
    sys.exit(CONFORMANT if report.passed else NOT_CONFORMANT)


def _started(
    target: str, asked: TargetOptions, options: RunOptions, python: ChildProcess | None
) -> Run | IsolatedRun:
    """The run of the target; options that cannot be used are the caller's mistake."""
    import hypothesis  # noqa: F401  # before bytecode is no longer written: its own may be

    from rope_conformance.running.checking import start_run
    from rope_conformance.target.frameworks import NamespaceError
    from rope_ref import RopeError

    try:
        return start_run(target, asked, options, python=python)
    except (NamespaceError, RopeError, ValueError) as error:
        raise Unusable(str(error)) from None


def _given(context: click.Context) -> dict[str, Any]:
    """The options on the command line that say how the target is judged."""
    return {
        name: value
        for name, value in context.params.items()
        if name not in _NOT_REPEATED
        and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


@contextlib.contextmanager
def _unusable_if_it_raises(target: str) -> Iterator[None]:
    """Exit with status 2 whatever is raised: status 1 would say that the target is wrong."""
    from rope_conformance.target.implementation import TargetError

    try:
        yield
    except Unusable:
        raise
    except TargetError as error:
        raise Unusable(str(error)) from None
    except SystemExit as error:
        raise Unusable(
            f"TARGET {target!r} called sys.exit({error.code!r}) as it was made"
        ) from None
    except Exception:
        traceback.print_exc()
        raise Unusable(
            f"TARGET {target!r} was not judged: an error of rope_conformance, please report it"
        ) from None

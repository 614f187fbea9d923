"""What ``rope-ref check`` changes in its own process while it runs: signals, bytecode, stdout."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["interrupts", "no_bytecode", "own_stdout"]


@contextlib.contextmanager
def interrupts() -> Iterator[list[int]]:
    """Yield a list that is not empty once Ctrl-C was pressed, or the run was asked to end.

    Python raises KeyboardInterrupt wherever it is, and where that is a callback of the
    garbage collector, such as Hypothesis has, the exception is lost.
    """
    signals: list[int] = []

    def note(number: int, frame: Any) -> None:
        signals.append(number)
        signal.default_int_handler(number, frame)

    before = {}
    # Signals reach the main thread only, and no other may set a handler.
    with contextlib.suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def no_bytecode() -> Iterator[None]:
    """Write no bytecode beside the modules of a target, which may be in the caller's folder."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextlib.contextmanager
def own_stdout() -> Iterator[TextIO]:
    """Yield stdout for what rope-ref prints, and send to stderr what the target prints there.

    The file descriptor is redirected too, for code that is not Python.
    """
    ours, theirs = sys.stdout, sys.stderr
    with contextlib.redirect_stdout(theirs):
        try:
            descriptor, other = ours.fileno(), theirs.fileno()
        except OSError:  # no file: a stream that a test put in its place
            yield ours
            return
        ours.flush()
        kept = os.dup(descriptor)
        os.dup2(other, descriptor)
        try:
            # A message may have characters that the encoding of a terminal lacks.
            with open(
                kept, "w", encoding=ours.encoding, errors="backslashreplace", closefd=False
            ) as stdout:
                yield stdout
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)

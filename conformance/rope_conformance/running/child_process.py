"""A process that works for this one and is watched: whatever it does, this one goes on.

It is asked over one pipe, answers over another, in lines of JSON, and says on the way what
it is about. What it prints goes into a third and is counted, never shown. It is ended when a
call does not return, when it prints too much, or when it needs too much memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

__all__ = [
    "LOST",
    "MEMORY",
    "TIMEOUT",
    "ProcessEnded",
    "Limits",
    "ChildProcess",
    "copy_of_this",
    "new_python",
]

TIMEOUT = 30.0  # seconds
MEMORY = 4 * 2**30  # bytes
OUTPUT = 2**20  # bytes between two answers
PATIENCE = 120.0  # seconds, outside of calls: a framework may take long to load

LOST = 70  # exit status of a process that cannot say what it has to say

_GLANCE = 0.05  # seconds between two looks at a process that says nothing
_LAST_WORDS = 2000  # bytes


@dataclass(frozen=True)
class Limits:
    """What a process may do: seconds for one call, bytes that it may grow by once loaded."""

    timeout: float = TIMEOUT
    memory: int = MEMORY

    def __post_init__(self) -> None:
        for name in ("timeout", "memory"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)!r}: a positive number expected")


class ProcessEnded(Exception):
    """The process ended, or had to be ended; the message says how.

    Attributes
    ----------
    in_call
        Whether a call was under way.
    """

    def __init__(self, how: str, in_call: bool) -> None:
        super().__init__(how)
        self.in_call = in_call


class Process(Protocol):
    """What is asked of a process, as of `subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None:
        """Its exit status, minus the number of a signal; None as long as it lives."""


# Given the ends of the pipes for the process, and those that are ours.
Start = Callable[[tuple[int, int, int], tuple[int, int, int]], Process]


class ChildProcess:
    """A process and the pipes to it.

    Attributes
    ----------
    case
        The input that it was last about, as Python; None if it named none.
    inputs, calls
        How many inputs and calls it began since its last answer.
    printed
        How many bytes it printed, all in all.
    closed
        Whether it is no more.
    """

    def __init__(self, start: Start, limits: Limits) -> None:
        self.limits = limits
        self.case: str | None = None
        self.inputs = self.calls = self.printed = 0
        self.closed = False
        self._in_call = False
        self._last_words = b""
        self._printed_before = 0
        self._grown_from: int | None = None
        theirs_in, self._requests = os.pipe()
        self._messages, theirs_out = os.pipe()
        self._output, theirs_output = os.pipe()
        theirs = (theirs_in, theirs_out, theirs_output)
        try:
            self._process = start(theirs, (self._requests, self._messages, self._output))
        finally:
            for end in theirs:
                os.close(end)
        self._lines: queue.SimpleQueue[list[bytes] | None] = queue.SimpleQueue()
        self._threads = {
            self._messages: threading.Thread(target=self._listen, daemon=True),
            self._output: threading.Thread(target=self._drain, daemon=True),
        }
        for thread in self._threads.values():
            thread.start()
        self._asked = self._heard = self._looked = time.monotonic()
        self._dead_since: float | None = None

    @property
    def seconds(self) -> float:
        """Since it was last asked for something."""
        return round(time.monotonic() - self._asked, 3)

    def ask(self, request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer.

        Raises
        ------
        Ended
            If there is none, because the process ended or had to be ended.
        """
        # One that is gone is noticed when its answer is waited for.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._requests, json.dumps(request).encode() + b"\n")
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Wait for an answer; raises as `ask` does."""
        self._asked = self._heard = time.monotonic()
        self._printed_before = self.printed
        while True:
            try:
                lines = self._lines.get(timeout=_GLANCE)
            except queue.Empty:
                lines = []
            if lines is None:
                raise self._gone()
            answers = [message for line in lines if (message := self._take(line)) is not None]
            if answers or time.monotonic() - self._looked > _GLANCE:
                self._look()
            if answers:
                self.case, self.inputs, self.calls = None, 0, 0
                return answers[-1]

    def _take(self, line: bytes) -> dict[str, Any] | None:
        """Note what a line says on the way; return it if it is an answer."""
        self._heard = time.monotonic()
        try:
            message = json.loads(line)
        except ValueError:  # somebody else writes into the pipe
            return None
        if message == "call":
            self._in_call = True
            self.calls += 1
        elif message == "back":
            self._look_at_output()
            self._in_call = False
        elif message == "loaded":
            self._grown_from = _resident(self._process.pid)
        elif isinstance(message, dict) and "case" in message:
            self.case = message["case"]
            self.inputs += 1
        elif isinstance(message, dict):
            return message
        return None

    def _look(self) -> None:
        """End the process if it does what it must not, or is dead and left its pipes to others."""
        self._looked = time.monotonic()
        self._look_at_output()
        if self._grown_from is not None:
            now = _resident(self._process.pid)
            if now is not None and now - self._grown_from > self.limits.memory:
                size = _size(self.limits.memory)
                raise self._end(f"the process needed more than {size} of memory once loaded")
        silent = self._looked - self._heard
        if self._in_call and silent > self.limits.timeout:
            raise self._end(f"the call did not return within {self.limits.timeout:g} s")
        if silent > max(self.limits.timeout, PATIENCE):
            raise self._end(f"the process did not go on within {silent:.0f} s")
        if self._process.poll() is not None:
            self._dead_since = self._dead_since or self._looked
            if self._looked - self._dead_since > 1:
                raise self._gone()

    def _look_at_output(self) -> None:
        if self.printed - self._printed_before > OUTPUT:
            raise self._end(f"the process printed more than {_size(OUTPUT)} during one check")

    def _gone(self) -> ProcessEnded:
        """How a process ended that ends by itself."""
        deadline = time.monotonic() + 5
        while (status := self._process.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if status is None:
            return self._end("the process closed the pipe to the suite")
        return self._end(_ending(status))

    def _end(self, how: str) -> ProcessEnded:
        self.close()
        return ProcessEnded(how, self._in_call)

    @property
    def last_words(self) -> str:
        """The last line printed."""
        lines = self._last_words.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """End the process and those that it started."""
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            while self._process.poll() is None:
                time.sleep(0.001)
        os.close(self._requests)
        for end, thread in self._threads.items():
            # A process that left the group may hold the other end for ever.
            thread.join(timeout=1)
            if not thread.is_alive():
                os.close(end)

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._messages, 2**16):
            *lines, rest = (rest + chunk).split(b"\n")
            self._lines.put(lines)
        self._lines.put(None)

    def _drain(self) -> None:
        while chunk := os.read(self._output, 2**16):
            self.printed += len(chunk)
            self._last_words = (self._last_words + chunk)[-_LAST_WORDS:]


def new_python(limits: Limits) -> ChildProcess:
    """Start a Python with a `rope_conformance.running.worker` that waits for what it is to load."""
    path = [each for each in sys.path if isinstance(each, str)]
    work = "from rope_conformance.running.worker import main; main()"
    code = f"import sys; sys.path[:] = {path!r}; {work}"

    def start(theirs: tuple[int, int, int], ours: tuple[int, int, int]) -> Process:
        stdin, stdout, stderr = theirs
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            # Ctrl-C is for this process, and the whole group can be ended.
            start_new_session=True,
        )

    return ChildProcess(start, limits)


def copy_of_this(work: Callable[[int, int], NoReturn], limits: Limits) -> ChildProcess:
    """Copy this process; the copy works with a pipe of requests and one for messages."""

    def start(theirs: tuple[int, int, int], ours: tuple[int, int, int]) -> Process:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # else the copy would print it too
        with warnings.catch_warnings():
            # NumPy has threads of its own; none of them is needed in the copy.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            return _Forked(pid)
        try:
            os.setsid()
            for end in ours:
                os.close(end)
            requests, messages, output = theirs
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout = open(1, "w", closefd=False)
            sys.stderr = open(2, "w", closefd=False)
            work(requests, messages)
        finally:
            os._exit(1)

    return ChildProcess(start, limits)


class _Forked:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status


def _resident(pid: int) -> int | None:
    """Bytes of memory that a process has in use; None where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _ending(status: int) -> str:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = str(-status)
        return f"the process ended with signal {name}"
    if status == LOST:
        return "the process lost its pipe to the suite"
    return f"the process ended with exit status {status}, as by os._exit({status})"


def _size(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"

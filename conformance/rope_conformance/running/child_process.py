"""A child process that answers requests and is watched: whatever it does, this process goes on.

Requests go over one pipe, answers come over another, in lines of JSON; between answers come the
messages of `rope_conformance.judging.listening` and ``"loaded"``. What the child prints goes into
a third pipe and is counted, never shown. The child is ended when a call does not return, when it
prints too much, or when it needs too much memory.
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
    "ChildProcess",
    "Limits",
    "ProcessEnded",
    "forked",
    "new_python",
]

TIMEOUT = 30.0  # seconds
MEMORY = 4 * 2**30  # bytes
OUTPUT = 2**20  # bytes between two answers
PATIENCE = 120.0  # seconds, outside of calls: a framework may take long to load

LOST = 70  # exit status of a child that cannot send its answer

_INTERVAL = 0.05  # seconds between two looks at a child that sends nothing
_TAIL = 2000  # bytes of what it printed that are kept


@dataclass(frozen=True)
class Limits:
    """What a child process may use.

    Parameters
    ----------
    timeout
        Seconds that one call may take.
    memory
        Bytes that the process may grow by once the target is loaded.

    Raises
    ------
    ValueError
        If one is not positive.
    """

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

    def __init__(self, message: str, in_call: bool) -> None:
        super().__init__(message)
        self.in_call = in_call


class Process(Protocol):
    """The part of `subprocess.Popen` that is needed here."""

    pid: int

    def poll(self) -> int | None:
        """The exit status, or minus the number of the signal that ended it; None while it runs."""


# Starts a process, given the child's ends of the three pipes, and ours.
Start = Callable[[tuple[int, int, int], tuple[int, int, int]], Process]


class ChildProcess:
    """A child process and the pipes to it.

    Parameters
    ----------
    start
        Starts the process.
    limits
        What it may use.

    Attributes
    ----------
    case
        The input it is working on, as Python; None if it named none since its last answer.
    inputs, calls
        How many inputs and calls it began since its last answer.
    printed
        How many bytes it printed in all.
    closed
        Whether it was ended.
    """

    def __init__(self, start: Start, limits: Limits) -> None:
        self.limits = limits
        self.case: str | None = None
        self.inputs = self.calls = self.printed = 0
        self.closed = False
        self._in_call = False
        self._tail = b""
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
        """How long ago it was last sent a request."""
        return round(time.monotonic() - self._asked, 3)

    def ask(self, request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer.

        Raises
        ------
        ProcessEnded
            If there is none, because the process ended or had to be ended.
        """
        # A process that is gone is noticed while waiting for its answer.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._requests, json.dumps(request).encode() + b"\n")
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Wait for an answer; raises as `ask` does."""
        self._asked = self._heard = time.monotonic()
        self._printed_before = self.printed
        while True:
            try:
                lines = self._lines.get(timeout=_INTERVAL)
            except queue.Empty:
                lines = []
            if lines is None:
                raise self._gone()
            answers = [message for line in lines if (message := self._take(line)) is not None]
            if answers or time.monotonic() - self._looked > _INTERVAL:
                self._look()
            if answers:
                self.case, self.inputs, self.calls = None, 0, 0
                return answers[-1]

    def _take(self, line: bytes) -> dict[str, Any] | None:
        """Return a line's message if it is an answer; else note what it says."""
        self._heard = time.monotonic()
        try:
            message = json.loads(line)
        except ValueError:  # the target wrote into the pipe
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
        """End the process if it is beyond its limits, or dead while others hold its pipes."""
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
        """The error for a process that closed its end of the pipe, or ended by itself."""
        deadline = time.monotonic() + 5
        while (status := self._process.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if status is None:
            return self._end("the process closed the pipe to the suite")
        return self._end(_ending(status))

    def _end(self, message: str) -> ProcessEnded:
        self.close()
        return ProcessEnded(message, self._in_call)

    @property
    def last_line(self) -> str:
        """The last line it printed that is not blank."""
        lines = self._tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """End the process, and those it started."""
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
            # A process that left the group may keep the other end open for ever.
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
            self._tail = (self._tail + chunk)[-_TAIL:]


def new_python(limits: Limits) -> ChildProcess:
    """Start a new Python that runs `rope_conformance.running.worker.main`."""
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
            # Ctrl-C does not reach the child, and its whole group can be ended.
            start_new_session=True,
        )

    return ChildProcess(start, limits)


def forked(work: Callable[[int, int], NoReturn], limits: Limits) -> ChildProcess:
    """Fork this process; the fork calls `work` with its pipe of requests and that of messages."""

    def start(theirs: tuple[int, int, int], ours: tuple[int, int, int]) -> Process:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # else the fork would print it too
        with warnings.catch_warnings():
            # Python warns of forking with threads; those of NumPy are not needed in the fork.
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
    """A forked process, as a `Process`."""

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
    """Bytes of memory that a process has in use; None where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _ending(status: int) -> str:
    """How a process ended, in words."""
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

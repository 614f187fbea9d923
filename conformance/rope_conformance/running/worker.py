"""The process of an isolated target: answers what `rope_conformance.running.isolation` asks."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from rope_conformance.judging.listening import listening
from rope_conformance.running.child_process import LOST
from rope_conformance.running.loading import load_target
from rope_conformance.running.run import Run
from rope_conformance.running.settings import TargetOptions
from rope_conformance.running.settling import own_claim, settle
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError
from rope_ref import RopeError

__all__ = ["main", "packed", "serve"]


def packed(value: Any) -> str:
    """Return a value as text that another process of ours can read."""
    return base64.b64encode(pickle.dumps(value)).decode()


def _unpacked(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))


def main() -> None:
    """Serve as a new Python, whose stdin, stdout and stderr are the pipes to the suite."""
    import hypothesis  # noqa: F401  # before bytecode is no longer written: its own may be

    requests, messages = os.dup(0), os.dup(1)
    # What the target prints to stdout goes to stderr, and its stdin is empty.
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.dont_write_bytecode = True
    request = _unpacked(json.loads(_read_line(requests)))
    target = request.pop("target")
    serve(lambda: load_target(target), request, requests, messages)


def serve(
    load: Callable[[], Any], request: dict[str, Any], requests: int, messages: int
) -> NoReturn:
    """Load a target, settle what it is judged as, and answer requests until there are no more.

    Parameters
    ----------
    load
        Returns the target.
    request
        The options of target and run, by name, as `IsolatedRun` puts them together.
    requests, messages
        File descriptors of the pipes to read from and to write to.
    """
    _no_core_file()
    own = os.getpid()

    def send(message: Any) -> None:
        if os.getpid() != own:  # a fork that the target made and that returned from its call
            os._exit(0)
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(messages, line) :]

    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, jobs), daemon=True).start()
    try:
        with listening(send):
            run = _ready(load(), request, send)
            while True:
                job = jobs.get()
                if "judge" in job:
                    outcome = run.judge(job["judge"])
                else:
                    outcome = run.facts(job["found"])
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(Exception):  # the target may have closed it
                        stream.flush()
                counts = {"calls": run.calls, "distinct_outputs": run.distinct_outputs}
                send({"outcome": outcome.to_dict(), **counts})
    except BaseException as error:
        send({"raised": [_kind(error), _text(error), traceback.format_exc()]})
    finally:
        os._exit(LOST)  # without waiting for threads of the target


def _ready(target: Any, request: dict[str, Any], send: Callable[[Any], None]) -> Run:
    """Settle what the target is judged as, unless an earlier process did, and send it."""
    send("loaded")
    asked: TargetOptions = request["asked"]
    if request["settled"] is not None:
        spec, claim = _unpacked(request["settled"])
        # The function `accepts` cannot be pickled: it is taken from the target again.
        claim = replace(claim, accepts=own_claim(target, asked).accepts)
        asked = TargetOptions(spec=spec, claim=claim)
    made, judged_as = settle(target, asked, name=request["name"], trying=request["trying"])
    run = Run(made, judged_as, request["options"], request["name"])
    send(
        {
            "report": run.report.to_dict(),
            "judged_as": judged_as.words,
            "settled": packed((judged_as.spec, replace(judged_as.claim, accepts=None))),
        }
    )
    return run


def _kind(error: BaseException) -> str:
    """Which error the suite raises for what kept the target from being ready."""
    if isinstance(error, TargetError | KeyboardInterrupt | SystemExit):
        return "target"
    if isinstance(error, NamespaceError):
        return "namespace"
    return "call" if isinstance(error, ValueError | RopeError) else "ours"


def _text(error: BaseException) -> str:
    """The message of that error; of an error that is not raised on purpose, its type as well."""
    own = isinstance(error, TargetError | NamespaceError | ValueError | RopeError)
    return str(error) if own else f"raised {type(error).__name__}: {error}"


def _read(requests: int, jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass requests on; when the suite is gone, end this process and those it started."""
    while line := _read_line(requests):
        jobs.put(json.loads(line))
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _read_line(pipe: int) -> bytes:
    line = b""
    while (byte := os.read(pipe, 1)) not in (b"", b"\n"):
        line += byte
    return line


def _no_core_file() -> None:
    """Let no crash write a core file into the caller's folder."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

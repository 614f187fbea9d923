"""The process of an isolated target, which `rope_conformance.running.isolation` talks to."""

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
from rope_conformance.running.settling import settle
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError
from rope_ref import RopeError

__all__ = ["main", "serve"]


def main() -> None:
    """Work in a new Python, with what is called stdin, stdout and stderr as its pipes."""
    import hypothesis  # noqa: F401  # loaded before bytecode is no longer written

    requests, messages = os.dup(0), os.dup(1)
    # What the target prints goes where its errors go, and there is nothing for it to read.
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.dont_write_bytecode = True
    request = pickle.loads(base64.b64decode(json.loads(_read_line(requests))))
    target = request.pop("target")
    serve(lambda: load_target(target), request, requests, messages)


def serve(
    load: Callable[[], Any], request: dict[str, Any], requests: int, messages: int
) -> NoReturn:
    """Load a target, make it ready, and answer requests until there are no more."""
    _no_core_file()
    own = os.getpid()

    def send(message: Any) -> None:
        if os.getpid() != own:  # a copy that the target made of us, and that came back
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
                    with contextlib.suppress(Exception):  # whatever the target made of it
                        stream.flush()
                counts = {"calls": run.calls, "distinct_outputs": run.distinct_outputs}
                send({"outcome": outcome.to_dict(), **counts})
    except BaseException as error:
        send({"raised": [_kind(error), _text(error), traceback.format_exc()]})
    finally:
        os._exit(LOST)  # waits for no thread of the target


def _ready(target: Any, request: dict[str, Any], send: Callable[[Any], None]) -> Run:
    """Settle what the target is judged as, unless that was done before, and say so."""
    send("loaded")
    asked: TargetOptions = request["asked"]
    if request["settled"] is not None:
        spec, claim = pickle.loads(base64.b64decode(request["settled"]))
        # What a claim says of specs is code, which is not sent to and fro.
        own = asked.claim or getattr(target, "claim", None)
        claim = replace(claim, accepts=getattr(own, "accepts", None))
        asked = TargetOptions(spec=spec, claim=claim)
    made, judged_as = settle(target, asked, name=request["name"], trying=request["trying"])
    run = Run(made, judged_as, request["options"], request["name"])
    again = pickle.dumps((judged_as.spec, replace(judged_as.claim, accepts=None)))
    send(
        {
            "report": run.report.to_dict(),
            "judged_as": judged_as.words,
            "settled": base64.b64encode(again).decode(),
        }
    )
    return run


def _kind(error: BaseException) -> str:
    """Whose fault it is that there is nothing to judge."""
    if isinstance(error, TargetError | KeyboardInterrupt | SystemExit):
        return "target"
    if isinstance(error, NamespaceError):
        return "namespace"
    return "call" if isinstance(error, ValueError | RopeError) else "ours"


def _text(error: BaseException) -> str:
    own = isinstance(error, TargetError | NamespaceError | ValueError | RopeError)
    return str(error) if own else f"raised {type(error).__name__}: {error}"


def _read(requests: int, jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Hand requests on; once nobody is left who could make one, end with all that was started."""
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
    """A crash leaves no file in the caller's folder."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

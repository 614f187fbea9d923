"""Tells a listener of each input and each call, where another process watches the run.

The messages are ``{"case": text}`` before an input, ``"call"`` before a call of the
implementation, and ``"back"`` after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

__all__ = ["listening", "tell", "watched"]

Listener = Callable[[Any], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send messages to a listener as long as the context lasts.

    Only a process that is the implementation's alone is watched.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def watched() -> bool:
    """Whether there is a listener."""
    return _listener.get() is not None


def tell(message: Any) -> None:
    """Send a message to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(message)

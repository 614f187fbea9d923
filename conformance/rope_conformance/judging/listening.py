"""Who is told of each input and each call, where a run is watched from outside its process."""

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
    """Have a listener told of what happens inside: this process is the implementation's alone."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def watched() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None


def tell(message: Any) -> None:
    """Tell whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(message)

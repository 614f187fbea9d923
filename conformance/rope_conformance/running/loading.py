"""Loads the object that a TARGET names: in a module, in a file, bundled, or an entry point."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rope_conformance.adapters import BUNDLED, bundled
from rope_conformance.target.implementation import TargetError
from rope_conformance.target.process_state import functions_restored, remember

__all__ = ["load_target"]

ENTRY_POINTS = "rope_conformance.implementations"


def load_target(text: str) -> Any:
    """Return the object that a TARGET names.

    Parameters
    ----------
    text
        ``package.module:object``, ``path/to/file.py:object``, a bundled name such as
        ``transformers/llama``, or the name of an entry point of the group
        ``rope_conformance.implementations``.

    Raises
    ------
    TargetError
        If there is no such thing, or loading it raised.
    """
    changed: list[str] = []
    with functions_restored(changed):
        target = _found(text)
    remember(target, changed)
    return target


def _found(text: str) -> Any:
    if ":" in text:
        return _attribute(text)
    if text in BUNDLED:
        return _guarded(text, lambda: bundled(text))
    found = importlib.metadata.entry_points(group=ENTRY_POINTS, name=text)
    if not found:
        known = sorted(p.name for p in importlib.metadata.entry_points(group=ENTRY_POINTS))
        raise TargetError(
            f"TARGET {text!r}: {_object_missing(text)}expected package.module:object, "
            "path/to/file.py:object, a bundled name (see `rope-ref list`), or an installed "
            f"entry point of the group {ENTRY_POINTS} (installed: {known or 'none'})"
        )
    return _guarded(text, next(iter(found)).load)


def _attribute(text: str) -> Any:
    """The object in a module or a file, after the last colon."""
    module_name, _, attribute = text.rpartition(":")
    is_file = module_name.endswith(".py") or "/" in module_name or "\\" in module_name
    target = _guarded(text, lambda: _file(module_name) if is_file else _module(module_name))
    for part in attribute.split("."):
        if not hasattr(target, part):
            public = [
                n for n in dir(target) if not n.startswith("_") and callable(getattr(target, n))
            ]
            raise TargetError(
                f"TARGET {text!r}: {module_name} has no {attribute!r}; "
                f"it has {', '.join(public) or 'nothing'}"
            )
        target = getattr(target, part)
    return target


def _object_missing(text: str) -> str:
    """The hint for a TARGET that is a file without an object in it."""
    return f"name the object in it too, as in {text}:apply_rope; " if text.endswith(".py") else ""


def _guarded(text: str, load: Callable[[], Any]) -> Any:
    """Load; whatever that raises becomes a TargetError."""
    try:
        return load()
    except TargetError:
        raise
    except (Exception, SystemExit) as error:
        raise TargetError(
            f"TARGET {text!r} could not be loaded: {type(error).__name__}: {error}"
        ) from error


def _module(name: str) -> Any:
    # As with `python -m`, a module in the current folder is found.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(name)


def _file(path: str) -> Any:
    file = Path(path)
    if not file.is_file():
        raise TargetError(f"TARGET {path!r}: there is no such file")
    name = f"_rope_target_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As when Python runs it, modules beside it can be imported; no bytecode is written there.
    sys.path.insert(0, str(file.resolve().parent))
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module

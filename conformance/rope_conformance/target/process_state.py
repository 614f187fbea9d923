"""Process state that a call must leave as it was: NumPy, random states, settings.

What the suite itself relies on is compared and restored around every call, so that an
implementation that changes NumPy cannot change the verdict on itself. What was changed is
remembered, for the clause `data.process`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["changes", "functions_restored", "restored", "remember", "settings_restored"]

_NAMES = {module.__name__: vars(module) for module in (np, np.random, np.linalg, math)}
_GONE = object()

# Looked up now: a target may replace them in NumPy.
_errstate, _geterr = np.errstate, np.geterr
_get_printoptions, _set_printoptions = np.get_printoptions, np.set_printoptions
_bit_generator = np.random.get_bit_generator  # type: ignore[attr-defined]
_set_bit_generator = np.random.set_bit_generator  # type: ignore[attr-defined]
_get_state, _set_state = np.random.get_state, np.random.set_state
_MERSENNE = np.random.MT19937
_WORDS, _BYTES = 4 * 624, 4 * 625  # 624 words, and with them the place of the next

_Token = tuple[Any, bytes]
_last_known: list[tuple[_Token, Any]] = []

# By id, with the target itself so that no other gets the same id.
_seen: dict[int, tuple[Any, dict[str, None]]] = {}


def remember(target: Any, what: Iterable[str]) -> None:
    """Note what a target changed."""
    for each in what:
        _seen.setdefault(id(target), (target, {}))[1][each] = None


def changes(target: Any) -> list[str]:
    """What a target has changed since it was loaded, in words."""
    return list(_seen[id(target)][1]) if id(target) in _seen else []


@contextlib.contextmanager
def restored(changed: list[str]) -> Iterator[None]:
    """Restore what changes inside and append its name to `changed`; quick, for every call."""
    errors, printing, token = _geterr(), _get_printoptions(), _random_token()
    state = _random_state(token)
    try:
        # Whatever is done to NumPy's error state or to warnings ends with the call.
        with functions_restored(changed), _errstate(), warnings.catch_warnings():
            try:
                yield
            finally:
                if _geterr() != errors:
                    changed.append("NumPy's error state (numpy.seterr)")
    finally:
        if _get_printoptions() != printing:
            changed.append("NumPy's print options")
            _set_printoptions(**printing)
        if (after := _random_token()) != token:
            # Drawing a few numbers is what the generator is there for; seeding it is not.
            if after[0] is not token[0] or not _drawn(state, after[1]):
                changed.append("NumPy's random state")
            _set_bit_generator(token[0])
            _set_state(state)


@contextlib.contextmanager
def functions_restored(changed: list[str]) -> Iterator[None]:
    """Restore what is replaced in NumPy and math; what is added there may stay."""
    before = [names.copy() for names in _NAMES.values()]
    try:
        yield
    finally:
        for (module, now), then in zip(_NAMES.items(), before, strict=True):
            if not _same(now, then):
                for name, value in then.items():
                    if now.get(name, _GONE) is not value:
                        changed.append(f"{module}.{name}")
                        now[name] = value


def _same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether nothing was replaced. Quick: equality compares identities first."""
    try:
        return now == before
    except Exception:  # something that is there now does not compare
        return False


def _random_token() -> _Token:
    """What differs between any two states of NumPy's global generator; read in a microsecond."""
    generator = _bit_generator()
    if type(generator) is not _MERSENNE:
        return generator, b""
    return generator, ctypes.string_at(generator.ctypes.state_address, _BYTES)


def _random_state(token: _Token) -> Any:
    """The state to restore. Asking NumPy for it is slow, so the last one is kept."""
    if not _last_known or _last_known[0][0] != token:
        _last_known[:] = [(token, _get_state(legacy=False))]
    return _last_known[0][1]


def _drawn(before: Any, after: bytes) -> bool:
    """Whether a state of NumPy's generator follows from another by drawing."""
    if type(before) is not dict or before.get("bit_generator") != "MT19937":
        return False
    return _next_words(before["state"]["key"], before["state"]["pos"], after[:_WORDS])


def _python_drawn(before: Any, after: Any) -> bool:
    """The same of Python's generator, which is of the same kind."""
    *words, place = before[1]
    return _next_words(np.array(words, np.uint32), place, np.array(after[1][:-1], np.uint32))


def _next_words(words: Any, place: int, after: Any) -> bool:
    """Whether a Mersenne twister still has its words, or the ones that come next."""
    generator = _MERSENNE()
    generator.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": place}}
    if words.tobytes() == bytes(after):
        return True
    generator.random_raw(625 - place, output=False)
    same: bool = generator.state["state"]["key"].tobytes() == bytes(after)
    return same


_Setting = tuple[str, Callable[[], Any], Callable[[Any], Any], Callable[[Any, Any], bool]]


@contextlib.contextmanager
def settings_restored(changed: list[str]) -> Iterator[None]:
    """The same for settings that the suite does not rely on. Slow: for one clause only."""
    before = [(setting, setting[1]()) for setting in _settings()]
    try:
        yield
    finally:
        for (what, read, put_back, harmless), value in before:
            if (now := read()) != value:
                if not harmless(value, now):
                    changed.append(what)
                put_back(value)


def _settings() -> Iterator[_Setting]:
    """What each is called, how it is read and put back, and which changes are no fault."""

    def never(before: Any, after: Any) -> bool:
        return False

    python = "the random state of Python (random)"
    yield python, random.getstate, random.setstate, _python_drawn
    yield "the current folder", os.getcwd, os.chdir, never
    if torch := sys.modules.get("torch"):
        yield (
            "torch's random state",
            lambda: (torch.initial_seed(), torch.get_rng_state().tolist()),
            lambda state: torch.set_rng_state(torch.tensor(state[1], dtype=torch.uint8)),
            lambda before, after: bool(before[0] == after[0]),
        )
        for what, read, put_back in (
            ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
            ("torch's default device", torch.get_default_device, torch.set_default_device),
            (
                "whether torch records gradients",
                torch.is_grad_enabled,
                torch.set_grad_enabled,
            ),
            (
                "torch's precision of matrix products",
                torch.get_float32_matmul_precision,
                torch.set_float32_matmul_precision,
            ),
        ):
            yield what, read, put_back, never
    if jax := sys.modules.get("jax"):
        for name in ("jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion"):
            read = functools.partial(getattr, jax.config, name)
            yield f"JAX's setting {name}", read, functools.partial(jax.config.update, name), never

"""What is under test, and what it says of itself.

The smallest implementation is a function ``f(x, positions)``. A better one is a
factory: a class, or a function whose first parameter is called ``spec``, that is called
with a `RopeSpec` (a class that takes no arguments: with none) and returns an object with
any of the surfaces

    apply_rope(x, positions)      or the object is itself callable
    apply_cos_sin(x, cos, sin)    a table consumer: the tables, one entry per pair and of
                                  shape (T, R/2), are given by the caller
    cos_sin(positions)            the table, one entry per pair
    theta()                       the frequencies
    qkv(q, k, v, positions)       the three arrays of an attention layer; k and v may
                                  have fewer heads than q

What it claims to take is a `Claim`, as an attribute ``claim`` of the target. Inside its
claim it answers for everything; outside, what happens is reported as a fact.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rope_ref import RopeSpec

__all__ = [
    "Claim",
    "ClaimError",
    "Implementation",
    "TargetError",
    "Unsupported",
    "claims",
    "load_target",
]

ENTRY_POINTS = "rope_conformance.implementations"
SURFACES = ("apply", "rotate", "apply or rotate", "theta", "table", "qkv")
_METHODS = {"rotate": "apply_cos_sin", "table": "cos_sin"}

DTYPES = ("float64", "float32", "float16", "bfloat16")
_EXPECTED = {
    "axes": "each letter of 'bthd' at most once, t and d always",
    "position_forms": "some of 'none', 't', 'bt', 'offset', in a tuple",
    "position_kinds": "('integer',) or ('integer', 'real')",
    "position_range": "(smallest, largest); without positions 0 lies between",
    "dtypes": f"some of {', '.join(DTYPES)}, in a tuple",
    "devices": "at least one, in a tuple",
}

PositionForm = Literal["none", "t", "bt", "offset"]
PositionKind = Literal["integer", "real"]


class ClaimError(ValueError):
    """A claim that says something nobody could mean."""


class Unsupported(Exception):
    """Raised by an implementation for what it does not do; the message says why.

    Outside the claim it is counted and shown; inside it is a failure.
    """


class TargetError(Exception):
    """The target could not be found, loaded or made: no verdict is possible."""


@dataclass(frozen=True)
class Claim:
    """What an implementation says of itself.

    Parameters
    ----------
    axes
        The order of x's axes as letters.
    namespace
        Whose arrays it takes and returns: ``numpy``, ``strict``, ``torch``, ``jax`` or
        ``cupy``.
    position_forms
        ``t``: an array (T,); ``bt``: (B, T); ``offset``: one integer, the position of the
        first token; ``none``: no positions, always 0 to T - 1.
    position_range
        Smallest and largest position.
    position_kinds
        ``integer``, and ``real`` if it takes fractions.
    dtypes, devices
        The types of data it takes and returns, and where it does.
    table_dtype
        For the surface `rotate`: the type its tables come in; None stands for ``float64``
        with float64 data and ``float32`` otherwise.
    profile
        Its accuracy, by name; None stands for ``float64`` on float64 data and
        ``float32`` otherwise.
    empty, strided
        Whether it takes arrays without tokens, and views that are not contiguous.
    in_place
        Whether it writes the result into x.
    accepts
        For a factory: whether it can be made for a spec; a string says why not.
    """

    axes: str = "bthd"
    namespace: str = "numpy"
    position_forms: tuple[PositionForm, ...] = ("t",)
    position_range: tuple[int, int] = (0, 2**20)
    position_kinds: tuple[PositionKind, ...] = ("integer",)
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ("cpu",)
    table_dtype: str | None = None
    profile: str | None = None
    empty: bool = False
    strided: bool = False
    in_place: bool = False
    accepts: Callable[[RopeSpec], bool | str] | None = None

    def __post_init__(self) -> None:
        low, high = self.position_range
        wrong = {
            "axes": len(set(self.axes)) != len(self.axes)
            or not {"t", "d"} <= set(self.axes) <= set("bthd"),
            "position_forms": not self.position_forms
            or not set(self.position_forms) <= set(get_args(PositionForm)),
            "position_kinds": "integer" not in self.position_kinds
            or not set(self.position_kinds) <= set(get_args(PositionKind)),
            "position_range": low > high
            or (self.position_forms == ("none",) and not low <= 0 <= high),
            "dtypes": not self.dtypes or not set(self.dtypes) <= set(DTYPES),
            "devices": not self.devices,
        }
        for name, bad in wrong.items():
            if bad:
                raise ClaimError(f"Claim({name}={getattr(self, name)!r}): {_EXPECTED[name]}")


def claims(**what: Any) -> Callable[[Any], Any]:
    """Decorate a function or class with a `Claim` made of the keywords given."""
    claim = Claim(**what)

    def decorate(target: Any) -> Any:
        target.claim = claim
        return target

    return decorate


class Implementation:
    """A target, made for one spec.

    Parameters
    ----------
    target
        A callable ``f(x, positions)``, an object with surfaces, or a factory of one.
    spec
        The RoPE it should be.
    claim
        What it claims; the target's own ``claim`` if left out, else the default.
    name
        What reports call it.

    Raises
    ------
    TargetError
        If the target has neither surface nor call, or its factory raised.
    Unsupported
        If the factory does not do this spec.
    """

    def __init__(
        self, target: Any, spec: RopeSpec, claim: Claim | None = None, name: str | None = None
    ) -> None:
        self.target = target
        self.spec = spec
        self.name = name or target_name(target)
        self._asked = claim
        made = self._make(target, spec) if is_factory(target) else target
        # A class that takes no spec is one RoPE, however often it is made.
        self.is_factory = is_factory(target) and _takes_one(target)
        self._made = made
        own = getattr(target, "claim", None)
        self.claims_itself = own is not None
        self.claim: Claim = claim or own or Claim()
        self._apply = getattr(made, "apply_rope", None) or (made if callable(made) else None)
        if self._apply is None and not self.has("rotate"):
            raise TargetError(
                f"{self.name} (of type {type(target).__name__}) is no implementation: it is "
                "neither callable as f(x, positions) nor has a method apply_rope(x, positions) or "
                "apply_cos_sin(x, cos, sin)"
            )
        self.calls = 0
        self.first_call: tuple[Any, Any] | None = None

    def _make(self, target: Any, spec: RopeSpec) -> Any:
        accepts = getattr(self._asked or getattr(target, "claim", None), "accepts", None)
        try:
            answer = True if accepts is None else accepts(spec)
            if answer is True:
                return target(spec) if _takes_one(target) else target()
        except Unsupported:
            raise
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"{self.name}({spec!r}) raised {type(error).__name__}: {error} (a class is called "
                "with one RopeSpec; for another constructor name an instance)"
            ) from error
        raise Unsupported(answer if isinstance(answer, str) else "its claim excludes this spec")

    def has(self, surface: str) -> bool:
        """Whether a surface exists."""
        if surface == "apply":
            return self._apply is not None
        if surface == "apply or rotate":
            return self.has("apply") or self.has("rotate")
        return callable(getattr(self._made, _METHODS.get(surface, surface), None))

    def remade(self, spec: RopeSpec) -> Implementation:
        """The same target for another spec; a callable is used as it is."""
        return Implementation(self.target, spec, self.claim, self.name)

    def call(self, surface: str, *arguments: Any) -> Any:
        """Call a surface. The very first call and its result are kept."""
        self.calls += 1
        if surface == "apply":
            function = self._apply
            assert function is not None
        else:
            function = getattr(self._made, _METHODS.get(surface, surface))
        if self.first_call is not None or surface not in ("apply", "rotate"):
            return function(*arguments)
        before = copy.deepcopy(arguments)
        result = function(*arguments)
        # A result that cannot be copied is no array; that is for others to say.
        with contextlib.suppress(Exception):
            self.first_call = (before, copy.deepcopy(result))
        return result


def is_factory(target: Any) -> bool:
    """Whether a target is called with a spec first: a class, or a function of ``spec``."""
    if inspect.isclass(target):
        return True
    if not inspect.isroutine(target):
        return False
    try:
        first = next(iter(inspect.signature(target).parameters), None)
    except (TypeError, ValueError):
        return False
    return first == "spec"


def _takes_one(factory: Any) -> bool:
    """Whether a factory can be called with a spec; a class may well do one RoPE only."""
    try:
        inspect.signature(factory).bind(None)
    except TypeError:
        return False
    except ValueError:  # no signature to look at
        return True
    return True


def load_target(text: str) -> Any:
    """Return the object a TARGET names.

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
    from rope_conformance.implementations import BUNDLED, bundled

    module_name, colon, attribute = text.rpartition(":")
    if not colon and text in BUNDLED:
        return _guarded(text, lambda: bundled(text))
    if not colon:
        found = importlib.metadata.entry_points(group=ENTRY_POINTS, name=text)
        if not found:
            known = sorted(p.name for p in importlib.metadata.entry_points(group=ENTRY_POINTS))
            raise TargetError(
                f"TARGET {text!r}: {_object_missing(text)}expected package.module:object, "
                "path/to/file.py:object, a bundled name (see `rope-ref list`), or an installed "
                f"entry point of the group {ENTRY_POINTS} (installed: {known or 'none'})"
            )
        return _guarded(text, next(iter(found)).load)
    is_file = module_name.endswith(".py") or "/" in module_name or "\\" in module_name
    module = _guarded(text, lambda: _file(module_name) if is_file else _module(module_name))
    target = module
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
    """What to say where a file is named and nothing in it."""
    return f"name the object in it too, as in {text}:apply_rope; " if text.endswith(".py") else ""


def _guarded(text: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except TargetError:
        raise
    except (Exception, SystemExit) as error:
        raise TargetError(
            f"TARGET {text!r} could not be loaded: {type(error).__name__}: {error}"
        ) from error


def _module(name: str) -> Any:
    # What `python -m` would do: a module beside the caller is found.
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
    # Its neighbours can be imported, as when Python runs it; nothing is written beside it.
    sys.path.insert(0, str(file.resolve().parent))
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


def target_name(target: Any) -> str:
    """What a report calls a target that nobody named."""
    return str(getattr(target, "__name__", None) or type(target).__name__)

"""What is under test: a callable, or an object with surfaces, made for one spec.

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
    vjp(g, positions)             the gradient with respect to x, given that of the result
    logits(q, k, q_positions, k_positions)
                                  the scores (B, H, Tq, Tk); k may have fewer heads than q
    start(), prefill(x, lengths=None), step(x), evict(start, stop), shift(delta), keys()
                                  a request that grows; see `rope_conformance.clauses.decode`
    positions(request)            the position of each token of a `PositionRequest`
    segment_positions(segments)   time, row and column of text, images and videos in turn
    convert(array, n_heads, n_kv_heads, which, to)
                                  projection weights in another layout
    from_config(mapping)          the implementation that a model's config describes

For a spec with ``pair_axes`` all positions have a leading axis, one entry for each position
axis: (A, T) or (A, B, T).

What it claims to take is a `Claim`, as an attribute ``claim`` of the target.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from typing import Any

from rope_conformance.target.claim import Claim
from rope_conformance.target.process_state import remember, restored
from rope_ref import RopeSpec
from rope_ref.errors import ChannelRopesError
from rope_ref.extensions.channel_tables import demand_same_pairs

__all__ = ["SURFACES", "Implementation", "TargetError", "Unsupported"]

# The methods that an object must have to offer a surface.
_METHODS: dict[str, tuple[str, ...]] = {
    "rotate": ("apply_cos_sin",),
    "theta": ("theta",),
    "table": ("cos_sin",),
    "attention": ("qkv",),
    "gradient": ("vjp",),
    "logits": ("logits",),
    "decode": ("start",),  # prefill and step are methods of it, or of what start() returns
    "positions": ("positions",),
    "segments": ("segment_positions",),
    "weights": ("convert",),
    "config": ("from_config",),
}
# Frameworks that differentiate by themselves what an implementation computes.
_DIFFERENTIATING = ("torch", "jax")
EITHER = "apply or rotate"  # judged by rotating, whoever made the table
SURFACES = ("apply", EITHER, *_METHODS)


class Unsupported(Exception):
    """Raised by an implementation for what it does not do; the message says why.

    Outside the claim it is counted and shown; inside it is a failure.
    """


class TargetError(Exception):
    """The target could not be found, loaded or made: no verdict is possible."""


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
        # A class that takes no spec makes the same RoPE each time.
        self.is_factory = is_factory(target) and _takes_one(target)
        self.made = made
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
        _demand_one_shape(self)
        self.calls = 0
        self.first_call: tuple[Any, Any] | None = None

    def _make(self, target: Any, spec: RopeSpec) -> Any:
        accepts = getattr(self._asked or getattr(target, "claim", None), "accepts", None)
        changed: list[str] = []
        try:
            with restored(changed):
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
        finally:
            remember(target, changed)
        raise Unsupported(answer if isinstance(answer, str) else "its claim excludes this spec")

    def has(self, surface: str) -> bool:
        """Whether a surface exists."""
        if surface == "apply":
            return self._apply is not None
        if surface == EITHER:
            return self.has("apply") or self.has("rotate")
        if surface == "gradient" and self.claim.namespace in _DIFFERENTIATING:
            return True
        return all(callable(getattr(self.made, name, None)) for name in _METHODS[surface])

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
            (method,) = _METHODS[surface]
            function = getattr(self.made, method)
        if self.first_call is not None or surface not in ("apply", "rotate"):
            return function(*arguments)
        before = copy.deepcopy(arguments)
        result = function(*arguments)
        # What cannot be copied is no array, which the check of its type will say. A tensor
        # that torch differentiates can be copied once it is detached.
        with contextlib.suppress(Exception):
            own = arguments[0] if result is None else result  # None: x itself, worked in place
            own = own.detach() if hasattr(own, "detach") else own
            self.first_call = (before, copy.deepcopy(own))
        return result


def _demand_one_shape(implementation: Implementation) -> None:
    """Refuse a claim whose second channels are not those of the spec's pairs."""
    spec, second = implementation.spec, implementation.claim.second_channels
    if second is None:
        return
    if not implementation.has("apply"):
        raise TargetError(
            f"{implementation.name} is declared to be no rotation, but takes tables from its "
            "caller: what such tables are is not defined; offer apply_rope(x, positions)"
        )
    try:
        demand_same_pairs(spec, second, f"{implementation.name} with claim.second_channels")
    except ChannelRopesError as error:
        raise TargetError(str(error)) from error


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
    """Whether a factory can be called with a spec; a class may do one RoPE only."""
    try:
        inspect.signature(factory).bind(None)
    except TypeError:
        return False
    except ValueError:  # no signature to look at
        return True
    return True


def target_name(target: Any) -> str:
    """What a report calls a target that nobody named."""
    return str(getattr(target, "__name__", None) or type(target).__name__)

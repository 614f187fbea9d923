"""The objects that keep a cache: what they offer, and for which specs they are made."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from rope_conformance.clauses._variants import narrowed, with_amplitude
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.questions import is_right
from rope_conformance.target.implementation import TargetError, Unsupported
from rope_ref import RopeSpec

__all__ = ["begin", "context_on", "offers"]

# YaRN's amplitude at factor 4, as published models have it: exact in no type.
_AMPLITUDE = 1.1386294361119891

_WITHOUT_A_CACHE = Case(1, 8, 1, range(8))


def begin(context: CheckContext) -> Any:
    """Begin a request and return the object that has its methods."""
    started = context.arrays.call("decode")
    request = context.implementation.made if started is None else started
    missing = [n for n in ("prefill", "step") if not callable(getattr(request, n, None))]
    if missing:
        raise CheckFailure(
            f"start() returned an object of type {type(request).__name__} without {missing[0]}(): "
            "it must return None, or a session with prefill() and step()"
        )
    return request


def offers(context: CheckContext) -> set[str]:
    """What an object, or the session that it returns, offers beside prefill and step."""
    found: set[str] = set()
    with contextlib.suppress(CheckFailure, TargetRaised):
        one, other = begin(context), begin(context)
        found = {n for n in ("keys", "evict", "shift") if callable(getattr(one, n, None))}
        found |= {"sessions"} if one is not other else set()
        rows = "b" in context.claim.axes
        found |= {"lengths"} if rows and _takes_lengths(one.prefill) else set()
    return found


def _takes_lengths(prefill: Callable[..., Any]) -> bool:
    try:
        inspect.signature(prefill).bind(None, lengths=None)
    except TypeError:
        return False
    except ValueError:  # no signature to look at
        return True
    return True


def context_on(context: CheckContext, on: str) -> CheckContext | None:
    """A context of the object that a session asks for; None where there is none."""
    implementation = context.implementation
    if on == "used" or (on == "new" and not implementation.is_factory):
        return context
    spec = _other_spec(context.spec, on)
    if spec is None or not implementation.is_factory:
        return None
    try:
        made = context.anew(spec)
    except (TargetError, Unsupported) as reason:
        if on == "new":
            raise TargetRaised(reason) from reason
        context.evidence.notes.append(f"{on}: {reason}")
        return None
    if on == "new":
        made.evidence.meter = context.evidence.meter
        return made
    # What is wrong without a cache, other clauses judge.
    if not is_right(made, _WITHOUT_A_CACHE):
        context.evidence.notes.append(
            f"{on}: apply_rope is not right there, so no cache was judged"
        )
        return None
    return context.beside(made.implementation)


def _other_spec(spec: RopeSpec, on: str) -> RopeSpec | None:
    """The spec that an object is made for; None where it would be no other."""
    if on == "amplified":
        other = with_amplitude(spec, _AMPLITUDE)
        return other if other != spec else None
    return narrowed(spec) if on == "narrow" else spec

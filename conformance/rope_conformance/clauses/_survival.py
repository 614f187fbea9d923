"""Which objects can be copied, saved, cast, made on the meta device, compiled; and why not."""

from __future__ import annotations

import copy
import inspect
import pickle

from rope_conformance.clauses._frameworks import COMPILERS, has_state_dict
from rope_conformance.clauses._frameworks import cast as cast_to
from rope_conformance.clauses._objects import attempt, fresh, own_copy
from rope_conformance.judging.context import CheckContext

_HALVES = ("bfloat16", "float16")


def claimed(word: str, context: CheckContext) -> str | None:
    """Opens a clause where the claim says that the object survives `word`."""
    if word in context.claim.survives:
        return None
    return f"{word!r} is not among what it claims to live through (survives)"


def an_object(word: str, context: CheckContext) -> str | None:
    """Opens a clause for objects with a state that survive `word`, by their claim."""
    made = context.implementation.made
    if inspect.isroutine(made) or inspect.isclass(made) or inspect.ismodule(made):
        return "a plain function is no object with a state"
    return claimed(word, context)


def can_be_copied(context: CheckContext) -> str | None:
    """Opens the clause of deep copies."""
    return an_object("copy", context) or attempt(
        "it cannot be deep-copied", lambda: copy.deepcopy(fresh(context))
    )


def unpicklable(context: CheckContext) -> str | None:
    """Why it cannot be pickled."""
    return attempt("it cannot be pickled", lambda: pickle.dumps(fresh(context)))


def ways_to_save(context: CheckContext) -> list[str]:
    """How it can be saved: pickled, as a state dict, or both."""
    ways = [] if unpicklable(context) else ["pickle"]
    if context.implementation.is_factory and has_state_dict(context.implementation.made):
        ways.append("state dict")
    return ways


def can_be_saved(context: CheckContext) -> str | None:
    """Opens the clause of saving and loading."""
    if closed := an_object("save", context):
        return closed
    return None if ways_to_save(context) else unpicklable(context)


def can_be_cast(context: CheckContext) -> str | None:
    """Opens the clause of casts."""
    if closed := an_object("cast", context):
        return closed
    if not callable(getattr(context.implementation.made, "to", None)):
        return "it has no method 'to'"
    if context.dtype not in _HALVES:
        return "a cast is judged in the half-precision types that are claimed"
    return attempt(
        f"it cannot be cast to {context.dtype}",
        lambda: cast_to(context, own_copy(context), context.dtype),
    )


def in_torch(context: CheckContext) -> str | None:
    """Opens clauses about what only torch has."""
    if context.claim.namespace != "torch":
        return "only torch has a default type, autocast and a meta device"
    return None if context.implementation.is_factory else "only a factory can make another"


def can_be_compiled(context: CheckContext) -> str | None:
    """Opens the clause of compilers."""
    if context.claim.namespace not in COMPILERS:
        return f"only {' and '.join(COMPILERS)} have a compiler"
    return claimed("compile", context)

"""Which objects can be copied, saved, cast, made on the meta device, compiled; and why not."""

from __future__ import annotations

import copy
import inspect
import pickle

from rope_conformance.clauses._frameworks import COMPILERS, has_state_dict
from rope_conformance.clauses._frameworks import cast as cast_to
from rope_conformance.clauses._objects import attempt, fresh, own_copy
from rope_conformance.trial import Trial

_HALVES = ("bfloat16", "float16")


def claimed(word: str, trial: Trial) -> str | None:
    """Whether a word is among what it claims to live through."""
    if word in trial.claim.survives:
        return None
    return f"{word!r} is not among what it claims to live through (survives)"


def an_object(word: str, trial: Trial) -> str | None:
    """Whether it is an object that claims a word."""
    made = trial.implementation.made
    if inspect.isroutine(made) or inspect.isclass(made) or inspect.ismodule(made):
        return "a plain function is no object with a state"
    return claimed(word, trial)


def can_be_copied(trial: Trial) -> str | None:
    """Opens the clause of deep copies."""
    return an_object("copy", trial) or attempt(
        "it cannot be deep-copied", lambda: copy.deepcopy(fresh(trial))
    )


def unpicklable(trial: Trial) -> str | None:
    """Why it cannot be pickled."""
    return attempt("it cannot be pickled", lambda: pickle.dumps(fresh(trial)))


def ways_to_save(trial: Trial) -> list[str]:
    """How it can be saved: pickled, as a state dict, or both."""
    ways = [] if unpicklable(trial) else ["pickle"]
    if trial.implementation.is_factory and has_state_dict(trial.implementation.made):
        ways.append("state dict")
    return ways


def can_be_saved(trial: Trial) -> str | None:
    """Opens the clause of saving and loading."""
    if closed := an_object("save", trial):
        return closed
    return None if ways_to_save(trial) else unpicklable(trial)


def can_be_cast(trial: Trial) -> str | None:
    """Opens the clause of casts."""
    if closed := an_object("cast", trial):
        return closed
    if not callable(getattr(trial.implementation.made, "to", None)):
        return "it has no method 'to'"
    if trial.dtype not in _HALVES:
        return "a cast is judged in the half-precision types that are claimed"
    return attempt(
        f"it cannot be cast to {trial.dtype}",
        lambda: cast_to(trial, own_copy(trial), trial.dtype),
    )


def in_torch(trial: Trial) -> str | None:
    """Opens clauses about what only torch has."""
    if trial.claim.namespace != "torch":
        return "only torch has a default type, autocast and a meta device"
    return None if trial.implementation.is_factory else "only a factory can make another"


def can_be_compiled(trial: Trial) -> str | None:
    """Opens the clause of compilers."""
    if trial.claim.namespace not in COMPILERS:
        return f"only {' and '.join(COMPILERS)} have a compiler"
    return claimed("compile", trial)

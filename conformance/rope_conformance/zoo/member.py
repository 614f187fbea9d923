"""A member of the zoo: how a RoPE, wrong or honest, is entered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rope_conformance.faults import Fault
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = ["CONTROLS", "PARTIAL", "PLAIN", "WRONG", "Factory", "Member", "control", "wrong"]

Factory = Callable[[RopeSpec], Any]

PLAIN = RopeSpec(64, layout="half")
PARTIAL = RopeSpec(64, layout="half", rotary_dim=32)


@dataclass(frozen=True)
class Member:
    """An implementation of the zoo.

    Parameters
    ----------
    name, sentence
        What it is called and what it does.
    factory
        Called with a spec, returns the implementation.
    fault
        The class of what is wrong with it; None for an honest one.
    clauses
        Ids of the clauses whose checks must catch it; others may as well.
    """

    name: str
    sentence: str
    factory: Factory
    fault: Fault | None
    clauses: tuple[str, ...] = ()


WRONG: dict[str, Member] = {}
CONTROLS: dict[str, Member] = {}


def wrong(
    spec: RopeSpec = PLAIN, /, *, fault: Fault, clause: str | tuple[str, ...], **claim: Any
) -> Callable[[Factory], Factory]:
    """Enter a factory into the zoo; its docstring says what is wrong with it.

    Parameters
    ----------
    spec
        The RoPE it pretends to be.
    fault
        The class of what is wrong.
    clause
        The id of the clause whose check must catch it, or a tuple of ids.
    claim
        What it claims, as of `Claim`.
    """
    clauses = (clause,) if isinstance(clause, str) else clause
    return _enter(WRONG, spec, claim, fault, clauses)


def control(spec: RopeSpec = PLAIN, /, **claim: Any) -> Callable[[Factory], Factory]:
    """Enter an honest factory."""
    return _enter(CONTROLS, spec, claim)


def _enter(
    entries: dict[str, Member],
    spec: RopeSpec,
    claim: dict[str, Any],
    fault: Fault | None = None,
    clauses: tuple[str, ...] = (),
) -> Callable[[Factory], Factory]:
    def decorate(factory: Factory) -> Factory:
        name = factory.__name__
        factory.spec = spec  # type: ignore[attr-defined]
        factory.claim = Claim(**claim)  # type: ignore[attr-defined]
        sentence = (factory.__doc__ or "").strip()
        entries[name] = Member(name, sentence, factory, fault, clauses)
        return factory

    return decorate

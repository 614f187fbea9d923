"""The same target made anew, for its own spec or for others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from rope_conformance.clauses._openers import factory_only, other_widths
from rope_conformance.faults import Fault
from rope_conformance.inputs.spec_variants import at_width, with_base
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.implementation import Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec

__all__ = ["fault_at", "made_for", "new_object", "other_specs"]


def new_object(context: CheckContext) -> CheckContext | None:
    """A context of the same target made anew, where it can be."""
    return context.anew() if context.implementation.is_factory else None


def other_specs(context: CheckContext) -> list[RopeSpec]:
    """Its own spec, and for a factory others: a base, a width and a part of a head."""
    own = context.spec
    if factory_only(context) is not None:
        return [own]
    base = base_below(own.frequencies)
    assert base is not None
    bases = [
        replace(own, frequencies=with_base(own.frequencies, each)) for each in (base * 50, 10**7)
    ]
    widths = ((96, 96), (80, 20)) if other_widths(context) is None else ()
    return [own, *bases, *(at_width(own, *each) for each in widths)]


def fault_at(context: CheckContext, spec: RopeSpec) -> Fault | None:
    """The class of what is wrong at one of `other_specs` only, if its difference says it."""
    own = base_below(context.spec.frequencies)
    return "config" if base_below(spec.frequencies) != own else None


@contextlib.contextmanager
def made_for(context: CheckContext, spec: RopeSpec) -> Iterator[CheckContext | None]:
    """The same target made for another spec, or None; what is seen there is this context's."""
    if spec == context.spec:
        yield context
        return
    try:
        at_spec = context.anew(spec)
    except Unsupported as reason:
        words = f"head_dim={spec.head_dim}, rotary_dim={spec.rotary_dim}, {spec.frequencies}"
        context.evidence.notes.append(f"{words} unsupported: {reason}")
        yield None
        return
    try:
        yield at_spec
    except CheckFailure as failure:
        failure.seen_in = at_spec
        raise
    finally:
        context.absorb(at_spec)

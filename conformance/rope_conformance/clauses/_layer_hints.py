"""Judges what came back of q, k and v, and says in words what was done instead."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.residual import judge, pair_norm, per_token
from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._layer import call_layer, key_heads
from rope_conformance.clauses._other_specs import new_object
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import pairs
from rope_conformance.judging.questions import within_bound
from rope_conformance.target.frameworks import Array
from rope_conformance.target.implementation import Implementation
from rope_ref import cos_sin


def demand_layer(
    context: CheckContext,
    case: Case,
    arrays: Sequence[Array],
    after: Sequence[Array],
    where: str = "",
) -> None:
    """Fail if q or k is not rotated rightly, or v changed, and say what was done instead."""
    positions = context.positions(case)
    for name, x, y in zip("qk", arrays, after, strict=False):
        try:
            context.demand(
                context.judge(y, x, positions),
                f"{name}{where} is not rotated as it should be (q has {case.heads} heads, k has "
                f"{arrays[1].shape[2]})",
            )
        except CheckFailure as failure:
            if where:  # what was returned has been judged; this is about memory
                raise
            cause = (
                _once_used(context, case, arrays)
                or _exchanged(context, arrays, name, y, positions)
                or _overwritten(context, x, y, positions)
                or _other_head(context, x, y, positions)
                or _cause(context, case, name)
            )
            if cause is None:
                raise
            words, fault = cause
            raise CheckFailure(f"{failure}; {words}", fault=fault) from None
    if not same_numbers(arrays[2], after[2]).all():
        raise CheckFailure(f"v{where} was changed: only q and k are rotated")


def _once_used(
    context: CheckContext, case: Case, arrays: Sequence[Array]
) -> tuple[str, Fault] | None:
    """Whether a new object does it rightly."""
    new, positions = new_object(context), context.positions(case)
    if new is None:
        return None
    try:
        after = call_layer(new, arrays, positions)
    except (CheckFailure, TargetRaised):
        return None
    right = (within_bound(new, y, x, positions) for x, y in zip(arrays[:2], after, strict=False))
    words = "a new object does it rightly, this one was used before"
    return (words, "cache") if all(right) else None


def _exchanged(
    context: CheckContext, arrays: Sequence[Array], name: str, y: Array, positions: Array
) -> tuple[str, Fault] | None:
    """Whether one array holds what the other should."""
    other = arrays[1 - "qk".index(name)]
    if other.shape == y.shape and within_bound(context, y, other, positions):
        return f"{name} holds what belongs into the other", "aliasing"
    return None


def _overwritten(
    context: CheckContext, x: Array, y: Array, positions: Array
) -> tuple[str, Fault] | None:
    """Whether one component was made from the other after that was overwritten."""
    cos, sin = (table[..., None, :] for table in cos_sin(positions, context.spec))
    (u, v), (first, second) = pairs(context, x), pairs(context, y, output=True)
    r, dtype = pair_norm(x, context.spec), context.dtype
    error = bound(context.profile, context.spec, per_token(positions, context.spec), dtype, r) * r
    near = 4 * unit_roundoff(dtype) * np.where(r == 0, 0.0, error)
    for name, wrong in (
        ("second", [u * cos - v * sin, first * sin + v * cos]),
        ("first", [u * cos - second * sin, u * sin + v * cos]),
    ):
        seen = zip((first, second), wrong, strict=True)
        if all((np.abs(got - one) <= near).all() for got, one in seen) and r.any():
            return f"the {name} of two channels is made from the other's result", "aliasing"
    return None


def _other_head(
    context: CheckContext, x: Array, y: Array, positions: Array
) -> tuple[str, Fault] | None:
    """Whether a head holds what another should, or heads were taken for tokens."""
    ratio = judge(y, x, positions, context.spec, context.dtype, context.profile).ratio
    wrong = np.flatnonzero(~(ratio <= 1).all(axis=(0, 1, 3)))
    for h, g in itertools.product(wrong[:1].tolist(), range(x.shape[2])):
        if g != h and within_bound(context, y[:, :, [h]], x[:, :, [g]], positions):
            return f"head {h} holds what belongs into head {g}", "broadcast"
    if x.shape[1] == x.shape[2] and positions.ndim == 1:
        x, y = x.swapaxes(1, 2), y.swapaxes(1, 2)
        if within_bound(context, y, x, positions):
            return "the phases go along the heads instead of the tokens", "broadcast"
    return None


def _cause(context: CheckContext, case: Case, name: str) -> tuple[str, Fault] | None:
    """What is probably wrong with q or k, looked at as a RoPE of its own."""
    from rope_conformance.diagnosis.likely_cause import likely_cause

    which, surface = "qk".index(name), context.implementation

    def alone(x: Any, *positions: Any) -> Any:
        host = context.namespace.host(x)
        three = [context.namespace.array(host, context.device) for _ in "qkv"]
        return surface.call("attention", *three, *positions)[which]

    probe = context.beside(Implementation(alone, context.spec, context.claim))
    heads = replace(case, heads=key_heads(case) if which else case.heads, parameter=0)
    cause = likely_cause(probe, heads, "apply")
    return None if cause is None else (f"of {name}: {cause.words}", cause.fault)

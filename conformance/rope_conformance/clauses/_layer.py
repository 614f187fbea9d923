"""Calls the surface `attention`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.frameworks import Array

if TYPE_CHECKING:
    from rope_conformance.target.claim import Claim


def key_heads(case: Case) -> int:
    """How many heads k and v have: the parameter, where it divides those of q."""
    n = case.parameter
    return n if n > 0 and case.heads % n == 0 else case.heads


def placed(claim: Claim, start: int, tokens: int) -> range:
    """Positions in a row from `start`, or as near to it as the claimed range comes."""
    low, high = claim.position_range
    start = 0 if claim.position_forms == ("none",) else max(low, min(start, high - tokens + 1))
    return range(start, start + tokens)


def large_layers(context: CheckContext) -> list[Case]:
    """More rows, heads and tokens than a kernel does at a time, odd numbers of each."""
    shapes = [(35, 3, 3, 1), (1, 3, 195, 65), (1, 1031, 3, 1)]
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        shapes = [(35, 5, 33, 11)]
    low, high = context.claim.position_range
    result = []
    for b, tokens, h, g in shapes:
        t = min(tokens, high - low + 1)
        result.append(context.cut(Case(b, t, h, placed(context.claim, 3, t), parameter=g)))
    return [replace(case, parameter=key_heads(case)) for case in result]


def demand_positions(
    context: CheckContext,
    positions: Array,
    shape: tuple[int, ...],
    given: Sequence[Any],
    fault: Fault,
) -> None:
    """Fail if a call changed the positions that it was given."""
    own = context.arrays.position_arguments(positions, shape)
    for before, after in zip(own, given, strict=True):
        if not isinstance(after, int) and not np.array_equal(
            context.arrays.host(before), context.arrays.host(after)
        ):
            raise CheckFailure("the positions were changed by the call", fault=fault)


def layer_data(context: CheckContext, case: Case) -> tuple[Array, Array, Array]:
    """Numbers for q, k and v."""
    fewer = replace(case, heads=key_heads(case))
    k, v = (context.x(replace(fewer, seed=case.seed + n)) for n in (1000, 2000))
    return context.x(case), k, v


def call_layer(
    context: CheckContext,
    arrays: Sequence[Array],
    positions: Array,
    natives: Sequence[Any] | None = None,
) -> tuple[Array, Array, Array]:
    """Call ``qkv(q, k, v, positions)`` and return what it returned, axes ``bthd``.

    Parameters
    ----------
    context
        The surface `attention` must exist.
    arrays
        q, k and v.
    positions
        (T,) or (B, T).
    natives
        The same in the framework's own arrays, where these are more than copies.

    Raises
    ------
    CheckFailure
        If it does not return three arrays of the types and shapes of q, k and v.
    TargetRaised
        If it raised.
    """
    given = [context.arrays.native(x) for x in arrays] if natives is None else list(natives)
    return received(context, sent(context, given, positions, arrays[0].shape), given, arrays)


def sent(
    context: CheckContext, natives: Sequence[Any], positions: Array, shape: tuple[int, ...]
) -> Sequence[Any]:
    """The three arrays that the surface `attention` returns, in its own type."""
    result = context.arrays.call(
        "attention", *natives, *context.arrays.position_arguments(positions, shape)
    )
    if result is None and context.claim.in_place:
        return natives
    if not isinstance(result, tuple | list) or len(result) != 3:
        raise CheckFailure(
            "qkv(q, k, v, positions) must return the three arrays (q, k, v); "
            f"it returned {type(result).__name__}"
        )
    return result


def received(
    context: CheckContext, results: Sequence[Any], natives: Sequence[Any], arrays: Sequence[Array]
) -> tuple[Array, Array, Array]:
    """The same as NumPy arrays ``bthd``, once type, dtype and shape are right."""
    q, k, v = (
        context.arrays.from_claimed_axes(_checked(context, name, y, x), own.shape)
        for name, y, x, own in zip("qkv", results, natives, arrays, strict=True)
    )
    return q, k, v


def _checked(context: CheckContext, name: str, result: Any, native: Any) -> Array:
    """One of the results; the failure says which, and whether it is about shape or type."""
    try:
        return context.arrays.checked(result, native)
    except CheckFailure as failure:
        own = context.namespace
        shaped = own.owns(result) and tuple(result.shape) != tuple(native.shape)
        fault: Fault = "kernel-shape" if shaped else "dtype"
        raise CheckFailure(f"of q, k and v, {name}: {failure}", fault=fault) from None


def odd_numbers(x: Array) -> Array:
    """An array of the same type and shape with NaN, infinities and -0 in it."""
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0])
    return np.resize(odd, x.shape).astype(x.dtype)

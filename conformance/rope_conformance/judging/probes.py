"""Inputs that many checks are given, and the pairs of an array read from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rope_conformance.inputs.cases import Case, cases, far_cases, fixed_cases
from rope_conformance.inputs.claimed_positions import free_positions, positions_within
from rope_conformance.inputs.shapes import ROW, repeated, usual_shape
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.frameworks import Array, data_type
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SAMPLES = 100  # twice what most clauses judged by the bound need


def oracle(context: CheckContext, case: Case, message: str) -> None:
    """Compare one call with the reference."""
    x, positions = context.x(case), context.positions(case)
    y = context.arrays.apply(x, positions, strided=case.strided)
    context.demand(context.judge(y, x, positions), message)


def numeric_fixed(context: CheckContext) -> list[Case]:
    """The fixed inputs, cut down to the claimed axes."""
    return list(dict.fromkeys(context.cut(case) for case in fixed_cases(context.claim)))


def far_fixed(context: CheckContext) -> list[Case]:
    """The fixed inputs, and those with many tokens, rows and heads."""
    square, far = _square_cases(context), far_cases(context.claim)
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        square = square[:1]
    far = [*square, *far]
    return list(dict.fromkeys([*numeric_fixed(context), *(context.cut(case) for case in far)]))


def _square_cases(context: CheckContext) -> list[Case]:
    """As many tokens as pairs, and as channels: tables and data are square."""
    low, high = context.claim.position_range
    start = max(low, min(0, high))
    lengths = {context.spec.rotary_dim // 2, context.spec.rotary_dim, context.spec.head_dim} - {0}
    chosen = [n for n in sorted(lengths) if start + n - 1 <= high]
    return [Case(2, n, 1, range(start, start + n)) for n in chosen]


def numeric_cases(context: CheckContext) -> SearchStrategy[Case]:
    """Generated inputs, cut down to the claimed axes."""
    return cases(context.claim).map(context.cut)


def probe_position(context: CheckContext) -> int:
    """The claimed position nearest to 1 that is not 0, for reading a map; 0 if there is none."""
    low, high = context.claim.position_range
    if low <= 1 <= high:
        return 1
    return low if low > 1 else min(high, max(low, -1))


def all_positions(context: CheckContext, *, limit: int) -> list[int]:
    """Powers of two, known hot spots, and as many more as evidence needs, up to a limit.

    A range with fewer positions is repeated until there are enough.
    """
    low, high = context.claim.position_range
    low = max(low, 0) if high >= 0 else low
    high = min(high, max(limit, low + limit))
    powers = [2**k for k in range(limit.bit_length())]
    chosen = {p for p in (*powers, *positions_within(context.claim)) if low <= p <= high} | {low}
    needed = -(-_SAMPLES // max(context.spec.rotary_dim // 2, 1))
    spread = max((high - low) // needed, 1)
    chosen |= set(range(low, high + 1, spread)[: needed + 1]) if len(chosen) < needed else set()
    return sorted(chosen) * -(-needed // len(chosen))


def standard_case(context: CheckContext, positions: Iterable[float]) -> Case:
    """One row of tokens at the given positions, or as near as the claimed forms come."""
    chosen = tuple(positions)
    if context.namespace.fixed_shapes and free_positions(context.claim):
        return _in_few_shapes(context, chosen)
    if context.claim.position_forms != ("none",):
        return Case(1, len(chosen), 1, chosen)
    tokens = min(64, context.claim.position_range[1] + 1)
    heads = -(-_SAMPLES // (tokens * max(context.spec.rotary_dim // 2, 1)))
    return context.cut(Case(1, tokens, heads, range(tokens)))


def _in_few_shapes(context: CheckContext, positions: tuple[float, ...]) -> Case:
    """The same positions, some of them again, in as many tokens as other inputs have."""
    batch, tokens, heads = usual_shape(context.claim)
    if len(positions) > tokens:
        batch, tokens, heads = 2, ROW, 1
    again = repeated(positions, tokens)
    return context.cut(Case(batch, len(again), heads, again))


def angles_probe(context: CheckContext, case: Case) -> Array:
    """Data with (1, 0) in every pair and 0 elsewhere."""
    x = np.zeros((case.batch, case.tokens, case.heads, context.spec.head_dim))
    x[..., pair_channels(context.spec)[0]] = 1
    return x.astype(data_type(context.dtype))


def pairs(context: CheckContext, x: Array, *, output: bool = False) -> Array:
    """The two components of each pair in float64: shape (2, ..., R/2)."""
    channels = pair_channels(context.spec, output=output)
    values = np.asarray(x, dtype=np.float64)
    return np.stack([values[..., channels[0]], values[..., channels[1]]])

"""What several families of checks share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case, cases, far_cases, fixed_cases
from rope_conformance.inputs.claimed_positions import free_positions, positions_within
from rope_conformance.inputs.shapes import ROW, repeated, usual_shape
from rope_conformance.inputs.spec_variants import at_width, with_base
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.frameworks import Array, data_type
from rope_conformance.target.implementation import Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec, pair_channels

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
    """The position nearest to 1 that tells something, for reading a map; 0 if there is none."""
    low, high = context.claim.position_range
    if low <= 1 <= high:
        return 1
    return low if low > 1 else min(high, max(low, -1))


def all_positions(context: CheckContext, *, limit: int) -> list[int]:
    """Powers of two, hot spots, and as many more as evidence takes, up to a limit.

    Of a range that has no more, every position, over and over: there is no more to see.
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


def factory_only(context: CheckContext) -> str | None:
    """Opens a clause for targets that can be made for another spec."""
    if not context.implementation.is_factory:
        return "a plain callable is judged for one spec; a factory is made for several"
    if base_below(context.spec.frequencies) is None:
        return "given frequencies fix the width"
    return None


def other_widths(context: CheckContext) -> str | None:
    """Opens a clause for targets that can be made for another width."""
    if context.spec.pair_axes is not None:
        return "pair_axes, one axis for each pair, fix the width"
    return factory_only(context)


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


def to_input_layout(context: CheckContext, y: Array) -> Array:
    """An output with each pair back on the channels it was read from."""
    x = y.copy()
    x[..., pair_channels(context.spec)] = y[..., pair_channels(context.spec, output=True)]
    return x


def to_output_layout(context: CheckContext, x: Array) -> Array:
    """An array with each pair moved from the channels read to those written."""
    y = x.copy()
    y[..., pair_channels(context.spec, output=True)] = x[..., pair_channels(context.spec)]
    return y


def pairs(context: CheckContext, x: Array, *, output: bool = False) -> Array:
    """The two components of each pair in float64: shape (2, ..., R/2)."""
    channels = pair_channels(context.spec, output=output)
    values = np.asarray(x, dtype=np.float64)
    return np.stack([values[..., channels[0]], values[..., channels[1]]])

"""Positions with several axes: which one a pair follows, and what holds as with one axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.residual import compare, judge, pair_norm, per_token
from rope_conformance.clauses._openers import claims_rows
from rope_conformance.clauses.score import demand_same_scores
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.position_axes import at_one_place, axes_of, on_all_axes
from rope_conformance.inputs.shapes import usual_shape
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import (
    all_positions,
    numeric_cases,
    numeric_fixed,
    oracle,
    pairs,
    standard_case,
)
from rope_conformance.target.rule_parts import base_below


def _has_axes(context: CheckContext) -> str | None:
    return None if axes_of(context.spec) else "positions have one axis"


def _several(context: CheckContext) -> str | None:
    if len(set(context.spec.pair_axes or ())) < 2:
        return _has_axes(context) or "all pairs follow one axis"
    low, high = context.claim.position_range
    return None if high > low else "there is one position"


def _shared_ladder(context: CheckContext) -> str | None:
    if base_below(context.spec.frequencies) is None:
        return _has_axes(context) or "the axes do not share the ladder of one base"
    return _has_axes(context)


_STEPS = (1, 37, 1000, 2**15)  # far enough for the slowest pairs to be seen
_MOVES = (1, 255)
_SAMPLES = 100


def _each_axis(context: CheckContext) -> list[Case]:
    """Token 0 stands at one place, the others elsewhere on axis number `parameter`."""
    low, high = context.claim.position_range
    base = max(low, min(3, high - 1))
    batch, tokens, heads = usual_shape(context.claim)
    steps = [min(base + step, high) for step in _STEPS]
    row = (base, *(steps[n % len(steps)] for n in range(tokens - 1)))
    axes = axes_of(context.spec)
    case = context.cut(Case(batch, tokens, heads, row))
    size = case.batch * case.tokens * case.heads * (axes - 1) * (context.spec.rotary_dim // 2)
    seeds = range(-(-_SAMPLES // size))
    return [replace(case, parameter=axis, seed=n) for n in seeds for axis in range(axes)]


@clause(
    id="axes.map",
    sentence="Each pair turns by the position on its own axis, and no other axis moves it.",
    formula=r"\varphi_i = p_{a(i)}\,\theta_i",
    reference="rope_ref.definition:phase",
    fault="multi-axis",
    opened_by=_several,
    fixed=_each_axis,
    minimum=50,
    numeric=True,
)
def map_(context: CheckContext, case: Case) -> None:
    """Move positions along one axis: its own pairs turn, those of other axes do not."""
    axis, moved = case.parameter, case.position_array()
    p = at_one_place(moved[0], case.tokens, context.spec)
    p[axis] = moved
    x = context.x(case)
    x[:] = x[:, :1]
    y = context.arrays.apply(x, p)
    turned = pairs(context, y, output=True)
    change = np.abs(turned - turned[:, :, :1]).max(axis=0)
    own, r = np.array(context.spec.pair_axes) == axis, pair_norm(x, context.spec)
    tokens = per_token(p, context.spec)
    # Both tokens have the same phase, right or wrong: they differ by roundings alone.
    allowed = 2 * bound(context.profile, context.spec, 0 * tokens, context.dtype, r)
    stay = np.broadcast_to(y[:, :1], y.shape)
    judgement = compare(
        np.where(own, 0, change),
        r,
        np.where(own, np.inf, allowed),
        tokens,
        context.dtype,
        got=np.asarray(y, np.float64),
        want=np.asarray(stay, np.float64),
    )
    context.evidence.count(judgement)
    context.demand(judgement, f"axis {axis} alone was moved, and a pair of another axis turned")
    phase = context.spec.theta() * (tokens - tokens[:, :1])
    least = allowed * unit_roundoff(context.dtype)
    shows = (2 * np.abs(np.sin(phase / 2)) > 4 * least).any(axis=(0, 1, 2))
    goes = (change > least * r).any(axis=(0, 1, 2))
    if (stuck := np.flatnonzero(own & shows & ~goes)).size:
        raise CheckFailure(
            f"pair {stuck[0]} follows axis {axis}, but stays where it is when positions on axis "
            f"{axis} move from {moved[0]} up to {moved.max()}"
        )


def _as_many(context: CheckContext) -> list[Case]:
    """As many tokens, and where rows are claimed as many rows, as there are axes."""
    axes = axes_of(context.spec)
    low, high = context.claim.position_range
    start = max(low, min(1, high))

    def row(tokens: int, first: int) -> tuple[int, ...]:
        return tuple(min(start + (first + 3 * n * n) % 97, high) for n in range(tokens))

    result = [Case(2, tokens, 3, row(tokens, 0)) for tokens in (axes, axes + 1)]
    if claims_rows(context.claim):
        for tokens in (axes, axes + 2, 1):
            rows = tuple(row(tokens, 7 * b * b) for b in range(axes))
            result.append(Case(axes, tokens, 2, rows))
    repeats = -(-_SAMPLES // (axes * max(context.spec.rotary_dim // 2, 1)))
    return [context.cut(replace(case, seed=n)) for n in range(repeats) for case in result]


@clause(
    id="axes.order",
    sentence=(
        "The first axis of the array of positions is time, row, column; rows of the batch and "
        "tokens come after it, also where they are as many."
    ),
    formula=r"\varphi_{b,t,i} = p_{a(i),b,t}\,\theta_i",
    reference="rope_ref.table:cos_sin_parts",
    fault="multi-axis",
    opened_by=_has_axes,
    any_map=True,
    fixed=_as_many,
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def order(context: CheckContext, case: Case) -> None:
    """Compare with the reference where numbers of axes, rows and tokens coincide."""
    oracle(context, case, "wrong where positions have several axes")


@clause(
    id="axes.equal",
    sentence="Where all axes share one ladder, equal positions on all of them are the 1-D RoPE.",
    formula=r"p_0 = p_1 = \dots = p \;\Rightarrow\; \varphi_i = p\,b^{-2i/R}",
    reference="rope_ref.definition:phase",
    fault="multi-axis",
    opened_by=_shared_ladder,
    fixed=lambda context: [
        standard_case(context, all_positions(context, limit=2**12)),
        *numeric_fixed(context)[:4],
    ],
    minimum=50,
    numeric=True,
)
def equal(context: CheckContext, case: Case) -> None:
    """Compare with the RoPE of one axis."""
    positions = case.position_array()
    x = context.x(case)
    y = context.arrays.apply(x, on_all_axes(positions, context.spec))
    plain = replace(context.spec, pair_axes=None)
    judgement = judge(y, x, positions, plain, context.dtype, context.profile)
    context.evidence.count(judgement)
    context.demand(judgement, "positions are equal on all axes, but it is not the RoPE of one axis")


def _moved(context: CheckContext) -> list[Case]:
    """Inputs whose `parameter` says which axis is moved, and how far."""
    low, high = context.claim.position_range
    first = max(low, min(0, high - 9))
    batch, tokens, heads = usual_shape(context.claim)
    row = tuple(min(first + (0, 2, 9, 4, 7)[n % 5], high - 1) for n in range(tokens))
    axes = axes_of(context.spec)
    moves = [n for n, move in enumerate(_MOVES) if max(row) + move <= high]
    case = context.cut(Case(batch, tokens, heads, row))
    return [replace(case, parameter=axis + n * axes) for n in moves for axis in range(axes)]


@clause(
    id="axes.shift",
    sentence=(
        "The score of a query and a key stays the same when both move by the same amount along "
        "one axis."
    ),
    formula=r"f_{m+s e_a}(q) \cdot f_{n+s e_a}(k) = f_m(q) \cdot f_n(k)",
    reference="rope_ref.attention:relative_logit",
    fault="multi-axis",
    opened_by=_several,
    fixed=_moved,
    minimum=50,
    numeric=True,
)
def shift(context: CheckContext, case: Case) -> None:
    """Score every token with every other, here and farther along one axis."""
    number, axis = divmod(case.parameter, axes_of(context.spec))
    here = context.positions(case)
    there = here.copy()
    there[axis] += _MOVES[number]
    words = f"the score of a pair changed when both moved by {_MOVES[number]} along axis {axis}"
    demand_same_scores(context, case, here, there, f"{words} (scores)")

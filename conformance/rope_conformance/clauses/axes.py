"""Positions with several axes: which one a pair follows, and what stays as with one axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import bound, compare, judge, pair_norm, per_token, unit_roundoff
from rope_conformance.clauses._common import (
    all_positions,
    numeric_cases,
    numeric_fixed,
    oracle,
    pairs,
    standard_case,
)
from rope_conformance.clauses.score import demand_same_scores
from rope_conformance.inputs import Case
from rope_conformance.places import at_one_place, axes_of, on_all_axes
from rope_conformance.registry import Clause
from rope_conformance.rules import base_below
from rope_conformance.shapes import usual_shape
from rope_conformance.trial import CheckFailure, Trial

Array = npt.NDArray[Any]


def _has_axes(trial: Trial) -> str | None:
    return None if axes_of(trial.spec) else "positions have one axis"


def _several(trial: Trial) -> str | None:
    if len(set(trial.spec.pair_axes or ())) < 2:
        return _has_axes(trial) or "all pairs follow one axis"
    low, high = trial.claim.position_range
    return None if high > low else "there is one position"


def _shared_ladder(trial: Trial) -> str | None:
    if base_below(trial.spec.frequencies) is None:
        return _has_axes(trial) or "the axes do not share the ladder of one base"
    return _has_axes(trial)


MAP = Clause(
    id="axes.map",
    sentence="Each pair turns by the position on its own axis, and no other axis moves it.",
    formula=r"\varphi_i = p_{a(i)}\,\theta_i",
    reference="rope_ref.sincos:cos_sin_parts",
    fault="multi-axis",
    opened_by=_several,
)

ORDER = Clause(
    id="axes.order",
    sentence=(
        "The first axis of the array of positions is time, row, column; rows of the batch and "
        "tokens come after it, also where they are as many."
    ),
    formula=r"\varphi_{b,t,i} = p_{a(i),b,t}\,\theta_i",
    reference="rope_ref.sincos:cos_sin_parts",
    fault="multi-axis",
    opened_by=_has_axes,
    any_map=True,
)

EQUAL = Clause(
    id="axes.equal",
    sentence="Where all axes share one ladder, equal positions on all of them are the 1-D RoPE.",
    formula=r"p_0 = p_1 = \dots = p \;\Rightarrow\; \varphi_i = p\,b^{-2i/R}",
    reference="rope_ref.sincos:cos_sin_parts",
    fault="multi-axis",
    opened_by=_shared_ladder,
)

SHIFT = Clause(
    id="axes.shift",
    sentence=(
        "The score of a query and a key stays the same when both move by the same amount along "
        "one axis."
    ),
    formula=r"f_{m+s e_a}(q) \cdot f_{n+s e_a}(k) = f_m(q) \cdot f_n(k)",
    reference="rope_ref.attention:attention_logits",
    fault="multi-axis",
    opened_by=_several,
)

_STEPS = (1, 37, 1000, 2**15)  # far enough for the slowest pairs to be seen
_MOVES = (1, 255)
_SAMPLES = 100


def _each_axis(trial: Trial) -> list[Case]:
    """Token 0 stands at one place, the others elsewhere on axis number `parameter`."""
    low, high = trial.claim.position_range
    base = max(low, min(3, high - 1))
    batch, tokens, heads = usual_shape(trial.claim)
    steps = [min(base + step, high) for step in _STEPS]
    row = (base, *(steps[n % len(steps)] for n in range(tokens - 1)))
    axes = axes_of(trial.spec)
    case = trial.cut(Case(batch, tokens, heads, row))
    size = case.batch * case.tokens * case.heads * (axes - 1) * (trial.spec.rotary_dim // 2)
    seeds = range(-(-_SAMPLES // size))
    return [replace(case, parameter=axis, seed=n) for n in seeds for axis in range(axes)]


@MAP.check(
    fixed=_each_axis,
    kills=[
        "sections_for_turns",
        "turns_for_sections",
        "pangu_axes_for_glm",
        "qwen_axes_for_glm",
        "left_over_pairs_stand_still",
        "fourth_axis_dropped",
        "rows_and_columns_exchanged",
        "first_axis_for_all",
        "half_of_the_table_for_both",
        "sections_doubled",
        "built_by_one_split_used_by_another",
        "text_told_by_first_token",
    ],
    minimum=50,
    numeric=True,
)
def map_(trial: Trial, case: Case) -> None:
    """Move one axis: the pairs of all others stay, its own go along."""
    axis, moved = case.parameter, case.position_array()
    p = at_one_place(moved[0], case.tokens, trial.spec)
    p[axis] = moved
    x = trial.x(case)
    x[:] = x[:, :1]
    y = trial.apply(x, p)
    turned = pairs(trial, y, output=True)
    change = np.abs(turned - turned[:, :, :1]).max(axis=0)
    own, r = np.array(trial.spec.pair_axes) == axis, pair_norm(x, trial.spec)
    tokens = per_token(p, trial.spec)
    # Both tokens turn by the same phase, right or wrong: only the roundings differ.
    allowed = 2 * bound(trial.profile, trial.spec, 0 * tokens, trial.dtype, r)
    stay = np.broadcast_to(y[:, :1], y.shape)
    judgement = compare(
        np.where(own, 0, change),
        r,
        np.where(own, np.inf, allowed),
        tokens,
        trial.dtype,
        got=np.asarray(y, np.float64),
        want=np.asarray(stay, np.float64),
    )
    trial.count(judgement)
    trial.demand(judgement, f"axis {axis} alone was moved, and a pair of another axis turned")
    phase = trial.spec.theta() * (tokens - tokens[:, :1])
    least = allowed * unit_roundoff(trial.dtype)
    shows = (2 * np.abs(np.sin(phase / 2)) > 4 * least).any(axis=(0, 1, 2))
    goes = (change > least * r).any(axis=(0, 1, 2))
    if (stuck := np.flatnonzero(own & shows & ~goes)).size:
        raise CheckFailure(
            f"pair {stuck[0]} follows axis {axis}, but stays where it is when positions on axis "
            f"{axis} move from {moved[0]} up to {moved.max()}"
        )


def _as_many(trial: Trial) -> list[Case]:
    """As many tokens, and where rows are claimed as many rows, as there are axes."""
    axes = axes_of(trial.spec)
    low, high = trial.claim.position_range
    start = max(low, min(1, high))

    def row(tokens: int, first: int) -> tuple[int, ...]:
        return tuple(min(start + (first + 3 * n * n) % 97, high) for n in range(tokens))

    result = [Case(2, tokens, 3, row(tokens, 0)) for tokens in (axes, axes + 1)]
    if "bt" in trial.claim.position_forms and "b" in trial.claim.axes:
        for tokens in (axes, axes + 2, 1):
            rows = tuple(row(tokens, 7 * b * b) for b in range(axes))
            result.append(Case(axes, tokens, 2, rows))
    repeats = -(-_SAMPLES // (axes * max(trial.spec.rotary_dim // 2, 1)))
    return [trial.cut(replace(case, seed=n)) for n in range(repeats) for case in result]


@ORDER.check(
    fixed=_as_many,
    generated=numeric_cases,
    kills=[
        "rows_for_axes",
        "tokens_for_axes",
        "rows_and_columns_exchanged",
        "token_numbers_on_all_axes",
        "coordinates_numbered",
    ],
    minimum=50,
    numeric=True,
)
def order(trial: Trial, case: Case) -> None:
    """Compare with the reference where numbers of axes, rows and tokens coincide."""
    oracle(trial, case, "wrong where positions have several axes")


@EQUAL.check(
    fixed=lambda trial: [
        standard_case(trial, all_positions(trial, limit=2**12)),
        *numeric_fixed(trial)[:4],
    ],
    kills=["ladder_for_each_axis", "text_with_the_default_base"],
    minimum=50,
    numeric=True,
)
def equal(trial: Trial, case: Case) -> None:
    """Compare with the RoPE of one axis."""
    positions = case.position_array()
    x = trial.x(case)
    y = trial.apply(x, on_all_axes(positions, trial.spec))
    plain = replace(trial.spec, pair_axes=None)
    judgement = judge(y, x, positions, plain, trial.dtype, trial.profile)
    trial.count(judgement)
    trial.demand(judgement, "positions are equal on all axes, but it is not the RoPE of one axis")


def _moved(trial: Trial) -> list[Case]:
    """Axis and move are told by `parameter`."""
    low, high = trial.claim.position_range
    first = max(low, min(0, high - 9))
    batch, tokens, heads = usual_shape(trial.claim)
    row = tuple(min(first + (0, 2, 9, 4, 7)[n % 5], high - 1) for n in range(tokens))
    axes = axes_of(trial.spec)
    moves = [n for n, move in enumerate(_MOVES) if max(row) + move <= high]
    case = trial.cut(Case(batch, tokens, heads, row))
    return [replace(case, parameter=axis + n * axes) for n in moves for axis in range(axes)]


@SHIFT.check(
    fixed=_moved,
    kills=["blocks_of_the_tiled_table", "tiled_table_in_blocks"],
    minimum=50,
    numeric=True,
)
def shift(trial: Trial, case: Case) -> None:
    """Score every token with every other, here and farther along one axis."""
    number, axis = divmod(case.parameter, axes_of(trial.spec))
    here = trial.positions(case)
    there = here.copy()
    there[axis] += _MOVES[number]
    words = f"the score of a pair changed when both moved by {_MOVES[number]} along axis {axis}"
    demand_same_scores(trial, case, here, there, f"{words} (scores)")

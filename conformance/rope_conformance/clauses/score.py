"""What RoPE is for: scores of queries and keys depend on their distance alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import compare, pair_norm, per_token
from rope_conformance.clauses._openers import start_anywhere
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.position_axes import on_all_axes
from rope_conformance.inputs.shapes import repeated, usual_shape
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import pairs
from rope_conformance.target.frameworks import Array, data_type
from rope_ref import ExplicitFrequencies, RopeSpec, cos_sin, pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SECOND_ORDER = 1 + 2**-5  # products of two errors


def _worked_example(context: CheckContext) -> str | None:
    low, high = context.claim.position_range
    if context.spec.rotary_dim == 0 or context.spec.theta()[0] != 1:
        return "needs theta_0 = 1"
    if low > 0 or high < 7:
        return "needs positions 0 to 7"
    return start_anywhere(context)


@clause(
    id="score.offset",
    sentence=(
        "The score of a query and a key stays the same when both positions move by the same amount."
    ),
    formula=r"f_{m+s}(q) \cdot f_{n+s}(k) = f_m(q) \cdot f_n(k)",
    reference="rope_ref.attention:relative_logit",
    fault="position",
    surface=EITHER,
    opened_by=start_anywhere,
    fixed=lambda context: [
        _moved(context, replace(_three(context), parameter=s))
        for s in (1, 7, 255, 2**16)
        if s + 9 <= _top(context)
    ],
    generated=lambda context: _offset_cases(context),
    minimum=50,
    numeric=True,
)
def offset(context: CheckContext, case: Case) -> None:
    """Score every token with every other, pair by pair, here and `parameter` positions later."""
    here, move = context.positions(case), case.parameter
    words = f"the score of a pair changed when both positions moved by {move} (scores)"
    demand_same_scores(context, case, here, here + move, words)


def demand_same_scores(
    context: CheckContext, case: Case, here: Array, there: Array, message: str
) -> None:
    """Fail if the score of any two tokens is not the same at two sets of positions.

    Pair by pair, since the score of the whole head would hide one wrong pair among many.
    """
    q = context.x(case)
    k = context.x(Case(case.batch, case.tokens, case.heads, case.positions, seed=case.seed + 1000))
    scores, allowed = [], np.zeros(())
    r_q, r_k = pair_norm(q, context.spec), pair_norm(k, context.spec)
    with np.errstate(divide="ignore"):
        scale = r_q[:, :, None] * r_k[:, None, :]
    for positions in (here, there):
        rotated_q = pairs(context, context.arrays.apply(q, positions), output=True)
        rotated_k = pairs(context, context.arrays.apply(k, positions), output=True)
        scores.append((rotated_q[:, :, :, None] * rotated_k[:, :, None, :]).sum(axis=0))
        p = per_token(positions, context.spec)
        own_q = bound(context.profile, context.spec, p, context.dtype, r_q, norm=True)
        own_k = bound(context.profile, context.spec, p, context.dtype, r_k, norm=True)
        allowed = allowed + (own_q[:, :, None] + own_k[:, None, :])
    allowed = _SECOND_ORDER * allowed
    # Axes are now (B, Tq, Tk, H, R/2); the report wants (B, T, H, R/2).
    shape = (case.batch, case.tokens**2, case.heads, context.spec.rotary_dim // 2)
    error = np.abs(scores[1] - scores[0])
    p = per_token(here, context.spec)
    p_q = np.broadcast_to(p[:, :, None], (p.shape[0], case.tokens, case.tokens, *p.shape[2:]))
    judgement = compare(
        error.reshape(shape),
        scale.reshape(shape),
        np.broadcast_to(allowed, error.shape).reshape(shape),
        p_q.reshape(p.shape[0], -1, *p.shape[2:]),
        context.dtype,
        got=_on_channels(context, scores[1].reshape(shape)),
        want=_on_channels(context, scores[0].reshape(shape)),
    )
    context.evidence.count(judgement)
    context.demand(judgement, message)


@clause(
    id="score.worked_example",
    sentence=(
        "With theta_0 = 1 and q = k = the first unit vector of pair 0, the score is A**2 cos 2 at "
        "positions (0, 2), and at (5, 7)."
    ),
    formula=r"f_0(e) \cdot f_2(e) = f_5(e) \cdot f_7(e) = A^2 \cos 2",
    reference="rope_ref.attention:attention_logits",
    fault="frequency",
    surface=EITHER,
    opened_by=_worked_example,
    fixed=lambda context: [_row(context, (0, 2)), _row(context, (5, 7))],
)
def worked_example(context: CheckContext, case: Case) -> None:
    """Two tokens, one pair, one number that anybody can compute."""
    positions = on_all_axes(case.position_array(), context.spec)
    first = pair_channels(context.spec)[0, 0]
    tokens = positions.shape[-1]
    shape = (case.batch, tokens, case.heads, context.spec.head_dim)
    x = np.zeros(shape, dtype=data_type(context.dtype))
    x[..., first] = 1
    y = np.asarray(context.arrays.apply(x, positions), np.float64)
    score = float(y[0, 0, 0] @ y[0, -1, 0])
    one_pair = RopeSpec(2, layout="half", frequencies=ExplicitFrequencies([1.0]))
    amplitude = float(context.spec.frequencies.amplitude)
    # 2, or 0 where the input is shrunk to one token.
    apart = case.positions[-1] - case.positions[0]
    want = amplitude**2 * float(cos_sin(apart, one_pair)[0][0])
    p = per_token(positions, context.spec)
    both = bound(context.profile, context.spec, p, context.dtype, amplitude, norm=True)[0, :, 0, 0]
    allowed = _SECOND_ORDER * (both[0] + both[-1])
    judgement = compare(
        np.full((1, 1, 1, 1), abs(score - want)),
        np.full((1, 1, 1, 1), amplitude**2),
        np.full((1, 1, 1, 1), allowed),
        p[:, -1:, :, :1],
        context.dtype,
        got=_on_channels(context, np.full((1, 1, 1, 1), score)),
        want=_on_channels(context, np.full((1, 1, 1, 1), want)),
    )
    context.demand(
        judgement,
        f"the score of positions ({case.positions[0]}, {case.positions[-1]}) is {score:.9g}, "
        f"not cos {apart} = {want:.9g} (scores)",
    )


def _three(context: CheckContext) -> Case:
    """Three positions near each other; some of them again where a new shape is a compilation."""
    if not context.namespace.fixed_shapes:
        return Case(2, 3, 2, (0, 2, 9))
    batch, tokens, heads = usual_shape(context.claim)
    return Case(batch, tokens, heads, repeated((0, 2, 9), tokens))


def _row(context: CheckContext, ends: tuple[int, int]) -> Case:
    if not free_positions(context.claim):
        return Case(1, ends[1] - ends[0] + 1, 1, range(ends[0], ends[1] + 1))
    if not context.namespace.fixed_shapes:
        return Case(1, 2, 1, ends)
    batch, tokens, heads = usual_shape(context.claim)
    return context.cut(Case(batch, tokens, heads, (*repeated(ends, tokens - 1), ends[1])))


def _top(context: CheckContext) -> int:
    return context.claim.position_range[1]


def _moved(context: CheckContext, case: Case) -> Case:
    row = case.positions if free_positions(context.claim) else range(case.tokens)
    return context.cut(replace(case, positions=row))


def _offset_cases(context: CheckContext) -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    low, top = context.claim.position_range
    moves = [move for move in (1, 2, 7, 64, 255) if move <= (top - low) // 2] or [0]
    high = top - max(moves)
    most = 5 if context.namespace.fixed_shapes else 4
    drawn = cases(context.claim, high=high, max_tokens=most).map(context.cut)
    return st.builds(
        lambda case, move: replace(case, parameter=move), drawn, st.sampled_from(moves)
    )


def _on_channels(context: CheckContext, per_pair: Array) -> Array:
    """Numbers per pair, laid on both channels of each pair for the report."""
    out: Array = np.zeros((*per_pair.shape[:-1], context.spec.head_dim))
    channels = pair_channels(context.spec, output=True)[:, : per_pair.shape[-1]]
    out[..., channels[0]] = per_pair
    out[..., channels[1]] = per_pair
    return out

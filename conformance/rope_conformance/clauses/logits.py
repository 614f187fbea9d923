"""The scores of queries and keys, as an attention layer computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._layer import demand_positions, placed
from rope_conformance.clauses._openers import start_anywhere
from rope_conformance.clauses._other_specs import new_object
from rope_conformance.clauses._score_inputs import cut_both, large_scores, score_cases
from rope_conformance.clauses._scores import (
    LogitsInput,
    allowed,
    call_logits,
    compare_scores,
    demand_scores,
    explained,
    given,
    scale_of,
    true_scores,
    wrong_scores,
)
from rope_conformance.clauses._variants import (
    OTHER_AMPLITUDE,
    amplified,
    reason,
    unamplified,
)
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.queries_keys import QueriesKeys
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.frameworks import data_type
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _drawn(context: CheckContext) -> SearchStrategy[QueriesKeys]:
    from hypothesis import strategies as st

    one = cases(context.claim, max_tokens=6)

    def together(q: Case, k: Case, group: int) -> QueriesKeys:
        # The product of two large numbers overflows in some types.
        q, k = (replace(c, values="normal" if c.values == "large" else c.values) for c in (q, k))
        q = replace(q, heads=k.heads * group)
        return cut_both(context, QueriesKeys(q, replace(k, batch=q.batch)))

    return st.builds(together, one, one, st.sampled_from((1, 2, 3)))


def _room(context: CheckContext) -> str | None:
    low, high = context.claim.position_range
    tokens = context.spec.head_dim + _MORE_KEYS
    if free_positions(context.claim) or high - max(low, 0) + 1 >= tokens:
        return None
    return f"needs {tokens} positions"


@clause(
    id="logits.groups",
    sentence=(
        "Consecutive query heads share a key head: query head h meets key head h // (Hq / Hk), and "
        "no other."
    ),
    formula=r"S_h = f(q_h) \cdot f(k_{\lfloor h H_k / H_q \rfloor})",
    reference="rope_ref.attention:attention_logits",
    fault="broadcast",
    surface="logits",
    opened_by=lambda context: None if "h" in context.claim.axes else "there is no head axis",
    fixed=lambda context: [case for case in score_cases(context) if case.q.heads > 1],
    minimum=2,
)
def groups(context: CheckContext, case: QueriesKeys) -> None:
    """Zero all key heads but one: the query heads with scores are those that meet it."""
    what = given(context, case)
    heads, shared = case.q.heads, case.k.heads
    met = _meetings(context, what)
    for h in range(heads):
        want = h * shared // heads
        if met[h].tolist() != [g == want for g in range(shared)]:
            seen = ", ".join(str(g) for g in np.flatnonzero(met[h])) or "none"
            message = (
                f"of {heads} query heads, head {h} meets key head {seen} of {shared}, not {want}"
            )
            if shared > 1 and all(met[n, n % shared] for n in range(heads)):
                message += "; the groups are interleaved (h % Hk)"
            again = _meetings(context, what, anew=True)
            if (again != met).any():
                words = "on a new object for each call others meet: a cache may be at work"
                raise CheckFailure(f"{message}; {words}", fault="cache")
            raise CheckFailure(message)


def _meetings(
    context: CheckContext, what: LogitsInput, *, anew: bool = False
) -> npt.NDArray[np.bool_]:
    """Which query head meets which key head; `anew`: a new object for each call."""
    heads, shared = what.q.shape[2], what.k.shape[2]
    met = np.zeros((heads, shared), dtype=bool)
    for g in range(shared):
        k = np.zeros_like(what.k)
        k[:, :, g] = what.k[:, :, g]
        asked = new_object(context) if anew else None
        scores, _ = call_logits(asked or context, replace(what, k=k))
        met[:, g] = (scores != 0).any(axis=(0, 2, 3))
    return met


_MORE_KEYS = 5


def _unit_pairs(context: CheckContext) -> list[QueriesKeys]:
    """A token for each channel; the second time with more keys."""
    d, claim = context.spec.head_dim, context.claim
    result = []
    for keys in (d, d + _MORE_KEYS):
        p: tuple[int, ...] = tuple(placed(claim, 1, d + _MORE_KEYS))
        if free_positions(claim):
            p = (p[0],) * len(p)
        q, k = p[:d], p[:keys]
        result.append(QueriesKeys(Case(1, d, 4, q), Case(1, keys, 2, k)))
    return [cut_both(context, case) for case in result]


@clause(
    id="logits.scale",
    sentence=(
        "One factor is on every score: on what rotates and what passes through, in every head, "
        "however many keys there are. It is the one claimed, else 1 or 1/sqrt(D)."
    ),
    formula=r"S = s \sum_c f(q)_c f(k)_c",
    reference="rope_ref.attention:attention_logits",
    fault="scaling",
    surface="logits",
    opened_by=lambda context: _room(context),
    fixed=_unit_pairs,
    minimum=1,
)
def scale(context: CheckContext, case: QueriesKeys) -> None:
    """Score each unit vector with itself at one position: the score is the factor."""
    unit = np.eye(context.spec.head_dim).astype(data_type(context.dtype))
    q, k = (
        np.ascontiguousarray(
            np.broadcast_to(
                np.resize(unit, (c.tokens, unit.shape[1]))[None, :, None],
                (c.batch, c.tokens, c.heads, unit.shape[1]),
            )
        )
        for c in (case.q, case.k)
    )
    what = LogitsInput(q, k, context.positions(case.q), context.positions(case.k))
    factor = scale_of(context)
    scores, kind = call_logits(context, what)
    limits = allowed(context, what, factor, kind)
    want = true_scores(context, what, factor)
    bad, _ = wrong_scores((scores, want), limits)
    n = min(case.q.tokens, case.k.tokens)
    own = np.arange(n)
    wrong = bad[0][:, own, own]  # heads, channels
    if not wrong.any():
        return
    rotating = np.isin(own % context.spec.head_dim, pair_channels(context.spec))
    names = {"that rotate": rotating, "that pass through": ~rotating}
    found = [name for name, which in names.items() if wrong[:, which].any()]
    head, channel = (int(i) for i in np.argwhere(wrong)[0])
    failure = CheckFailure(
        f"the factor on channels {' and '.join(found)} is wrong: in head {head}, channel "
        f"{channel}, a unit vector has the score {scores[0, head, channel, channel]:.6g} with "
        f"itself, not {want[0, head, channel, channel]:.6g} ({case.k.tokens} keys)"
    )
    raise explained(failure, context, what, factor, (scores, kind))


@clause(
    id="logits.amplitude",
    sentence="The amplitude is on q and on k, so its square is on the score of what rotates.",
    formula=r"S = s \Bigl(A^2 \sum_i (\ldots)_i + \sum_{c\ \text{passes}} q_c k_c\Bigr)",
    reference="rope_ref.attention:attention_logits",
    fault="scaling",
    surface="logits",
    opened_by=lambda context: reason(amplified(context)),
    fixed=lambda context: score_cases(context)[:4],
    minimum=50,
    numeric=True,
)
def amplitude(context: CheckContext, case: QueriesKeys) -> None:
    """The same with an amplitude of 5/4, where it is not another already."""
    made = amplified(context)
    assert isinstance(made, CheckContext)
    try:
        message = f"with the amplitude {OTHER_AMPLITUDE} a score is wrong"
        compare_scores(made, given(made, case), scale_of(context), message)
    except CheckFailure as failure:
        if failure.fault is None:
            failure.fault = _fault_without_amplitude(context, case)
        raise
    finally:
        context.absorb(made)


def _fault_without_amplitude(context: CheckContext, case: QueriesKeys) -> Fault:
    """The class of the failure with amplitude 1, if there is one too; else that of the factor."""
    plain = unamplified(context)
    if isinstance(plain, CheckContext):
        try:
            compare_scores(plain, given(plain, case), scale_of(context), "")
        except CheckFailure as failure:
            return failure.fault or values.clause.fault
    return amplitude.clause.fault


@clause(
    id="logits.values",
    sentence=(
        "A score is the product of the rotated query and the rotated key, each at its own position."
    ),
    formula=r"S_{h,m,n} = s\, f_{p_m}(q_{h,m}) \cdot f_{p_n}(k_{g,n})",
    reference="rope_ref.attention:attention_logits",
    fault="position",
    surface="logits",
    fixed=lambda context: list(dict.fromkeys([*score_cases(context), *large_scores(context)])),
    generated=_drawn,
    minimum=50,
    numeric=True,
)
def values(context: CheckContext, case: QueriesKeys) -> None:
    """Compare with the reference's scores."""
    compare_scores(context, given(context, case), scale_of(context), "a score is wrong")


@clause(
    id="logits.relative",
    sentence="Scores stay the same when all positions, of queries and keys, move by as much.",
    formula=r"S(p_q + s,\, p_k + s) = S(p_q,\, p_k)",
    reference="rope_ref.attention:relative_logit",
    fault="position",
    surface="logits",
    opened_by=start_anywhere,
    fixed=lambda context: _moved(context),
    minimum=50,
    numeric=True,
)
def relative(context: CheckContext, case: QueriesKeys) -> None:
    """Score here, and with all positions moved by the `parameter` of the queries."""
    here, move = given(context, case), case.q.parameter
    there = replace(here, q_positions=here.q_positions + move, k_positions=here.k_positions + move)
    factor = scale_of(context)
    (first, kind), (second, _) = call_logits(context, here), call_logits(context, there)
    (limit, size), (other, _) = (allowed(context, each, factor, kind) for each in (here, there))
    demand_scores(
        context,
        here,
        (np.asarray(second, np.float64), np.asarray(first, np.float64)),
        (limit + other, size),
        f"scores changed when all positions moved by {move}",
    )


def _moved(context: CheckContext) -> list[QueriesKeys]:
    low, high = context.claim.position_range
    result = []
    for case in score_cases(context):
        room = high - max(max(case.q.flat()), max(case.k.flat()))
        for move in (1, 64, 1000):
            if move <= room and case.q.values == "normal":
                result.append(replace(case, q=replace(case.q, parameter=move)))
    return result or score_cases(context)[:1]


@clause(
    id="logits.calls",
    sentence="Scores do not depend on earlier calls, and q, k and positions are left as they are.",
    formula=r"S(q, k) \text{ does not depend on earlier calls}",
    reference="rope_ref.attention:attention_logits",
    fault="cache",
    surface="logits",
    fixed=score_cases,
    minimum=2,
)
def calls(context: CheckContext, case: QueriesKeys) -> None:
    """Call; call with other data and with other shapes; call as at first."""
    what = given(context, case)
    natives = [context.arrays.native(x) for x in (what.q, what.k)]
    first, _ = call_logits(context, what, natives)
    result = context.arrays.last_result
    for name, x, native in zip("qk", (what.q, what.k), natives, strict=True):
        if not same_numbers(
            context.namespace.host(native), context.arrays.to_claimed_axes(x)
        ).all():
            raise CheckFailure(f"{name} was changed by the call; copy it first", fault="aliasing")
    if context.claim.position_forms != ("none",) and context.arrays.last_call is not None:
        q_given, k_given = context.arrays.last_call[2:]
        demand_positions(context, what.q_positions, what.q.shape, [q_given], "aliasing")
        demand_positions(context, what.k_positions, what.k.shape, [k_given], "aliasing")
    factor = scale_of(context)
    _demand_first(context, what, factor)
    other = LogitsInput(-what.q, what.k[:, ::-1].copy(), what.q_positions, what.k_positions)
    compare_scores(context, other, factor, "after another call, a score is wrong")
    for other_case in score_cases(context)[:2]:
        call_logits(context, given(context, other_case))
    kept = context.namespace.host(result).reshape(first.shape)
    if not same_numbers(first, kept).all():
        raise CheckFailure(
            "scores changed when the next call was made: their memory is reused", fault="aliasing"
        )
    if not same_numbers(first, call_logits(context, what)[0]).all():
        raise CheckFailure("the same call gave other scores after other calls")


def _demand_first(context: CheckContext, what: LogitsInput, factor: float) -> None:
    """Fail by another class where a new object's first call is wrong too."""
    new = new_object(context)
    try:
        compare_scores(new or context, what, factor, "in a first call a score is wrong")
    except CheckFailure as failure:
        failure.fault = failure.fault or values.clause.fault
        raise
    finally:
        if new is not None:
            context.implementation.calls += new.implementation.calls

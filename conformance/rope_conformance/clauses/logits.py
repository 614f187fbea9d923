"""The scores of queries and keys, as an attention layer computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._layer import demand_positions, placed
from rope_conformance.clauses._score_inputs import cut_both, large_scores, score_cases
from rope_conformance.clauses._scores import (
    Given,
    allowed,
    call_logits,
    compare_scores,
    demand_scores,
    explained,
    given,
    new_object,
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
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.faults import Fault
from rope_conformance.inputs import Case, QueriesKeys, cases, data_type, free_positions
from rope_conformance.registry import Clause
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Array = npt.NDArray[Any]

GROUPS = Clause(
    id="logits.groups",
    sentence=(
        "Consecutive query heads share a key head: query head h meets key head h // (Hq / Hk), and "
        "no other."
    ),
    formula=r"S_h = f(q_h) \cdot f(k_{\lfloor h H_k / H_q \rfloor})",
    reference="rope_ref.attention:attention_logits",
    fault="broadcast",
    surface="logits",
    opened_by=lambda trial: None if "h" in trial.claim.axes else "there is no head axis",
)

SCALE = Clause(
    id="logits.scale",
    sentence=(
        "One factor is on every score: on what rotates and what passes through, in every head, "
        "however many keys there are. It is the one claimed, else 1 or 1/sqrt(D)."
    ),
    formula=r"S = s \sum_c f(q)_c f(k)_c",
    reference="rope_ref.attention:attention_logits",
    fault="scaling",
    surface="logits",
    opened_by=lambda trial: _room(trial),
)

AMPLITUDE = Clause(
    id="logits.amplitude",
    sentence="The amplitude is on q and on k, so its square is on the score of what rotates.",
    formula=r"S = s \Bigl(A^2 \sum_i (\ldots)_i + \sum_{c\ \text{passes}} q_c k_c\Bigr)",
    reference="rope_ref.attention:attention_logits",
    fault="scaling",
    surface="logits",
    opened_by=lambda trial: reason(amplified(trial)),
)

VALUES = Clause(
    id="logits.values",
    sentence=(
        "A score is the product of the rotated query and the rotated key, each at its own position."
    ),
    formula=r"S_{h,m,n} = s\, f_{p_m}(q_{h,m}) \cdot f_{p_n}(k_{g,n})",
    reference="rope_ref.attention:attention_logits",
    fault="position",
    surface="logits",
)

RELATIVE = Clause(
    id="logits.relative",
    sentence="Scores stay the same when all positions, of queries and keys, move by as much.",
    formula=r"S(p_q + s,\, p_k + s) = S(p_q,\, p_k)",
    reference="rope_ref.attention:relative_logit",
    fault="position",
    surface="logits",
    opened_by=lambda trial: (
        None
        if free_positions(trial.claim) or "offset" in trial.claim.position_forms
        else "needs positions that can start anywhere"
    ),
)

CALLS = Clause(
    id="logits.calls",
    sentence="Scores do not depend on earlier calls, and q, k and positions are left as they are.",
    formula=r"S(q, k) \text{ does not depend on earlier calls}",
    reference="rope_ref.attention:attention_logits",
    fault="cache",
    surface="logits",
)


def _drawn(trial: Trial) -> SearchStrategy[QueriesKeys]:
    from hypothesis import strategies as st

    one = cases(trial.claim, max_tokens=6)

    def together(q: Case, k: Case, group: int) -> QueriesKeys:
        # The product of two large numbers is no number in every type.
        q, k = (replace(c, values="normal" if c.values == "large" else c.values) for c in (q, k))
        q = replace(q, heads=k.heads * group)
        return cut_both(trial, QueriesKeys(q, replace(k, batch=q.batch)))

    return st.builds(together, one, one, st.sampled_from((1, 2, 3)))


def _room(trial: Trial) -> str | None:
    low, high = trial.claim.position_range
    tokens = trial.spec.head_dim + _MORE_KEYS
    if free_positions(trial.claim) or high - max(low, 0) + 1 >= tokens:
        return None
    return f"needs {tokens} positions"


@GROUPS.check(
    fixed=lambda trial: [case for case in score_cases(trial) if case.q.heads > 1],
    kills=["groups_interleaved", "first_key_head_scores_all", "key_heads_counted_backwards"],
    minimum=2,
)
def groups(trial: Trial, case: QueriesKeys) -> None:
    """Leave one key head at a time, all others 0: who has scores has met it."""
    what = given(trial, case)
    heads, shared = case.q.heads, case.k.heads
    met = _meetings(trial, what)
    for h in range(heads):
        want = h * shared // heads
        if met[h].tolist() != [g == want for g in range(shared)]:
            seen = ", ".join(str(g) for g in np.flatnonzero(met[h])) or "none"
            message = (
                f"of {heads} query heads, head {h} meets key head {seen} of {shared}, not {want}"
            )
            if shared > 1 and all(met[n, n % shared] for n in range(heads)):
                message += "; the groups are interleaved (h % Hk)"
            again = _meetings(trial, what, anew=True)
            if (again != met).any():
                words = "on a new object for each call others meet: a cache may be at work"
                raise CheckFailure(f"{message}; {words}", fault="cache")
            raise CheckFailure(message)


def _meetings(trial: Trial, what: Given, *, anew: bool = False) -> npt.NDArray[np.bool_]:
    """Which query head meets which key head; `anew`: a new object for each call."""
    heads, shared = what.q.shape[2], what.k.shape[2]
    met = np.zeros((heads, shared), dtype=bool)
    for g in range(shared):
        k = np.zeros_like(what.k)
        k[:, :, g] = what.k[:, :, g]
        asked = new_object(trial) if anew else None
        scores, _ = call_logits(asked or trial, replace(what, k=k))
        met[:, g] = (scores != 0).any(axis=(0, 2, 3))
    return met


_MORE_KEYS = 5


def _unit_pairs(trial: Trial) -> list[QueriesKeys]:
    """A token for each channel; the second time with more keys."""
    d, claim = trial.spec.head_dim, trial.claim
    result = []
    for keys in (d, d + _MORE_KEYS):
        p: tuple[int, ...] = tuple(placed(claim, 1, d + _MORE_KEYS))
        if free_positions(claim):
            p = (p[0],) * len(p)
        q, k = p[:d], p[:keys]
        result.append(QueriesKeys(Case(1, d, 4, q), Case(1, keys, 2, k)))
    return [cut_both(trial, case) for case in result]


@SCALE.check(
    fixed=_unit_pairs,
    kills=[
        "scale_on_rotated_part_only",
        "scale_twice",
        "scale_grows_with_keys",
        "scale_in_first_heads_only",
        "scale_over_rotary_dim",
        "amplitude_on_pass_through",
    ],
    minimum=1,
)
def scale(trial: Trial, case: QueriesKeys) -> None:
    """Score each unit vector with itself, where it stands: what comes out is the factor."""
    unit = np.eye(trial.spec.head_dim).astype(data_type(trial.dtype))
    q, k = (
        np.ascontiguousarray(
            np.broadcast_to(
                np.resize(unit, (c.tokens, unit.shape[1]))[None, :, None],
                (c.batch, c.tokens, c.heads, unit.shape[1]),
            )
        )
        for c in (case.q, case.k)
    )
    what = Given(q, k, trial.positions(case.q), trial.positions(case.k))
    factor = scale_of(trial)
    scores, kind = call_logits(trial, what)
    limits = allowed(trial, what, factor, kind)
    want = true_scores(trial, what, factor)
    bad, _ = wrong_scores((scores, want), limits)
    n = min(case.q.tokens, case.k.tokens)
    own = np.arange(n)
    wrong = bad[0][:, own, own]  # heads, channels
    if not wrong.any():
        return
    rotating = np.isin(own % trial.spec.head_dim, pair_channels(trial.spec))
    names = {"that rotate": rotating, "that pass through": ~rotating}
    found = [name for name, which in names.items() if wrong[:, which].any()]
    head, channel = (int(i) for i in np.argwhere(wrong)[0])
    failure = CheckFailure(
        f"the factor on channels {' and '.join(found)} is wrong: in head {head}, channel "
        f"{channel}, a unit vector has the score {scores[0, head, channel, channel]:.6g} with "
        f"itself, not {want[0, head, channel, channel]:.6g} ({case.k.tokens} keys)"
    )
    raise explained(failure, trial, what, factor, (scores, kind))


@VALUES.check(
    fixed=lambda trial: list(dict.fromkeys([*score_cases(trial), *large_scores(trial)])),
    generated=_drawn,
    kills=[
        "keys_at_query_positions",
        "query_positions_ignored",
        "key_positions_counted_from_zero",
        "queries_aligned_to_the_start",
        "queries_aligned_to_the_end",
        "distance_sign_flipped",
        "only_queries_rotated",
        "scores_rounded_to_half",
        "scale_before_rotation_in_half",
        "scores_summed_in_half",
        "queries_one_position_late",
        "scores_turned_over",
        "only_query_behind_all_keys",
        "keys_of_first_row",
        "scores_of_rotated_channels_only",
        "keys_beyond_a_block_as_they_are",
    ],
    minimum=50,
    numeric=True,
)
def values(trial: Trial, case: QueriesKeys) -> None:
    """Compare with the reference's scores."""
    compare_scores(trial, given(trial, case), scale_of(trial), "a score is wrong")


@AMPLITUDE.check(
    fixed=lambda trial: score_cases(trial)[:4],
    kills=["amplitude_once", "amplitude_four_times"],
    minimum=50,
    numeric=True,
)
def amplitude(trial: Trial, case: QueriesKeys) -> None:
    """The same with an amplitude of 5/4, where it is not another already."""
    made = amplified(trial)
    assert isinstance(made, Trial)
    try:
        message = f"with the amplitude {OTHER_AMPLITUDE} a score is wrong"
        compare_scores(made, given(made, case), scale_of(trial), message)
    except CheckFailure as failure:
        if failure.fault is None:
            failure.fault = _fault_without_amplitude(trial, case)
        raise
    finally:
        trial.absorb(made)


def _fault_without_amplitude(trial: Trial, case: QueriesKeys) -> Fault:
    """That of the same scores with the amplitude 1, if they are wrong too; else of the factor."""
    plain = unamplified(trial)
    if isinstance(plain, Trial):
        try:
            compare_scores(plain, given(plain, case), scale_of(trial), "")
        except CheckFailure as failure:
            return failure.fault or VALUES.fault
    return AMPLITUDE.fault


@RELATIVE.check(
    fixed=lambda trial: _moved(trial),
    kills=["scores_fade_with_position"],
    minimum=50,
    numeric=True,
)
def relative(trial: Trial, case: QueriesKeys) -> None:
    """Score here, and with all positions `parameter` of the queries later."""
    here, move = given(trial, case), case.q.parameter
    there = replace(here, q_positions=here.q_positions + move, k_positions=here.k_positions + move)
    factor = scale_of(trial)
    (first, kind), (second, _) = call_logits(trial, here), call_logits(trial, there)
    (limit, size), (other, _) = (allowed(trial, each, factor, kind) for each in (here, there))
    demand_scores(
        trial,
        here,
        (np.asarray(second, np.float64), np.asarray(first, np.float64)),
        (limit + other, size),
        f"scores changed when all positions moved by {move}",
    )


def _moved(trial: Trial) -> list[QueriesKeys]:
    low, high = trial.claim.position_range
    result = []
    for case in score_cases(trial):
        room = high - max(max(case.q.flat()), max(case.k.flat()))
        for move in (1, 64, 1000):
            if move <= room and case.q.values == "normal":
                result.append(replace(case, q=replace(case.q, parameter=move)))
    return result or score_cases(trial)[:1]


@CALLS.check(
    fixed=score_cases,
    kills=["keys_of_first_call", "logits_overwrite_queries", "scores_share_memory"],
    minimum=2,
)
def calls(trial: Trial, case: QueriesKeys) -> None:
    """Call; call with other data and with other shapes; call as at first."""
    what = given(trial, case)
    natives = [trial.native(x) for x in (what.q, what.k)]
    first, _ = call_logits(trial, what, natives)
    result = trial.last_result
    for name, x, native in zip("qk", (what.q, what.k), natives, strict=True):
        if not same_numbers(trial.namespace.host(native), trial.to_claimed_axes(x)).all():
            raise CheckFailure(f"{name} was changed by the call; copy it first", fault="aliasing")
    if trial.claim.position_forms != ("none",) and trial.last_call is not None:
        q_given, k_given = trial.last_call[2:]
        demand_positions(trial, what.q_positions, what.q.shape, [q_given], "aliasing")
        demand_positions(trial, what.k_positions, what.k.shape, [k_given], "aliasing")
    factor = scale_of(trial)
    _demand_first(trial, what, factor)
    other = Given(-what.q, what.k[:, ::-1].copy(), what.q_positions, what.k_positions)
    compare_scores(trial, other, factor, "after another call, a score is wrong")
    for other_case in score_cases(trial)[:2]:
        call_logits(trial, given(trial, other_case))
    kept = trial.namespace.host(result).reshape(first.shape)
    if not same_numbers(first, kept).all():
        raise CheckFailure(
            "scores changed when the next call was made: their memory is reused", fault="aliasing"
        )
    if not same_numbers(first, call_logits(trial, what)[0]).all():
        raise CheckFailure("the same call gave other scores after other calls")


def _demand_first(trial: Trial, what: Given, factor: float) -> None:
    """What a new object does wrongly in its first call is no matter of earlier ones."""
    new = new_object(trial)
    try:
        compare_scores(new or trial, what, factor, "in a first call a score is wrong")
    except CheckFailure as failure:
        failure.fault = failure.fault or VALUES.fault
        raise
    finally:
        if new is not None:
            trial.implementation.calls += new.implementation.calls

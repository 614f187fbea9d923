"""Each token, head and batch row is rotated by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import compare, pair_norm, per_token
from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._openers import start_anywhere
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.shapes import usual_shape
from rope_conformance.judging.array_adapter import Form
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import numeric_fixed, pairs
from rope_conformance.target.frameworks import Array

_AXES = {"row": 0, "token": 1, "head": 2}


def _cases(context: CheckContext) -> list[Case]:
    return [c for c in numeric_fixed(context) if c.values == "normal"]


def _several(what: str) -> Callable[[CheckContext], list[Case]]:
    """Inputs with more than one token, head or row: with one there is nothing to see."""
    length = {"row": "batch", "token": "tokens", "head": "heads"}[what]
    return lambda context: [c for c in _cases(context) if getattr(c, length) > 1]


def _others_unchanged(context: CheckContext, case: Case, what: str) -> None:
    """Change one token, head or row at a time; all others must keep every bit."""
    axis = _AXES[what]
    x, positions = context.x(case), context.positions(case)
    count = x.shape[axis]
    before = context.arrays.apply(x, positions)
    other = context.x(replace(case, seed=case.seed + 77))
    for n in sorted({0, count // 2, count - 1}):
        changed = x.copy()
        place = (slice(None),) * axis + (n,)
        changed[place] = other[place]
        after = context.arrays.apply(changed, positions)
        rest = tuple(a for a in range(4) if a != axis)
        same = np.asarray(same_numbers(before, after).all(axis=rest))
        same[n] = True
        if not same.all():
            raise CheckFailure(
                f"changing the data of {what} {n} changed {what} {int(np.flatnonzero(~same)[0])} "
                f"(batch {case.batch}, tokens {case.tokens}, heads {case.heads})"
            )
        if same_numbers(before[place], after[place]).all():
            raise CheckFailure(f"the data of {what} {n} does not reach the output of {what} {n}")


@clause(
    id="independence.tokens",
    sentence="What a token becomes does not depend on the data of any other token.",
    formula=r"y_{b,t,h} = f(x_{b,t,h},\, p_{b,t})",
    reference="rope_ref.definition:rotate",
    fault="broadcast",
    surface=EITHER,
    any_map=True,
    fixed=_several("token"),
    minimum=3,
)
def tokens(context: CheckContext, case: Case) -> None:
    """Change one token's data."""
    _others_unchanged(context, case, "token")


@clause(
    id="independence.heads",
    sentence="Each head is rotated by itself, all heads of a token by the same phases.",
    formula=r"y_{b,t,h} = f(x_{b,t,h},\, p_{b,t})",
    reference="rope_ref.definition:rotate",
    fault="broadcast",
    surface=EITHER,
    opened_by=lambda context: None if "h" in context.claim.axes else "there is no head axis",
    any_map=True,
    fixed=_several("head"),
    minimum=3,
)
def heads(context: CheckContext, case: Case) -> None:
    """Change one head's data."""
    _others_unchanged(context, case, "head")


@clause(
    id="independence.rows",
    sentence="Each batch row is rotated by itself.",
    formula=r"y_{b,t,h} = f(x_{b,t,h},\, p_{b,t})",
    reference="rope_ref.definition:rotate",
    fault="broadcast",
    surface=EITHER,
    opened_by=lambda context: None if "b" in context.claim.axes else "there is no batch axis",
    any_map=True,
    fixed=_several("row"),
    minimum=3,
)
def rows(context: CheckContext, case: Case) -> None:
    """Change one row's data."""
    _others_unchanged(context, case, "row")


@clause(
    id="independence.nan",
    sentence="A NaN reaches no other token, head or batch row.",
    formula=r"x_{b,t,h} \text{ NaN} \;\Rightarrow\; y_{b',t',h'} \text{ as before}",
    reference="rope_ref.definition:rotate",
    fault="kernel-shape",
    surface=EITHER,
    any_map=True,
    fixed=lambda context: _cases(context)[:6],
    minimum=3,
)
def nan(context: CheckContext, case: Case) -> None:
    """Put a NaN on one channel of one token of one head of one row."""
    x, positions = context.x(case), context.positions(case)
    before = context.arrays.apply(x, positions)
    spot = (case.batch - 1, case.tokens // 2, case.heads - 1)
    channel = context.spec.rotary_start
    x[(*spot, channel)] = np.nan
    after = context.arrays.apply(x, positions)
    same = np.asarray(same_numbers(before, after).all(axis=-1))
    same[spot] = True
    if not same.all():
        row, token, head = (int(n) for n in np.argwhere(~same)[0])
        raise CheckFailure(
            f"a NaN in row {spot[0]}, token {spot[1]}, head {spot[2]} changed row {row}, "
            f"token {token}, head {head}"
        )
    reached = int(np.isnan(np.asarray(after[spot], dtype=np.float64)).sum())
    words = {0: "nobody: it is swallowed", 1: "its own pair only", 2: "its own pair only"}
    all_of_it = f"{reached} of {context.spec.head_dim} channels of its head"
    context.evidence.facts["a NaN reaches"] = words.get(reached, all_of_it)


@clause(
    id="independence.chunks",
    sentence=(
        "A sequence rotated in pieces, each at its own positions, equals the whole rotated, in "
        "whichever claimed form the positions are given."
    ),
    formula=r"f(x)_{t_0:t_1} = f(x_{t_0:t_1},\, p_{t_0:t_1})",
    reference="rope_ref.table:cos_sin",
    fault="position",
    surface=EITHER,
    opened_by=start_anywhere,
    fixed=lambda context: _sequences(context),
    minimum=50,
    numeric=True,
)
def chunks(context: CheckContext, case: Case) -> None:
    """Rotate whole, and cut in two before token `parameter`; or before each, if that is 0.

    The whole is rotated in each claimed form of positions that can express them.
    """
    x, positions = context.x(case), context.positions(case)
    y = context.arrays.apply(x, positions)
    if (context.judge(y, x, positions).ratio <= 1).all():  # else the form is not what is wrong
        _in_other_forms(context, x, positions)
    whole = np.asarray(y, np.float64)
    cut = case.parameter
    cuts = [cut] if cut else range(1, case.tokens)
    parts = zip(np.split(x, cuts, axis=1), np.split(positions, cuts, axis=-1), strict=True)
    pieces = [
        np.asarray(context.arrays.apply(part.copy(), p.copy()), np.float64) for part, p in parts
    ]
    joined = np.concatenate(pieces, axis=1)
    p = per_token(positions, context.spec)
    r = pair_norm(x, context.spec)
    allowed = 2 * bound(context.profile, context.spec, p, context.dtype, r)
    error = np.abs(pairs(context, joined, output=True) - pairs(context, whole, output=True)).max(
        axis=0
    )
    judgement = compare(error, r, allowed, p, context.dtype, got=joined, want=whole)
    context.evidence.count(judgement)
    context.demand(
        judgement,
        f"rotating in pieces, cut before {f'token {cut}' if cut else 'each token'}, is not "
        "rotating whole (pieces)",
    )


_FORMS: dict[Form, str] = {
    "offset": "as an offset",
    "none": "by leaving them out",
    "int32": "as integers of 32 bits",
}


def _in_other_forms(context: CheckContext, x: Array, positions: Array) -> None:
    """Compare with the reference where the same positions are said in another form."""
    for form in _other_forms(context, positions):
        words = f"wrong where positions from {int(positions[0])} on are given {_FORMS[form]}"
        try:
            y = context.arrays.apply(x, positions, form=form)
        except TargetRaised as error:
            if form != "int32":  # a claimed form; a width of integers may be declined
                raise
            context.evidence.facts["positions of 32 bits"] = f"not taken: raises {error}"
            continue
        try:
            context.demand(context.judge(y, x, positions), words)
        except CheckFailure as failure:
            failure.fault = "position"
            raise


def _other_forms(context: CheckContext, positions: Array) -> list[Form]:
    """The forms that can say these positions beside the one chosen by `ArrayAdapter.apply`."""
    claim, own = context.claim, context.namespace
    if not context.implementation.has("apply") or positions.ndim > 1:
        return []
    free = free_positions(claim)
    can: dict[Form, bool] = {
        "int32": free and own.wide and bool((np.abs(positions) < 2**31).all()),
        "offset": free and "offset" in claim.position_forms,
        "none": "none" in claim.position_forms and positions[0] == 0,
    }
    return [form for form, possible in can.items() if possible]


def _sequences(context: CheckContext) -> list[Case]:
    low, high = context.claim.position_range
    result = []
    chosen: tuple[tuple[int, int, int], ...] = (
        (0, 8, 1), (0, 8, 3), (0, 8, 7), (100, 8, 4), (2044, 8, 4), (4090, 12, 6),
    )  # fmt: skip
    kinds = {"array" if form in ("t", "bt") else form for form in context.claim.position_forms}
    if len(kinds) > 1:
        # For the other forms: as in decoding, as long as a prompt, at the end of the range.
        chosen += ((7, 1, 0), (0, 1, 0), (0, 2049, 1), (high, 8, 4))
    batch, heads = 1, 4
    if context.namespace.fixed_shapes:  # each new shape is a compilation, and so is each length
        batch, tokens, heads = usual_shape(context.claim)
        chosen = tuple((start, tokens, 0) for start in (0, 100, 2044, 4092))
    for start, tokens, cut in chosen:
        # In a short range, all of it.
        start = max(min(max(start, low), high - tokens + 1), low)
        tokens = min(tokens, high - start + 1)
        if tokens > cut:
            result.append(
                context.cut(Case(batch, tokens, heads, range(start, start + tokens), parameter=cut))
            )
    return result

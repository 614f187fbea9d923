"""Queries and keys for the surface `logits`."""

from __future__ import annotations

from rope_conformance.clauses._layer import placed
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.queries_keys import QueriesKeys
from rope_conformance.judging.context import CheckContext
from rope_ref import pair_channels

# (rows, queries, keys, query heads, key heads, first position of the queries, of the keys)
_SHAPES = (
    (2, 3, 5, 4, 2, 2, 0), (1, 1, 6, 8, 1, 5, 0), (4, 4, 4, 4, 2, 3, 0), (3, 1, 4, 2, 2, 7, 0),
    (2, 5, 3, 6, 3, 0, 9), (1, 2, 7, 32, 8, 100, 40), (1, 1, 1, 1, 1, 0, 0), (2, 3, 8, 4, 4, 0, 0),
    (1, 8, 3, 2, 1, 0, 0), (2, 6, 4, 4, 2, 5, 600),
)  # fmt: skip


def score_cases(context: CheckContext) -> list[QueriesKeys]:
    """Fixed queries and keys, those with positions of their own per row too."""
    claim = context.claim
    result = []
    for n, (b, i, j, h, g, start, other) in enumerate(
        _SHAPES[:4] if context.namespace.fixed_shapes else _SHAPES
    ):
        q = Case(b, i, h, placed(claim, start, i), seed=n)
        result.append(QueriesKeys(q, Case(b, j, g, placed(claim, other, j), seed=n)))
    low, high = claim.position_range
    if free_positions(claim):
        q_apart, k_apart = (
            tuple(min(max(p, low), high) for p in apart)
            for apart in ((300, 2, 77), (0, 511, 64, 9, 1))
        )
        result.append(QueriesKeys(Case(2, 3, 4, q_apart), Case(2, 5, 2, k_apart)))
        # One channel alone: slow pairs decide at positions where fast ones no longer do.
        far = tuple(sorted({max(low, min(high, p)) for p in (4096, 65535, 2**20)}))
        near = tuple(sorted({max(low, min(high, p)) for p in (0, 4000, 65000)}))
        for channel in (
            pair_channels(context.spec)[0, [-1, -2]] if context.spec.rotary_dim > 2 else ()
        ):
            one = Case(1, len(far), 2, far, values="one-hot", seed=int(channel))
            result.append(QueriesKeys(one, Case(1, len(near), 1, near)))
    if "bt" in claim.position_forms:
        q_rows, k_rows = (
            tuple(tuple(placed(claim, start, n)) for start in starts)
            for n, starts in ((3, (40, 3)), (4, (0, 7)))
        )
        result.append(QueriesKeys(Case(2, 3, 4, q_rows), Case(2, 4, 2, k_rows)))
    return list(dict.fromkeys(cut_both(context, each) for each in result))


def large_scores(context: CheckContext) -> list[QueriesKeys]:
    """More rows, heads, queries and keys than a kernel does at a time, odd numbers of each."""
    shapes = [(35, 3, 5, 3, 1), (1, 3, 5, 195, 65), (1, 131, 1031, 1, 1)]
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        shapes = [(33, 5, 67, 15, 5)]
    low, high = context.claim.position_range
    result = []
    for b, i, j, h, g in shapes:
        i, j = (min(n, high - low + 1) for n in (i, j))
        q, k = (placed(context.claim, start, n) for start, n in ((900, i), (0, j)))
        result.append(cut_both(context, QueriesKeys(Case(b, i, h, q), Case(b, j, g, k))))
    return result


def cut_both(context: CheckContext, case: QueriesKeys) -> QueriesKeys:
    return QueriesKeys(context.cut(case.q), context.cut(case.k))

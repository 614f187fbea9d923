"""Inputs where each batch row has positions of its own."""

from __future__ import annotations

import numpy as np

from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.shapes import ROW, usual_shape
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import namespace


def row_cases(claim: Claim) -> list[Case]:
    """Few positions, those at both ends of the range, and many; cut to the claimed axes."""
    made = (*_own_rows(claim), _near_and_far(claim), _many_rows(claim))
    return [case.cut(claim.axes) for case in made]


def _own_rows(claim: Claim) -> list[Case]:
    """Rows that differ; as many rows as tokens, one token each, as many rows as heads."""
    near, later = (0, 1, 2, 3, 4), (7, 8, 9, 10, 11)
    if namespace(claim.namespace).fixed_shapes:  # each new shape is a compilation
        return [
            Case(4, 5, 3, (near, later, near[::-1], (20, 0, 30, 10, 40))),
            Case(5, 5, 5, (near, later, near[::-1], (5, 6, 7, 8, 9), (0, 0, 0, 0, 0))),
            Case(4, 1, 3, ((4,), (0,), (9,), (2,))),
        ]
    return [
        Case(2, 5, 3, (near, later)),
        Case(4, 4, 2, ((0, 1, 2, 3), (3, 2, 1, 0), (5, 6, 7, 8), (0, 0, 0, 0))),
        Case(3, 1, 2, ((4,), (0,), (9,))),
        Case(3, 3, 3, ((0, 1, 2), (10, 11, 12), (20, 21, 22))),
    ]


def _near_and_far(claim: Claim) -> Case:
    """Rows at the begin of the range beside rows at its end, in one call."""
    low, high = claim.position_range
    batch, tokens, heads = (
        usual_shape(claim) if namespace(claim.namespace).fixed_shapes else (2, 3, 2)
    )
    starts = (max(low, 0), high - tokens + 1)
    return Case(
        batch,
        tokens,
        heads,
        tuple(tuple(range(starts[n % 2], starts[n % 2] + tokens)) for n in range(batch)),
    )


def _many_rows(claim: Claim) -> Case:
    """Two rows of many positions each, in no order, all over the claimed range."""
    low, high = claim.position_range
    tokens = ROW if namespace(claim.namespace).fixed_shapes else 67
    table = np.random.default_rng(0).integers(low, high, (2, tokens), endpoint=True)
    return Case(2, tokens, 1, tuple(map(tuple, table.tolist())))

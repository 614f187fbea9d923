"""Tables given by the caller: kernels and operators that only rotate.

An implementation that is right on true tables may still have read them wrongly: with
cos**2 + sin**2 = 1 and neighbouring pairs alike, much goes unseen. So it is also handed
hostile tables, unrelated numbers for each token and pair.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import compare, given_table_bound, per_token
from rope_conformance.clauses._common import (
    far_fixed,
    numeric_cases,
    numeric_fixed,
    pairs,
    to_output_layout,
)
from rope_conformance.inputs import Case
from rope_conformance.registry import Clause
from rope_conformance.trial import Trial
from rope_ref import cos_sin, pair_channels
from rope_ref.sincos import two_product, two_sum

Array = npt.NDArray[np.float64]

TRUE = Clause(
    id="tables.true",
    sentence="Each pair is turned by the cos and sin that the caller gives for its token and pair.",
    formula=r"(u, v) \mapsto (u\,c_{t,i} - v\,s_{t,i},\; u\,s_{t,i} + v\,c_{t,i})",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="frequency",
    surface="rotate",
)

HOSTILE = Clause(
    id="tables.hostile",
    sentence="The numbers of a given table are taken as they are, whatever they are.",
    formula=r"c_{t,i},\, s_{t,i} \in \mathbb{R} \text{ unrelated}",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="frequency",
    surface="rotate",
)

ROWS = Clause(
    id="tables.rows",
    sentence="Tables of shape (B, T, R/2) give each batch row its own.",
    formula=r"c_{b,t,i},\, s_{b,t,i}",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="broadcast",
    surface="rotate",
    opened_by=lambda trial: (
        None
        if "bt" in trial.claim.position_forms and "b" in trial.claim.axes
        else "tables of shape (B, T, R/2) are not claimed"
    ),
)


@TRUE.check(
    fixed=far_fixed,
    generated=numeric_cases,
    kills=[
        "cosine_of_cosine",
        "first_row_of_table",
        "consumer_exchanges_tables",
        "consumer_turns_back",
        "consumer_one_row_late",
        "consumer_steps_by_full_rows",
        "consumer_single_token_first_row",
        "consumer_keeps_table_by_shape",
        "consumer_transposes_square_table",
    ],
    minimum=50,
    numeric=True,
)
def true(trial: Trial, case: Case) -> None:
    """Hand over the table of the spec, rounded to the type that is claimed."""
    cos, sin = cos_sin(trial.positions(case), trial.spec)
    _judge(trial, case, cos, sin, "turned by other numbers than the table's")


@HOSTILE.check(
    fixed=lambda trial: [replace(c, parameter=n) for n, c in enumerate(numeric_fixed(trial)[:7])],
    kills=[
        "sin_from_cos",
        "first_row_of_table",
        "consumer_repeats_for_halves",
        "consumer_rounds_table",
    ],
    minimum=50,
    numeric=True,
)
def hostile(trial: Trial, case: Case) -> None:
    """Hand over unrelated numbers, drawn from seed `parameter`."""
    _judge(trial, case, *_unrelated(trial, case, (case.tokens,)), "a hostile table was misread")


@ROWS.check(
    fixed=lambda trial: [
        replace(c, parameter=n) for n, c in enumerate(numeric_fixed(trial)[:7]) if c.batch > 1
    ],
    kills=["first_table_for_all_rows", "consumer_repeats_for_halves"],
    minimum=50,
    numeric=True,
)
def rows(trial: Trial, case: Case) -> None:
    """Hand over unrelated numbers for each row."""
    tables = _unrelated(trial, case, (case.batch, case.tokens))
    _judge(trial, case, *tables, "a row did not get its own table")


def _unrelated(trial: Trial, case: Case, shape: tuple[int, ...]) -> tuple[Array, Array]:
    rng = np.random.default_rng(1000 + case.parameter)
    size = (2, *shape, trial.spec.rotary_dim // 2)
    cos, sin = rng.standard_normal(size) * rng.choice([0.0, 1e-3, 1.0, 2.0], size)
    return cos, sin


def _judge(trial: Trial, case: Case, cos: Array, sin: Array, message: str) -> None:
    x = trial.x(case)
    native = trial.native(x, strided=case.strided)
    tables = [trial.table(part) for part in (cos, sin)]
    given = [np.asarray(trial.namespace.host(table), np.float64) for table in tables]
    result = trial.call("rotate", native, *tables)
    y = trial.from_claimed_axes(trial.checked(result, native), x.shape)
    # (B or 1, T, 1, R/2), like the pairs of x
    c, s = (part.reshape((-1, *part.shape[-2:]))[:, :, None] for part in given)
    u, v = pairs(trial, x)
    want, low = _exact_pairs(u, v, c, s)
    got = pairs(trial, y, output=True)
    with np.errstate(invalid="ignore"):
        error = np.abs((got - want) - low).max(axis=0)
    r = np.hypot(c, s) * np.hypot(u, v)
    allowed = given_table_bound(trial.profile, trial.dtype, r)
    shown: npt.NDArray[Any] = to_output_layout(trial, np.asarray(x, np.float64))
    shown[..., pair_channels(trial.spec, output=True)] = np.moveaxis(want, 0, -2)
    judgement = compare(
        error,
        r,
        allowed,
        per_token(trial.positions(case), trial.spec),
        trial.dtype,
        got=np.asarray(y, np.float64),
        want=shown,
    )
    trial.count(judgement)
    trial.meter.largest_ratio = max(
        trial.meter.largest_ratio, float(judgement.ratio.max(initial=0.0))
    )
    trial.demand(judgement, message)


def _exact_pairs(u: Array, v: Array, c: Array, s: Array) -> tuple[Array, Array]:
    """The rotated pair as a sum of two float64, so that no rounding of ours plays a part."""
    results = []
    for first, second in ((c, -s), (s, c)):
        a, a_low = two_product(u, np.broadcast_to(first, u.shape))
        b, b_low = two_product(v, np.broadcast_to(second, v.shape))
        total, low = two_sum(a, b)
        results.append((total, low + (a_low + b_low)))
    return np.stack([r[0] for r in results]), np.stack([r[1] for r in results])

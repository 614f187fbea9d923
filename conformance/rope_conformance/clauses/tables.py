"""Tables given by the caller: kernels and operators that only rotate.

An implementation that is right on true tables may still have read them wrongly: with
cos**2 + sin**2 = 1 and neighbouring pairs nearly alike, many mistakes do not show. So it is
also given hostile tables, unrelated numbers for each token and pair.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.bound import given_table_bound
from rope_conformance.accuracy.residual import compare, per_token
from rope_conformance.clauses._arrays import to_output_layout
from rope_conformance.clauses._openers import claims_rows
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import far_fixed, numeric_cases, numeric_fixed, pairs
from rope_conformance.target.frameworks import Array
from rope_ref import cos_sin, pair_channels
from rope_ref.exact.sincos import two_product, two_sum


@clause(
    id="tables.true",
    sentence="Each pair is turned by the cos and sin that the caller gives for its token and pair.",
    formula=r"(u, v) \mapsto (u\,c_{t,i} - v\,s_{t,i},\; u\,s_{t,i} + v\,c_{t,i})",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="frequency",
    surface="rotate",
    fixed=far_fixed,
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def true(context: CheckContext, case: Case) -> None:
    """Hand over the table of the spec, rounded to the type that is claimed."""
    cos, sin = cos_sin(context.positions(case), context.spec)
    _judge(context, case, cos, sin, "turned by other numbers than the table's")


@clause(
    id="tables.hostile",
    sentence="The numbers of a given table are taken as they are, whatever they are.",
    formula=r"c_{t,i},\, s_{t,i} \in \mathbb{R} \text{ unrelated}",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="frequency",
    surface="rotate",
    fixed=lambda context: [
        replace(c, parameter=n) for n, c in enumerate(numeric_fixed(context)[:7])
    ],
    minimum=50,
    numeric=True,
)
def hostile(context: CheckContext, case: Case) -> None:
    """Hand over unrelated numbers, drawn from seed `parameter`."""
    _judge(context, case, *_unrelated(context, case, (case.tokens,)), "a hostile table was misread")


@clause(
    id="tables.rows",
    sentence="Tables of shape (B, T, R/2) give each batch row its own.",
    formula=r"c_{b,t,i},\, s_{b,t,i}",
    reference="rope_ref.rotation:apply_cos_sin",
    fault="broadcast",
    surface="rotate",
    opened_by=lambda context: (
        None if claims_rows(context.claim) else "tables of shape (B, T, R/2) are not claimed"
    ),
    fixed=lambda context: [
        replace(c, parameter=n) for n, c in enumerate(numeric_fixed(context)[:7]) if c.batch > 1
    ],
    minimum=50,
    numeric=True,
)
def rows(context: CheckContext, case: Case) -> None:
    """Hand over unrelated numbers for each row."""
    tables = _unrelated(context, case, (case.batch, case.tokens))
    _judge(context, case, *tables, "a row did not get its own table")


def _unrelated(context: CheckContext, case: Case, shape: tuple[int, ...]) -> tuple[Array, Array]:
    rng = np.random.default_rng(1000 + case.parameter)
    size = (2, *shape, context.spec.rotary_dim // 2)
    cos, sin = rng.standard_normal(size) * rng.choice([0.0, 1e-3, 1.0, 2.0], size)
    return cos, sin


def _judge(context: CheckContext, case: Case, cos: Array, sin: Array, message: str) -> None:
    x = context.x(case)
    native = context.arrays.native(x, strided=case.strided)
    tables = [context.arrays.table(part) for part in (cos, sin)]
    given = [np.asarray(context.namespace.host(table), np.float64) for table in tables]
    result = context.arrays.call("rotate", native, *tables)
    y = context.arrays.from_claimed_axes(context.arrays.checked(result, native), x.shape)
    # (B or 1, T, 1, R/2), like the pairs of x
    c, s = (part.reshape((-1, *part.shape[-2:]))[:, :, None] for part in given)
    u, v = pairs(context, x)
    want, low = _exact_pairs(u, v, c, s)
    got = pairs(context, y, output=True)
    with np.errstate(invalid="ignore"):
        error = np.abs((got - want) - low).max(axis=0)
    r = np.hypot(c, s) * np.hypot(u, v)
    allowed = given_table_bound(context.profile, context.dtype, r)
    shown: Array = to_output_layout(context, np.asarray(x, np.float64))
    shown[..., pair_channels(context.spec, output=True)] = np.moveaxis(want, 0, -2)
    judgement = compare(
        error,
        r,
        allowed,
        per_token(context.positions(case), context.spec),
        context.dtype,
        got=np.asarray(y, np.float64),
        want=shown,
    )
    context.evidence.count(judgement)
    context.evidence.meter.largest_ratio = max(
        context.evidence.meter.largest_ratio, float(judgement.ratio.max(initial=0.0))
    )
    context.demand(judgement, message)


def _exact_pairs(u: Array, v: Array, c: Array, s: Array) -> tuple[Array, Array]:
    """The rotated pair as a sum of two float64, so that no rounding of ours plays a part."""
    results = []
    for first, second in ((c, -s), (s, c)):
        a, a_low = two_product(u, np.broadcast_to(first, u.shape))
        b, b_low = two_product(v, np.broadcast_to(second, v.shape))
        total, low = two_sum(a, b)
        results.append((total, low + (a_low + b_low)))
    return np.stack([r[0] for r in results]), np.stack([r[1] for r in results])

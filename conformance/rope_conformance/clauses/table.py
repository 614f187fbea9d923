"""The table of cos and sin, read through the rotation or from the surface `cos_sin`."""

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import compare, judge, per_token
from rope_conformance.clauses._other_specs import fault_at, made_for, other_specs
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.position_axes import at_one_place
from rope_conformance.inputs.shapes import usual_shape
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import (
    all_positions,
    angles_probe,
    numeric_fixed,
    pairs,
    standard_case,
)
from rope_conformance.judging.questions import passes
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, pair_channels


def norm_error(context: CheckContext, x: Array, y: Array, case: Case, message: str) -> None:
    """Demand that the length of each pair is A times what it was.

    cos and sin of a wrong phase lie on the circle too, so the bound is that of position 0.
    """
    before, after = pairs(context, x), pairs(context, y, output=True)
    amplitude = float(context.spec.frequencies.amplitude)
    r = amplitude * np.hypot(*before)
    length = np.hypot(*after)
    p = per_token(context.positions(case), context.spec)
    allowed = bound(context.profile, context.spec, 0 * p, context.dtype, r, norm=True)
    # The report shows the length on the first channel of the pair.
    got, want = np.array(y, dtype=np.float64), np.array(y, dtype=np.float64)
    got[..., pair_channels(context.spec, output=True)[0]] = length
    want[..., pair_channels(context.spec, output=True)[0]] = r
    judgement = compare(np.abs(length - r), r, allowed, p, context.dtype, got=got, want=want)
    context.evidence.count(judgement)
    context.demand(judgement, message)


@clause(
    id="table.circle",
    sentence="cos and sin of a pair lie on the circle of radius A, at every position.",
    formula=r"c_{p,i}^2 + s_{p,i}^2 = A^2",
    reference="rope_ref.definition:cos_sin",
    fault="frequency",
    surface=EITHER,
    fixed=lambda context: [standard_case(context, all_positions(context, limit=2**20))],
    minimum=50,
    numeric=True,
)
def circle(context: CheckContext, case: Case) -> None:
    """Put (1, 0) into every pair and measure its length afterwards."""
    x = angles_probe(context, case)
    y = context.arrays.apply(x, context.positions(case))
    norm_error(context, x, y, case, "cos**2 + sin**2 is not A**2 (length of a pair that was 1)")


def _at_zero(context: CheckContext) -> list[Case]:
    """Tokens at position 0: several, or one at a time where positions cannot repeat."""
    batch, tokens, heads = (
        usual_shape(context.claim) if context.namespace.fixed_shapes else (4, 8, 4)
    )
    several = context.cut(Case(batch, tokens if free_positions(context.claim) else 1, heads, (0,)))
    several = replace(several, positions=(0,) * several.tokens)
    samples = several.batch * several.tokens * several.heads * max(context.spec.rotary_dim // 2, 1)
    enough = [replace(several, seed=n) for n in range(-(-50 // samples))]
    return [*enough, context.cut(Case(1, 1, 1, (0,), seed=1)), *numeric_fixed(context)[:3]]


@clause(
    id="table.identity",
    sentence="At position 0 nothing turns: each pair comes out times A.",
    formula=r"c_{0,i} = A,\quad s_{0,i} = 0",
    reference="rope_ref.definition:cos_sin",
    fault="frequency",
    surface=EITHER,
    opened_by=lambda context: (
        None
        if context.claim.position_range[0] <= 0 <= context.claim.position_range[1]
        else "position 0 is not in the claimed range"
    ),
    fixed=_at_zero,
    minimum=50,
    numeric=True,
)
def identity(context: CheckContext, case: Case) -> None:
    """Rotate at position 0. Where positions cannot repeat, take one token."""
    x, positions = context.x(case), context.positions(case)
    if not free_positions(context.claim):
        x, positions = x[:, :1], at_one_place(0, 1, context.spec)
    y = context.arrays.apply(x, positions)
    at_zero = (positions == 0).reshape(-1, positions.shape[-1]).all(axis=0)
    judgement = judge(
        y[:, at_zero],
        x[:, at_zero],
        positions[..., at_zero],
        context.spec,
        context.dtype,
        context.profile,
    )
    context.evidence.count(judgement)
    context.demand(judgement, "position 0 is not the identity")


def _tables(context: CheckContext) -> list[Case]:
    """Its own table, again for as many other positions and for rows, and those of other specs."""
    own = standard_case(context, all_positions(context, limit=2**20))
    low, high = context.claim.position_range
    start = max(low, min(1, high - 1))
    rows = ((start, high), (high, start), (start, start))
    others = range(1, len(other_specs(context)))
    many = min(4099, high - start + 1)  # more than are done at a time
    return [
        own,
        replace(own, positions=own.positions[::-1]),
        Case(3, 2, 1, rows),
        *(replace(own, parameter=n) for n in others),
        Case(1, many, 1, range(start, start + many)),
    ]


@clause(
    id="table.values",
    sentence=(
        "cos_sin(positions) returns one cos and one sin for each position and pair, amplitude "
        "included."
    ),
    formula=r"c_{p,i} = A\cos(p\,\theta_i),\quad s_{p,i} = A\sin(p\,\theta_i)",
    reference="rope_ref.definition:cos_sin",
    fault="frequency",
    surface="table",
    fixed=_tables,
    minimum=50,
    numeric=True,
)
def values(context: CheckContext, case: Case) -> None:
    """Compare the table with the reference, entry by entry, also at other bases and widths.

    Look at it again after another table was asked for.
    """
    spec = other_specs(context)[case.parameter]
    with made_for(context, spec) as at_spec:
        if at_spec is None:
            return
        try:
            _judge_table(at_spec, case)
        except CheckFailure as failure:
            failure.fault = failure.fault or ("broadcast" if case.rows else fault_at(context, spec))
            if failure.fault is None and _entry_right_alone(at_spec, case, failure):
                failure.fault = "kernel-shape"
            raise


def _entry_right_alone(context: CheckContext, case: Case, failure: CheckFailure) -> bool:
    """Whether the wrong entry of a range of positions is right when it is asked for alone."""
    if failure.spot is None or not isinstance(case.positions, range):
        return False
    one = replace(case, tokens=1, positions=(case.positions[failure.spot.token],))
    return passes(lambda: _judge_table(context, one))


def _judge_table(context: CheckContext, case: Case) -> None:
    positions = context.positions(case)
    result = context.arrays.call("table", context.arrays.native_positions(positions))
    if not isinstance(result, tuple) or len(result) != 2:
        raise CheckFailure("cos_sin(positions) must return the pair (cos, sin)")
    returned = result
    try:
        result = tuple(np.array(context.arrays.host(part), dtype=np.float64) for part in returned)
    except (TypeError, ValueError):
        raise CheckFailure("cos_sin(positions) returned something that is no numbers") from None
    spec = context.spec
    expected = (*positions.shape[spec.pair_axes is not None :], spec.rotary_dim // 2)
    shapes = tuple(np.shape(part) for part in result)
    if shapes != (expected, expected):
        raise CheckFailure(
            f"cos_sin(positions) of {positions.shape} returned shapes {shapes[0]} and {shapes[1]}, "
            f"expected {expected}: one entry per pair"
        )
    # (cos, sin) is the image of the pair (1, 0): judged as one.
    one = RopeSpec(
        spec.rotary_dim,
        layout="half",
        frequencies=spec.frequencies,
        direction=spec.direction,
        pair_axes=spec.pair_axes,
    )
    y = np.concatenate([np.asarray(part, dtype=np.float64) for part in result], axis=-1)
    x = np.concatenate([np.ones(expected), np.zeros(expected)], axis=-1)
    shape = (-1, positions.shape[-1], 1, spec.rotary_dim)
    judgement = judge(
        y.reshape(shape), x.reshape(shape), positions, one, context.dtype, context.profile
    )
    context.evidence.count(judgement)
    context.demand(judgement, "an entry of the table is wrong")
    context.arrays.call("table", context.arrays.native_positions(positions[..., ::-1]))
    for before, after in zip(result, returned, strict=True):
        if not np.array_equal(before, np.asarray(context.arrays.host(after), dtype=np.float64)):
            raise CheckFailure(
                "a table changed when the next was asked for: its memory is reused",
                fault="aliasing",
            )

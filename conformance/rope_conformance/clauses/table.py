"""The table of cos and sin, read through the rotation or from the surface `cos_sin`."""

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy import bound, compare, judge, per_token
from rope_conformance.clauses._common import (
    all_positions,
    angles_probe,
    fault_at,
    made_for,
    numeric_fixed,
    other_specs,
    pairs,
    standard_case,
)
from rope_conformance.inputs import Case, free_positions
from rope_conformance.places import at_one_place
from rope_conformance.registry import EITHER, Clause
from rope_conformance.shapes import usual_shape
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import RopeSpec, pair_channels

CIRCLE = Clause(
    id="table.circle",
    sentence="cos and sin of a pair lie on the circle of radius A, at every position.",
    formula=r"c_{p,i}^2 + s_{p,i}^2 = A^2",
    reference="rope_ref.sincos:_table",
    fault="frequency",
    surface=EITHER,
)

IDENTITY = Clause(
    id="table.identity",
    sentence="At position 0 nothing turns: each pair comes out times A.",
    formula=r"c_{0,i} = A,\quad s_{0,i} = 0",
    reference="rope_ref.sincos:_table",
    fault="frequency",
    surface=EITHER,
    opened_by=lambda trial: (
        None
        if trial.claim.position_range[0] <= 0 <= trial.claim.position_range[1]
        else "position 0 is not in the claimed range"
    ),
)

TABLE = Clause(
    id="table.values",
    sentence=(
        "cos_sin(positions) returns one cos and one sin for each position and pair, amplitude "
        "included."
    ),
    formula=r"c_{p,i} = A\cos(p\,\theta_i),\quad s_{p,i} = A\sin(p\,\theta_i)",
    reference="rope_ref.sincos:_table",
    fault="frequency",
    surface="table",
)


def norm_error(trial: Trial, x: np.ndarray, y: np.ndarray, case: Case, message: str) -> None:
    """Demand that the length of each pair is A times what it was.

    However wrong a phase is, cos and sin of it lie on the circle: the bound is that of
    position 0.
    """
    before, after = pairs(trial, x), pairs(trial, y, output=True)
    amplitude = float(trial.spec.frequencies.amplitude)
    r = amplitude * np.hypot(*before)
    length = np.hypot(*after)
    p = per_token(trial.positions(case), trial.spec)
    allowed = bound(trial.profile, trial.spec, 0 * p, trial.dtype, r, norm=True)
    # For the report: the length stands where the first component was.
    got, want = np.array(y, dtype=np.float64), np.array(y, dtype=np.float64)
    got[..., pair_channels(trial.spec, output=True)[0]] = length
    want[..., pair_channels(trial.spec, output=True)[0]] = r
    judgement = compare(np.abs(length - r), r, allowed, p, trial.dtype, got=got, want=want)
    trial.count(judgement)
    trial.demand(judgement, message)


@CIRCLE.check(
    fixed=lambda trial: [standard_case(trial, all_positions(trial, limit=2**20))],
    kills=[
        "amplitude_half_percent",
        "table_bfloat16",
        "tiled_table_for_adjacent_pairs",
        "cosine_of_table",
        "amplitude_on_cosine_only",
        "amplitude_beyond_8192",
        "interpolates_a_table_of_sines",
    ],
    minimum=50,
    numeric=True,
)
def circle(trial: Trial, case: Case) -> None:
    """Put (1, 0) into every pair and measure how long it comes out."""
    x = angles_probe(trial, case)
    y = trial.apply(x, trial.positions(case))
    norm_error(trial, x, y, case, "cos**2 + sin**2 is not A**2 (length of a pair that was 1)")


def _at_zero(trial: Trial) -> list[Case]:
    """Tokens at position 0: several, or one at a time where positions cannot repeat."""
    batch, tokens, heads = usual_shape(trial.claim) if trial.namespace.fixed_shapes else (4, 8, 4)
    several = trial.cut(Case(batch, tokens if free_positions(trial.claim) else 1, heads, (0,)))
    several = replace(several, positions=(0,) * several.tokens)
    samples = several.batch * several.tokens * several.heads * max(trial.spec.rotary_dim // 2, 1)
    enough = [replace(several, seed=n) for n in range(-(-50 // samples))]
    return [*enough, trial.cut(Case(1, 1, 1, (0,), seed=1)), *numeric_fixed(trial)[:3]]


@IDENTITY.check(
    fixed=_at_zero,
    kills=[
        "off_by_one",
        "cosine_and_sine_exchanged",
        "head_number_for_position",
        "single_token_one_past",
        "consumer_exchanges_tables",
    ],
    minimum=50,
    numeric=True,
)
def identity(trial: Trial, case: Case) -> None:
    """Rotate by nothing. Where positions cannot repeat, one token stands for all."""
    x, positions = trial.x(case), trial.positions(case)
    if not free_positions(trial.claim):
        x, positions = x[:, :1], at_one_place(0, 1, trial.spec)
    y = trial.apply(x, positions)
    at_zero = (positions == 0).reshape(-1, positions.shape[-1]).all(axis=0)
    judgement = judge(
        y[:, at_zero],
        x[:, at_zero],
        positions[..., at_zero],
        trial.spec,
        trial.dtype,
        trial.profile,
    )
    trial.count(judgement)
    trial.demand(judgement, "position 0 is not the identity")


def _tables(trial: Trial) -> list[Case]:
    """Its own table, again for as many other positions and for rows, and those of other specs."""
    own = standard_case(trial, all_positions(trial, limit=2**20))
    low, high = trial.claim.position_range
    start = max(low, min(1, high - 1))
    rows = ((start, high), (high, start), (start, start))
    others = range(1, len(other_specs(trial)))
    many = min(4099, high - start + 1)  # more than are done at a time
    return [
        own,
        replace(own, positions=own.positions[::-1]),
        Case(3, 2, 1, rows),
        *(replace(own, parameter=n) for n in others),
        Case(1, many, 1, range(start, start + many)),
    ]


@TABLE.check(
    fixed=_tables,
    kills=[
        "table_repeats_each_entry",
        "table_exchanged",
        "table_counts_from_zero",
        "table_ends_at_8192",
        "table_of_1024_entries",
        "table_kept_by_length",
        "table_of_row_zero",
        "table_one_percent_larger",
        "table_over_padded_width",
        "table_in_one_buffer",
    ],
    minimum=50,
    numeric=True,
)
def values(trial: Trial, case: Case) -> None:
    """Compare the table with the reference, entry by entry, also at other bases and widths.

    Then look at it once more when another was asked for.
    """
    spec = other_specs(trial)[case.parameter]
    with made_for(trial, spec) as at_spec:
        if at_spec is None:
            return
        try:
            _judge_table(at_spec, case)
        except CheckFailure as failure:
            failure.fault = failure.fault or ("broadcast" if case.rows else fault_at(trial, spec))
            if failure.fault is None and _right_alone(at_spec, case, failure):
                failure.fault = "kernel-shape"
            raise


def _right_alone(trial: Trial, case: Case, failure: CheckFailure) -> bool:
    """Whether the wrong entry of a range of positions is right when it is asked for alone."""
    if failure.spot is None or not isinstance(case.positions, range):
        return False
    one = case.positions[failure.spot.token]
    try:
        _judge_table(trial, replace(case, tokens=1, positions=(one,)))
    except CheckFailure:
        return False
    return True


def _judge_table(trial: Trial, case: Case) -> None:
    positions = trial.positions(case)
    result = trial.call("table", trial.native_positions(positions))
    if not isinstance(result, tuple) or len(result) != 2:
        raise CheckFailure("cos_sin(positions) must return the pair (cos, sin)")
    returned = result
    try:
        result = tuple(np.array(trial.host(part), dtype=np.float64) for part in returned)
    except (TypeError, ValueError):
        raise CheckFailure("cos_sin(positions) returned something that is no numbers") from None
    spec = trial.spec
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
        y.reshape(shape), x.reshape(shape), positions, one, trial.dtype, trial.profile
    )
    trial.count(judgement)
    trial.demand(judgement, "an entry of the table is wrong")
    trial.call("table", trial.native_positions(positions[..., ::-1]))
    for before, after in zip(result, returned, strict=True):
        if not np.array_equal(before, np.asarray(trial.host(after), dtype=np.float64)):
            raise CheckFailure(
                "a table changed when the next was asked for: its memory is reused",
                fault="aliasing",
            )

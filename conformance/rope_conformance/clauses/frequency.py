"""theta_i, and the phase position x theta_i at every position."""

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy import unit_roundoff
from rope_conformance.clauses._common import (
    all_positions,
    angles_probe,
    factory_only,
    far_fixed,
    fault_at,
    made_for,
    numeric_cases,
    oracle,
    other_specs,
    other_widths,
    standard_case,
)
from rope_conformance.clauses._kept import kept_by_base, kept_by_width, only_remapped
from rope_conformance.clauses._rows import row_cases
from rope_conformance.clauses.passthrough import demand_untouched
from rope_conformance.faults import Fault
from rope_conformance.inputs import Case, at_width, cases, positions_within
from rope_conformance.registry import EITHER, Clause
from rope_conformance.rules import base_below, with_base
from rope_conformance.shape_causes import APART, is_right
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import RopeSpec

LADDER = Clause(
    id="frequency.ladder",
    sentence="Pair i turns by theta_i radians per position, base**(-2i/R) before any remap.",
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.frequencies:power_law",
    fault="frequency",
)

PHASE = Clause(
    id="frequency.phase",
    sentence=(
        "At every position p of the claimed range the phase of pair i is p theta_i, as exactly as "
        "the claimed profile promises."
    ),
    formula=r"\varphi = p\,\theta_i",
    reference="rope_ref.turns:Ladder._exact",
    fault="angle-precision",
)

NEGATIVE = Clause(
    id="frequency.negative",
    sentence="Negative positions turn pairs backwards, exactly as far.",
    formula=r"\varphi(-p) = -\varphi(p)",
    reference="rope_ref.sincos:_table",
    fault="position",
    opened_by=lambda trial: (
        None if trial.claim.position_range[0] < 0 else "negative positions are not claimed"
    ),
    any_map=True,
)

REAL = Clause(
    id="frequency.real",
    sentence="Positions that are not whole numbers turn pairs by the corresponding part.",
    formula=r"\varphi = p\,\theta_i,\quad p \in \mathbb{R}",
    reference="rope_ref.turns:Ladder._exact",
    fault="position",
    opened_by=lambda trial: (
        None if "real" in trial.claim.position_kinds else "real positions are not claimed"
    ),
    any_map=True,
)

ROWS = Clause(
    id="frequency.rows",
    sentence="Positions of shape (B, T) give each batch row its own positions.",
    formula=r"\varphi_{b,t,i} = p_{b,t}\,\theta_i",
    reference="rope_ref.rotation:_spread",
    fault="broadcast",
    opened_by=lambda trial: (
        None
        if "bt" in trial.claim.position_forms and "b" in trial.claim.axes
        else "positions of shape (B, T) are not claimed"
    ),
    any_map=True,
)

WIDTHS = Clause(
    id="frequency.widths",
    sentence="Any even number of channels rotates, alone or as part of a head.",
    formula=r"R \in 2\mathbb{N},\quad R \le D",
    reference="rope_ref.spec:RopeSpec",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=other_widths,
)

BASES = Clause(
    id="frequency.bases",
    sentence="RoPEs with different bases, made one after the other, keep each its own base.",
    formula=r"\theta_i = b^{-2i/R} \text{ for each } b",
    reference="rope_ref.frequencies:power_law",
    fault="config",
    opened_by=factory_only,
)

THETA = Clause(
    id="frequency.theta",
    sentence="theta() returns theta_i, as exactly as the recipe of the claimed profile promises.",
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.spec:RopeSpec.theta",
    fault="frequency",
    surface="theta",
)


@LADDER.check(
    fixed=lambda trial: [standard_case(trial, all_positions(trial, limit=2**16))],
    kills=[
        "base_wrong",
        "base_off",
        "one_ladder_through_all_axes",
        "one_denominator_for_all_widths",
        "own_halves_in_each_block",
        "exponent_over_head_dim",
        "frequencies_bfloat16",
        "base_always_10000",
        "exponent_by_integer_division",
        "exponent_twice_as_steep",
        "exponent_half_as_steep",
        "exponent_over_width_less_two",
        "exponent_of_odd_channels",
        "logarithm_to_base_ten",
        "reciprocal_missing",
        "frequencies_reversed",
        "frequency_of_neighbour",
        "last_pair_stands_still",
        "turns_for_radians",
        "rotates_twice",
        "positions_interpolated",
        "frequencies_float16",
        "phases_bfloat16",
        "phases_float16",
        "phases_tf32",
        "fast_trigonometry",
        "reduced_by_a_short_pi",
        "repeated_table_for_half_split",
        "half_of_the_rotary_width",
    ],
    minimum=50,
    numeric=True,
)
def ladder(trial: Trial, case: Case) -> None:
    """Put (1, 0) into every pair: what comes out is its cos and sin."""
    x = angles_probe(trial, case)
    y = trial.apply(x, trial.positions(case))
    judgement = trial.judge(y, x, trial.positions(case))
    trial.demand(judgement, "a pair turns at another speed")


@PHASE.check(
    fixed=far_fixed,
    generated=numeric_cases,
    kills=[
        "positions_float16",
        "positions_bfloat16",
        "wraps_at_4096",
        "heads_for_tokens",
        "eight_heads_at_a_time",
        "restarts_after_128_tokens",
        "saturates_at_448",
        "positions_int8",
        "positions_int16",
        "positions_uint16",
        "stops_at_8192",
        "identity_behind_the_table",
        "last_row_missing",
        "reads_behind_the_table",
        "memo_by_length",
        "memo_by_shape",
        "memo_by_first_position",
        "memo_by_ends",
        "memo_by_sum",
        "first_length_is_the_longest",
        "made_again_from_rounded_frequencies",
        "base_stays_grown",
        "skips_last_odd_token",
        "skips_last_odd_head",
        "at_most_4096_tokens",
        "at_most_16_rows",
        "single_token_first_row_only",
        "single_token_other_rows_unrotated",
        "address_wraps",
        "square_batch_transposed",
        "rows_and_heads_exchanged",
        "rows_numbered_through",
        "head_index_added",
        "table_from_rounded_phases",
        "table_and_products_float16",
        "every_product_rounded",
        "rotates_in_tf32",
        "phases_of_float32_called_exact",
        "float64_data_float32_phases",
        "yarn_stops_at_the_trained_length",
    ],
    minimum=50,
    numeric=True,
)
def phase(trial: Trial, case: Case) -> None:
    """Compare with the reference at positions where number types and caches end."""
    oracle(trial, case, "the output is wrong")


@NEGATIVE.check(
    fixed=lambda trial: [
        standard_case(trial, [p for p in positions_within(trial.claim) if p < 0] or [-1])
    ],
    generated=lambda trial: cases(trial.claim, high=-1).map(trial.cut),
    kills=["negative_wraps", "negative_taken_for_positive", "negative_taken_for_zero"],
    minimum=50,
    numeric=True,
)
def negative(trial: Trial, case: Case) -> None:
    """Compare with the reference at negative positions."""
    oracle(trial, case, "the output at a negative position is wrong")


@REAL.check(
    fixed=lambda trial: [standard_case(trial, [0.5, 1.25, 2.0, 100.75, 1000.1])],
    generated=lambda trial: cases(trial.claim, real=True).map(trial.cut),
    kills=["truncates_positions", "rounds_positions", "coordinates_cut_to_integers"],
    minimum=50,
    numeric=True,
)
def real(trial: Trial, case: Case) -> None:
    """Compare with the reference at positions that are not whole."""
    oracle(trial, case, "the output at a fractional position is wrong")


@ROWS.check(
    fixed=row_cases,
    generated=lambda trial: cases(trial.claim, rows=True).map(trial.cut),
    kills=["batch_row_zero", "one_far_row_moves_all"],
    minimum=50,
    numeric=True,
)
def rows(trial: Trial, case: Case) -> None:
    """Compare with the reference where rows stand at different positions."""
    oracle(trial, case, "wrong where each row has positions of its own")


_WIDTHS = (
    (48, 48), (80, 80), (96, 96), (100, 100), (192, 192), (64, 32), (80, 20), (128, 32), (6, 6),
)  # fmt: skip
# Beyond its own: what a table of constants, 32 bits of thousandths or 16 bits would not hold.
_BASES = (123_456, 10**7, 5 * 10**7)


def _at_width(trial: Trial, number: int) -> Case:
    return replace(standard_case(trial, all_positions(trial, limit=2**12)), parameter=number)


def _other(trial: Trial, spec: RopeSpec, case: Case, message: str) -> None:
    """Judge the same target made for another spec; the evidence is this trial's."""
    with made_for(trial, spec) as at_spec:
        if at_spec is None:
            return
        x, positions = at_spec.x(case), at_spec.positions(case)
        y = at_spec.apply(x, positions)
        at_spec.demand(at_spec.judge(y, x, positions), message)
        demand_untouched(at_spec, x, y, message)


@WIDTHS.check(
    fixed=lambda trial: [_at_width(trial, n) for n in range(len(_WIDTHS))],
    kills=[
        "pads_to_power_of_two",
        "eight_pairs_at_a_time",
        "frequencies_kept_by_base",
        "sin_block_by_padded_width",
        "copies_one_rotary_width",
        "consumer_pads_sin_block",
    ],
    minimum=50,
    numeric=True,
)
def widths(trial: Trial, case: Case) -> None:
    """Make the implementation anew at width number `parameter`: no powers of two."""
    head_dim, rotary_dim = _WIDTHS[case.parameter]
    spec = at_width(trial.spec, head_dim, rotary_dim)
    try:
        _other(trial, spec, case, f"wrong at head_dim={head_dim}, rotary_dim={rotary_dim}")
    except CheckFailure as failure:
        # The formula is right at the width it was made for: then it is not the formula.
        if failure.fault is None and is_right(trial, APART):
            if kept_by_base(trial, spec, case):
                failure.fault = "cache"
            else:
                remap = only_remapped(trial, spec, case)
                failure.fault = "scaling" if remap else "kernel-shape"
        raise


@BASES.check(
    fixed=lambda trial: [standard_case(trial, all_positions(trial, limit=2**12))],
    kills=[
        "table_kept_by_width",
        "base_always_10000",
        "two_bases_only",
        "base_in_thousandths_wraps",
        "base_at_most_a_million",
    ],
    minimum=50,
    numeric=True,
)
def bases(trial: Trial, case: Case) -> None:
    """Make it at another base, then at its own, then at others, and judge each."""
    own = base_below(trial.spec.frequencies)
    assert own is not None
    for base in (own * 50, own, own * 2, *_BASES):
        spec = replace(trial.spec, frequencies=with_base(trial.spec.frequencies, base))
        try:
            _other(trial, spec, case, f"wrong at base {float(base):g}, made after other bases")
        except CheckFailure as failure:
            if failure.fault is None:
                if kept_by_width(trial, spec, case, (22, 38)):
                    failure.fault = "cache"
                else:
                    remap = only_remapped(trial, spec, case)
                    failure.fault = "scaling" if remap else "config"
            raise


@THETA.check(
    fixed=lambda trial: [Case(1, 1, 1, (0,), parameter=n) for n in range(len(other_specs(trial)))],
    kills=[
        "theta_in_turns",
        "theta_over_head_dim",
        "theta_of_base_10000",
        "theta_pads_to_power_of_two",
        "theta_in_bfloat16",
        "theta_for_each_channel",
    ],
)
def theta(trial: Trial, case: Case) -> None:
    """Compare theta() with the real numbers, also at other bases and widths."""
    spec = other_specs(trial)[case.parameter]
    with made_for(trial, spec) as at_spec:
        if at_spec is not None:
            _judge_theta(at_spec, fault_at(trial, spec))


def _judge_theta(trial: Trial, fault: Fault | None) -> None:
    result = trial.call("theta")
    try:
        got = np.asarray(trial.host(result), dtype=np.float64)
    except (TypeError, ValueError):
        raise CheckFailure(f"theta() returned {type(result).__name__}, no numbers") from None
    want = trial.spec.theta()
    if got.shape != want.shape:
        raise CheckFailure(
            f"theta() has shape {got.shape}, expected {want.shape}, one per pair",
            fault="layout" if got.size == 2 * want.size else None,
        )
    phase_type = trial.profile.phase or "float32"
    allowed = trial.profile.amplification(trial.spec).clip(min=1) * unit_roundoff(phase_type)
    bad = np.flatnonzero(~(np.abs(got - want) <= allowed * np.abs(want)))
    if bad.size:
        i = int(bad[0])
        raise CheckFailure(
            f"theta() of pair {i}: got {got[i]:.9g}, want {want[i]:.9g}, at head_dim="
            f"{trial.spec.head_dim}, rotary_dim={trial.spec.rotary_dim}, {trial.spec.frequencies}",
            fault=fault,
        )

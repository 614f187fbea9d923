"""theta_i, and the phase position x theta_i at every position."""

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy import unit_roundoff
from rope_conformance.clauses._common import (
    all_positions,
    angles_probe,
    factory_only,
    far_fixed,
    numeric_cases,
    oracle,
    standard_case,
)
from rope_conformance.implementation import Unsupported
from rope_conformance.inputs import Case, cases, positions_within
from rope_conformance.registry import Clause
from rope_conformance.trial import CheckFailure, TargetRaised, Trial
from rope_ref import PowerLaw, RopeSpec

LADDER = Clause(
    id="frequency.ladder",
    sentence="Pair i turns by theta_i radians per position, base**(-2i/R) before any remap.",
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.frequencies:_power_law",
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
)

WIDTHS = Clause(
    id="frequency.widths",
    sentence="Any even number of channels rotates, alone or as part of a head.",
    formula=r"R \in 2\mathbb{N},\quad R \le D",
    reference="rope_ref.spec:RopeSpec",
    fault="frequency",
    opened_by=factory_only,
)

BASES = Clause(
    id="frequency.bases",
    sentence="RoPEs with different bases, made one after the other, keep each its own base.",
    formula=r"\theta_i = b^{-2i/R} \text{ for each } b",
    reference="rope_ref.frequencies:_power_law",
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
    kills=["base_wrong", "base_off", "exponent_over_head_dim", "frequencies_bfloat16"],
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
    kills=["negative_wraps"],
    minimum=50,
    numeric=True,
)
def negative(trial: Trial, case: Case) -> None:
    """Compare with the reference at negative positions."""
    oracle(trial, case, "the output at a negative position is wrong")


@REAL.check(
    fixed=lambda trial: [standard_case(trial, [0.5, 1.25, 2.0, 100.75, 1000.1])],
    generated=lambda trial: cases(trial.claim, real=True).map(trial.cut),
    kills=["truncates_positions"],
    minimum=50,
    numeric=True,
)
def real(trial: Trial, case: Case) -> None:
    """Compare with the reference at positions that are not whole."""
    oracle(trial, case, "the output at a fractional position is wrong")


def _many_rows(trial: Trial) -> Case:
    """Two rows of 67 positions each, in no order, all over the claimed range."""
    low, high = trial.claim.position_range
    table = np.random.default_rng(0).integers(low, high, (2, 67), endpoint=True)
    return Case(2, 67, 1, tuple(map(tuple, table.tolist())))


@ROWS.check(
    fixed=lambda trial: [
        trial.cut(Case(2, 5, 3, ((0, 1, 2, 3, 4), (7, 8, 9, 10, 11)))),
        trial.cut(Case(4, 4, 2, ((0, 1, 2, 3), (3, 2, 1, 0), (5, 6, 7, 8), (0, 0, 0, 0)))),
        trial.cut(Case(3, 1, 2, ((4,), (0,), (9,)))),
        trial.cut(Case(3, 3, 3, ((0, 1, 2), (10, 11, 12), (20, 21, 22)))),
        trial.cut(_many_rows(trial)),
    ],
    generated=lambda trial: cases(trial.claim, rows=True).map(trial.cut),
    kills=["batch_row_zero"],
    minimum=50,
    numeric=True,
)
def rows(trial: Trial, case: Case) -> None:
    """Compare with the reference where rows stand at different positions."""
    oracle(trial, case, "wrong where each row has positions of its own")


_NEW_WIDTH = 22  # no clause rotates so many channels
_WIDTHS = ((6, 6), (48, 48), (80, 80), (96, 96), (64, 32), (80, 20), (128, 32))


def _at_width(trial: Trial, number: int) -> Case:
    return replace(standard_case(trial, all_positions(trial, limit=2**12)), parameter=number)


def _other(trial: Trial, spec: RopeSpec, case: Case, message: str) -> None:
    """Judge the same target made for another spec; the evidence is this trial's."""
    try:
        other = trial.implementation.remade(spec)
    except Unsupported as reason:
        words = f"head_dim={spec.head_dim}, rotary_dim={spec.rotary_dim}, {spec.frequencies}"
        trial.notes.append(f"{words} unsupported: {reason}")
        return
    at_spec = Trial(other, trial.dtype, trial.profile, device=trial.device)
    try:
        oracle(at_spec, case, message)
    finally:
        trial.implementation.calls += other.calls
        trial.samples += at_spec.samples
        trial.decisive += at_spec.decisive


@WIDTHS.check(
    fixed=lambda trial: [_at_width(trial, n) for n in range(len(_WIDTHS))],
    kills=["pads_to_power_of_two"],
    minimum=50,
    numeric=True,
)
def widths(trial: Trial, case: Case) -> None:
    """Make the implementation anew at width number `parameter`: no powers of two."""
    head_dim, rotary_dim = _WIDTHS[case.parameter]
    spec = RopeSpec(
        head_dim,
        layout=trial.spec.layout,
        output_layout=trial.spec.output_layout,
        rotary_dim=rotary_dim,
        frequencies=trial.spec.frequencies,
        direction=trial.spec.direction,
    )
    _other(trial, spec, case, f"wrong at head_dim={head_dim}, rotary_dim={rotary_dim}")


@BASES.check(
    fixed=lambda trial: [standard_case(trial, all_positions(trial, limit=2**12))],
    kills=["table_kept_by_width"],
    minimum=50,
    numeric=True,
)
def bases(trial: Trial, case: Case) -> None:
    """Make it at another base, then at its own, then at a third, and judge each."""
    own = trial.spec.frequencies
    assert isinstance(own, PowerLaw)
    for base in (own.base * 50, own.base, own.base * 2):
        spec = replace(trial.spec, frequencies=PowerLaw(base))
        try:
            _other(trial, spec, case, f"wrong at base {float(base):g}, made after other bases")
        except CheckFailure as failure:
            failure.fault = "cache" if _right_at_new_width(trial, float(own.base * 50)) else "config"
            raise


def _right_at_new_width(trial: Trial, base: float) -> bool:
    """Whether a base is used at a width that nothing was made for yet: then one was kept."""
    spec = RopeSpec(_NEW_WIDTH, layout=trial.spec.layout, frequencies=PowerLaw(base))
    try:
        _other(trial, spec, Case(1, 4, 1, (1, 2, 3, 100)), "")
    except (CheckFailure, TargetRaised):
        return False
    return True


@THETA.check(
    fixed=lambda trial: [Case(1, 1, 1, (0,))],
    kills=["theta_in_turns"],
)
def theta(trial: Trial, case: Case) -> None:
    """Compare theta() with the real numbers."""
    got = np.asarray(trial.host(trial.call("theta")), dtype=np.float64)
    want = trial.spec.theta()
    if got.shape != want.shape:
        raise CheckFailure(f"theta() has shape {got.shape}, expected {want.shape}, one per pair")
    phase_type = trial.profile.phase or "float32"
    allowed = trial.profile.amplification(trial.spec).clip(min=1) * unit_roundoff(phase_type)
    bad = np.flatnonzero(~(np.abs(got - want) <= allowed * np.abs(want)))
    if bad.size:
        i = int(bad[0])
        raise CheckFailure(f"theta() of pair {i}: got {got[i]:.9g}, want {want[i]:.9g}")

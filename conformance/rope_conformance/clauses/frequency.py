"""theta_i, and the phase position x theta_i at every position."""

from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.clauses._kept import kept_by_base, kept_by_width, right_unscaled
from rope_conformance.clauses._openers import claims_rows, factory_only, other_widths
from rope_conformance.clauses._other_specs import fault_at, made_for, other_specs
from rope_conformance.clauses.passthrough import demand_untouched
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.inputs.claimed_positions import positions_within
from rope_conformance.inputs.rows import row_cases
from rope_conformance.inputs.spec_variants import at_width, with_base
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import (
    all_positions,
    angles_probe,
    far_fixed,
    numeric_cases,
    oracle,
    standard_case,
)
from rope_conformance.judging.questions import DISTINCT, is_right
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec


@clause(
    id="frequency.ladder",
    sentence="Pair i turns by theta_i radians per position, base**(-2i/R) before any scaling.",
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.definition:theta",
    fault="frequency",
    fixed=lambda context: [standard_case(context, all_positions(context, limit=2**16))],
    minimum=50,
    numeric=True,
)
def ladder(context: CheckContext, case: Case) -> None:
    """Put (1, 0) into every pair: its output is cos and sin of the phase."""
    x = angles_probe(context, case)
    y = context.arrays.apply(x, context.positions(case))
    judgement = context.judge(y, x, context.positions(case))
    context.demand(judgement, "a pair turns at another speed")


@clause(
    id="frequency.phase",
    sentence=(
        "At every position p of the claimed range the phase of pair i is p theta_i, as exactly as "
        "the claimed profile promises."
    ),
    formula=r"\varphi = p\,\theta_i",
    reference="rope_ref.definition:phase",
    fault="angle-precision",
    fixed=far_fixed,
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def phase(context: CheckContext, case: Case) -> None:
    """Compare with the reference, also where number types and cos/sin caches end."""
    oracle(context, case, "the output is wrong")


@clause(
    id="frequency.negative",
    sentence="Negative positions turn pairs backwards, exactly as far.",
    formula=r"\varphi(-p) = -\varphi(p)",
    reference="rope_ref.definition:phase",
    fault="position",
    opened_by=lambda context: (
        None if context.claim.position_range[0] < 0 else "negative positions are not claimed"
    ),
    any_map=True,
    fixed=lambda context: [
        standard_case(context, [p for p in positions_within(context.claim) if p < 0] or [-1])
    ],
    generated=lambda context: cases(context.claim, high=-1).map(context.cut),
    minimum=50,
    numeric=True,
)
def negative(context: CheckContext, case: Case) -> None:
    """Compare with the reference at negative positions."""
    oracle(context, case, "the output at a negative position is wrong")


@clause(
    id="frequency.real",
    sentence="Positions that are not whole numbers turn pairs by the corresponding part.",
    formula=r"\varphi = p\,\theta_i,\quad p \in \mathbb{R}",
    reference="rope_ref.definition:phase",
    fault="position",
    opened_by=lambda context: (
        None if "real" in context.claim.position_kinds else "real positions are not claimed"
    ),
    any_map=True,
    fixed=lambda context: [standard_case(context, [0.5, 1.25, 2.0, 100.75, 1000.1])],
    generated=lambda context: cases(context.claim, real=True).map(context.cut),
    minimum=50,
    numeric=True,
)
def real(context: CheckContext, case: Case) -> None:
    """Compare with the reference at positions that are not whole."""
    oracle(context, case, "the output at a fractional position is wrong")


@clause(
    id="frequency.rows",
    sentence="Positions of shape (B, T) give each batch row its own positions.",
    formula=r"\varphi_{b,t,i} = p_{b,t}\,\theta_i",
    reference="rope_ref.rotation:apply_rope",
    fault="broadcast",
    opened_by=lambda context: (
        None if claims_rows(context.claim) else "positions of shape (B, T) are not claimed"
    ),
    any_map=True,
    fixed=lambda context: row_cases(context.claim),
    generated=lambda context: cases(context.claim, rows=True).map(context.cut),
    minimum=50,
    numeric=True,
)
def rows(context: CheckContext, case: Case) -> None:
    """Compare with the reference where rows stand at different positions."""
    oracle(context, case, "wrong where each row has positions of its own")


_WIDTHS = (
    (48, 48), (80, 80), (96, 96), (100, 100), (192, 192), (64, 32), (80, 20), (128, 32), (6, 6),
)  # fmt: skip
# Bases that a list of known ones, thousandths in 32 bits, or 16 bits would not hold.
_BASES = (123_456, 10**7, 5 * 10**7)


def _at_width(context: CheckContext, number: int) -> Case:
    return replace(standard_case(context, all_positions(context, limit=2**12)), parameter=number)


def _other(context: CheckContext, spec: RopeSpec, case: Case, message: str) -> None:
    """Judge the same target made for another spec; the evidence is this context's."""
    with made_for(context, spec) as at_spec:
        if at_spec is None:
            return
        x, positions = at_spec.x(case), at_spec.positions(case)
        y = at_spec.arrays.apply(x, positions)
        at_spec.demand(at_spec.judge(y, x, positions), message)
        demand_untouched(at_spec, x, y, message)


@clause(
    id="frequency.widths",
    sentence="Any even number of channels rotates, alone or as part of a head.",
    formula=r"R \in 2\mathbb{N},\quad R \le D",
    reference="rope_ref.definition:rotate",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=other_widths,
    fixed=lambda context: [_at_width(context, n) for n in range(len(_WIDTHS))],
    minimum=50,
    numeric=True,
)
def widths(context: CheckContext, case: Case) -> None:
    """Make the implementation anew at width number `parameter`: no powers of two."""
    head_dim, rotary_dim = _WIDTHS[case.parameter]
    spec = at_width(context.spec, head_dim, rotary_dim)
    try:
        _other(context, spec, case, f"wrong at head_dim={head_dim}, rotary_dim={rotary_dim}")
    except CheckFailure as failure:
        # Right at its own width: the formula is not at fault.
        if failure.fault is None and is_right(context, DISTINCT):
            if kept_by_base(context, spec, case):
                failure.fault = "cache"
            else:
                plain_is_right = right_unscaled(context, spec, case)
                failure.fault = "scaling" if plain_is_right else "kernel-shape"
        raise


@clause(
    id="frequency.bases",
    sentence="RoPEs with different bases, made one after the other, keep each its own base.",
    formula=r"\theta_i = b^{-2i/R} \text{ for each } b",
    reference="rope_ref.definition:theta",
    fault="config",
    opened_by=factory_only,
    fixed=lambda context: [standard_case(context, all_positions(context, limit=2**12))],
    minimum=50,
    numeric=True,
)
def bases(context: CheckContext, case: Case) -> None:
    """Make it at another base, then at its own, then at others, and judge each."""
    own = base_below(context.spec.frequencies)
    assert own is not None
    for base in (own * 50, own, own * 2, *_BASES):
        spec = replace(context.spec, frequencies=with_base(context.spec.frequencies, base))
        try:
            _other(context, spec, case, f"wrong at base {float(base):g}, made after other bases")
        except CheckFailure as failure:
            if failure.fault is None:
                if kept_by_width(context, spec, case, (22, 38)):
                    failure.fault = "cache"
                else:
                    plain_is_right = right_unscaled(context, spec, case)
                    failure.fault = "scaling" if plain_is_right else "config"
            raise


@clause(
    id="frequency.theta",
    sentence="theta() returns theta_i, as exactly as the recipe of the claimed profile promises.",
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.definition:theta",
    fault="frequency",
    surface="theta",
    fixed=lambda context: [
        Case(1, 1, 1, (0,), parameter=n) for n in range(len(other_specs(context)))
    ],
)
def theta(context: CheckContext, case: Case) -> None:
    """Compare theta() with the real numbers, also at other bases and widths."""
    spec = other_specs(context)[case.parameter]
    with made_for(context, spec) as at_spec:
        if at_spec is not None:
            _judge_theta(at_spec, fault_at(context, spec))


def _judge_theta(context: CheckContext, fault: Fault | None) -> None:
    result = context.arrays.call("theta")
    try:
        got = np.asarray(context.arrays.host(result), dtype=np.float64)
    except (TypeError, ValueError):
        raise CheckFailure(f"theta() returned {type(result).__name__}, no numbers") from None
    want = context.spec.theta()
    if got.shape != want.shape:
        raise CheckFailure(
            f"theta() has shape {got.shape}, expected {want.shape}, one per pair",
            fault="layout" if got.size == 2 * want.size else None,
        )
    phase_type = context.profile.phase or "float32"
    allowed = context.profile.amplification(context.spec).clip(min=1) * unit_roundoff(phase_type)
    bad = np.flatnonzero(~(np.abs(got - want) <= allowed * np.abs(want)))
    if bad.size:
        i = int(bad[0])
        raise CheckFailure(
            f"theta() of pair {i}: got {got[i]:.9g}, want {want[i]:.9g}, at head_dim="
            f"{context.spec.head_dim}, rotary_dim={context.spec.rotary_dim}, "
            f"{context.spec.frequencies}",
            fault=fault,
        )

"""Scalings: which frequencies change, by how much, and what becomes of the amplitude.

Whether the output is right as a whole, `frequency` judges. Here a scaling is taken apart: pairs
by what it does to them, whatever the amplitude; the amplitude, whatever the phases; and its
parameters, one changed at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._bands import bands_of, judge_length, judge_turn
from rope_conformance.clauses._kept import judged, kept_by_width
from rope_conformance.clauses._layer import call_layer, layer_data
from rope_conformance.clauses._openers import made_anew
from rope_conformance.clauses._other_specs import made_for
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.spec_variants import other_amplitudes, other_parameters
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import all_positions, numeric_fixed, standard_case
from rope_conformance.target.rule_parts import has_length
from rope_ref import pair_channels
from rope_ref.exact.real import Real
from rope_ref.scaling import ScaledRule
from rope_ref.scaling.frequencies import FrequencyRule

Flags = npt.NDArray[np.bool_]

_DIGITS = 40
_SAME = Decimal(10) ** -30  # as a part of theta
_SAMPLES = 100  # twice what a clause judged by the bound needs
_FAR = 2**14  # far enough for every ramp and factor to show


def _scaled(context: CheckContext) -> str | None:
    if not isinstance(context.spec.frequencies, ScaledRule):
        return "the frequencies are not scaled"
    return None


def _made_for_several(context: CheckContext) -> str | None:
    return made_anew(context) or _scaled(context)


def _chosen(context: CheckContext, band: str) -> npt.NDArray[np.bool_]:
    """The pairs of a band."""
    rule = context.spec.frequencies
    assert isinstance(rule, ScaledRule)
    return bands_of(rule, context.spec.rotary_dim)[band]


def _has(band: str) -> Callable[[CheckContext], str | None]:
    def opened(context: CheckContext) -> str | None:
        if reason := _scaled(context):
            return reason
        return None if _chosen(context, band).any() else f"no pair is {band}"

    return opened


def _band(name: str) -> Callable[[CheckContext], list[Case]]:
    """As many tokens as the pairs of a band need for evidence."""

    def cases(context: CheckContext) -> list[Case]:
        count = int(_chosen(context, name).sum())
        positions = all_positions(context, limit=_FAR)
        again = -(-_SAMPLES // max(count * len(positions), 1))
        return [standard_case(context, positions * again)]

    return cases


@clause(
    id="scaling.kept",
    sentence="Pairs that a scaling leaves alone turn as they do without it.",
    formula=r"\theta'_i = \theta_i",
    reference="rope_ref.scaling.yarn:YaRN.frequencies",
    fault="scaling",
    opened_by=_has("kept"),
    fixed=_band("kept"),
    minimum=50,
    numeric=True,
)
def kept(context: CheckContext, case: Case) -> None:
    """Read the angles of (1, 0) in the pairs that are left alone, whatever their length."""
    judge_turn(context, case, "kept", "a pair that the scaling leaves alone turns at another speed")


@clause(
    id="scaling.divided",
    sentence="Pairs that a scaling slows down in full turn at exactly theta_i over the factor.",
    formula=r"\theta'_i = \theta_i / s",
    reference="rope_ref.scaling.linear:Linear.frequencies",
    fault="scaling",
    opened_by=_has("divided"),
    fixed=_band("divided"),
    minimum=50,
    numeric=True,
)
def divided(context: CheckContext, case: Case) -> None:
    """Read the angles of (1, 0) in the pairs that are divided, whatever their length."""
    judge_turn(context, case, "divided", "a pair is not slowed down by exactly the factor")


@clause(
    id="scaling.between",
    sentence=(
        "Each other pair is slowed down by an amount of its own: on a ramp the kept and the "
        "divided frequency are blended, not wavelengths; NTK has a power, LongRoPE a factor for "
        "each pair."
    ),
    formula=r"\theta'_i = (1 - g_i)\,\theta_i + g_i\,\theta_i / s",
    reference="rope_ref.scaling.llama3:Llama3.frequencies",
    fault="scaling",
    opened_by=_has("between"),
    fixed=_band("between"),
    minimum=50,
    numeric=True,
)
def between(context: CheckContext, case: Case) -> None:
    """Read the angles of (1, 0) in the other pairs, whatever their length."""
    judge_turn(context, case, "between", "a pair is not slowed down by the amount that is its own")


@clause(
    id="scaling.still",
    sentence=(
        "A pair whose theta is 0 stands still at every position: bit for bit where the amplitude "
        "is 1, else times the amplitude."
    ),
    formula=r"\theta_i = 0 \;\Rightarrow\; y_i = A\, x_i",
    reference="rope_ref.scaling.proportional:Proportional.frequencies",
    fault="scaling",
    opened_by=_has("still"),
    fixed=lambda context: [c for c in numeric_fixed(context) if c.values == "normal"],
    minimum=3,
)
def still(context: CheckContext, case: Case) -> None:
    """Look at the pairs that stand still, near 0 and far out."""
    chosen = np.flatnonzero(_chosen(context, "still"))
    x, positions = context.x(case), context.positions(case)
    y = context.arrays.apply(x, positions, strided=case.strided)
    if context.spec.frequencies.amplitude != 1:
        judgement = context.judge(y, x, positions)
        others = np.ones(context.spec.rotary_dim // 2, dtype=bool)
        others[chosen] = False
        only = replace(judgement, bound=np.where(others, np.inf, judgement.bound))
        context.demand(only, "a pair that stands still changed")
        return
    before = np.asarray(x, np.float64)[..., pair_channels(context.spec)[:, chosen]]
    after = np.asarray(y, np.float64)[..., pair_channels(context.spec, output=True)[:, chosen]]
    bad = np.argwhere(~same_numbers(before, after))
    if bad.size:
        row, token, head, which, n = (int(i) for i in bad[0])
        raise CheckFailure(
            f"pair {int(chosen[n])} has theta 0 but its {('first', 'second')[which]} channel "
            f"changed from {float(before[tuple(bad[0])])!r} to {float(after[tuple(bad[0])])!r} "
            f"(row {row}, token {token}, head {head})"
        )


def _numbered(
    count: int, positions: Callable[[CheckContext], list[int]]
) -> Callable[..., list[Case]]:
    def cases(context: CheckContext) -> list[Case]:
        case = standard_case(context, positions(context))
        return [replace(case, parameter=n) for n in range(count)]

    return cases


def _amplitudes(context: CheckContext) -> list[tuple[str, FrequencyRule]]:
    own = ("", context.spec.frequencies)
    if not context.implementation.is_factory:
        return [own]
    return [own, *other_amplitudes(context.spec.frequencies)]


@clause(
    id="scaling.amplitude",
    sentence=(
        "Every rotated pair becomes A times as long, once, in q and in k; what A is follows from "
        "the parameters by the rule; channels that do not rotate keep their length."
    ),
    formula=r"|y_i| = A\,|x_i|",
    reference="rope_ref.definition:cos_sin",
    fault="scaling",
    opened_by=_scaled,
    fixed=lambda context: _numbered(
        len(_amplitudes(context)), lambda context: all_positions(context, limit=2**10)
    )(context),
    minimum=50,
    numeric=True,
)
def amplitude(context: CheckContext, case: Case) -> None:
    """Measure the length of pairs, of its own RoPE and of number `parameter` of others."""
    words, rule = _amplitudes(context)[case.parameter]
    try:
        _judged_lengths(context, rule, case, words)
    except CheckFailure as failure:
        spec = replace(context.spec, frequencies=rule)
        if (
            case.parameter
            and failure.fault is None
            and kept_by_width(context, spec, case, (28, 36))
        ):
            failure.fault = "cache"
        raise


def _judged_lengths(context: CheckContext, rule: FrequencyRule, case: Case, words: str) -> None:
    with made_for(context, replace(context.spec, frequencies=rule)) as at_rule:
        if at_rule is None:
            return
        x, positions = at_rule.x(case), at_rule.positions(case)
        judge_length(
            at_rule, x, at_rule.arrays.apply(x, positions), positions, words or "its own parameters"
        )
        if not case.parameter and at_rule.implementation.has("attention"):
            q, k, v = layer_data(at_rule, case)
            rotated = call_layer(at_rule, (q, k, v), positions)[:2]
            for name, before, after in zip("qk", (q, k), rotated, strict=True):
                judge_length(at_rule, before, after, positions, f"its own parameters, in {name}")


def _lengths(context: CheckContext) -> list[Real]:
    """The trained length, its neighbours, half of it, and longer ones."""
    trained = int(context.spec.frequencies.original_length)  # type: ignore[attr-defined]
    some = (trained // 2, trained - 1, trained, trained + 1, 2 * trained - 1, 3 * trained)
    return [n for n in some if n > 0]


@clause(
    id="scaling.length",
    sentence=(
        "A rule that depends on the length changes where the text becomes longer than the trained "
        "length, not before, and goes by the length it is made for, whatever a call holds."
    ),
    formula=r"\theta(q) \ne \theta(L) \;\Rightarrow\; q > L",
    reference="rope_ref.scaling.longrope:LongRoPE.at",
    fault="scaling",
    opened_by=lambda context: (
        _made_for_several(context)
        or (
            None
            if has_length(context.spec.frequencies)
            else "the length plays no part in this rule"
        )
    ),
    fixed=lambda context: _numbered(
        len(_lengths(context)), lambda context: all_positions(context, limit=2**10)
    )(context),
    minimum=50,
    numeric=True,
)
def length(context: CheckContext, case: Case) -> None:
    """Make it for length number `parameter`; a short call near 0, then one to the end."""
    chosen = _lengths(context)[case.parameter]
    rule = context.spec.frequencies.at(chosen)  # type: ignore[attr-defined]
    low, high = context.claim.position_range
    last = min(int(chosen) - 1, high)
    ends = [p for p in (last, last // 2, last - 1, 1) if low <= p <= high]
    with made_for(context, replace(context.spec, frequencies=rule)) as at_length:
        if at_length is None:
            return
        for each in (case, standard_case(context, sorted(set(ends)))):
            x, positions = at_length.x(each), at_length.positions(each)
            y = at_length.arrays.apply(x, positions)
            at_length.demand(
                at_length.judge(y, x, positions), f"wrong where it is made for length {chosen}"
            )


def _others(context: CheckContext) -> Sequence[tuple[str, FrequencyRule]]:
    return list(other_parameters(context.spec.frequencies))


@clause(
    id="scaling.parameters",
    sentence="Every parameter of a scaling counts: RoPEs that differ in one of them differ by it.",
    formula=r"\theta' = f(\theta;\, s, L, \ldots)",
    reference="rope_ref.scaling.scaled_rule:ScaledRule",
    fault="scaling",
    opened_by=_made_for_several,
    fixed=lambda context: _numbered(
        len(_others(context)), lambda context: all_positions(context, limit=_FAR)
    )(context),
    minimum=50,
    numeric=True,
)
def parameters(context: CheckContext, case: Case) -> None:
    """Make it with change number `parameter`, after it was made for its own parameters."""
    words, rule = _others(context)[case.parameter]
    spec = replace(context.spec, frequencies=rule)
    try:
        judged(context, spec, case, f"wrong where it is made for {words}")
    except CheckFailure as failure:
        if failure.fault is None and kept_by_width(context, spec, case, (26, 30, 34, 58, 106)):
            failure.fault = "cache"
        raise

"""Remaps: which frequencies change, by how much, and what becomes of the amplitude.

That the numbers are right as a whole is said by `frequency`. Here a remap is taken apart:
its pairs by what it does to them, whatever the amplitude; the amplitude, whatever the
phases; and its parameters, one changed at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._bands import bands_of, judge_length, judge_turn
from rope_conformance.clauses._common import (
    all_positions,
    made_for,
    numeric_fixed,
    standard_case,
)
from rope_conformance.clauses._kept import judged, kept_by_width
from rope_conformance.clauses._layer import call_layer, layer_data
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.inputs import Case
from rope_conformance.registry import Clause
from rope_conformance.rules import has_length, other_amplitudes, other_parameters
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import Remap, pair_channels
from rope_ref.frequencies import FrequencyRule
from rope_ref.real import Real

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_DIGITS = 40
_SAME = Decimal(10) ** -30  # as a part of theta
_SAMPLES = 100  # twice what a clause judged by the bound needs
_FAR = 2**14  # by then every ramp and every factor shows


def _remapped(trial: Trial) -> str | None:
    if not isinstance(trial.spec.frequencies, Remap):
        return "the frequencies are not remapped"
    return None


def _made_for_several(trial: Trial) -> str | None:
    if not trial.implementation.is_factory:
        return "a plain callable is judged for one spec; a factory is made for several"
    return _remapped(trial)


def _chosen(trial: Trial, band: str) -> npt.NDArray[np.bool_]:
    """The pairs of a band."""
    rule = trial.spec.frequencies
    assert isinstance(rule, Remap)
    return bands_of(rule, trial.spec.rotary_dim)[band]


def _has(band: str) -> Callable[[Trial], str | None]:
    def opened(trial: Trial) -> str | None:
        if reason := _remapped(trial):
            return reason
        return None if _chosen(trial, band).any() else f"no pair is {band}"

    return opened


KEPT = Clause(
    id="scaling.kept",
    sentence="Pairs that a remap leaves alone turn as they do without it.",
    formula=r"\theta'_i = \theta_i",
    reference="rope_ref.yarn:YaRN.real_theta",
    fault="scaling",
    opened_by=_has("kept"),
)

DIVIDED = Clause(
    id="scaling.divided",
    sentence="Pairs that a remap slows down wholly turn at exactly the factor-th part.",
    formula=r"\theta'_i = \theta_i / s",
    reference="rope_ref.remaps:Linear.real_theta",
    fault="scaling",
    opened_by=_has("divided"),
)

BETWEEN = Clause(
    id="scaling.between",
    sentence=(
        "Each other pair is slowed down by an amount of its own: on a ramp the kept and the "
        "divided frequency are blended, not wavelengths; NTK has a power, LongRoPE a factor for "
        "each pair."
    ),
    formula=r"\theta'_i = (1 - g_i)\,\theta_i + g_i\,\theta_i / s",
    reference="rope_ref.remaps:Llama3.real_theta",
    fault="scaling",
    opened_by=_has("between"),
)

STILL = Clause(
    id="scaling.still",
    sentence=(
        "A pair whose theta is 0 stands still at every position: bit for bit where the amplitude "
        "is 1, else times the amplitude."
    ),
    formula=r"\theta_i = 0 \;\Rightarrow\; y_i = A\, x_i",
    reference="rope_ref.remaps:Proportional.real_theta",
    fault="scaling",
    opened_by=_has("still"),
)

AMPLITUDE = Clause(
    id="scaling.amplitude",
    sentence=(
        "Every rotated pair becomes A times as long, once, in q and in k; what A is follows from "
        "the parameters by the rule; channels that do not rotate keep their length."
    ),
    formula=r"|y_i| = A\,|x_i|",
    reference="rope_ref.yarn:YaRN._own_amplitude",
    fault="scaling",
    opened_by=_remapped,
)

LENGTH = Clause(
    id="scaling.length",
    sentence=(
        "A rule that depends on the length changes where the text becomes longer than the trained "
        "length, not before, and goes by the length it is made for, whatever a call holds."
    ),
    formula=r"\theta(q) \ne \theta(L) \;\Rightarrow\; q > L",
    reference="rope_ref.remaps:LongRoPE.at",
    fault="scaling",
    opened_by=lambda trial: (
        _made_for_several(trial)
        or (None if has_length(trial.spec.frequencies) else "the length plays no part in this rule")
    ),
)

PARAMETERS = Clause(
    id="scaling.parameters",
    sentence="Every parameter of a remap counts: RoPEs that differ in one of them differ by it.",
    formula=r"\theta' = f(\theta;\, s, L, \ldots)",
    reference="rope_ref.remaps:Remap",
    fault="scaling",
    opened_by=_made_for_several,
)


def _band(name: str) -> Callable[[Trial], list[Case]]:
    """As many tokens as the pairs of a band need for evidence."""

    def cases(trial: Trial) -> list[Case]:
        count = int(_chosen(trial, name).sum())
        positions = all_positions(trial, limit=_FAR)
        again = -(-_SAMPLES // max(count * len(positions), 1))
        return [standard_case(trial, positions * again)]

    return cases


@KEPT.check(
    fixed=_band("kept"),
    kills=[
        "yarn_ramp_inverted",
        "yarn_betas_exchanged",
        "yarn_halves_the_width_twice",
        "yarn_logarithm_to_base_ten",
        "yarn_length_in_16_bits",
        "yarn_ramp_over_channels",
        "dynamic_divides_every_pair",
        "dynamic_doubles_positions",
        "proportional_over_the_turning_part",
    ],
    minimum=50,
    numeric=True,
)
def kept(trial: Trial, case: Case) -> None:
    """Read the angles of (1, 0) in the pairs that are left alone, whatever their length."""
    judge_turn(trial, case, "kept", "a pair that the remap leaves alone turns at another speed")


@DIVIDED.check(
    fixed=_band("divided"),
    kills=[
        "linear_ignored",
        "linear_twice",
        "yarn_length_of_the_run",
        "yarn_factor_inside_the_power",
        "ntk_power_of_one_less",
        "ntk_by_width_of_head",
        "llama3_factor_of_another_model",
        "llama3_wavelength_without_two_pi",
        "dynamic_in_powers_of_two",
        "proportional_without_factor",
    ],
    minimum=50,
    numeric=True,
)
def divided(trial: Trial, case: Case) -> None:
    """Read the angles of (1, 0) in the pairs that are divided, whatever their length."""
    judge_turn(trial, case, "divided", "a pair is not slowed down by exactly the factor")


@BETWEEN.check(
    fixed=_band("between"),
    kills=[
        "yarn_blends_wavelengths",
        "yarn_truncates_always",
        "yarn_end_within_the_pairs",
        "llama3_blends_wavelengths",
        "llama3_blend_inverted",
        "llama3_factors_exchanged",
        "longrope_ignored",
        "longrope_multiplies",
        "longrope_always_short",
        "longrope_by_capacity",
        "longrope_position_decides",
    ],
    minimum=50,
    numeric=True,
)
def between(trial: Trial, case: Case) -> None:
    """Read the angles of (1, 0) in the other pairs, whatever their length."""
    judge_turn(trial, case, "between", "a pair is not slowed down by the amount that is its own")


@STILL.check(
    fixed=lambda trial: [c for c in numeric_fixed(trial) if c.values == "normal"],
    kills=[
        "still_pairs_creep",
        "proportional_still_pairs_first",
        "proportional_counts_channels",
    ],
    minimum=3,
)
def still(trial: Trial, case: Case) -> None:
    """Look at the pairs that stand still, near 0 and far out."""
    chosen = np.flatnonzero(_chosen(trial, "still"))
    x, positions = trial.x(case), trial.positions(case)
    y = trial.apply(x, positions, strided=case.strided)
    if trial.spec.frequencies.amplitude != 1:
        judgement = trial.judge(y, x, positions)
        others = np.ones(trial.spec.rotary_dim // 2, dtype=bool)
        others[chosen] = False
        only = replace(judgement, bound=np.where(others, np.inf, judgement.bound))
        trial.demand(only, "a pair that stands still changed")
        return
    before = np.asarray(x, np.float64)[..., pair_channels(trial.spec)[:, chosen]]
    after = np.asarray(y, np.float64)[..., pair_channels(trial.spec, output=True)[:, chosen]]
    bad = np.argwhere(~same_numbers(before, after))
    if bad.size:
        row, token, head, which, n = (int(i) for i in bad[0])
        raise CheckFailure(
            f"pair {int(chosen[n])} has theta 0 but its {('first', 'second')[which]} channel "
            f"changed from {float(before[tuple(bad[0])])!r} to {float(after[tuple(bad[0])])!r} "
            f"(row {row}, token {token}, head {head})"
        )


def _numbered(count: int, positions: Callable[[Trial], list[int]]) -> Callable[..., list[Case]]:
    def cases(trial: Trial) -> list[Case]:
        case = standard_case(trial, positions(trial))
        return [replace(case, parameter=n) for n in range(count)]

    return cases


def _amplitudes(trial: Trial) -> list[tuple[str, FrequencyRule]]:
    own = ("", trial.spec.frequencies)
    if not trial.implementation.is_factory:
        return [own]
    return [own, *other_amplitudes(trial.spec.frequencies)]


@AMPLITUDE.check(
    fixed=lambda trial: _numbered(
        len(_amplitudes(trial)), lambda trial: all_positions(trial, limit=2**10)
    )(trial),
    kills=[
        "yarn_amplitude_twice",
        "yarn_without_amplitude",
        "yarn_amplitude_on_queries_only",
        "yarn_amplitude_on_every_channel",
        "yarn_attention_factor_ignored",
        "yarn_attention_factor_times_computed",
        "yarn_amplitude_on_the_phase",
        "yarn_coefficient_fixed",
        "longrope_amplitude_by_log_of_the_new_length",
    ],
    minimum=50,
    numeric=True,
)
def amplitude(trial: Trial, case: Case) -> None:
    """Measure the length of pairs, of its own RoPE and of number `parameter` of others."""
    words, rule = _amplitudes(trial)[case.parameter]
    try:
        _judged_lengths(trial, rule, case, words)
    except CheckFailure as failure:
        spec = replace(trial.spec, frequencies=rule)
        if case.parameter and failure.fault is None and kept_by_width(trial, spec, case, (28, 36)):
            failure.fault = "cache"
        raise


def _judged_lengths(trial: Trial, rule: FrequencyRule, case: Case, words: str) -> None:
    with made_for(trial, replace(trial.spec, frequencies=rule)) as at_rule:
        if at_rule is None:
            return
        x, positions = at_rule.x(case), at_rule.positions(case)
        judge_length(
            at_rule, x, at_rule.apply(x, positions), positions, words or "its own parameters"
        )
        if not case.parameter and at_rule.implementation.has("attention"):
            q, k, v = layer_data(at_rule, case)
            rotated = call_layer(at_rule, (q, k, v), positions)[:2]
            for name, before, after in zip("qk", (q, k), rotated, strict=True):
                judge_length(at_rule, before, after, positions, f"its own parameters, in {name}")


def _lengths(trial: Trial) -> list[Real]:
    """The trained length, its neighbours, half of it, and longer ones."""
    trained = int(trial.spec.frequencies.original_length)  # type: ignore[attr-defined]
    some = (trained // 2, trained - 1, trained, trained + 1, 2 * trained - 1, 3 * trained)
    return [n for n in some if n > 0]


@LENGTH.check(
    fixed=lambda trial: _numbered(
        len(_lengths(trial)), lambda trial: all_positions(trial, limit=2**10)
    )(trial),
    kills=[
        "longrope_one_early",
        "dynamic_below_the_trained_length",
        "dynamic_factor_counted_twice",
        "longrope_chunk_decides",
    ],
    minimum=50,
    numeric=True,
)
def length(trial: Trial, case: Case) -> None:
    """Make it for length number `parameter`; a short call near 0, then one to the end."""
    chosen = _lengths(trial)[case.parameter]
    rule = trial.spec.frequencies.at(chosen)  # type: ignore[attr-defined]
    low, high = trial.claim.position_range
    last = min(int(chosen) - 1, high)
    ends = [p for p in (last, last // 2, last - 1, 1) if low <= p <= high]
    with made_for(trial, replace(trial.spec, frequencies=rule)) as at_length:
        if at_length is None:
            return
        for each in (case, standard_case(trial, sorted(set(ends)))):
            x, positions = at_length.x(each), at_length.positions(each)
            y = at_length.apply(x, positions)
            at_length.demand(
                at_length.judge(y, x, positions), f"wrong where it is made for length {chosen}"
            )


def _others(trial: Trial) -> Sequence[tuple[str, FrequencyRule]]:
    return list(other_parameters(trial.spec.frequencies))


@PARAMETERS.check(
    fixed=lambda trial: _numbered(
        len(_others(trial)), lambda trial: all_positions(trial, limit=_FAR)
    )(trial),
    kills=[
        "factor_in_float16",
        "linear_never_faster",
        "llama3_equal_limits_keep_all",
        "yarn_whole_turns_only",
        "yarn_ramp_begins_before_the_first_pair",
        "yarn_kept_by_base_and_width",
    ],
    minimum=50,
    numeric=True,
)
def parameters(trial: Trial, case: Case) -> None:
    """Make it with change number `parameter`, after it was made for its own parameters."""
    words, rule = _others(trial)[case.parameter]
    spec = replace(trial.spec, frequencies=rule)
    try:
        judged(trial, spec, case, f"wrong where it is made for {words}")
    except CheckFailure as failure:
        if failure.fault is None and kept_by_width(trial, spec, case, (26, 30, 34, 58, 106)):
            failure.fault = "cache"
        raise

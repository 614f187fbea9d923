"""The family `scaling`: what opens it, what it sees, and how faults of scalings are named."""

from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
import rope_ref as rr
from rope_conformance.clauses import all_checks
from rope_conformance.clauses._bands import bands_of
from rope_conformance.diagnosis.likely_cause import likely_cause
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.spec_variants import (
    for_width,
    other_amplitudes,
    other_parameters,
    with_base,
)
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.target.rule_parts import base_below, plain_rule
from rope_conformance.zoo import WRONG
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec
from rope_ref.scaling import (
    NTK,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    YaRN,
)

SCALING = [each for each in all_checks() if each.name.startswith("scaling.")]
NAMES = [each.name for each in SCALING]
ROW = Case(1, 8, 1, (0, 1, 2, 3, 5, 100, 1000, 4000))

PLAIN = PowerLaw(1e4)
LONG = LongRoPE(
    PLAIN,
    short_factors=(1.0,) * 16 + (1.5,) * 16,
    long_factors=tuple(64 ** (i / 31) for i in range(32)),
    original_length=4096,
    factor=32,
)
RULES = {
    "linear": Linear(PLAIN, factor=8),
    "ntk": NTK(PLAIN, alpha=1000),
    "vllm ntk": FixedNTK(PLAIN, factor=4, mixing=0.6),
    "dynamic": DynamicNTK(PLAIN, factor=4, original_length=4096),
    "by parts": NTKByParts(PLAIN, factor=4),
    "yarn": YaRN(PowerLaw(1e6), factor=4, original_length=32768),
    "long": LONG,
    "llama 3": Llama3(PowerLaw(5e5), factor=32),
    "proportional": Proportional(PLAIN, fraction=0.25),
    "proportional over long": Proportional(LONG.at(8192), fraction=0.25),
    "linear over yarn": Linear(YaRN(PLAIN, factor=4, original_length=4096), factor=2),
}


class Reference:
    """rope_ref itself, with every surface that a scaling shows on."""

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        return rr.apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)

    def qkv(self, q, k, v, positions):
        return self.apply_rope(q, positions), self.apply_rope(k, positions), v


def spec_of(rule, **rest):
    """A head of 64 channels."""
    return RopeSpec(64, layout="half", frequencies=rule, **rest)


def verdicts(target, spec):
    """The verdict of each clause of the family."""
    contexts = {
        each.name: run_check(
            each, CheckContext(Implementation(target, spec), "float32"), effort="quick"
        )
        for each in SCALING
    }
    return {name.removeprefix("scaling."): result for name, result in contexts.items()}


# What the family is opened by


def test_it_is_closed_without_a_scaling():
    """Plain and given frequencies have nothing to scale."""
    for rule in (PLAIN, ExplicitFrequencies([1.0] * 32, amplitude=2)):
        found = verdicts(Reference, spec_of(rule))
        assert {r.verdict for r in found.values()} == {"not claimed"}
        assert {r.reason for r in found.values()} <= {"the frequencies are not scaled"}


def test_a_plain_callable_is_judged_for_its_own_parameters():
    """Clauses that make the target for others are closed, and say why."""
    spec = spec_of(RULES["yarn"])
    found = verdicts(lambda x, positions: Reference(spec).apply_rope(x, positions), spec)
    assert found["kept"].verdict == found["amplitude"].verdict == "passed"
    assert found["amplitude"].inputs == 1
    for name in ("parameters", "length"):
        assert found[name].verdict == "not claimed"
        assert found[name].reason.startswith("a plain callable is judged for one spec")


@pytest.mark.parametrize("name", RULES)
def test_the_reference_passes(name):
    """Each clause that a rule opens passes with evidence; the others name what is missing."""
    found = verdicts(Reference, spec_of(RULES[name]))
    assert {r.verdict for r in found.values()} == {"passed", "not claimed"}
    for word, result in found.items():
        if result.verdict == "not claimed":
            assert result.reason in (
                f"no pair is {word}",
                "the length plays no part in this rule",
            )
    assert found["parameters"].verdict == "passed"


def test_several_axes_and_a_scaling_go_together():
    """Multi-axis positions change nothing in what a scaling does."""
    axes = rr.positions.contiguous_axes((8, 12, 12))
    found = verdicts(Reference, spec_of(RULES["yarn"], pair_axes=axes))
    opened = {name for name, r in found.items() if r.verdict == "passed"}
    assert opened == {"kept", "divided", "between", "amplitude", "parameters"}


def test_a_rule_that_the_target_is_not_made_for_is_noted():
    """Unsupported is no failure, and not silent."""

    class Untruncated(Reference):
        def __init__(self, spec):
            if not spec.frequencies.truncate:
                raise rc.Unsupported("it always truncates")
            super().__init__(spec)

    found = verdicts(Untruncated, spec_of(RULES["yarn"]))
    assert found["parameters"].verdict == "passed"
    assert any("it always truncates" in note for note in found["parameters"].notes)


# What the bands are


def test_the_bands_of_qwen():
    """The ramp of Qwen2.5 at factor 4 runs from pair 23 to 40 of 64."""
    found = bands_of(YaRN(PowerLaw(1e6), factor=4, original_length=32768), 128)
    assert np.flatnonzero(found["kept"]).tolist() == list(range(24))
    assert np.flatnonzero(found["divided"]).tolist() == list(range(40, 64))
    assert np.flatnonzero(found["between"]).tolist() == list(range(24, 40))
    assert not found["still"].any()


def test_the_bands_of_other_rules():
    """Linear divides all, NTK keeps the first and divides the last, p-RoPE stops most."""
    assert bands_of(RULES["linear"], 64)["divided"].all()
    ntk = bands_of(RULES["ntk"], 64)
    assert np.flatnonzero(ntk["kept"]).tolist() == [0]
    assert np.flatnonzero(ntk["divided"]).tolist() == [31]
    proportional = bands_of(RULES["proportional"], 64)
    assert np.flatnonzero(proportional["kept"]).tolist() == list(range(8))
    assert np.flatnonzero(proportional["still"]).tolist() == list(range(8, 32))


# Other parameters


@pytest.mark.parametrize("name", RULES)
def test_each_change_changes_the_rule(name):
    """No variant is the rule itself, and all can be used at its width and at another."""
    rule = RULES[name]
    variants = [other for _, other in (*other_parameters(rule), *other_amplitudes(rule))]
    assert variants
    for other in variants:
        assert other != rule
        assert len(other.theta(64)) == 32
        assert len(for_width(other, 26).theta(26)) == 13


def test_the_parameters_of_yarn():
    """Each that frequencies follow from, and each that the amplitude does."""
    words = {w.partition("=")[0] for w, _ in other_parameters(RULES["yarn"])}
    assert words == {"factor", "original_length", "beta_fast", "beta_slow", "truncate"}
    amplitudes = " ".join(w for w, _ in other_amplitudes(RULES["yarn"]))
    amplitude_of = ("attention_factor=1.0", "factor=8", "mscale_all_dim", "coefficient=11/80")
    assert all(w in amplitudes for w in amplitude_of)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (RULES["yarn"], {"limit": "channels"}),
        (YaRN(PLAIN, factor=4, original_length=4096, limit="pairs"), {"limit": "pairs"}),
        (RULES["yarn"], {"beta_slow": 1.0}),
        (RULES["by parts"], {"betas": (1.25, 0.75)}),
        (RULES["by parts"], {"gammas": (16.0, 2.0)}),
        (RULES["by parts"], {"ntk_factor": 1.0}),
        (RULES["by parts"], {"extrapolation_factor": 1.0}),
        (RULES["llama 3"], {"factor": 32.0}),
        (RULES["llama 3"], {"low_freq_factor": 1.0}),
        (RULES["vllm ntk"], {"mixing": 0.6}),
    ],
)
def test_a_parameter_that_is_fixed_is_found(rule, change):
    """Right for the rule itself, and a matter of scaling: nothing is kept from before."""

    class Fixed(Reference):
        def __init__(self, spec):
            if isinstance(spec.frequencies, type(rule)):
                spec = replace(spec, frequencies=replace(spec.frequencies, **change))
            super().__init__(spec)

    report = rc.check(Fixed, spec=spec_of(rule), effort="quick", only=NAMES)
    assert {r.clause for r in report.findings} == {"scaling.parameters"}
    assert report.fault == "scaling"


def test_what_is_kept_from_one_to_the_next_is_a_matter_of_memory():
    """By base and width, whatever the scaling: amplitudes and frequencies alike."""
    made = {}

    class Remembers(Reference):
        def __init__(self, spec):
            key = base_below(spec.frequencies), spec.rotary_dim
            super().__init__(made.setdefault(key, spec))

    report = rc.check(Remembers, spec=spec_of(RULES["yarn"]), effort="quick", only=NAMES)
    found = {r.clause: r.failure.fault for r in report.findings}
    assert found == {"scaling.amplitude": "cache", "scaling.parameters": "cache"}


def test_a_scaling_that_is_wrong_at_some_widths_is_a_matter_of_scaling():
    """No kernel has an edge there, and nothing is kept: the scaling is read differently."""

    class WithinPairs(Reference):
        def __init__(self, spec):
            if isinstance(spec.frequencies, YaRN):
                spec = replace(spec, frequencies=replace(spec.frequencies, limit="pairs"))
            super().__init__(spec)

    rule = YaRN(PLAIN, factor=16, original_length=4096)
    report = rc.check(WithinPairs, spec=spec_of(rule), effort="quick", only=["frequency.widths"])
    assert [r.failure.fault for r in report.findings] == ["scaling"]


def test_a_width_that_is_fixed_is_not_changed():
    """Ladders for each axis fix the width, also where a parameter is found to be wrong."""

    class SecondAxisPlain(Reference):
        def __init__(self, spec):
            super().__init__(spec)
            rule = spec.frequencies
            if isinstance(rule, Linear):
                w, slow = np.array(rule.rule.theta(64)), np.array(rule.theta(64))
                mixed = np.where(np.array(spec.pair_axes) == 0, slow, w)
                self.spec = replace(spec, frequencies=ExplicitFrequencies(mixed.tolist()))

    rule = Linear(rr.scaling.Axial(PLAIN, (32, 32)), factor=2)
    spec = spec_of(rule, pair_axes=rr.positions.axial_axes((32, 32)))
    report = rc.check(SecondAxisPlain, spec=spec, effort="quick", only=NAMES)
    assert not report.doubts
    assert {r.clause for r in report.findings} == {"scaling.divided", "scaling.parameters"}
    assert report.fault == "scaling"
    assert "axis 1 are not divided by the factor 2" in report.findings[0].failure.cause


def test_the_base_is_changed_below_all_scalings():
    """The scaling stays."""
    rule = RULES["linear over yarn"]
    assert plain_rule(rule) == PLAIN
    changed = with_base(rule, 5e5)
    assert (base_below(rule), base_below(changed)) == (1e4, 5e5)
    assert replace(changed, rule=rule.rule) == rule
    assert base_below(ExplicitFrequencies([1.0])) is None


# What a failure is told to be


def context_of(factory, spec, claim=None):
    """The failing input is a row of eight positions."""
    return CheckContext(Implementation(factory, spec, claim), "float32")


NAMED = {
    "yarn_ramp_inverted": "the ramp is inverted",
    "yarn_truncates_always": "YaRN rounding its ends (truncate=True)",
    "yarn_betas_exchanged": "beta_fast and beta_slow are exchanged",
    "yarn_halves_the_width_twice": "the width is halved twice",
    "yarn_logarithm_to_base_ten": "to base ten",
    "yarn_ramp_over_channels": "counted over channels",
    "yarn_blends_wavelengths": "wavelengths are blended",
    "yarn_without_amplitude": "not multiplied by the amplitude 1.138629",
    "yarn_amplitude_twice": "the amplitude is applied twice",
    "yarn_amplitude_on_the_phase": "the amplitude multiplies the phase",
    "yarn_amplitude_on_every_channel": "channels that do not rotate are multiplied",
    "longrope_always_short": "the short factors are used, the text is long",
    "longrope_chunk_decides": "each call decides for itself",
    "longrope_position_decides": "tokens from position 4096 on",
    "linear_twice": "factor 8 is applied twice",
    "ntk_by_width_of_head": "D = head_dim = 64",
    "dynamic_in_powers_of_two": "by steps of powers of two",
    "llama3_wavelength_without_two_pi": "the wavelength lacks 2 pi",
    "llama3_factors_exchanged": "low and high are exchanged",
    "proportional_over_the_turning_part": "the 16 turning channels, not by all 64",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_fault_is_named(name):
    """The cause says what is wrong, and has its class."""
    entry = WRONG[name]
    context = context_of(entry.factory, entry.factory.spec)
    cause = likely_cause(context, ROW, "apply")
    assert NAMED[name] in cause.words
    assert cause.fault == entry.fault


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Llama3(PowerLaw(5e5), factor=8), "Llama 3's rule with factor=8, original_length=8192"),
        (YaRN(PowerLaw(5e5), factor=4, original_length=32768), "YaRN with factor=4"),
        (NTK(PowerLaw(5e5), alpha=8), "NTK with alpha=8"),
        (Linear(PowerLaw(5e5), factor=4), "all frequencies are 0.25 times too large"),
    ],
)
def test_a_scaling_that_was_not_claimed_is_named(made, words):
    """Claimed are plain frequencies."""
    rope = Reference(spec_of(made))
    context = context_of(lambda x, positions: rope.apply_rope(x, positions), spec_of(PowerLaw(5e5)))
    cause = likely_cause(context, ROW, "apply")
    assert words in cause.words
    assert cause.fault == "scaling"


AXES = rr.positions.axial_axes((20, 22, 22))
COSMOS = rr.scaling.Axial((NTK(PLAIN, alpha=2), PLAIN, PLAIN), (20, 22, 22))
SEEN = {
    "another alpha": (RULES["ntk"], NTK(PLAIN, alpha=1001), {}, "that is of alpha=1001"),
    "a plain ladder": (RULES["llama 3"], PowerLaw(7e5), {}, "a power law of base 700000, claimed"),
    "ntk left out": (COSMOS, plain_rule(COSMOS), {"pair_axes": AXES}, "NTK is not applied on axis"),
    "ntk everywhere": (
        COSMOS,
        rr.scaling.Axial(NTK(PLAIN, alpha=2), COSMOS.widths),
        {"pair_axes": AXES},
        "NTK of axis 0 is applied on every axis",
    ),
    "one pair too many": (
        RULES["proportional"],
        Proportional(PLAIN, fraction=9 / 32),
        {},
        "9 of 32 pairs turn, not 8",
    ),
    "a share left out": (
        NTKByParts(PLAIN, factor=4, ntk_factor=0.5),
        RULES["by parts"],
        {},
        "ntk_factor is 1, its usual value, claimed 0.5",
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen_is_named(name):
    """The rule that frequencies are of, where another is claimed."""
    claimed, made, rest, words = SEEN[name]
    rope = Reference(spec_of(made, **rest))
    context = context_of(
        lambda x, positions: rope.apply_rope(x, positions), spec_of(claimed, **rest)
    )
    cause = likely_cause(context, ROW, "apply")
    assert words in cause.words
    assert cause.fault == "scaling"


MOVED = {
    "rounded": (lambda p: np.rint(p / 8) * 8, "divided by 8 and rounded to whole numbers"),
    "beyond": (lambda p: np.where(p < 2048, 8 * p, p), "positions below 2048 are not divided"),
}


@pytest.mark.parametrize("name", MOVED)
def test_positions_that_are_divided_otherwise_are_named(name):
    """Rounded afterwards, or only behind a length."""
    moved, words = MOVED[name]
    spec = spec_of(RULES["linear"])
    context = context_of(lambda x, p: Reference(spec).apply_rope(x, moved(p)), spec)
    cause = likely_cause(context, ROW, "apply")
    assert words in cause.words
    assert cause.fault == "scaling"


def test_pairs_that_come_out_as_0_are_named():
    """They stand still, so they must stay as they are."""
    spec = spec_of(RULES["proportional"])

    def dropped(x, positions):
        y = Reference(spec).apply_rope(x, positions)
        y[..., 8:32], y[..., 40:64] = 0, 0
        return y

    cause = likely_cause(context_of(dropped, spec), ROW, "apply")
    assert (cause.words, cause.fault) == ("pairs that should stand still come out as 0", "scaling")


def test_two_faults_are_named_together():
    """The ramp is inverted, and the amplitude is missing: as one package has it."""
    rule = YaRN(PowerLaw(1e6), factor=4, original_length=32768)
    plain, slow = np.array(plain_rule(rule).theta(64)), np.array(rule.theta(64))
    inverted = ExplicitFrequencies((plain + plain / 4 - slow).tolist())
    rope = Reference(spec_of(inverted))
    context = context_of(lambda x, positions: rope.apply_rope(x, positions), spec_of(rule))
    cause = likely_cause(context, ROW, "apply")
    assert "the ramp is inverted" in cause.words
    assert "not multiplied by the amplitude" in cause.words
    assert cause.fault == "scaling"


def test_frequencies_of_no_known_rule_are_a_matter_of_scaling():
    """Where a scaling is claimed and nothing explains what is seen."""
    rule = RULES["yarn"]
    odd = ExplicitFrequencies(
        [w * (1 + 0.01 * i) for i, w in enumerate(rule.theta(64))], amplitude=rule.amplitude
    )
    rope = Reference(spec_of(odd))
    context = context_of(lambda x, positions: rope.apply_rope(x, positions), spec_of(rule))
    cause = likely_cause(context, ROW, "apply")
    assert "those of no known ladder" in cause.words
    assert cause.fault == "scaling"

"""The surface `config`: what is read rightly or refused passes, what is taken wrongly does not."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
import rope_ref
from rope_conformance.inputs.configs import (
    ModelConfig,
    config,
    key_configs,
    name_configs,
    plain_configs,
    wrong_configs,
)
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.zoo import CONTROLS
from rope_ref import RopeSpec, apply_rope, spec_from_hf_config
from rope_ref.errors import ConfigError

NAMES = ["config.plain", "config.keys", "config.names", "config.refused"]
READER = CONTROLS["config_read"].factory


def verdicts(target, **options):
    report = rc.check(target, only=NAMES, **options)
    return {result.clause: result.verdict for result in report.results}


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_an_honest_reader_passes_in_either_layout(layout):
    """All four clauses, for models of its own pair layout."""
    assert set(verdicts(READER, spec=RopeSpec(64, layout=layout)).values()) == {"passed"}


def test_the_reference_itself_passes():
    """from_hf_config reads, and refuses, what the clauses hand over."""

    class Reference:
        def __init__(self, spec):
            self.spec = spec

        def apply_rope(self, x, positions):
            return apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)

        def from_config(self, mapping):
            return Reference(spec_from_hf_config(mapping))

    assert set(verdicts(Reference).values()) == {"passed"}


def test_who_refuses_all_scalings_passes_with_notes():
    """To refuse what one does not know is right; it is said."""

    class PlainOnly(READER):
        def kind(self, scaling):
            if super().kind(scaling) != "default":
                raise NotImplementedError("no scaling here")
            return "default"

    report = rc.check(PlainOnly, only=NAMES)
    assert not report.findings
    assert {r.clause: r.verdict for r in report.results}["config.keys"] == "passed"


def test_who_refuses_a_plain_config_fails():
    """A config without scaling is what every reader must read."""

    class Nothing(READER):
        def from_config(self, config):
            raise NotImplementedError("no configs here")

    assert verdicts(Nothing)["config.plain"] == "error"


def test_without_from_config_the_surface_is_closed():
    """Not claimed, and so not counted."""

    def rope(x, positions):
        return x

    report = rc.check(rope, spec=RopeSpec(64, layout="half"), only=["config.plain"])
    assert [r.verdict for r in report.results] == ["not claimed"]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_what_is_handed_over_means_what_it_should(layout):
    """Good configs have a RoPE, bad ones none, and each key in question changes theta."""
    for case in plain_configs(layout) + key_configs(layout) + name_configs(layout):
        spec = case.spec()
        assert spec.layout == layout
        other = case.spec_unheeded()
        if other is not None and other.rotary_dim == spec.rotary_dim:
            same = np.array_equal(spec.theta(), other.theta())
            assert not same or spec.frequencies.amplitude != other.frequencies.amplitude, case.about
    for case in wrong_configs(layout):
        with pytest.raises(ConfigError):
            case.spec()
        assert case.spec_unheeded() is None or case.about.startswith("rope_scaling[")


def test_an_input_is_rebuilt_from_its_text():
    """So that a failure can be shown and repeated."""
    content = {"model_type": "llama", "rope_theta": 1.5}
    case = config(content, "rope_theta", content, "told", then={"rope_theta": 2.0})
    assert rebuild(repr(case)) == case
    assert isinstance(case, ModelConfig)
    assert case.mapping() == json.loads(case.text)


def findings(target, clause):
    report = rc.check(target, spec=RopeSpec(64, layout="half"), only=[clause])
    (result,) = report.results
    return result


def test_a_failure_says_what_is_wanted_and_what_came():
    """The RoPE that the config means, the key in question, and the first bad pair."""

    class Halved(READER):
        def rule(self, kind, plain, scaling, config):
            found = super().rule(kind, plain, scaling, config)
            return rope_ref.scaling.Linear(found, factor=2) if kind == "linear" else found

    message = findings(Halved, "config.keys").failure.message
    assert message.startswith("the config means head_dim=64, rotary_dim=64, Linear(")
    assert "(the key in question: rope_scaling['factor']=3.0), but what from_config" in message
    assert "turns otherwise, at position 1, pair 0, channel 0" in message
    assert "got " in message
    assert "want " in message


def test_long_lists_are_not_printed_in_full():
    """LongRoPE has a number for each pair."""

    class Doubled(READER):
        def rule(self, kind, plain, scaling, config):
            if kind == "longrope":
                scaling = scaling | {"short_factor": [2 * f for f in scaling["short_factor"]]}
            return super().rule(kind, plain, scaling, config)

    assert "short_factors=(2.0, ...)" in findings(Doubled, "config.keys").failure.message


class FollowsTheCall(READER):
    """Has the frequencies for the text of each call, as far as it reaches."""

    def apply_rope(self, x, positions):
        rule = self.spec.frequencies
        if hasattr(rule, "original_length") and hasattr(rule, "at"):
            rule = rule.at(int(np.max(positions)) + 1)
        return READER(replace(self.spec, frequencies=rule)).apply_rope(x, positions)


def test_a_long_text_may_follow_the_call_or_stay():
    """from_config is told of no length; but the long factors are those of the config."""

    class Doubled(FollowsTheCall):
        def rule(self, kind, plain, scaling, config):
            if kind == "longrope":
                scaling = scaling | {"long_factor": [2 * f for f in scaling["long_factor"]]}
            return super().rule(kind, plain, scaling, config)

    class Plain(FollowsTheCall):
        def rule(self, kind, plain, scaling, config):
            return super().rule("default" if kind == "dynamic" else kind, plain, scaling, config)

    assert findings(FollowsTheCall, "config.keys").verdict == "passed"
    assert findings(Plain, "config.keys").verdict == "passed"  # as one that stays
    assert findings(Doubled, "config.keys").verdict == "failed"


def test_who_heeds_a_key_that_systems_read_in_their_own_ways_passes():
    """attn_factor multiplies the amplitude in some, and is another name for it in others."""

    class Heeds(READER):
        def look(self, kind, scaling):
            if (factor := scaling.pop("attn_factor", None)) is not None:
                scaling["attention_factor"] = factor
            super().look(kind, scaling)

    assert findings(Heeds, "config.refused").verdict == "passed"


class Renames(READER):
    """Moves what was read within the mapping, by which it means the same."""

    def from_config(self, config):
        made = super().from_config(config)
        if (old := config.pop("rope_scaling", None)) is not None:
            config["rope_parameters"] = old
        return made


class Eats(READER):
    def from_config(self, config):
        made = super().from_config(config)
        config.pop("rope_theta", None)
        return made


def test_the_mapping_may_be_rewritten_but_not_eaten():
    """It must mean the same RoPE afterwards."""
    assert set(verdicts(Renames).values()) == {"passed"}
    result = findings(Eats, "config.plain")
    assert "changed the mapping it was given" in result.failure.message


class Lazy(READER):
    """Reads when it is asked to rotate."""

    later = None

    def from_config(self, config):
        made = super().from_config(config)
        made.later = config
        return made

    def apply_rope(self, x, positions):
        if self.later is None:
            return super().apply_rope(x, positions)
        return READER(self.spec).from_config(self.later).apply_rope(x, positions)


class Shared(READER):
    """All that were read from one are what was read last, where the width is the same."""

    def __init__(self, spec):
        super().__init__(spec)
        self.read = {}

    def from_config(self, config):
        made = super().from_config(config)
        self.read[made.spec.head_dim] = made.theta
        made.read = self.read
        made.made = True
        return made

    def apply_rope(self, x, positions):
        if hasattr(self, "made"):
            self.theta = self.read[self.spec.head_dim]
        return super().apply_rope(x, positions)


@pytest.mark.parametrize(
    ("target", "fault", "words"),
    [(Lazy, "aliasing", "the caller changed the mapping"), (Shared, "cache", "a second config")],
)
def test_what_was_read_stays_what_it_was(target, fault, words):
    """Neither the caller's mapping nor another config makes it another RoPE."""
    result = findings(target, "config.plain")
    assert result.failure.fault == fault
    assert words in result.failure.message

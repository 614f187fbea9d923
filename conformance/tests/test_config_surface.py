"""The surface `config`: what is read rightly or refused passes, what is taken wrongly does not."""

import json

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import config as clauses
from rope_conformance.configs import ModelConfig, config
from rope_conformance.implementation import Implementation
from rope_conformance.search import rebuild
from rope_conformance.trial import Trial, default_profile
from rope_conformance.wrong import CONTROLS
from rope_ref import RopeSpec, apply_rope
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
            return Reference(RopeSpec.from_hf_config(mapping))

    assert set(verdicts(Reference).values()) == {"passed"}


def test_who_refuses_all_scalings_passes_with_notes():
    """To refuse what one does not know is right; it is said."""

    class PlainOnly(READER):
        def kind(self, scaling):
            if super().kind(scaling) != "default":
                raise NotImplementedError("no scaling here")
            return "default"

    report = rc.check(PlainOnly, only=NAMES)
    assert report.passed or not report.findings
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


def cases(spec):
    made = Implementation(READER, spec)
    trial = Trial(made, "float32", default_profile(made.claim, "float32"))
    return {
        clause: getattr(clauses, f"_{clause}")(trial)
        for clause in ("plain", "keys", "names", "wrong")
    }


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_what_is_handed_over_means_what_it_should(layout):
    """Good configs have a RoPE, bad ones none, and each key in question changes theta."""
    found = cases(RopeSpec(64, layout=layout))
    for case in found["plain"] + found["keys"] + found["names"]:
        spec = case.spec()
        assert spec.layout == layout
        other = case.spec_unheeded()
        if other is not None and other.rotary_dim == spec.rotary_dim:
            same = np.array_equal(spec.theta(), other.theta())
            assert not same or spec.frequencies.amplitude != other.frequencies.amplitude, case.about
    for case in found["wrong"]:
        with pytest.raises(ConfigError):
            case.spec()


def test_an_input_is_rebuilt_from_its_text():
    """So that a failure can be shown and repeated."""
    case = config({"model_type": "llama", "rope_theta": 1.5}, "rope_theta")
    assert rebuild(repr(case)) == case
    assert isinstance(case, ModelConfig)
    assert case.mapping() == json.loads(case.text)

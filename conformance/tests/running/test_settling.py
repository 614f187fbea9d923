"""What a target is judged as: what is asked, what it says, what trying it shows."""

from pathlib import Path

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.running.settings import OptionError, TargetOptions
from rope_conformance.running.settling import settle
from rope_conformance.running.unclaimed import discover_facts
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation
from rope_ref import PowerLaw, RopeError, RopeSpec, apply_rope

EXAMPLES = Path(__file__).parents[3] / "examples"


def judged_as(target, **asked):
    """What a target is judged as by what is asked."""
    return settle(target, TargetOptions(**asked))[1]


def test_only_what_is_given_overrides_what_the_target_says():
    """A target's own spec and claim hold where no option says otherwise."""
    target = zoo.WRONG["exponent_over_head_dim"].factory
    settled = judged_as(target)
    assert (settled.spec, settled.claim) == (target.spec, target.claim)
    settled = judged_as(target, base=500.0, profile="exact", position_range="-5:5", real=True)
    assert settled.spec == RopeSpec(64, layout="half", rotary_dim=32, frequencies=PowerLaw(500))
    assert settled.claim == Claim(
        profile="exact", position_range=(-5, 5), position_kinds=("integer", "real")
    )


def test_parts_of_a_spec_that_follow_others_go_along():
    """A new width or layout takes the rotating width and the output layout with it."""
    target = zoo.WRONG["base_wrong"].factory
    spec = judged_as(target, head_dim=96, layout="interleaved").spec
    assert spec == RopeSpec(96, layout="interleaved")


def test_what_is_not_given_is_found_by_trying():
    """Without options the layout, the width and positions per row are read from the target."""
    namespace: dict = {}
    exec("import numpy as np\n" + (EXAMPLES / "my_rope.py").read_text("utf-8"), namespace)
    rope = namespace["apply_rope"]

    def only_64(x, positions):
        assert x.shape[-1] == 64, "64 channels"
        return rope(x, positions)

    settled = judged_as(only_64)
    assert settled.spec == RopeSpec(64, layout="half")
    assert settled.claim.position_forms == ("t", "bt")
    assert [fact.what for fact in settled.facts] == ["head_dim", "layout"]
    assert judged_as(only_64, positions="t").claim.position_forms == ("t",)


def test_rows_that_are_refused_in_one_shape_are_not_judged():
    """A function of positions (T,) that takes some (B, T) and raises for others is right."""
    spec = RopeSpec(8, layout="half")

    def in_blocks(x, positions):
        parts = []
        for start in range(0, x.shape[1], 7):
            piece = slice(start, start + 7)
            parts.append(rotated(x[:, piece], positions[piece]))
        return np.concatenate(parts, axis=1)

    def rotated(x, positions):
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    assert judged_as(in_blocks, layout="half", head_dim=8).claim.position_forms == ("t",)
    report = rc.check(in_blocks, spec=spec, effort="quick", only=("frequency.rows",))
    assert [result.verdict for result in report.results] == ["not claimed"]
    rows = [each for each in all_checks() if each.name == "frequency.rows"]
    (fact,) = discover_facts(Implementation(in_blocks, spec, Claim()), {}, rows)
    assert fact.what == "positions (B, T)"
    assert fact.text.startswith("not taken: raises ")
    assert not fact.warn


def test_pairs_that_come_out_in_another_layout_are_told_with_a_warning():
    """Found by trying it is taken for meant, and said to be a fault if it is not."""
    spec = RopeSpec(8, layout="half", output_layout="interleaved")

    def mixed(x, positions):
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    (fact,) = (f for f in judged_as(mixed, head_dim=8).facts if f.what == "layout")
    assert fact.warn
    assert "another layout than they went in" in fact.text


def test_options_that_cannot_be_are_refused():
    """What no option may be is an OptionError, and what no RoPE may be a RopeError."""
    with pytest.raises(OptionError):
        judged_as(lambda x, positions: x, profile="precise")
    with pytest.raises(RopeError):
        judged_as(lambda x, positions: x, layout="half", head_dim=8, rotary_dim=3)

"""Maps declared to be no rotations are judged by their own definition, and by no other."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import rope_conformance as rc
import rope_ref as rr
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_conformance.accuracy.two_angle import judge_two_angles
from rope_conformance.clauses import all_checks
from rope_conformance.cli.commands import rope_ref
from rope_conformance.target.claim import ClaimError
from rope_conformance.target.implementation import Implementation, TargetError
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.parts import crossed

FIRST, SECOND = rr.extensions.crossed_ropes(rr.RopeSpec(16, layout="interleaved"))
DECLARED = rc.Claim(second_channels=SECOND, dtypes=("float64",), position_forms=("t", "bt"))


def declared_map(x, positions):
    """The reference's own, as a plain function."""
    return rr.extensions.apply_channel_ropes(x, positions, FIRST, SECOND, axes="bthd")


def verdicts(report):
    return {result.clause: result.verdict for result in report.results}


def test_a_plain_function_with_a_declaration_is_judged():
    """What holds for any map is judged; what holds for rotations only says why it is not."""
    report = rc.check(declared_map, spec=FIRST, claim=DECLARED, effort="quick")
    assert report.passed
    found = verdicts(report)
    passed = {name for name, verdict in found.items() if verdict == "passed"}
    assert {"channels.values", "frequency.rows", "rotation.linear", "data.kept"} <= passed
    assert set(found.values()) == {"passed", "not claimed"}
    reasons = {r.clause: r.reason for r in report.results}
    assert reasons["rotation.norm"] == reasons["score.offset"] == "declared to be no rotation"
    assert report.tightest_profile == "exact"


def test_the_same_function_without_a_declaration_is_a_wrong_rotation():
    """Lengths change and scores depend on more than distances."""
    spec, claim = rr.RopeSpec(16, layout="interleaved"), replace(DECLARED, second_channels=None)
    report = rc.check(declared_map, spec=spec, claim=claim, effort="quick")
    failed = {r.clause for r in report.findings}
    assert {"rotation.norm", "score.offset", "frequency.ladder"} <= failed
    assert report.fault == "layout"


def test_a_rotation_opens_no_clause_of_declared_maps():
    """The clause says why it is closed."""
    report = rc.check(CONTROLS["float32_power"].factory, only=["channels.values"], effort="quick")
    assert [(r.verdict, r.reason) for r in report.results] == [
        ("not claimed", "claimed to be a rotation")
    ]


def test_clauses_for_any_map_do_not_speak_of_rotations():
    """No clause about angles, lengths of pairs or scores is among them."""
    names = {check.name for check in all_checks() if check.clause.any_map}
    assert {name.partition(".")[0] for name in names} == {
        "frequency", "rotation", "passthrough", "axes", "channels", "independence", "data",
        "objects",
    }  # fmt: skip
    assert not names & {"frequency.ladder", "frequency.phase", "rotation.norm", "rotation.compose"}


@pytest.mark.parametrize("name", ["crossed_in_blocks", "crossed_halves"])
def test_honest_declared_maps_pass_over_seeds(name, seeds):
    """And come near what the bound allows."""
    for seed in seeds:
        report = rc.check(CONTROLS[name].factory, effort="quick", seed=seed)
        assert report.passed, (seed, report.findings)
        assert 0.3 <= report.largest_ratio <= 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rotation_for_crossed", "it is a rotation, each pair has one angle"),
        ("crossed_through_all_blocks", "channels have each other's angles"),
        ("channels_exchanged", "the first channel of pair 0 turns by 0.01 at position 1, not by 1"),
        ("crossed_with_another_base", "turns by 0.733825 at position 1, not by 0.749894"),
    ],
)
def test_another_map_is_told_in_words(name, words):
    """And by its class."""
    report = rc.check(WRONG[name].factory, effort="quick")
    assert report.fault == WRONG[name].fault
    assert all(words in r.failure.cause for r in report.findings)


def test_other_axes_are_told_apart_from_other_angles():
    """The angles are right where all axes have one position."""
    specs = [rr.RopeSpec(16, layout="half", pair_axes=axes) for axes in ((0, 1) * 4, (1, 0) * 4)]

    def exchanged(x, positions):
        return rr.extensions.apply_channel_ropes(x, positions, *specs[::-1], axes="bthd")

    claim = replace(DECLARED, second_channels=specs[1])
    report = rc.check(exchanged, spec=specs[0], claim=claim, effort="quick")
    assert report.fault == "multi-axis"
    causes = {r.failure.cause for r in report.findings}
    assert causes == {"right where positions are equal on all axes: channels follow other axes"}


def test_each_channel_has_the_bound_of_its_own_angle():
    """An error that the fast channel of a pair may have fails in the slow one."""
    slow, fast = rr.ExplicitFrequencies([1e-6, 1e-6]), rr.ExplicitFrequencies([1.0, 1.0])
    specs = tuple(rr.RopeSpec(4, layout="half", frequencies=rule) for rule in (slow, fast))
    x, p = np.ones((1, 1, 1, 4)), np.array([1000])
    y = rr.extensions.apply_channel_ropes(x, p, *specs, axes="bthd")
    profile = profile_named("float32")
    allowed = judge(y, x, p, specs[1], "float32", profile).bound.min() * 2.0**-24
    for channels, right in (((2, 3), True), ((0, 1), False)):
        off = y.copy()
        off[..., channels] += 0.9 * allowed
        *_, worse = judge_two_angles(off, x, p, specs, "float32", profile)
        assert bool((worse.ratio <= 1).all()) is right
    exact = judge_two_angles(y, x, p, specs, "float32", profile)
    assert max(each.ratio.max() for each in exact) < 1e-6
    np.testing.assert_allclose(exact[2].want, y, rtol=1e-15)


def test_the_declaration_is_in_the_report():
    """As a spec, by the schema; and null for a rotation."""
    report = rc.check(declared_map, spec=FIRST, claim=DECLARED, only=["channels.values"])
    data = json.loads(report.to_json())
    schema = (files("rope_conformance.report") / "report.schema.json").read_text("utf-8")
    jsonschema.validate(data, json.loads(schema))
    assert data["claim"]["second_channels"]["frequencies"] == repr(SECOND.frequencies)
    plain = rc.check(CONTROLS["float32_power"].factory, only=["data.kept"])
    assert json.loads(plain.to_json())["claim"]["second_channels"] is None


def test_it_can_be_judged_in_a_process_of_its_own():
    """The definition goes there with the claim."""
    report = rc.check(
        "rope_conformance.zoo:crossed_halves",
        only=["channels.values"],
        options=rc.RunOptions(isolate=True),
    )
    assert report.passed
    wrong = rc.check(
        "rope_conformance.zoo:rotation_for_crossed",
        only=["channels.values"],
        options=rc.RunOptions(isolate=True),
    )
    assert wrong.fault == "layout"


def test_the_command_judges_it():
    """By the claim that it carries."""
    target = "rope_conformance.zoo:crossed_in_blocks"
    done = CliRunner().invoke(rope_ref, ["check", target, "--effort", "quick"])
    assert done.exit_code == 0, done.output
    assert "declared to be no rotation" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("target", "second", "words"),
    [
        (declared_map, replace(FIRST, layout="half"), "same pairs"),
        (declared_map, rr.RopeSpec(32, layout="interleaved"), "same head_dim"),
        (type("Table", (), {"apply_cos_sin": None, "spec": FIRST}), SECOND, "no implementation"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(target, second, words):
    """Before anything is judged."""
    with pytest.raises(TargetError, match=words):
        Implementation(target, FIRST, replace(DECLARED, second_channels=second))


def test_a_table_consumer_cannot_be_declared():
    """What tables a caller would give to it is not defined."""

    class Consumer:
        def apply_cos_sin(self, x, cos, sin):
            return x

    with pytest.raises(TargetError, match="takes tables from its caller"):
        Implementation(Consumer(), FIRST, DECLARED)


def test_a_claim_takes_a_spec_only():
    """Not, say, a frequency rule."""
    with pytest.raises(ClaimError, match="second_channels=.*a RopeSpec, or None"):
        rc.Claim(second_channels=rr.PowerLaw())


def test_both_ways_of_crossing_are_in_the_zoo():
    """Halves repeated under neighbours, entries repeated under halves."""
    assert (crossed.BLOCKS.layout, crossed.HALVES.layout) == ("interleaved", "half")

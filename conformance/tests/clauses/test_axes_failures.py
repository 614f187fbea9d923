"""What a failure says where positions have several axes."""

import json
from importlib import resources

import jsonschema
import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import WRONG
from rope_ref import RopeSpec
from rope_ref.positions import (
    contiguous_axes,
)

CHECKS = {check.name: check for check in all_checks()}
SECTIONS = RopeSpec(16, layout="half", pair_axes=contiguous_axes((2, 3, 3)))
ROWS = rc.Claim(position_forms=("t", "bt"))


def test_a_failure_names_the_position_on_each_axis_and_the_axis_that_the_pair_follows(reference):
    """In the message, in the report, and in the report read back."""

    def rope(x, positions):
        y = reference(SECTIONS)(x, positions)
        y[..., 4] *= np.float32(1.01)  # pair 4 follows axis 1
        return y

    report = rc.check(rope, spec=SECTIONS, effort="quick", only=["axes.order"])
    failure = report.findings[0].failure
    position = failure.spot["place"]
    assert len(position) == 3
    assert failure.spot["axis"] == 1
    assert failure.spot["position"] == position[1]
    numbers = ", ".join(str(int(each)) for each in position)
    assert f"position ({numbers}), pair 4 follows axis 1, channel 4 (row" in failure.message
    text = (
        resources.files("rope_conformance.report").joinpath("report.schema.json").read_text("utf-8")
    )
    spots = {"$ref": "#/$defs/spot", "$defs": json.loads(text)["$defs"]}
    jsonschema.Draft202012Validator(spots).validate(json.loads(json.dumps(failure.spot)))
    again = rc.Report.from_dict(json.loads(report.to_json()))
    assert again.findings[0].failure.spot == failure.spot | {"place": list(position)}


def test_an_axis_that_no_pair_follows_has_no_number(reference):
    """It is not known to the judgement."""
    spec = RopeSpec(8, layout="half", pair_axes=(0, 2, 2, 0))

    def rope(x, positions):
        return -reference(spec)(x, positions)

    report = rc.check(rope, spec=spec, effort="quick", only=["axes.order"])
    assert ", -, " in report.findings[0].failure.message
    assert report.findings[0].failure.spot["place"][1] is None


@pytest.mark.parametrize("name", ["turns_for_sections", "rows_for_axes", "ladder_for_each_axis"])
def test_the_input_that_a_failure_shows_fails_again(name):
    """The text rebuilds it, and the check fails on it, at the same position."""
    factory = WRONG[name].factory
    implementation = Implementation(factory, factory.spec, factory.claim)
    check = CHECKS["axes.order"]
    context = CheckContext(implementation, "float32")
    result = run_check(check, context, effort="quick")
    case = rebuild(result.failure.case)
    assert isinstance(case, Case)
    with pytest.raises(CheckFailure) as again:
        check.body(context, case)
    assert str(again.value) == result.failure.message


def test_scores_are_told_with_the_positions_of_query_and_key(reference):
    """One for each axis."""

    class Rope:
        def __init__(self, spec):
            self.spec = spec

        def apply_rope(self, x, positions):
            return reference(self.spec)(x, positions)

        def logits(self, q, k, q_positions, k_positions):
            q, k = self.apply_rope(q, q_positions), self.apply_rope(k, k_positions)
            k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
            return np.einsum("bqhd,bkhd->bhqk", q, k) + np.float32(1e-2)

    report = rc.check(Rope, spec=SECTIONS, claim=ROWS, effort="quick", only=["logits.values"])
    message = report.findings[0].failure.message
    assert message.count("at position (") == 2

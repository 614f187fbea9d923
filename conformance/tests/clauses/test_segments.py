"""Positions of text, images and videos in one sequence: what is asked, and what is found."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import rope_conformance as rc
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.inputs.segments import Prompt, drawn_prompts, fixed_prompts
from rope_conformance.zoo import WRONG
from rope_conformance.zoo.parts.segments import Segments
from rope_ref import RopeSpec
from rope_ref.positions import GridSegment, TextSegment, multimodal_positions

SPEC = RopeSpec(64, layout="half")
BOTH = ("segments.grid", "segments.next")


def failures(target):
    report = rc.check(target, spec=SPEC, effort="quick", only=list(BOTH))
    return {each.clause: each.failure for each in report.findings if each.failure}


class Reference(Segments):
    """The reference's own positions."""

    rule = "maximum"

    def segment_positions(self, segments):
        return multimodal_positions(segments, next_position=self.rule)


def test_the_reference_passes_with_one_reading_and_not_with_the_other():
    assert failures(Reference) == {}

    class Extent(Reference):
        rule = "extent"

    found = failures(Extent)
    assert set(found) == {"segments.next"}
    assert found["segments.next"].fault == "multi-axis"


def test_a_failure_is_shown_on_one_video_and_a_token_behind_it():
    case = rebuild(failures(WRONG["text_behind_rows_and_columns"].factory)["segments.next"].case)
    grid, last = case.segments
    assert isinstance(grid, GridSegment)
    assert grid.frames > 1
    assert last == TextSegment(1)


@pytest.mark.parametrize(
    ("name", "clause", "words"),
    [
        ("image_in_front_begins_at_1", "next", "begins at 1 .*, must begin at 0: nothing stands"),
        ("image_over_the_image_before", "next", "the grid of segment 1 begins at 0"),
        ("intervals_added_up", "grid", r"is \d from where that begins on axis 0, must be \d"),
        ("merge_always_2", "grid", r"returned shape \(3, \d+\), must be"),
    ],
)
def test_what_a_failure_says(name, clause, words):
    failure = failures(WRONG[name].factory)[f"segments.{clause}"]
    assert re.search(words, failure.message), failure.message
    assert failure.fault == "multi-axis"


def test_prompts_that_no_public_model_sees_may_be_refused_and_others_not():
    """Grids that touch, and merges other than 2: noted, and no input. Any other is a failure."""

    class Refuses(Reference):
        def segment_positions(self, segments):
            if Prompt(tuple(segments)).refusable:
                raise rc.Unsupported("one merge, and marks around images")
            return super().segment_positions(segments)

    report = rc.check(Refuses, spec=SPEC, effort="quick", only=list(BOTH))
    whole = rc.check(Reference, spec=SPEC, effort="quick", only=list(BOTH))
    for result, all_of_them in zip(report.results, whole.results, strict=True):
        assert result.verdict == "passed"
        assert result.notes == ("some prompts are refused: one merge, and marks around images",)
        assert 5 <= result.inputs < all_of_them.inputs

    class RefusesImages(Reference):
        def segment_positions(self, segments):
            if isinstance(segments[0], GridSegment):
                raise rc.Unsupported("text first")
            return super().segment_positions(segments)

    for failure in failures(RefusesImages).values():
        assert "raised Unsupported inside its claim: text first" in failure.message
        assert not rebuild(failure.case).refusable


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p[1:], r"returned shape \(2, \d+\), must be \(3, \d+\): time, row and column"),
        (lambda p: p.astype(float), "returned ndarray of float64, must be integers"),
        (lambda p: [[0], [0, 1]], "returned list, of which no array can be made"),
    ],
)
def test_what_is_no_answer_is_said(change, words):
    class Odd(Reference):
        def segment_positions(self, segments):
            return change(super().segment_positions(segments))

    found = failures(Odd)
    assert set(found) == set(BOTH)
    for failure in found.values():
        assert re.search(words, failure.message), failure.message


def test_prompts_are_rebuilt_from_their_text_and_have_smaller_ones():
    for prompt in fixed_prompts():
        assert rebuild(repr(prompt)) == prompt
        assert all(each.size() <= prompt.size() for each in prompt.smaller(None))
        assert len({each.merge for each in grids(prompt)}) <= 1


def grids(prompt):
    return [each for each in prompt.segments if isinstance(each, GridSegment)]


def test_fixed_prompts_begin_and_end_with_grids_and_hold_grids_that_touch():
    prompts = [prompt.segments for prompt in fixed_prompts()]
    assert any(isinstance(each[0], GridSegment) and each[0].frames == 1 for each in prompts)
    assert any(isinstance(each[0], GridSegment) and each[0].frames > 1 for each in prompts)
    assert any(isinstance(each[-1], GridSegment) for each in prompts)
    touching = {
        (one.frames > 1, other.frames > 1)
        for each in prompts
        for one, other in pairwise(each)
        if isinstance(one, GridSegment) and isinstance(other, GridSegment)
    }
    assert len(touching) == 4
    assert {each.merge for prompt in fixed_prompts() for each in grids(prompt)} == {1, 2, 3}


def test_empty_text_is_given_to_those_who_take_it():
    empty = [prompt for prompt in fixed_prompts() if TextSegment(0) in prompt.segments]
    assert empty
    for prompt in empty:
        assert prompt.inside(rc.Claim(empty=True))
        assert not prompt.inside(rc.Claim())
    report = rc.check(Reference, spec=SPEC, effort="quick", claim=rc.Claim(empty=True), only=BOTH)
    assert [result.verdict for result in report.results] == ["passed", "passed"]


def test_time_is_the_same_in_float64_in_float32_and_in_exact_numbers():
    """Where these differ, as at 100 times 0.29, honest readers do too, and nothing is asked."""
    for grid in (each for prompt in fixed_prompts() for each in grids(prompt)):
        want = [math.floor(n * grid.interval) for n in range(grid.frames)]
        for kind in (np.float64, np.float32):
            time = np.arange(grid.frames, dtype=kind) * kind(float(grid.interval))
            assert time.astype(int).tolist() == want
        assert np.unique(grid.positions()[0]).tolist() == sorted(set(want))


def test_fixed_prompts_hold_a_video_longer_than_wide_and_an_interval_that_is_no_integer():
    every = [each for prompt in fixed_prompts() for each in grids(prompt)]
    assert any(np.ptp(grid.positions()[0]) > max(grid.rows, grid.columns) for grid in every)
    assert any(grid.interval.denominator > 1 for grid in every)


@given(drawn_prompts(rc.Claim(position_range=(0, 40))))
@settings(max_examples=50, deadline=None)
def test_drawn_prompts_stay_inside_the_claim(prompt):
    assert isinstance(prompt, Prompt)
    assert prompt.positions().max() <= 40

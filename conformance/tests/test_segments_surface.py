"""Positions of text, images and videos in one sequence: what is asked, and what is found."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

import rope_conformance as rc
from rope_conformance.search import rebuild
from rope_conformance.segments import Prompt, drawn_prompts, fixed_prompts
from rope_conformance.wrong import WRONG
from rope_conformance.wrong.segments import Segments
from rope_ref import GridSegment, RopeSpec, TextSegment, multimodal_positions

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


def test_a_failure_is_shown_on_one_video_between_two_tokens():
    case = rebuild(failures(WRONG["text_behind_rows_and_columns"].factory)["segments.next"].case)
    text, grid, last = case.segments
    assert (text.tokens, last.tokens) == (1, 1)
    assert isinstance(grid, GridSegment)
    assert grid.frames > 1


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


def test_prompts_are_rebuilt_from_their_text_and_begin_and_end_with_text():
    for prompt in fixed_prompts():
        assert rebuild(repr(prompt)) == prompt
        assert all(isinstance(each, TextSegment) for each in prompt.segments[::2])
        assert all(isinstance(each, GridSegment) for each in prompt.segments[1::2])
        assert all(each.size() <= prompt.size() for each in prompt.smaller(None))


def test_fixed_prompts_hold_a_video_longer_than_wide_and_an_interval_that_is_no_integer():
    grids = [each for prompt in fixed_prompts() for each in prompt.segments[1::2]]
    assert any(np.ptp(grid.positions()[0]) > max(grid.rows, grid.columns) for grid in grids)
    assert any(grid.interval.denominator > 1 for grid in grids)


@given(drawn_prompts(rc.Claim(position_range=(0, 40))))
@settings(max_examples=50, deadline=None)
def test_drawn_prompts_stay_inside_the_claim(prompt):
    assert isinstance(prompt, Prompt)
    assert prompt.positions().max() <= 40

"""A run on a terminal: what is shown when, and how wide."""

import io

from rope_conformance import zoo
from rope_conformance.describing.words import spec_on_a_line
from rope_conformance.report.model import Failure, Result
from rope_conformance.report.terminal import Screen
from rope_conformance.running.settings import TargetOptions
from rope_conformance.running.settling import settle
from rope_ref import RopeSpec


def judged_as(target, **asked):
    """What a target is judged as by what is asked."""
    return settle(target, TargetOptions(**asked))[1]


def test_a_failure_is_shown_the_moment_it_is_found():
    """The first failure is printed before the next clause is judged; a repeat is only named."""
    stream = io.StringIO()
    screen = Screen(stream)
    settled = judged_as(zoo.CONTROLS["float32_power"].factory)
    failure = Failure(
        "something is off", "Case()", "other", cause="a reason", reproduce="rope-ref check"
    )
    with screen.running("target", settled, ["a.first", "a.second"]):
        screen.show(Result("a.first", "A sentence.", "float32", "failed", failure=failure))
        first = stream.getvalue()
        screen.show(Result("a.second", "Another.", "float32", "failed", failure=failure))
    for part in ("a.first", "A sentence.", "something is off", "a reason", "rope-ref check"):
        assert part in first
    rest = stream.getvalue()[len(first) :]
    assert "class: other, the same as a.first" in rest
    assert "something is off" not in rest


def test_a_spec_is_told_in_words():
    """What is judged is shown in words: width, channels that rotate, layouts, base, direction."""
    spec = RopeSpec(
        16, layout="half", output_layout="interleaved", rotary_dim=8, rotary_start=4, direction=-1
    )
    assert spec_on_a_line(spec) == (
        "16 channels, of which 4 to 11 rotate, half-split (channels i and i+4), written "
        "interleaved (channels 2i and 2i+1), base 10000, clockwise"
    )

"""What is said of an object whose cache is wrong."""

import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.running.verdict import run_check
from rope_conformance.zoo import WRONG
from rope_conformance.zoo.kills import kills
from rope_conformance.zoo.parts.cached import Closing, Request
from rope_ref import RopeSpec

CHECKS = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}
SPEC = RopeSpec(64, layout="half")


NAMED = [(member.name, check) for check in CHECKS for member in kills()[CHECKS[check].name]]


@pytest.mark.parametrize(("wrong", "check"), NAMED)
def test_a_failure_names_the_class_of_what_is_wrong(wrong, check, context_of):
    """By the first of the clauses that name it."""
    entry = WRONG[wrong]
    result = run_check(CHECKS[check], context_of(entry.factory), effort="quick", shrink=False)
    assert result.verdict in ("failed", "error")
    if check == next(c for w, c in NAMED if w == wrong):
        assert result.failure.fault == entry.fault, result.failure.message


@pytest.mark.parametrize(
    ("wrong", "check", "words"),
    [
        ("decode_offset_lost", "prefill", r"a step after 1 tokens comes out as at position 0, n"),
        ("decode_position_frozen", "prefill", "as at position 1, not 2, like the step before"),
        ("decode_table_slice_swapped", "prefill", "comes out as zeros"),
        ("decode_table_by_length", "chunks", "like one of the same length before"),
        ("decode_wraps_at_table_end", "long", "comes out as at position 0, not 2048"),
        ("decode_table_regrown_rounded", "long", "off by less than 1 %, as if something was r"),
        ("decode_positions_bfloat16", "long", "position 256, not 257, its bfloat16"),
        ("decode_evict_leaves_newest", "evict", "the other convention does not fit either"),
        ("decode_evict_without_rotation", "evict", "keep their positions, as was seen before"),
        ("decode_shift_adds_amplitude", "shift", r"comes out 1\.139 times as long"),
        ("decode_sessions_share_keys", "sessions", r"keys\(\) has shape .*, expected "),
    ],
)
def test_a_failure_says_what_came_out_instead(wrong, check, words, decode_verdicts):
    """In words that lead to the place in the code."""
    result = decode_verdicts(WRONG[wrong].factory, check)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(result.failure.message)


@pytest.mark.parametrize(("target", "fact"), [(Request, "keep their"), (Closing, "rotated again")])
def test_which_convention_an_object_follows_is_a_fact(target, fact):
    """It counts for nothing."""
    report = rc.check(target, spec=SPEC, only=["decode.evict"], effort="quick")
    assert report.passed
    assert [f.text for f in report.facts if fact in f.text] and not report.findings


def test_an_object_that_follows_now_one_now_the_other_convention_is_wrong(decode_verdicts):
    """Within a session it must be one of them."""

    class Both(Closing):
        number = 0

        def evict(self, start, stop):
            self.number += 1
            (Closing if self.number % 2 else Request).evict(self, start, stop)

    assert decode_verdicts(Both, "evict").verdict == "failed"

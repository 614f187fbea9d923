"""A check as a test of pytest: what a test that fails says, and how one ends otherwise."""

from datetime import date

import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.report.model import Failure, Result
from rope_conformance.running.waivers import waived
from rope_conformance.testing import assert_check, failure_text

WAIVER = rc.Waiver(
    "frequency.ladder", "the base is 500000", "https://example.org/issues/12", date(9999, 1, 1)
)


def test_a_test_of_one_check_is_an_expected_failure():
    """Inside a test, what is waived is an expected failure, what is not needed a failure."""
    check = next(each for each in all_checks() if each.name == "frequency.ladder")
    bad, good = zoo.WRONG["base_wrong"].factory, zoo.CONTROLS["float32_power"].factory
    with pytest.raises(pytest.xfail.Exception, match="waived: the base is 500000"):
        assert_check(check, bad, options=rc.RunOptions(waivers=[WAIVER]), effort="quick")
    with pytest.raises(AssertionError, match="no longer needed: remove it"):
        assert_check(check, good, options=rc.RunOptions(waivers=[WAIVER]), effort="quick")


def test_what_a_test_says_has_class_and_cause():
    """The text of a failing test names the class, and the cause with what speaks for it."""
    failure = Failure("message", "Case()", "sign", None, "turned back", "all 9 angles", "rope-ref")
    result = Result("frequency.ladder", "A sentence.", "float32", "failed", failure=failure)
    assert failure_text(result).splitlines() == [
        "frequency.ladder: A sentence.",
        "message",
        "class: sign",
        "likely cause: turned back (all 9 angles)",
        "input: Case()",
        "again: rope-ref",
    ]
    assert failure_text(waived(result, [WAIVER], "mine")) is None

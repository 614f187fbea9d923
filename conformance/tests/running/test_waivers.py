"""What a waiver does to a result, and when a waiver is a failure itself."""

import io
from dataclasses import replace
from datetime import date

import jsonschema
import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.report.model import Failure, Result
from rope_conformance.report.terminal import Screen
from rope_conformance.running.waivers import apply_waivers, waived

LINK = "https://example.org/issues/12"
TODAY = date(2026, 6, 1)


def waiver(clause="frequency.ladder", expires=date(2026, 6, 1), **rest) -> rc.Waiver:
    return rc.Waiver(clause, "known", LINK, expires, **rest)


def result(verdict="failed", clause="frequency.ladder", dtype="float32") -> Result:
    broken = verdict in ("failed", "error")
    failure = Failure("a pair turns at another speed", "Case()", "frequency") if broken else None
    reason = "" if broken or verdict == "passed" else "no surface"
    return Result(clause, "A sentence.", dtype, verdict, reason, inputs=1, failure=failure)


def report(*results: Result, target="mine", interrupted=False) -> rc.Report:
    found = rc.check(zoo.CONTROLS["float32_power"].factory, only=["data.kept"], effort="quick")
    others = [replace(found.results[0], clause="data.kept")]
    return replace(found, target=target, results=[*results, *others], interrupted=interrupted)


def judged(*results: Result, by, today=TODAY, **rest) -> rc.Report:
    found = report(*results, **rest)
    apply_waivers(found, by, today=today)
    return found


# What a waiver does


@pytest.mark.parametrize("verdict", ["failed", "error"])
def test_a_failure_is_forgiven_and_kept(report_schema, verdict):
    """What a waiver covers is waived, with reason, link and date; the failure is kept."""
    found = judged(result(verdict), by=[waiver()])
    (first, _) = found.results
    assert (first.verdict, first.failure) == ("waived", result().failure)
    assert first.reason == f"known ({LINK}, until 2026-06-01)"
    assert (found.passed, found.doubts, found.findings) == (True, [], [])
    assert found.counts()["waived"] == found.to_dict()["counts"]["waived"] == 1
    assert found.waived == [first]
    jsonschema.validate(found.to_dict(), report_schema)


def test_what_no_waiver_covers_stays():
    """Another clause, type of data or target is not forgiven."""
    for other in (
        waiver("frequency.phase"),
        waiver(dtype="bfloat16"),
        waiver(target="yours"),
        waiver(target="mine.*"),
        waiver(target="Mine"),
    ):
        found = judged(result(), by=[other])
        assert found.results[0] == result()
        assert not found.passed


@pytest.mark.parametrize("target", ["mine", "m*", "[lm]ine", "a/[b].py:f"])
def test_a_target_is_named_exactly_or_by_a_pattern(target):
    """A waiver names its target as it is, brackets included, or by a pattern."""
    name = target if target.startswith("a/") else "mine"
    found = judged(result(), by=[waiver(target=target, dtype="float32")], target=name)
    assert found.passed


def test_the_last_day_counts_and_the_day_after_does_not(report_schema):
    """A waiver holds on the day that it names; then the failure is back and says so."""
    assert judged(result(), by=[waiver()], today=date(2026, 6, 1)).passed
    found = judged(result(), by=[waiver()], today=date(2026, 6, 2))
    assert not found.passed
    (first, _) = found.results
    assert (first.verdict, first.reason) == ("failed", "")
    assert first.failure.message == (
        f"the waiver of 2026-06-01 expired ({LINK}): a pair turns at another speed"
    )
    jsonschema.validate(found.to_dict(), report_schema)


def test_without_a_date_given_the_clock_says_what_day_it_is():
    """A waiver that ended long ago has expired, one for long has not."""
    long_ago, for_long = waiver(expires=date(1999, 1, 1)), waiver(expires=date(9999, 1, 1))
    assert "expired" in waived(result(), [long_ago], "mine").failure.message
    assert waived(result(), [for_long], "mine").verdict == "waived"


def test_of_several_waivers_the_one_that_lasts_longest_counts():
    """An old waiver beside its renewal does no harm."""
    renewed = waiver(expires=date(2027, 1, 1))
    for both in ([waiver(), renewed], [renewed, waiver()]):
        (first, _) = judged(result(), by=both, today=date(2026, 7, 1)).results
        assert (first.verdict, first.reason) == ("waived", f"known ({LINK}, until 2027-01-01)")


def test_conformant_with_waivers_is_told_apart_from_conformant():
    """The last line of a whole run names the number of waivers; one for two types is one."""
    found = report(result(), result(dtype="bfloat16"))
    apply_waivers(found, [waiver()], today=TODAY)
    stream = io.StringIO()
    Screen(stream).finish(found)
    assert stream.getvalue().splitlines()[-1] == " CONFORMANT WITH 1 WAIVER  mine"
    assert stream.getvalue().count("frequency.ladder") == 1


# A waiver that nothing needs


@pytest.mark.parametrize("expires", [date(2026, 6, 1), date(2026, 5, 31)])
def test_a_waiver_of_what_passed_is_a_failure(report_schema, expires):
    """Where the clause passes, its waiver fails and asks to be removed, expired or not."""
    found = judged(result("passed"), by=[waiver(expires=expires)])
    (first, _) = found.results
    assert (first.verdict, first.failure) == ("failed", None)
    assert "the waiver is no longer needed: remove it" in first.reason
    assert LINK in first.reason
    assert first.reason.endswith("the clause passed")
    assert not found.passed
    assert found.findings == [first]
    assert found.fault is None
    jsonschema.validate(found.to_dict(), report_schema)


def test_a_waiver_of_what_is_not_claimed_is_a_failure(report_schema):
    """Where the claim does not open the clause, its waiver is not needed either."""
    found = judged(result("not claimed"), by=[waiver()])
    assert found.results[0].verdict == "failed"
    assert found.results[0].reason.endswith("the clause is not claimed, as no surface")
    assert found.checks == 2  # those that ran: neither verdict comes from the waiver alone
    jsonschema.validate(found.to_dict(), report_schema)


def test_a_waiver_is_needed_if_one_type_of_data_fails():
    """A waiver for all types of data stays where one of them fails; one for another does not."""
    results = result("passed"), result("failed", dtype="bfloat16")
    verdicts = [r.verdict for r in judged(*results, by=[waiver()]).results]
    assert verdicts == ["passed", "waived", "passed"]
    apart = [waiver(dtype="float32"), waiver(dtype="bfloat16")]
    verdicts = [r.verdict for r in judged(*results, by=apart).results]
    assert verdicts == ["failed", "waived", "passed"]


def test_one_waiver_is_one_failure():
    """A waiver that nothing needs fails once, for however many types of data it is."""
    results = result("passed"), result("passed", dtype="bfloat16")
    verdicts = [r.verdict for r in judged(*results, by=[waiver()]).results]
    assert verdicts == ["failed", "passed", "passed"]


@pytest.mark.parametrize("verdict", ["not run", "unsupported"])
def test_nothing_is_said_of_a_waiver_that_was_not_tried(verdict):
    """Where a clause was not judged, its waiver may still be needed."""
    assert judged(result(verdict), by=[waiver()]).results[0] == result(verdict)
    for other in (waiver("frequency.phase"), waiver(dtype="float64"), waiver(target="yours")):
        assert judged(result("passed"), by=[other]).passed


def test_an_interrupted_run_asks_for_no_removal():
    """What an interrupted run did not reach may have needed the waiver."""
    found = judged(result("passed"), result("failed", "data.mutation"), interrupted=True,
                   by=[waiver(), waiver("data.mutation")])  # fmt: skip
    assert [r.verdict for r in found.results[:2]] == ["passed", "waived"]

"""Waivers: a known failure is forgiven until a date, and a waiver is kept no longer than needed."""

import io
import json
from dataclasses import replace
from datetime import date, datetime
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.cli import commands
from rope_conformance.report.model import Failure, Result
from rope_conformance.report.terminal import Screen
from rope_conformance.running.waivers import apply_waivers, load_waivers, waived
from rope_conformance.testing import assert_check, failure_text
from rope_ref import RopeSpec

SCHEMA = json.loads((files("rope_conformance.report") / "report.schema.json").read_text("utf-8"))
EXAMPLES = Path(__file__).parents[3] / "examples"
LINK = "https://example.org/issues/12"
TODAY = date(2026, 6, 1)
BAD, GOOD = "rope_conformance.zoo:base_wrong", "rope_conformance.zoo.honest.plain:float32_power"
BROKEN = ["frequency.ladder", "frequency.phase"]  # by base_wrong, among others

ENTRY = f"""
[[waiver]]
clause = "frequency.ladder"
reason = "the base is 500000 until the weights are trained again"
link = "{LINK}"
expires = 9999-01-01
"""


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


def run(*arguments: str):
    return CliRunner().invoke(commands.rope_ref, arguments, prog_name="rope-ref")


@pytest.fixture
def file(tmp_path):
    """Write a file of waivers and return its path."""

    def write(text: str) -> str:
        path = tmp_path / "waivers.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


# What a waiver does


@pytest.mark.parametrize("verdict", ["failed", "error"])
def test_a_failure_is_forgiven_and_kept(verdict):
    """What a waiver covers is waived, with reason, link and date; the failure is kept."""
    found = judged(result(verdict), by=[waiver()])
    (first, _) = found.results
    assert (first.verdict, first.failure) == ("waived", result().failure)
    assert first.reason == f"known ({LINK}, until 2026-06-01)"
    assert (found.passed, found.doubts, found.findings) == (True, [], [])
    assert found.counts()["waived"] == found.to_dict()["counts"]["waived"] == 1
    assert found.waived == [first]
    jsonschema.validate(found.to_dict(), SCHEMA)


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


def test_the_last_day_counts_and_the_day_after_does_not():
    """A waiver holds on the day that it names; then the failure is back and says so."""
    assert judged(result(), by=[waiver()], today=date(2026, 6, 1)).passed
    found = judged(result(), by=[waiver()], today=date(2026, 6, 2))
    assert not found.passed
    (first, _) = found.results
    assert (first.verdict, first.reason) == ("failed", "")
    assert first.failure.message == (
        f"the waiver of 2026-06-01 expired ({LINK}): a pair turns at another speed"
    )
    jsonschema.validate(found.to_dict(), SCHEMA)


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


# A waiver that nothing needs


@pytest.mark.parametrize("expires", [date(2026, 6, 1), date(2026, 5, 31)])
def test_a_waiver_of_what_passed_is_a_failure(expires):
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
    jsonschema.validate(found.to_dict(), SCHEMA)


def test_a_waiver_of_what_is_not_claimed_is_a_failure():
    """Where the claim does not open the clause, its waiver is not needed either."""
    found = judged(result("not claimed"), by=[waiver()])
    assert found.results[0].verdict == "failed"
    assert found.results[0].reason.endswith("the clause is not claimed, as no surface")
    assert found.checks == 2  # those that ran: neither verdict comes from the waiver alone
    jsonschema.validate(found.to_dict(), SCHEMA)


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


# Waivers that cannot be understood


WRONG = {
    "unknown clause": (ENTRY.replace("ladder", "lader"), "entry 1: there is no clause"),
    "second of two": (ENTRY + ENTRY.replace("ladder", "lader"), "entry 2: there is no clause"),
    "no clause": (ENTRY.replace("clause", "# clause"), "entry 1: clause is missing"),
    "no reason": (ENTRY.replace("reason", "# reason"), "entry 1: reason is missing"),
    "no link": (ENTRY.replace("link", "# link"), "entry 1: link is missing"),
    "no expiry": (ENTRY.replace("expires", "# expires"), "entry 1: expires is missing"),
    "a field too many": (ENTRY + "axes = 'bthd'", "entry 1: 'axes' is not known; the fields are"),
    "a date in quotes": (ENTRY.replace("9999-01-01", "'9999-01-01'"), "entry 1: expires = '9999"),
    "a time of day": (ENTRY.replace("9999-01-01", "9999-01-01T10:00:00"), "entry 1: expires = '9"),
    "a day that is not": (ENTRY.replace("9999-01-01", "2027-02-30"), "no TOML"),
    "an empty reason": (ENTRY.replace("reason = ", "reason = ' ' # "), "entry 1: reason = ' '"),
    "a number as link": (ENTRY.replace("link = ", "link = 12 # "), "entry 1: link = 12"),
    "a list of targets": (ENTRY + "target = ['a']", "entry 1: target = ['a']: a text expected"),
    "an unknown type": (ENTRY + "dtype = 'float8'", "entry 1: dtype = 'float8' is not known"),
    "no table": ("waiver = [1]", "entry 1: 1 is no table"),
    "one bracket": (ENTRY.replace("[[waiver]]", "[waiver]"), "two brackets on each side"),
    "another name": (ENTRY.replace("[[waiver]]", "[[waivers]]"), "'waivers' is not known"),
    "no TOML": ("clause: frequency.ladder", "no TOML"),
    "brackets without end": ("waiver = " + "[" * 100_000, "no TOML"),
    "no text": ("\ud800", "no TOML"),
    "too long": ("#" * 2**20 + "#", "larger than 1,048,576 bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_understood_is_one_error_with_its_place(name, tmp_path):
    """A wrong entry, or no TOML at all, is one ValueError that names the file and the entry."""
    text, message = WRONG[name]
    path = tmp_path / "waivers.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(rc.WaiverError) as caught:
        load_waivers(path)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """A file that cannot be read is named with the reason."""
    for path, reason in ((tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(rc.WaiverError, match=reason) as caught:
            load_waivers(str(path))
        assert str(path) in str(caught.value)


def test_a_list_is_checked_as_a_file_is():
    """Waivers from a program may be objects or tables; an error names the entry."""
    table = {"clause": "data.kept", "reason": "known", "link": LINK, "expires": TODAY}
    assert load_waivers([waiver("data.kept"), table]) == (waiver("data.kept"),) * 2
    assert load_waivers(None) == load_waivers([]) == ()
    with pytest.raises(rc.WaiverError, match=r"^waivers, entry 2: reason is missing"):
        load_waivers([table, {"clause": "data.kept"}])
    with pytest.raises(rc.WaiverError, match=r"a date expected"):
        waiver(expires=datetime(2027, 1, 1))
    with pytest.raises(rc.WaiverError, match=r"there is no clause 'data.kep'"):
        rc.check(
            lambda x, p: x,
            spec=RopeSpec(8, layout="half"),
            options=rc.RunOptions(waivers=[table | {"clause": "data.kep"}]),
        )


def test_the_example_file_is_one_of_waivers():
    """examples/waivers.toml is understood, and is about the wrong example beside it."""
    (example,) = load_waivers(EXAMPLES / "waivers.toml")
    assert example.covers(result(), str(EXAMPLES / "my_rope_wrong.py:apply_rope"))
    assert not example.covers(result(), str(EXAMPLES / "my_rope.py:apply_rope"))


def test_a_file_without_waivers_forgives_nothing(file):
    """A file of comments is a file of no waivers."""
    assert load_waivers(file("# none at present\n")) == ()


# The doors


OPTIONS = ("--effort=quick", *(f"--only={clause}" for clause in BROKEN))


def test_the_command_forgives_and_says_so(file):
    """A run that is conformant but for its waivers says how many they are: status 0."""
    path = file(ENTRY + ENTRY.replace("ladder", "phase").replace("9999-01", "9999-02"))
    arguments = ["check", BAD, *OPTIONS, "--only=data.kept", "--waivers", path]
    shown = run(*arguments)
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert "PASSED WITH 2 WAIVERS" in lines[-1]
    text = " ".join(shown.output.split())
    for part in (
        "waived frequency.ladder the base is 500000 until the weights are trained again",
        f"{LINK}, until 9999-02-01",
        "1 passed, 0 failed, 0 error, 2 waived,",
        "class: config likely cause: the base is 500000, claimed 10000 (",
    ):
        assert part in text
    assert all(len(line) <= 80 for line in lines[:-1])
    data = json.loads(run(*arguments, "--json").stdout)
    jsonschema.validate(data, SCHEMA)
    assert (data["passed"], data["doubts"], data["counts"]["waived"]) == (True, [], 2)
    failures = [r["failure"] for r in data["results"] if r["verdict"] == "waived"]
    # The failure can be repeated: without the waiver.
    assert all(f["reproduce"].startswith("rope-ref check") for f in failures)
    assert "waivers" not in failures[0]["reproduce"]


def test_conformant_with_waivers_is_told_apart_from_conformant(file):
    """The last line of a whole run names the number of waivers; one for two types is one."""
    found = report(result(), result(dtype="bfloat16"))
    apply_waivers(found, [waiver()], today=TODAY)
    stream = io.StringIO()
    Screen(stream).finish(found)
    assert stream.getvalue().splitlines()[-1] == " CONFORMANT WITH 1 WAIVER  mine"
    assert stream.getvalue().count("frequency.ladder") == 1


def test_the_command_fails_for_an_expired_waiver(file):
    """An expired waiver forgives nothing, and the message names the day: status 1."""
    path = file(ENTRY.replace("9999-01-01", "2020-03-04"))
    shown = run("check", BAD, "--only=frequency.ladder", "--waivers", path)
    assert shown.exit_code == 1
    assert "the waiver of 2020-03-04 expired" in " ".join(shown.output.split())
    assert "likely class config" in " ".join(shown.output.split())


def test_the_command_fails_for_a_waiver_that_is_not_needed(file):
    """A waiver of what passes is named in the summary, and the run fails: status 1."""
    shown = run("check", GOOD, *OPTIONS, "--waivers", file(ENTRY))
    assert shown.exit_code == 1
    text = " ".join(shown.output.split())
    assert "to remove frequency.ladder: the waiver is no longer needed: remove it" in text
    assert "NOT CONFORMANT" in text
    assert "hint" not in text
    quiet = run("check", GOOD, *OPTIONS, "--waivers", file(ENTRY), "--quiet").output
    assert quiet.endswith(f"{GOOD}: frequency.ladder (its waiver is not needed)\n")
    # Of a clause that this run leaves out nothing is said.
    other = run("check", GOOD, "--only=data.kept", "--waivers", file(ENTRY))
    assert other.exit_code == 0


@pytest.mark.parametrize("name", ["unknown clause", "no TOML", "a date in quotes", "no link"])
def test_the_command_refuses_what_it_does_not_understand(name, file):
    """Waivers that cannot be understood are one message on stderr, before anything runs: 2."""
    text, message = WRONG[name]
    shown = run("check", GOOD, "--waivers", file(text))
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert message in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


def test_a_program_hands_over_a_file_or_a_list(file):
    """rope_conformance.check takes the path of a file, or waivers."""
    target = zoo.WRONG["base_wrong"].factory
    for waivers in (file(ENTRY), [waiver(expires=date(9999, 1, 1))]):
        found = rc.check(target, only=["frequency.ladder"], options=rc.RunOptions(waivers=waivers))
        assert found.passed
        assert [r.verdict for r in found.results] == ["waived"]
    assert not rc.check(target, only=["frequency.ladder"]).passed


def test_a_test_of_one_check_is_an_expected_failure(file):
    """Inside a test, what is waived is an expected failure, what is not needed a failure."""
    check = next(each for each in all_checks() if each.name == "frequency.ladder")
    bad, good = zoo.WRONG["base_wrong"].factory, zoo.CONTROLS["float32_power"].factory
    with pytest.raises(pytest.xfail.Exception, match="waived: the base is 500000"):
        assert_check(check, bad, options=rc.RunOptions(waivers=file(ENTRY)), effort="quick")
    with pytest.raises(AssertionError, match="no longer needed: remove it"):
        assert_check(check, good, options=rc.RunOptions(waivers=file(ENTRY)), effort="quick")


def test_what_a_test_says_has_class_and_cause():
    """The text of a failing test names the class, and the cause with what speaks for it."""
    failure = Failure("message", "Case()", "sign", None, "turned back", "all 9 angles", "rope-ref")
    assert failure_text(replace(result(), failure=failure)).splitlines() == [
        "frequency.ladder: A sentence.",
        "message",
        "class: sign",
        "likely cause: turned back (all 9 angles)",
        "input: Case()",
        "again: rope-ref",
    ]
    assert failure_text(waived(result(), [waiver()], "mine", today=TODAY)) is None

"""Files and lists of waivers: what is read, and what cannot be understood."""

from datetime import date, datetime
from pathlib import Path

import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.report.model import Result
from rope_conformance.running.waivers import load_waivers
from rope_ref import RopeSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
LINK = "https://example.org/issues/12"

ENTRY = f"""
[[waiver]]
clause = "frequency.ladder"
reason = "the base is 500000 until the weights are trained again"
link = "{LINK}"
expires = 9999-01-01
"""


def waiver(clause="frequency.ladder", expires=date(2026, 6, 1)) -> rc.Waiver:
    return rc.Waiver(clause, "known", LINK, expires)


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
    table = {"clause": "data.kept", "reason": "known", "link": LINK, "expires": date(2026, 6, 1)}
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
    failed = Result("frequency.ladder", "A sentence.", "float32", "failed")
    assert example.covers(failed, str(EXAMPLES / "my_rope_wrong.py:apply_rope"))
    assert not example.covers(failed, str(EXAMPLES / "my_rope.py:apply_rope"))


def test_a_file_without_waivers_forgives_nothing(waiver_file):
    """A file of comments is a file of no waivers."""
    assert load_waivers(waiver_file("# none at present\n")) == ()


def test_a_program_hands_over_a_file_or_a_list(waiver_file):
    """rope_conformance.check takes the path of a file, or waivers."""
    target = zoo.WRONG["base_wrong"].factory
    for waivers in (waiver_file(ENTRY), [waiver(expires=date(9999, 1, 1))]):
        found = rc.check(target, only=["frequency.ladder"], options=rc.RunOptions(waivers=waivers))
        assert found.passed
        assert [r.verdict for r in found.results] == ["waived"]
    assert not rc.check(target, only=["frequency.ladder"]).passed

"""`rope-ref check --waivers`: what is forgiven, what is said of it, and the exit status."""

import json

import jsonschema
import pytest

BAD, GOOD = "rope_conformance.zoo:base_wrong", "rope_conformance.zoo.honest.plain:float32_power"
BROKEN = ["frequency.ladder", "frequency.phase"]  # by base_wrong, among others
LINK = "https://example.org/issues/12"

ENTRY = f"""
[[waiver]]
clause = "frequency.ladder"
reason = "the base is 500000 until the weights are trained again"
link = "{LINK}"
expires = 9999-01-01
"""


OPTIONS = ("--effort=quick", *(f"--only={clause}" for clause in BROKEN))


def test_the_command_forgives_and_says_so(run, report_schema, waiver_file):
    """A run that is conformant but for its waivers says how many they are: status 0."""
    path = waiver_file(ENTRY + ENTRY.replace("ladder", "phase").replace("9999-01", "9999-02"))
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
    jsonschema.validate(data, report_schema)
    assert (data["passed"], data["doubts"], data["counts"]["waived"]) == (True, [], 2)
    failures = [r["failure"] for r in data["results"] if r["verdict"] == "waived"]
    # The failure can be repeated: without the waiver.
    assert all(f["reproduce"].startswith("rope-ref check") for f in failures)
    assert "waivers" not in failures[0]["reproduce"]


def test_the_command_fails_for_an_expired_waiver(run, waiver_file):
    """An expired waiver forgives nothing, and the message names the day: status 1."""
    path = waiver_file(ENTRY.replace("9999-01-01", "2020-03-04"))
    shown = run("check", BAD, "--only=frequency.ladder", "--waivers", path)
    assert shown.exit_code == 1
    assert "the waiver of 2020-03-04 expired" in " ".join(shown.output.split())
    assert "likely class config" in " ".join(shown.output.split())


def test_the_command_fails_for_a_waiver_that_is_not_needed(run, waiver_file):
    """A waiver of what passes is named in the summary, and the run fails: status 1."""
    shown = run("check", GOOD, *OPTIONS, "--waivers", waiver_file(ENTRY))
    assert shown.exit_code == 1
    text = " ".join(shown.output.split())
    assert "to remove frequency.ladder: the waiver is no longer needed: remove it" in text
    assert "NOT CONFORMANT" in text
    assert "hint" not in text
    quiet = run("check", GOOD, *OPTIONS, "--waivers", waiver_file(ENTRY), "--quiet").output
    assert quiet.endswith(f"{GOOD}: frequency.ladder (its waiver is not needed)\n")
    # Of a clause that this run leaves out nothing is said.
    other = run("check", GOOD, "--only=data.kept", "--waivers", waiver_file(ENTRY))
    assert other.exit_code == 0


WRONG = {
    "unknown clause": (ENTRY.replace("ladder", "lader"), "entry 1: there is no clause"),
    "no TOML": ("clause: frequency.ladder", "no TOML"),
    "a date in quotes": (ENTRY.replace("9999-01-01", "'9999-01-01'"), "entry 1: expires = '9999"),
    "no link": (ENTRY.replace("link", "# link"), "entry 1: link is missing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_command_refuses_what_it_does_not_understand(run, name, waiver_file):
    """Waivers that cannot be understood are one message on stderr, before anything runs: 2."""
    text, message = WRONG[name]
    shown = run("check", GOOD, "--waivers", waiver_file(text))
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert message in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr

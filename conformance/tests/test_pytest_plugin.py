"""The two ways to judge by pytest: --rope-impl, and parametrize_with_checks in a test file."""

import os
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

import pytest

from rope_conformance.clauses import all_checks

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD, BAD = (f"{EXAMPLES / name}:apply_rope" for name in ("my_rope.py", "my_rope_wrong.py"))
HOSTILE = Path(__file__).parent / "running" / "hostile" / "targets.py"
CLAUSES = [check.name for check in all_checks()]

# An installed package brings its plugin along; a checkout on the path does not.
INSTALLED = bool(metadata.entry_points(group="pytest11", name="rope_conformance"))
PLUGIN = () if INSTALLED else ("-p", "rope_conformance.pytest_plugin")


@pytest.fixture
def judge(pytester):
    """Run pytest on an implementation, without a test file, from an empty folder."""

    def run(*arguments, package=True):
        packages = ("--pyargs", "rope_conformance") if package else ()
        return pytester.runpytest_inprocess(
            *PLUGIN, "-p", "no:cacheprovider", "--rope-effort=quick", *packages, *arguments
        )

    return run


def test_a_conformant_implementation_passes_clause_by_clause(judge, pytester):
    """One test per clause; what is not claimed is skipped with the reason; nothing is written."""
    result = judge("--rope-impl", GOOD, "-rs", "-v")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] + outcomes["skipped"] == len(CLAUSES)
    assert outcomes["passed"] >= 20
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            f"rope-ref: {GOOD} as 128 channels, half-split*",
            "rope-ref: by trying: layout half-split*",
            "*::test_clause?pairing.layout? PASSED*",
            "SKIPPED*negative positions are not claimed*",
        ]
    )
    assert not list(pytester.path.iterdir())


def test_a_broken_clause_fails_with_the_message_alone(judge, pytester):
    """A failure shows clause, message, cause and input, no traceback; JUnit carries it."""
    result = judge(
        "--rope-impl", BAD, "-k", "frequency.ladder or data.kept", "--junit-xml=junit.xml"
    )
    result.assert_outcomes(passed=1, failed=1, deselected=len(CLAUSES) - 2)
    result.stdout.fnmatch_lines(
        [
            "frequency.ladder: Pair i turns by theta_i*",
            "a pair turns at another speed: position 1, pair 1, *",
            "likely cause: the exponent of the base is i/R, not 2i/R*",
            "input: Case(batch=1, *",
            f"again: rope-ref check *{EXAMPLES.name}/my_rope_wrong.py:apply_rope*"
            " --only frequency.ladder",
        ]
    )
    result.stdout.no_re_match_line(r"\S+\.py:\d+:")  # a traceback would have such lines
    failure = ET.parse(pytester.path / "junit.xml").find(".//failure")
    assert "a pair turns at another speed" in failure.text
    assert "again: rope-ref check" in failure.text


def _junit(path) -> dict[str, ET.Element]:
    """The tests of a JUnit XML file, by their clause."""
    cases = ET.parse(path).iter("testcase")
    return {_properties(case)["clause"]: case for case in cases}


def _properties(case: ET.Element) -> dict[str, str]:
    return {each.get("name"): each.get("value") for each in case.iter("property")}


def test_junit_xml_tells_clause_verdict_evidence_and_class(pytester):
    """The command itself, --junitxml: each test's clause, verdict, type, evidence and class."""
    result = pytester.runpytest_subprocess(
        *PLUGIN, "-p", "no:cacheprovider", "--rope-impl", BAD, "--rope-effort=quick",
        "--junitxml=junit.xml", "-k", "frequency.ladder or data.kept or frequency.negative",
        "--pyargs", "rope_conformance",
    )  # fmt: skip
    result.assert_outcomes(passed=1, failed=1, skipped=1, deselected=len(CLAUSES) - 3)
    cases = _junit(pytester.path / "junit.xml")
    assert set(cases) == {"frequency.ladder", "frequency.negative", "data.kept"}
    told = {clause: _properties(case) for clause, case in cases.items()}
    names = ["clause", "verdict", "dtype", "inputs", "decisive", "fault"]
    assert all(list(each) == names for each in told.values())
    ladder, negative, kept = (told[clause] for clause in CLAUSES if clause in told)
    assert ladder | {"inputs": "", "decisive": ""} == {
        "clause": "frequency.ladder",
        "verdict": "failed",
        "dtype": "float32",
        "inputs": "",
        "decisive": "",
        "fault": "frequency",
    }
    assert int(ladder["inputs"]) > 0
    assert int(ladder["decisive"]) >= 50
    assert (negative["verdict"], negative["inputs"]) == ("not claimed", "0")
    assert (kept["verdict"], kept["fault"]) == ("passed", "none")
    assert "class: frequency" in cases["frequency.ladder"].find("failure").text


def test_junit_xml_tells_each_type_of_data(judge, pytester):
    """With several types of data a test's properties repeat, in the order of the types."""
    judge(
        "--rope-impl", GOOD, "--rope-dtype=float32,bfloat16", "-k", "data.kept", "--junitxml=a.xml"
    )
    properties = list(ET.parse(pytester.path / "a.xml").iter("property"))
    dtypes = [each.get("value") for each in properties if each.get("name") == "dtype"]
    assert dtypes == ["float32", "bfloat16"]
    assert len(properties) == 12


WAIVER = """
[[waiver]]
clause = "frequency.ladder"
reason = "theta is to be repaired"
link = "https://example.org/issues/12"
expires = 9999-01-01
"""


def test_what_is_waived_is_an_expected_failure(judge, pytester):
    """--rope-waivers: a failure that is waived is xfailed with the reason, also in JUnit XML."""
    pytester.path.joinpath("waivers.toml").write_text(WAIVER, encoding="utf-8")
    given = ("--rope-waivers", "waivers.toml", "-k", "frequency.ladder or data.kept")
    result = judge("--rope-impl", BAD, *given, "-rx", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, xfailed=1, deselected=len(CLAUSES) - 2)
    assert result.ret == 0
    reason = "waived: theta is to be repaired (https://example.org/issues/12, until 9999-01-01)"
    result.stdout.fnmatch_lines([f"XFAIL *frequency.ladder* - {reason}"])
    case = _junit(pytester.path / "junit.xml")["frequency.ladder"]
    assert (case.find("skipped").get("type"), case.find("skipped").get("message")) == (
        "pytest.xfail",
        reason,
    )
    told = _properties(case)
    assert (told["verdict"], told["fault"]) == ("waived", "frequency")


def test_a_waiver_that_is_not_needed_fails(judge, pytester):
    """A clause that passes although it is waived is a failure, one that expired stays one."""
    path = pytester.path / "waivers.toml"
    path.write_text(WAIVER, encoding="utf-8")
    given = ("--rope-waivers", str(path), "-k", "frequency.ladder or data.kept")
    result = judge("--rope-impl", GOOD, *given)
    result.assert_outcomes(passed=1, failed=1, deselected=len(CLAUSES) - 2)
    result.stdout.fnmatch_lines(["frequency.ladder: the waiver is no longer needed: remove it *"])
    path.write_text(WAIVER.replace("9999", "2020"), encoding="utf-8")
    result = judge("--rope-impl", BAD, *given)
    result.assert_outcomes(passed=1, failed=1, deselected=len(CLAUSES) - 2)
    result.stdout.fnmatch_lines(["the waiver of 2020-01-01 expired *: a pair turns at *"])


def test_waivers_that_cannot_be_understood_are_one_error(judge, pytester):
    """A file of waivers with a mistake is one error of collection that names file and entry."""
    path = pytester.path / "waivers.toml"
    path.write_text(WAIVER.replace("ladder", "lader"), encoding="utf-8")
    result = judge("--rope-impl", GOOD, "--rope-waivers", str(path))
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*waivers.toml, entry 1: there is no clause 'frequency.lader'*"])


def test_an_interrupt_of_the_target_ends_the_tests(judge, pytester):
    """What the run of a check keeps for its report still ends a run of tests."""
    pytester.path.joinpath("mine.py").write_text(
        "def rope(x, positions):\n    raise KeyboardInterrupt\n", encoding="utf-8"
    )
    with pytest.raises(KeyboardInterrupt):
        judge("--rope-impl", "mine.py:rope", "--rope-layout=half", "--rope-head-dim=8")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_pytest_outlives_a_target_that_is_isolated(judge, tmp_path, monkeypatch):
    """With --rope-isolate one clause fails where a call crashes, and the tests go on."""
    monkeypatch.setenv("ROPE_HOSTILE_DONE", str(tmp_path / "done"))
    clauses = ("pairing.layout", "rotation.norm", "data.kept]")
    result = judge(
        *("--rope-isolate", "--rope-timeout=20", "--rope-impl", f"{HOSTILE}:crashes"),
        *("-k", " or ".join(clauses)),
    )
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] >= 2
    result.stdout.fnmatch_lines(["*the process ended with signal SIGSEGV*"])


def test_several_implementations_are_told_apart(judge):
    """With more than one target their names are part of the test ids."""
    result = judge("--rope-impl", GOOD, "--rope-impl", BAD, "-k", "data.kept", "-v")
    result.assert_outcomes(passed=2, deselected=2 * (len(CLAUSES) - 1))
    result.stdout.fnmatch_lines([f"*{GOOD}-data.kept*", f"*{BAD}-data.kept*"])


def test_options_say_what_is_claimed(judge):
    """The options of pytest mean what those of rope-ref check mean."""
    result = judge(
        "--rope-impl",
        GOOD,
        "--rope-layout=interleaved",
        "--rope-head-dim=8",
        "-k",
        "pairing.layout or pairing.output_layout",
    )
    result.assert_outcomes(failed=2, deselected=len(CLAUSES) - 2)
    result.stdout.fnmatch_lines(["again: *--layout=interleaved --head-dim=8 --effort=quick *"])


def test_a_target_is_loaded_once(judge, pytester):
    """A session loads a target once, whatever the number of tests."""
    pytester.path.joinpath("mine.py").write_text(
        "with open('loads', 'a') as file:\n    file.write('x')\n"
        + (EXAMPLES / "my_rope.py").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    judge(
        "--rope-impl", "mine.py:apply_rope", "-k", "data.kept or data.mutation or data.empty"
    ).assert_outcomes(passed=2, skipped=1, deselected=len(CLAUSES) - 3)
    assert pytester.path.joinpath("loads").read_text(encoding="utf-8") == "x"


def test_without_a_target_there_is_one_failure_that_says_so(judge):
    """--pyargs rope_conformance alone is not silent: it fails and says what to give."""
    result = judge()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["there is nothing to judge: give --rope-impl *"])


def test_a_target_alone_is_refused(judge):
    """--rope-impl without the package to collect judges nothing: a usage error says so."""
    result = judge("--rope-impl", GOOD, package=False)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*nothing that judges it was collected*--pyargs rope_conformance*"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rope-impl", "nothing.py:f"), "*there is no such file*"),
        (("--rope-impl", GOOD, "--rope-rotary-dim=3"), "*rotary_dim=3 is odd*"),
        (("--rope-impl", GOOD, "--rope-profile=fine"), "*the profiles are 'exact'*"),
    ],
)
def test_what_cannot_be_judged_is_one_error(judge, arguments, message):
    """A target that does not load, or an impossible spec, is one error of collection."""
    result = judge(*arguments)
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])


def test_the_plugin_loads_nothing_when_unused(pytester):
    """A plain run of pytest with the plugin loads neither NumPy nor anything of the suite."""
    pytester.makepyfile(
        """
        import sys

        def test_plain(pytestconfig):
            assert pytestconfig.getoption("rope_impl") is None
            heavy = {"numpy", "hypothesis", "rope_ref", "rope_backends", "click", "rich"}
            assert not heavy & set(sys.modules)
            assert {n for n in sys.modules if n.startswith("rope_conformance")} == {
                "rope_conformance", "rope_conformance.pytest_plugin"
            }
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)


def test_parametrize_with_checks_gives_a_test_per_implementation_and_check(pytester):
    """In a test file: one test for each implementation and clause, with the message as failure."""
    pytester.makepyfile(
        """
        import rope_conformance as rc
        from rope_conformance.zoo import wraps_at_4096
        from rope_conformance.zoo.honest.plain import float32_power

        @rc.parametrize_with_checks([float32_power, wraps_at_4096], effort="quick")
        def test_rope(implementation, check):
            check(implementation)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v")
    outcomes = result.parseoutcomes()
    assert sum(outcomes.values()) == 2 * len(CLAUSES)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*::test_rope?float32_power-frequency.phase? PASSED*",
            "*::test_rope?wraps_at_4096-frequency.phase? FAILED*",
            "E * AssertionError: frequency.phase: At every position p*",
            "E * likely cause: *4096*",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")
    result.stdout.no_fnmatch_line("*testing.py*")

"""A run whose target has a process of its own: whatever it does is a verdict on it, no more."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.inputs import cases
from rope_conformance.running import child_process
from rope_conformance.target.frameworks import NamespaceError
from rope_ref import RopeSpec

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and /proc")

HOSTILE = Path(__file__).parent / "hostile"
ISOLATED = rc.RunOptions(isolate=True)
TARGETS = f"{HOSTILE / 'targets.py'}"
SPEC = RopeSpec(64, layout="half")

# The second meets data that is all zeros, and there it happens; the last comes after it.
CLAUSES = ("pairing.layout", "rotation.norm", "data.kept")
ONLY = [word for clause in CLAUSES for word in ("--only", clause)]
QUICK = ["--effort=quick", "--layout=half", "--head-dim=64", "--positions=t"]


# One check, and what happens in it


ENDS = {
    "sleeps": "the call did not return within 3 s",
    "spins": "the call did not return within 3 s",
    "exits": "raised SystemExit: 0 (targets.py, line ",
    "interrupts": "raised KeyboardInterrupt (targets.py, line ",
    "ends_with_0": "the process ended with exit status 0, as by os._exit(0)",
    "ends_with_3": "the process ended with exit status 3, as by os._exit(3)",
    "crashes": "the process ended with signal SIGSEGV",
    "aborts": "the process ended with signal SIGABRT",
    "prints": "the process printed more than 1 MiB during one check",
    "prints_past_python": "the process printed more than 1 MiB during one check",
    "closes_every_pipe": "the process lost its pipe to the suite",
}


@pytest.mark.parametrize("name", ENDS)
def test_what_a_call_does_is_the_verdict_of_its_check(run, report_schema, name, done):
    """The check that was under way is an error that says what happened, and where; others run."""
    result = run("check", f"{TARGETS}:{name}", *QUICK, *ONLY, "--timeout=3", "--json")
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, report_schema)
    assert done.exists()
    verdicts = {r["clause"]: r["verdict"] for r in report["results"]}
    assert verdicts == dict(zip(CLAUSES, ("passed", "error", "passed"), strict=True))
    failure = report["results"][1]["failure"]
    assert failure["message"].startswith(ENDS[name])
    assert eval(failure["case"], vars(cases)).values == "zeros"
    assert failure["fault"] == next(c.clause.fault for c in all_checks() if c.name == CLAUSES[1])
    assert failure["reproduce"].endswith("--only rotation.norm")
    assert report["results"][1]["calls"] > 0
    assert report["calls"] > sum(r["calls"] for r in report["results"][:2])


# A target that cannot be judged further


def test_a_target_that_always_hangs_gets_a_report(run, report_schema):
    """Three checks are errors, the others are not run; what cannot be found out is a fact."""
    result = run("check", f"{TARGETS}:always_sleeps", "--effort=quick", "--timeout=0.5", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    jsonschema.validate(report, report_schema)
    assert report["counts"]["error"] == 3
    assert report["counts"]["not run"] == len(all_checks()) - 3
    assert report["results"][3]["reason"] == "the process of the target ended 3 times before"
    assert report["spec"]["head_dim"] == 128
    assert {"what": "by trying", "warn": True} == {
        key: report["facts"][0][key] for key in ("what", "warn")
    }


NOT_READY = {
    "hangs_on_import": "the process did not go on within ",
    "ends_on_import": "exit status 0, as by os._exit(0); it printed last 'no licence found'",
    "exits_on_import": "SystemExit: bye",
    "hangs_when_made": "the process did not go on within ",
}


@pytest.mark.parametrize("name", NOT_READY)
def test_a_target_that_does_not_load_gets_no_verdict(run, name, monkeypatch):
    """To hang or to end while it is loaded or made: one message, status 2."""
    if name.startswith("hangs"):
        monkeypatch.setattr(child_process, "PATIENCE", 8.0)
    attribute = "Rope" if name == "hangs_when_made" else "rope"
    result = run("check", f"{HOSTILE / name}.py:{attribute}", "--timeout=3", "--layout=half")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert NOT_READY[name] in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_what_is_not_claimed_ends_no_report():
    """A hang in what is only tried costs the facts that would have come then."""
    target = f"{TARGETS}:sleeps_at_negative_positions"
    only = ("frequency.negative", "data.kept", "data.empty")
    report = rc.check(target, spec=SPEC, only=only, options=rc.RunOptions(isolate=True, timeout=3))
    assert [r.verdict for r in report.results] == ["not claimed", "passed", "not claimed"]
    assert report.passed
    text = next(fact.text for fact in report.facts if fact.what == "what is not claimed")
    assert text.startswith("not tried to the end: the call did not return within 3 s")


# The same report


def report_of(target, **options):
    data = rc.check(target, effort="quick", **options).to_dict()
    for part in (data, *data["results"]):
        del part["seconds"]
    return data


HALF = rc.Claim(dtypes=("float32", "float16"))
SAME = {
    "a function": ("rope_conformance.zoo.honest.plain:float32_power", {}),
    "a file": (f"{TARGETS}:honest", {"only": CLAUSES}),
    "a wrong one": ("rope_conformance.zoo:off_by_one", {}),
    "several types": (f"{TARGETS}:honest", {"claim": HALF, "only": CLAUSES}),
    "what it is not": (
        "rope_conformance.zoo:base_wrong",
        {"spec": SPEC, "axes": "bhtd", "only": CLAUSES},
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_isolation_changes_nothing_in_the_report(name):
    """The report of an isolated run is that of the same run in one process, but for seconds."""
    target, options = SAME[name]
    assert report_of(target, options=ISOLATED, **options) == report_of(target, **options)


def test_an_object_is_isolated_in_a_copy_of_the_process(done):
    """What has no name can be isolated too, where processes can be copied."""
    offset = 0

    def rope(x, positions):
        if not x.any() and not done.exists():
            done.touch()
            os._exit(7)
        return zoo.CONTROLS["float32_power"].factory(SPEC)(x, positions + offset)

    options = {"spec": SPEC, "only": CLAUSES}
    report = rc.check(rope, options=ISOLATED, **options)
    assert [r.verdict for r in report.results] == ["passed", "error", "passed"]
    assert "exit status 7" in report.results[1].failure.message
    assert report_of(rope, options=ISOLATED, **options) == report_of(rope, **options)


def test_what_cannot_be_isolated_is_refused():
    """Frameworks do not survive a copy, and code in a claim is not sent: errors that say so."""
    honest = zoo.CONTROLS["float32_power"].factory
    with pytest.raises(ValueError, match="name the target instead"):
        rc.check(honest, namespace="torch", options=ISOLATED)
    claim = rc.Claim(accepts=lambda spec: True)
    with pytest.raises(ValueError, match="cannot be handed to another process"):
        rc.check(f"{TARGETS}:honest", claim=claim, options=ISOLATED)
    for limits in ({"timeout": 0}, {"memory": -1}):
        with pytest.raises(ValueError, match="a positive number expected"):
            rc.RunOptions(isolate=True, **limits)


@pytest.mark.parametrize(
    ("target", "options", "error"),
    [
        ("rope_conformance.zoo:nothing", {}, rc.TargetError),
        (f"{TARGETS}:HOUR", {}, rc.TargetError),
        (f"{TARGETS}:honest", {"namespace": "cuda"}, NamespaceError),
        (f"{TARGETS}:honest", {"profile": "fine"}, ValueError),
    ],
)
def test_what_is_raised_is_what_would_be_raised_here(target, options, error):
    """An isolated target that cannot be judged raises the error of a run in one process."""
    with pytest.raises(error) as here:
        rc.check(target, **options)
    with pytest.raises(error) as there:
        rc.check(target, options=ISOLATED, **options)
    assert str(there.value) == str(here.value)

"""A run that nothing brings down: whatever a target does is a verdict on it, and no more."""

# ruff: noqa: NPY002  # the global generator is what this is about
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.cli import commands
from rope_conformance.inputs import cases
from rope_conformance.judging.clause import Check
from rope_conformance.judging.context import CheckContext
from rope_conformance.running import child_process
from rope_conformance.running.verdict import run_check
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import Implementation
from rope_conformance.target.process_state import changes, restored, settings_restored
from rope_ref import RopeSpec

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and /proc")

HOSTILE = Path(__file__).parent / "hostile"
ISOLATED = rc.RunOptions(isolate=True)
TARGETS = f"{HOSTILE / 'targets.py'}"
SPEC = RopeSpec(64, layout="half")
SCHEMA = json.loads((files("rope_conformance.report") / "report.schema.json").read_text("utf-8"))

# The second meets data that is all zeros, and there it happens; the last comes after it.
CLAUSES = ("pairing.layout", "rotation.norm", "data.kept")
ONLY = [word for clause in CLAUSES for word in ("--only", clause)]
QUICK = ["--effort=quick", "--layout=half", "--head-dim=64", "--positions=t"]


@pytest.fixture
def done(tmp_path, monkeypatch):
    """The file that says that a target has done it, and which process it was."""
    path = tmp_path / "done"
    monkeypatch.setenv("ROPE_HOSTILE_DONE", str(path))
    return path


def run(*arguments):
    """Run `rope-ref check` here; its target has a process of its own all the same."""
    return CliRunner().invoke(commands.rope_ref, ["check", *arguments], prog_name="rope-ref")


def lives(pid):
    """Whether a process is there and does something."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waits_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


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
def test_what_a_call_does_is_the_verdict_of_its_check(name, done):
    """The check that was under way is an error that says what happened, and where; others run."""
    result = run(f"{TARGETS}:{name}", *QUICK, *ONLY, "--timeout=3", "--json")
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, SCHEMA)
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


def test_memory_is_watched(done):
    """A process that grows by more than is allowed, once loaded, is ended."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is watched on Linux")
    report = rc.check(
        f"{TARGETS}:eats_memory",
        spec=SPEC,
        only=CLAUSES,
        options=rc.RunOptions(isolate=True, memory=300 * 2**20),
    )
    assert [r.verdict for r in report.results] == ["passed", "error", "passed"]
    message = report.results[1].failure.message
    assert message == "the process needed more than 300 MiB of memory once loaded"


@pytest.mark.parametrize("name", ["closes_stdout", "forks", "leaves_a_child", "leaves_a_thread"])
def test_what_disturbs_nobody_is_no_error(name, done):
    """Closed streams, copies of the process and threads that go on change no verdict."""
    report = rc.check(
        f"{TARGETS}:{name}", spec=SPEC, only=CLAUSES, effort="quick", options=ISOLATED
    )
    assert report.passed, report.findings
    if name.startswith("leaves"):  # nothing waits for it, and nothing is left of it
        assert waits_until(lambda: not lives(int(done.read_text())))


# A target that cannot be judged further


def test_a_target_that_always_hangs_gets_a_report():
    """Three checks are errors, the others are not run; what cannot be found out is a fact."""
    result = run(f"{TARGETS}:always_sleeps", "--effort=quick", "--timeout=0.5", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    jsonschema.validate(report, SCHEMA)
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
def test_a_target_that_does_not_load_gets_no_verdict(name, monkeypatch):
    """To hang or to end while it is loaded or made: one message, status 2."""
    if name.startswith("hangs"):
        monkeypatch.setattr(child_process, "PATIENCE", 8.0)
    attribute = "Rope" if name == "hangs_when_made" else "rope"
    result = run(f"{HOSTILE / name}.py:{attribute}", "--timeout=3", "--layout=half")
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


# What is printed


def test_what_a_target_prints_is_counted_and_not_shown():
    """Its lines are nowhere; how much it was is a fact. Without isolation they are shown."""
    command = [sys.executable, "-m", "rope_conformance.cli", "check", f"{TARGETS}:chats", *QUICK]
    apart = subprocess.run([*command, *ONLY], capture_output=True, text=True, timeout=120)
    assert apart.returncode == 0, apart.stderr
    assert "another" not in apart.stdout + apart.stderr
    assert "bytes, not shown" in apart.stdout
    together = subprocess.run(
        [*command, *ONLY, "--no-isolation"], capture_output=True, text=True, timeout=120
    )
    assert "another" in together.stderr
    assert "not shown" not in together.stdout


# Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_report(number, done, tmp_path):
    """A signal in the midst of a run: JSON with what was found, status 1, no process left."""
    command = [sys.executable, "-m", "rope_conformance.cli", "check", f"{TARGETS}:slow", *QUICK]
    with subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line.startswith("passed"):
                process.send_signal(number)
                break
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    report = json.loads(output)
    jsonschema.validate(report, SCHEMA)
    assert report["interrupted"]
    assert "the run was interrupted" in report["doubts"]
    assert report["results"]
    assert waits_until(lambda: not lives(int(done.read_text())))


def test_a_worker_does_not_outlive_who_asked_it(done):
    """Where the suite itself is killed, a target that hangs goes with it."""
    command = [sys.executable, "-m", "rope_conformance.cli", "check", f"{TARGETS}:sleeps", *QUICK]
    with subprocess.Popen([*command, *ONLY], stdout=subprocess.DEVNULL) as process:
        assert waits_until(lambda: done.exists() and done.read_text(), 60)
        process.kill()
    assert waits_until(lambda: not lives(int(done.read_text())))


# Bystanders


@pytest.mark.parametrize("name", ["seeds_numpy", "patches_numpy", "leaves_threads"])
def test_a_call_that_disturbs_its_process_fails_one_clause(name):
    """The clause about it fails, and says what; what else is judged is judged as ever."""
    factory = zoo.WRONG[name].factory
    report = rc.check(factory, effort="quick")
    assert [r.clause for r in report.findings] == ["data.process"]
    says = {"seeds_numpy": "NumPy's random state", "patches_numpy": "numpy.cos"}
    assert says.get(name, "left a thread behind") in report.findings[0].failure.message


@pytest.mark.parametrize("isolate", [False, True])
def test_nobody_else_sees_what_a_call_made_of_numpy(isolate):
    """NumPy in ruins after every call: the numbers are judged right, and the ruins found."""
    before = dict(vars(np))
    only = ("frequency.ladder", "rotation.norm", "independence.tokens", "data.process")
    target = f"{TARGETS}:makes_nothing_of_numpy"
    report = rc.check(
        target, spec=SPEC, only=only, effort="quick", options=rc.RunOptions(isolate=isolate)
    )
    assert [r.clause for r in report.findings] == ["data.process"]
    message = report.findings[0].failure.message
    assert {"numpy.cos", "numpy.sin", "numpy.random.default_rng"} <= set(
        message.partition(": ")[2].split(", ")
    )
    assert all(vars(np)[name] is value for name, value in before.items())


def test_what_was_replaced_on_import_is_put_back_and_found():
    """NumPy's functions are its own again once a target is loaded, and the clause says so."""
    cosine = np.cos
    report = rc.check(f"{HOSTILE / 'patches_on_import.py'}:rope", spec=SPEC, effort="quick")
    assert np.cos is cosine
    assert [r.clause for r in report.findings] == ["data.process"]
    assert report.findings[0].failure.message.endswith(": numpy.cos")
    if hasattr(np, "float_"):
        del np.float64


DISTURBANCES = {
    "NumPy's random state": lambda: np.random.seed(1),
    "NumPy's error state (numpy.seterr)": lambda: np.seterr(all="raise"),
    "NumPy's print options": lambda: np.set_printoptions(precision=2),
    "numpy.random.normal": lambda: setattr(np.random, "normal", None),
    "numpy.linalg.norm": lambda: delattr(np.linalg, "norm"),
    "math.cos": lambda: setattr(__import__("math"), "cos", None),
}


@pytest.mark.parametrize("what", DISTURBANCES)
def test_what_is_changed_is_named_and_put_back(what):
    """Each thing that is watched is put back after a change, also if the call raises."""
    state = np.random.get_state(legacy=False)["state"]["key"].tolist()
    errors, printing, norm = np.geterr(), np.get_printoptions(), np.linalg.norm
    changed = []
    with pytest.raises(ZeroDivisionError), restored(changed):
        DISTURBANCES[what]()
        _ = 1 / 0
    assert changed == [what]
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == state
    assert (np.geterr(), np.get_printoptions(), np.linalg.norm) == (errors, printing, norm)
    assert np.random.normal and __import__("math").cos


def test_a_pool_of_threads_is_nothing_left_behind():
    """Threads that are made once, or that end with the call, break no clause."""
    from concurrent.futures import ThreadPoolExecutor

    honest = zoo.CONTROLS["float32_power"].factory(SPEC)
    pool = ThreadPoolExecutor(8)

    def pooled(x, positions):
        parts = [pool.submit(honest, x, positions) for _ in range(4)]
        return parts[0].result()

    def joined(x, positions):
        thread = threading.Thread(target=honest, args=(x, positions))
        thread.start()
        thread.join()
        return honest(x, positions)

    for rope in (pooled, joined):
        assert rc.check(rope, spec=SPEC, only=["data.process"]).passed
        assert changes(rope) == []


# Checks that are surprised


def surprised(body):
    """The result of a check that raises what no check should."""
    known = next(each for each in all_checks() if each.name == "data.kept")
    check = Check(known.clause, body, known.fixed, None, 1, False)
    factory = zoo.CONTROLS["float32_power"].factory
    return run_check(
        check, CheckContext(Implementation(factory, factory.spec, factory.claim), "float32")
    )


def test_an_error_of_ours_is_no_verdict_on_the_target():
    """What a check raises itself means that it was not run, which is not to pass."""
    result = surprised(lambda context, case: context.x(None))
    assert result.verdict == "not run"
    assert "the check itself raised AttributeError: " in result.reason
    assert "(context.py, line " in result.reason


def test_an_error_in_what_came_back_is_an_error_of_the_target():
    """What code from elsewhere raises outside of calls is no end of the run either."""

    def look(context, case):
        raise KeyError("shape")

    result = surprised(look)
    assert result.verdict == "error"
    message = "what came back raised KeyError: 'shape' (test_isolation.py, line "
    assert result.failure.message.startswith(message)


# pytest


def test_pytest_outlives_a_target_that_is_isolated(pytester, done):
    """With --rope-isolate one clause fails where a call crashes, and the tests go on."""
    # An installed package brings its plugin along; a checkout on the path does not.
    installed = bool(entry_points(group="pytest11", name="rope_conformance"))
    plugin = () if installed else ("-p", "rope_conformance.pytest_plugin")
    result = pytester.runpytest_inprocess(
        *plugin,
        *("-p", "no:cacheprovider", "--rope-isolate", "--rope-timeout=20", "--rope-effort=quick"),
        *("--rope-impl", f"{TARGETS}:crashes", "--pyargs", "rope_conformance"),
        *("-k", " or ".join(clause.replace("data.kept", "data.kept]") for clause in CLAUSES)),
    )
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] >= 2
    result.stdout.fnmatch_lines(["*the process ended with signal SIGSEGV*"])


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: random.random(), []),
        (lambda: random.sample(range(9999), 200), []),
        (lambda: random.seed(3), ["the random state of Python (random)"]),
    ],
)
def test_drawing_from_python_is_no_seeding_either(act, told):
    """The rule is the same, and so is the kind of generator."""
    for used in (0, 100):
        random.seed(11)
        for _ in range(used):
            random.random()
        before = random.getstate()
        changed = []
        with settings_restored(changed):
            act()
        assert changed == told
        assert random.getstate() == before


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: np.random.rand(), []),
        (lambda: np.random.randint(9, size=300), []),
        (lambda: np.random.seed(3), ["NumPy's random state"]),
    ],
)
def test_drawing_is_no_seeding(act, told):
    """A library may draw a number; the state is put back either way, and only a seed is told."""
    for used in (0, 100):
        np.random.seed(11)
        np.random.rand(used)
        before = np.random.get_state()[1].tolist()
        changed = []
        with restored(changed):
            act()
        assert changed == told
        assert np.random.get_state()[1].tolist() == before

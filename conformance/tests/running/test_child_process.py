"""The process of a target is watched: its memory, what it prints, and how it ends."""

import json
import os
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest

import rope_conformance as rc
from rope_ref import RopeSpec

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and /proc")

ISOLATED = rc.RunOptions(isolate=True)
TARGETS = f"{Path(__file__).parent / 'hostile' / 'targets.py'}"
SPEC = RopeSpec(64, layout="half")

# The second meets data that is all zeros, and there it happens; the last comes after it.
CLAUSES = ("pairing.layout", "rotation.norm", "data.kept")
ONLY = [word for clause in CLAUSES for word in ("--only", clause)]
QUICK = ["--effort=quick", "--layout=half", "--head-dim=64", "--positions=t"]


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
def test_what_disturbs_nobody_is_no_error(name, done, soon, lives):
    """Closed streams, copies of the process and threads that go on change no verdict."""
    report = rc.check(
        f"{TARGETS}:{name}", spec=SPEC, only=CLAUSES, effort="quick", options=ISOLATED
    )
    assert report.passed, report.findings
    if name.startswith("leaves"):  # nothing waits for it, and nothing is left of it
        assert soon(lambda: not lives(int(done.read_text())))


def test_what_a_target_prints_is_counted_and_not_shown(spawn):
    """Its lines are nowhere; how much it was is a fact. Without isolation they are shown."""
    arguments = ("check", f"{TARGETS}:chats", *QUICK, *ONLY)
    apart = spawn(*arguments)
    assert apart.returncode == 0, apart.stderr
    assert "another" not in apart.stdout + apart.stderr
    assert "bytes, not shown" in apart.stdout
    together = spawn(*arguments, "--no-isolation")
    assert "another" in together.stderr
    assert "not shown" not in together.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_report(number, done, command, report_schema, soon, lives):
    """A signal in the midst of a run: JSON with what was found, status 1, no process left."""
    arguments = command("check", f"{TARGETS}:slow", *QUICK, "--json")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line.startswith("passed"):
                process.send_signal(number)
                break
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    report = json.loads(output)
    jsonschema.validate(report, report_schema)
    assert report["interrupted"]
    assert "the run was interrupted" in report["doubts"]
    assert report["results"]
    assert soon(lambda: not lives(int(done.read_text())))


def test_a_worker_does_not_outlive_who_asked_it(done, command, soon, lives):
    """Where the suite itself is killed, a target that hangs goes with it."""
    arguments = command("check", f"{TARGETS}:sleeps", *QUICK, *ONLY)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as process:
        assert soon(lambda: done.exists() and done.read_text(), 60)
        process.kill()
    assert soon(lambda: not lives(int(done.read_text())))

"""What is printed, and where."""

import json
import os
import signal
import subprocess
from pathlib import Path

import jsonschema

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD, BAD = (f"{EXAMPLES / name}:apply_rope" for name in ("my_rope.py", "my_rope_wrong.py"))

QUICK = ("--effort=quick", "--layout=half", "--head-dim=8")


def test_stdout_is_the_report_alone(spawn, odd, report_schema, tmp_path):
    """With --json, what a target and its children print goes to stderr; stdout is one document."""
    result = spawn("check", f"{odd}:prints", *QUICK, "--json", "--no-isolation", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    jsonschema.validate(json.loads(result.stdout), report_schema)
    assert "debug (" in result.stderr
    assert "from a child" in result.stderr
    assert "CONFORMANT" in result.stderr


def test_stdout_holds_no_line_of_the_target(spawn, odd, tmp_path):
    """Without --json too, what a target prints goes to stderr."""
    only = ("--only=data.kept", "--no-isolation")
    result = spawn("check", f"{odd}:prints", *QUICK, *only, cwd=tmp_path)
    assert result.returncode == 0
    assert "PASSED" in result.stdout
    assert "debug" not in result.stdout
    assert "from a child" not in result.stdout
    assert "debug (" in result.stderr


def test_the_same_seed_gives_the_same_report(run, spawn, tmp_path):
    """Two runs differ in nothing but seconds, in one process or in two."""
    arguments = ("check", BAD, "--seed=5", "--effort=quick", "--json")

    def report(text: str) -> dict:
        data = json.loads(text)
        for part in (data, *data["results"]):
            del part["seconds"]
        return data

    first, second = (report(run(*arguments).stdout) for _ in range(2))
    assert first == second
    assert report(spawn(*arguments, cwd=tmp_path).stdout) == first


def test_nothing_is_written_into_the_callers_folder(spawn, tmp_path):
    """A run leaves the current folder, and that of the target, as they were."""
    (tmp_path / "neighbour.py").write_text("base = 10000.0\n", encoding="utf-8")
    source = (EXAMPLES / "my_rope.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        source.replace("import numpy", "import neighbour\nimport numpy"), encoding="utf-8"
    )
    before = sorted(tmp_path.rglob("*"))
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    result = spawn("check", "mine:apply_rope", "--effort=quick", cwd=tmp_path, env=clean)
    assert result.returncode == 0, result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_signal_ends_the_run_with_a_report(command, tmp_path):
    """Ctrl-C during a run gives the report on what was judged so far, and status 1."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import sys, time\ndef rope(x, positions):\n"
        "    print('called', file=sys.stderr, flush=True)\n    time.sleep(0.05)\n    return x\n",
        encoding="utf-8",
    )
    arguments = command("check", f"{slow}:rope", "--layout=half", "--head-dim=8", "--json")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        for line in process.stderr:
            if line.startswith("failed"):  # the run is under way
                process.send_signal(signal.SIGINT)
                break
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert json.loads(output)["interrupted"]


def test_lines_fit_eighty_columns(run):
    """In a file no line has more than 80 columns, but for the command that is to be copied."""
    lines = run("check", BAD).output.splitlines()
    assert all(line.split()[0] == "again" for line in lines if len(line) > 80)
    assert lines == [line.rstrip() for line in lines]

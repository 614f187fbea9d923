"""RoPEs as a newcomer writes them, each wrong in one way, all caught by `rope-ref check`."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rope_conformance.cli.commands import rope_ref

FOLDER = Path(__file__).parent / "attempts"
ATTEMPTS = tomllib.loads((FOLDER / "attempts.toml").read_text(encoding="utf-8"))
# What a process of its own could change is tested with the isolation; these show that it does not.
APART = ("wrong_base", "float16_positions", "table_wraps_at_4096")


def arguments(name):
    """What the author of a file would type behind ``rope-ref``."""
    options = ATTEMPTS.get(name, {}).get("options", [])
    return ["check", f"{FOLDER / name}.py:rope", *options, "--json"]


def demand_caught(name, report):
    """The report names the clause that its author broke, and why."""
    assert not report["passed"]
    broken = {r["clause"]: r["failure"] for r in report["results"] if r["failure"]}
    assert ATTEMPTS[name]["fails"] in broken
    words = " ".join(f"{f['message']} {f['cause'] or ''}" for f in broken.values()).lower()
    assert ATTEMPTS[name].get("says", "") in words


def test_every_file_is_an_attempt():
    """A file that no row names would be judged by nothing."""
    assert {path.stem for path in FOLDER.glob("*.py")} == {*ATTEMPTS, "honest"}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_wrong_rope_is_caught(name):
    """The command ends with status 1 and says what is wrong."""
    result = CliRunner().invoke(rope_ref, [*arguments(name), "--no-isolation", "--effort=quick"])
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    demand_caught(name, json.loads(result.stdout))


@pytest.mark.parametrize("name", APART)
def test_it_is_caught_as_it_is_typed(name, tmp_path):
    """The same of the command in a process of its own, which the target has another of."""
    command = [sys.executable, "-m", "rope_conformance.cli", *arguments(name)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    demand_caught(name, json.loads(result.stdout))


def test_the_same_rope_without_a_fault_is_conformant():
    """Nothing about the way these files are written is held against them."""
    result = CliRunner().invoke(rope_ref, arguments("honest"))
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["passed"]

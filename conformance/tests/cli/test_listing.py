"""`rope-ref list` and `--help`: what there is."""

import subprocess
import sys

import pytest

from rope_conformance import zoo
from rope_conformance.accuracy.profiles import PROFILES
from rope_conformance.adapters import BUNDLED, installed
from rope_conformance.clauses import all_checks
from rope_conformance.cli.check import check
from rope_conformance.running.settings import EFFORTS


def test_help_offers_what_there_is():
    """Efforts named in the options are those of the runner."""
    efforts = next(p for p in check.params if p.name == "effort")
    assert list(efforts.type.choices) == list(EFFORTS)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("wrong", list(zoo.WRONG)),
        ("controls", list(zoo.CONTROLS)),
        ("clauses", [each.name for each in all_checks()]),
        ("profiles", [profile.name for profile in PROFILES]),
    ],
)
def test_list_shows_every_name_with_its_sentence(run, kind, names):
    """`rope-ref list` shows what is built in, one name and sentence after the other."""
    result = run("list", f"--{kind}")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines() if line[:1] != " "] == names


def test_list_alone_shows_every_public_library(run):
    """`rope-ref list` shows each bundled name, with its version or what to install."""
    shown = run("list")

    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    for name in BUNDLED:
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        version, _ = installed(name)
        words = line.removeprefix(name).strip()
        assert words.startswith(
            f"{BUNDLED[name].package} {version}" if version else "not installed"
        )


def test_help_loads_nothing_heavy():
    """`rope-ref --help` answers without NumPy, rich and Hypothesis."""
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from rope_conformance.cli import main\nsys.argv[1:] = ['check', '--help']\nmain()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0
    assert "TARGET is package.module:object" in result.stdout
    assert not {"numpy", "rich", "hypothesis", "rope_ref"} & set(result.stderr.split())

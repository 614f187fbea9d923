"""What the README shows is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BEGIN, END = (f"<!-- output of the first command: {word} -->" for word in ("begin", "end"))


def shown() -> list[str]:
    """The lines of the block in the README."""
    block = TEXT.partition(BEGIN)[2].partition(END)[0]
    return block.strip().removeprefix("```text").removesuffix("```").strip().splitlines()


def printed() -> list[str]:
    """What the first command prints, at the width of the README's lines."""
    run = subprocess.run(
        [sys.executable, "-m", "rope_conformance.cli", "check", "examples/my_rope.py:apply_rope"],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip().splitlines()


def words(lines: list[str]) -> list[str]:
    """The text without its numbers: how many inputs are drawn depends on Hypothesis' version."""
    return " ".join(re.sub(r"\d[\d,.]*", "N", " ".join(lines)).split()).split()


def test_readme_shows_what_the_first_command_prints() -> None:
    """The block in the README is the output of its first command, numbers apart."""
    assert words(shown()) == words(printed())


# What the examples of the README take for granted: an implementation, and its arrays.
GIVEN = """
import numpy as np
import rope_ref as rr
x, positions = np.ones((1, 8, 4, 128)), np.arange(8)
spec = rr.RopeSpec(128, layout="half")
def my_apply_rope(x, positions):
    return rr.apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)
class MyRope:
    def __init__(self, spec): self.spec = spec
    def __call__(self, x, positions):
        return rr.apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)
OtherRope = MyRope
"""
# Each example by a line of it, and what is true after it.
EXAMPLES = {
    "y = rr.apply_cos_sin": "y.shape == x.shape and y.dtype == np.float64",
    "report = rc.check": "report.passed and not report.findings",
    "@rc.parametrize_with_checks": "test_rope.pytestmark[0].name == 'parametrize'",
    "rope_backends.load": "y.shape == x.shape and y.dtype == x.dtype",
}


def examples() -> list[str]:
    """The Python blocks of the README."""
    return re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


def test_every_example_of_the_readme_is_run() -> None:
    assert [[line for line in EXAMPLES if line in each] for each in examples()] == [
        [line] for line in EXAMPLES
    ]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_readme_runs(line: str) -> None:
    """As it is written, on the arrays that every environment has."""
    (example,) = (each for each in examples() if line in each)
    given = "" if "import numpy" in example else GIVEN + "import rope_conformance as rc\n"
    on_numpy = example.replace('load("torch")', 'load("numpy")')
    # -I: neither the current folder nor PYTHONPATH may lend a module.
    code = f"{given}{on_numpy}\nassert {EXAMPLES[line]}"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", re.findall(r"^rope-ref describe .*$", TEXT, re.M))
def test_a_command_of_the_readme_runs(command: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rope_conformance.cli", *command.split()[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout

"""What the README shows is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = (f"<!-- output of the first command: {word} -->" for word in ("begin", "end"))


def shown() -> list[str]:
    """The lines of the block in the README."""
    block = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
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

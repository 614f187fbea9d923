"""The command rope-ref in this process and in one of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rope_conformance.cli import commands


def _run(*arguments):
    return CliRunner().invoke(commands.rope_ref, arguments, prog_name="rope-ref")


def _command(*arguments):
    # -P, as for an installed script: the current folder lends no module.
    start = "from rope_conformance.cli import main; main()"
    return [sys.executable, "-P", "-c", start, *arguments]


@pytest.fixture(scope="session")
def run():
    """Run rope-ref in this process."""
    return _run


@pytest.fixture(scope="session")
def command():
    """The command line of rope-ref in a process of its own."""
    return _command


@pytest.fixture(scope="session")
def spawn():
    """Run it there."""

    def started(*arguments, **options):
        return subprocess.run(
            _command(*arguments), capture_output=True, text=True, timeout=120, **options
        )

    return started


@pytest.fixture(scope="session")
def odd():
    """Path of a file of odd targets."""
    return str(Path(__file__).parent / "targets" / "odd.py")

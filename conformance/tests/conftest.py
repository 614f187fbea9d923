"""The command rope-ref, in this process and in another; schema, waiver files, seeds."""

import json
import os
import subprocess
import sys
from importlib.resources import files

import pytest
from click.testing import CliRunner

from rope_conformance.cli.commands import rope_ref


def _command(*arguments):
    # -P, as for an installed script: the current folder lends no module.
    start = "from rope_conformance.cli import main; main()"
    return [sys.executable, "-P", "-c", start, *arguments]


@pytest.fixture(scope="session")
def run():
    """Run rope-ref in this process."""

    def invoked(*arguments):
        return CliRunner().invoke(rope_ref, arguments, prog_name="rope-ref")

    return invoked


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
def report_schema():
    """The JSON Schema of reports."""
    schema = files("rope_conformance.report") / "report.schema.json"
    return json.loads(schema.read_text("utf-8"))


@pytest.fixture
def waiver_file(tmp_path):
    """Write a file of waivers and return its path."""

    def write(text: str) -> str:
        path = tmp_path / "waivers.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(scope="session")
def seeds() -> range:
    """One at each change, fifty in the environment `nightly` (ROPE_SEEDS)."""
    return range(int(os.environ.get("ROPE_SEEDS", "1")))

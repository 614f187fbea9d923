"""What tests of processes share: whether one lives, and what it has done."""

import time
from pathlib import Path

import pytest


@pytest.fixture
def done(tmp_path, monkeypatch):
    """The file that says that a target has done it, and which process it was."""
    path = tmp_path / "done"
    monkeypatch.setenv("ROPE_HOSTILE_DONE", str(path))
    return path


@pytest.fixture(scope="session")
def lives():
    """Whether a process is there and does something."""

    def alive(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return alive


@pytest.fixture(scope="session")
def soon():
    """Whether a condition holds within some seconds."""

    def holds(condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)
        return condition()

    return holds

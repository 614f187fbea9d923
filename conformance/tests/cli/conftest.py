"""Targets that misbehave."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def odd():
    """Path of a file of odd targets."""
    return str(Path(__file__).parent / "targets" / "odd.py")

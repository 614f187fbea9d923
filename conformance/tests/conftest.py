"""How many seeds honest implementations are tried with."""

import os

import pytest


@pytest.fixture(scope="session")
def seeds() -> range:
    """One at each change, fifty in the environment `nightly` (ROPE_SEEDS)."""
    return range(int(os.environ.get("ROPE_SEEDS", "1")))

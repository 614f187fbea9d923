"""Which frameworks the tests here may use, and must."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from rope_conformance.target.frameworks import NamespaceError, namespace


def _listed(variable: str) -> list[str]:
    return [name for name in os.environ.get(variable, "").split(",") if name]


@pytest.fixture(scope="session")
def usable() -> Callable[[str], Any]:
    """Return a framework's namespace; skips what is not selected or missing, unless required."""

    def use(name: str) -> Any:
        if _listed("ROPE_BACKENDS") and name not in _listed("ROPE_BACKENDS"):
            pytest.skip(f"{name} is not among ROPE_BACKENDS={os.environ['ROPE_BACKENDS']}")
        try:
            return namespace(name)
        except NamespaceError as error:
            if name in _listed("ROPE_REQUIRE"):
                pytest.fail(f"required, but unavailable: {error}", pytrace=False)
            pytest.skip(str(error))

    return use

"""Wrong RoPEs, small and of our own writing, and honest ones beside them.

Each wrong one breaks one thing and names the check that must catch it. They ship so that
other suites can try themselves on them::

    rope-ref check rope_conformance.zoo:base_wrong

Every one is a factory: called with a `RopeSpec` it returns a callable ``f(x, positions)``
for NumPy arrays with axes ``bthd``. The attribute ``spec`` says which RoPE it pretends to
be, ``claim`` what it claims.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo import honest, wrong  # noqa: F401  # each module enters its members
from rope_conformance.zoo.member import CONTROLS, WRONG, Member

__all__ = ["CONTROLS", "WRONG", "Member"]


def __getattr__(name: str) -> Any:
    for entries in (WRONG, CONTROLS):
        if name in entries:
            return entries[name].factory
    raise AttributeError(f"rope_conformance.zoo has no {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *WRONG, *CONTROLS])

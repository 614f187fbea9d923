"""Publicly reported bugs, and which wrong implementations stand for their kinds."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rope_conformance.faults import Fault

__all__ = ["PublicReport", "corpus"]


@dataclass(frozen=True)
class PublicReport:
    """A bug that somebody reported in public.

    Parameters
    ----------
    id
        Its name here.
    source
        The issue or pull request it was reported in, ``owner/repository#number``.
    fault
        The class of the fault.
    what
        What went wrong, in one sentence.
    members
        Names of the wrong implementations of its kind, the closest first.
    why_not
        Why there is none; empty if there are members.
    """

    id: str
    source: str
    fault: Fault
    what: str
    members: tuple[str, ...] = ()
    why_not: str = ""


@cache
def corpus() -> tuple[PublicReport, ...]:
    """Return all reports, in the order of their ids."""
    text = resources.files("rope_conformance.zoo").joinpath("corpus.toml").read_text("utf-8")
    entries = tomllib.loads(text)["report"]
    return tuple(
        PublicReport(**entry | {"members": tuple(entry.get("members", ()))}) for entry in entries
    )

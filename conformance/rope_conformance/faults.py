"""The classes of faults, in the words of public bug reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["FAULTS", "Cause", "Fault"]

Fault = Literal[
    "layout",
    "sign",
    "frequency",
    "angle-precision",
    "position",
    "cache",
    "partial",
    "scaling",
    "multi-axis",
    "kernel-shape",
    "aliasing",
    "gradient",
    "compile",
    "dtype",
    "broadcast",
    "config",
    "distributed",
    "other",
]

FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(frozen=True)
class Cause:
    """What is probably wrong: its formula in words, its class, and what speaks for it."""

    words: str
    fault: Fault
    evidence: str

"""What a check saw: how many inputs and samples, the largest errors, notes and facts."""

from __future__ import annotations

from dataclasses import dataclass, field

from rope_conformance.accuracy.residual import Judgement
from rope_conformance.accuracy.statistics import Meter

__all__ = ["Evidence"]


@dataclass
class Evidence:
    """What was seen in one context.

    Attributes
    ----------
    inputs
        How many inputs the check has seen.
    samples, decisive
        How many pairs were compared, and at how many of them the bound is small enough to tell
        right from wrong.
    meter
        The largest errors.
    notes
        Remarks that are shown beside the verdict.
    facts
        What was found about what is not claimed: what it is about, and what was found.
    calls_to_failure
        How often the implementation had been called, in all contexts, when an input first
        failed; None if none did.
    """

    inputs: int = 0
    samples: int = 0
    decisive: int = 0
    meter: Meter = field(default_factory=Meter)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    calls_to_failure: int | None = None

    def count(self, judgement: Judgement) -> None:
        """Count the pairs of a judgement."""
        self.samples += judgement.ratio.size
        self.decisive += int(judgement.decisive.sum())

    def absorb(self, other: Evidence) -> None:
        """Count the pairs of another context as this one's."""
        self.samples += other.samples
        self.decisive += other.decisive

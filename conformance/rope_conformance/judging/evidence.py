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
        How many pairs were compared, and at how many of them right and wrong can be told apart.
    meter
        The largest errors.
    notes, facts
        What is to be said beside the verdict, and what was found about what is not claimed.
    calls_to_failure
        Of the implementation, in all contexts, when the first input failed.
    """

    inputs: int = 0
    samples: int = 0
    decisive: int = 0
    meter: Meter = field(default_factory=Meter)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    calls_to_failure: int | None = None

    def count(self, judgement: Judgement) -> None:
        """Count how many samples there were and how many could tell right from wrong."""
        self.samples += judgement.ratio.size
        self.decisive += int(judgement.decisive.sum())

    def absorb(self, other: Evidence) -> None:
        """Count the samples of another context as this one's."""
        self.samples += other.samples
        self.decisive += other.decisive

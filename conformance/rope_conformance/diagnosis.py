"""Says what is probably wrong: which single fault explains everything that was seen."""

from __future__ import annotations

from rope_conformance.trial import Trial


def likely_cause(trial: Trial) -> str | None:
    return None

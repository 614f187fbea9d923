"""Position interpolation: every frequency divided by one factor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from rope_ref.exact.frequency import Frequency
from rope_ref.exact.parameters import positive
from rope_ref.exact.real import Real
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["Linear"]


@dataclass(frozen=True)
class Linear(ScaledRule):
    """theta_i / factor: position interpolation.

    Dividing positions by the factor instead is the same RoPE.

    Parameters
    ----------
    rule
        The frequencies to divide.
    factor
        How many times longer the context becomes.

    Raises
    ------
    FrequencyValueError
        If `factor` is not a positive finite number, or `rule` no rule.

    Notes
    -----
    Source: Chen et al., Position Interpolation, arXiv:2306.15595, equation 4.
    """

    rule: FrequencyRule
    _: KW_ONLY
    factor: Real

    def __post_init__(self) -> None:
        call = self._call(factor=self.factor)
        self._needs_rule(call)
        self._set(factor=positive(self.factor, call, "factor", "1 changes nothing"))

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, divided."""
        return tuple(w / self.factor for w in self.rule.frequencies(rotary_dim))

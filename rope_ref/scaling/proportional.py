"""p-RoPE: some pairs turn as in the whole head, the others stand still."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

from rope_ref.errors import FrequencyValueError
from rope_ref.exact.frequency import Frequency
from rope_ref.exact.parameters import number, positive
from rope_ref.exact.real import Real
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["Proportional"]


@dataclass(frozen=True)
class Proportional(ScaledRule):
    """p-RoPE: a part of the pairs turns as in the whole head, the others stand still.

    Of D channels, all of them paired, the first ``int(fraction * D // 2)`` pairs have the
    frequencies of a head of D channels, divided by `factor`; the rest have theta 0. (In an
    ordinary partial RoPE pairs are formed within the rotating part, and R is the divisor.)

    Parameters
    ----------
    rule
        The frequencies of the whole head; the spec's rotary_dim is the whole head too.
    fraction
        The part of pairs that turns, from 0 to 1.
    factor
        What their frequencies are divided by.

    Raises
    ------
    FrequencyValueError
        If `fraction` does not lie in 0 to 1, or `factor` is not positive.

    Notes
    -----
    Source: `proportional` in huggingface/transformers (Gemma 4), which calls the fraction
    ``partial_rotary_factor``. vLLM does not divide by the factor.
    """

    rule: FrequencyRule
    _: KW_ONLY
    fraction: Real
    factor: Real = 1.0

    def __post_init__(self) -> None:
        call = self._call(fraction=self.fraction, factor=self.factor)
        self._needs_rule(call)
        fraction = number(self.fraction, call, "fraction")
        if not 0 <= fraction <= 1:
            raise FrequencyValueError(
                f"{call}: fraction must lie between 0 and 1; Gemma 4 has 0.25"
            )
        factor = positive(self.factor, call, "factor", "1 changes nothing")
        self._set(fraction=fraction, factor=factor)

    def turning(self, rotary_dim: int) -> int:
        """How many pairs turn; by float64, as the systems count."""
        return int(float(self.fraction) * rotary_dim // 2)

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, divided, and 0 for the pairs that stand still."""
        turning = self.turning(rotary_dim)
        theta = self.rule.frequencies(rotary_dim)
        still = Frequency.of_turns(Fraction(0))
        return tuple(w / self.factor if i < turning else still for i, w in enumerate(theta))

"""Llama 3's scaling: slow pairs divided, fast ones kept, by the turns that they make."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from rope_ref.errors import FrequencyValueError
from rope_ref.exact.frequency import Computed, Frequency
from rope_ref.exact.parameters import choice, positive
from rope_ref.exact.real import Real, real
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["Llama3"]


@dataclass(frozen=True)
class Llama3(ScaledRule):
    """Slow pairs are divided by the factor, fast ones kept, those between are blended.

    What counts is the number of turns a pair makes in `original_length` positions:
    below `low_freq_factor` it is slow, above `high_freq_factor` fast.

    Parameters
    ----------
    rule
        The frequencies to change.
    factor
        What slow pairs are divided by.
    low_freq_factor, high_freq_factor
        Turns in the original context. Where both are equal there is nothing between.
    original_length
        The length the model was trained for.
    boundary
        A pair that makes exactly `low_freq_factor` turns is ``"slow"``, as the blend has
        it, or ``"fast"``, as mlx-lm has it.

    Raises
    ------
    FrequencyValueError
        If a parameter is not a positive finite number, or `high_freq_factor` is below
        `low_freq_factor`.

    Notes
    -----
    Source: `llama3` in huggingface/transformers, modeling_rope_utils.py; Llama-3.1 has
    8, 1, 4, 8192. Defaults elsewhere: 8194 positions in lmdeploy, a high factor of 32 in
    xformers.
    """

    rule: FrequencyRule
    _: KW_ONLY
    factor: Real
    low_freq_factor: Real = 1.0
    high_freq_factor: Real = 4.0
    original_length: Real = 8192.0
    boundary: Literal["slow", "fast"] = "slow"

    def __post_init__(self) -> None:
        call = self._call(
            factor=self.factor,
            low_freq_factor=self.low_freq_factor,
            high_freq_factor=self.high_freq_factor,
            original_length=self.original_length,
        )
        self._needs_rule(call)
        hint = "Llama-3.1 has factor 8, low 1, high 4, length 8192"
        self._set(
            factor=positive(self.factor, call, "factor", hint),
            low_freq_factor=positive(self.low_freq_factor, call, "low_freq_factor", hint),
            high_freq_factor=positive(self.high_freq_factor, call, "high_freq_factor", hint),
            original_length=positive(self.original_length, call, "original_length", hint),
        )
        if self.high_freq_factor < self.low_freq_factor:
            raise FrequencyValueError(
                f"{call}: high_freq_factor must not be below low_freq_factor; {hint}"
            )
        choice(self.boundary, ("slow", "fast"), call, "boundary")

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below: kept, divided, or part of each."""
        theta = self.rule.frequencies(rotary_dim)
        return tuple(w.blend(w / self.factor, self._kept(w)) for w in theta)

    def _kept(self, frequency: Frequency) -> Fraction | Computed:
        """How much of a frequency is kept: 0 if slow, 1 if fast; exact for rational turns."""
        ends = (self.original_length, self.low_freq_factor, self.high_freq_factor)
        turns = frequency.rational
        if turns is not None:
            length, low, high = (Fraction(end) for end in ends)
            share: Fraction = self._share(length * abs(turns), low, high)
            return share

        def computed(n: int) -> Decimal:
            length, low, high = (real(end) for end in ends)
            share: Decimal = self._share(length * abs(frequency.turns(n)), low, high)
            return share

        return computed

    def _share(self, turns: Any, low: Any, high: Any) -> Any:
        """What is kept of a pair with so many turns; Decimal or Fraction."""
        if turns == low:
            return type(turns)(0 if self.boundary == "slow" else 1)
        if turns < low:
            return type(turns)(0)
        return type(turns)(1) if turns >= high else (turns - low) / (high - low)

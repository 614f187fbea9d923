"""A divisor for each pair, which is what GGUF files keep of some scalings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from rope_ref.errors import FrequencyCountError
from rope_ref.exact.frequency import Frequency
from rope_ref.exact.parameters import positives
from rope_ref.exact.real import Real
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.scaling.scaled_rule import ScaledRule

__all__ = ["Divided"]


@dataclass(frozen=True)
class Divided(ScaledRule):
    """theta_i / factors_i: LongRoPE with one list, for texts of any length.

    Parameters
    ----------
    rule
        The frequencies to divide.
    factors
        One per pair.

    Raises
    ------
    FrequencyValueError
        If a factor is not a positive finite number, or `rule` no rule.
    FrequencyCountError
        When used with another number of pairs than there are factors.

    Notes
    -----
    Source: the tensor ``rope_freqs.weight`` of GGUF files, to which
    ggml-org/llama.cpp:convert_hf_to_gguf.py reduces Llama 3's rule.
    """

    rule: FrequencyRule
    _: KW_ONLY
    factors: Sequence[Real]

    def __post_init__(self) -> None:
        call = self._call(factors=...)
        self._needs_rule(call)
        self._set(factors=positives(self.factors, call, "factors"))

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule below, each divided by its own factor."""
        pairs = rotary_dim // 2
        if len(self.factors) != pairs:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with Divided: {len(self.factors)} factors given, but "
                f"rotary_dim={rotary_dim} has {pairs} pairs; give one per pair"
            )
        theta = self.rule.frequencies(rotary_dim)
        return tuple(w / factor for w, factor in zip(theta, self.factors, strict=True))

"""A divisor for each pair, which is what GGUF files keep of some remaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction

from rope_ref.errors import FrequencyCountError
from rope_ref.exact.real import Real, positives, real, real_arithmetic
from rope_ref.scaling.frequencies import RealRule
from rope_ref.scaling.scaled_rules import ScaledRule

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

    rule: RealRule
    _: KW_ONLY
    factors: Sequence[Real]

    def __post_init__(self) -> None:
        call = self._call(factors=...)
        self._needs_rule(call)
        self._set(factors=positives(self.factors, call, "factors"))

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        self._fits(rotary_dim)
        theta = self.rule.real_theta(rotary_dim, digits)
        with real_arithmetic(digits):
            return tuple(w / real(factor) for w, factor in zip(theta, self.factors, strict=True))

    def rational_turns(self, rotary_dim: int) -> tuple[Fraction | None, ...]:
        """The turns of the rule below, divided."""
        self._fits(rotary_dim)
        turns = self.rule.rational_turns(rotary_dim)
        return tuple(
            None if t is None else t / Fraction(factor)
            for t, factor in zip(turns, self.factors, strict=True)
        )

    def _fits(self, rotary_dim: int) -> None:
        pairs = rotary_dim // 2
        if len(self.factors) != pairs:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with Divided: {len(self.factors)} factors given, but "
                f"rotary_dim={rotary_dim} has {pairs} pairs; give one per pair"
            )

"""Rules made of whole ladders: one for each position axis, or one in another order.

Which axis a pair follows, and which model needs what, is in `rope_ref.positions.pair_axes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from rope_ref.arguments import as_items, shown
from rope_ref.errors import (
    AmplitudeError,
    FrequencyCountError,
    FrequencyValueError,
    PairOrderError,
)
from rope_ref.exact.frequency import Frequency
from rope_ref.exact.real import approximately
from rope_ref.positions.pair_axes import axis_widths, integers, total
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["Axial", "Reordered"]


@dataclass(frozen=True, init=False)
class Axial(FrequencyRule):
    """A ladder for each axis: theta of one rule after the other, each over its own width.

    Parameters
    ----------
    rules
        One rule for each axis; one alone is the rule of them all. Over a width of w channels
        an axis has w/2 pairs; theta_j of ``PowerLaw(base)`` is base**(-2 j / w).
    widths
        How many channels each axis has, even numbers; together rotary_dim.

    Raises
    ------
    CountTypeError, WidthsError
        If `widths` is not one even number from 2 to 2**20 for each axis.
    FrequencyValueError
        If `rules` is not one rule, or one for each width.
    AmplitudeError
        If the rules do not have the same amplitude: cos and sin have one factor.
    FrequencyCountError
        When a spec is made, if `widths` do not add up to its rotary_dim.

    Notes
    -----
    Source: Heo et al., Rotary Position Embedding for Vision Transformer, arXiv:2403.13298,
    section 3.
    """

    rules: tuple[FrequencyRule, ...]
    widths: tuple[int, ...]

    def __init__(
        self, rules: FrequencyRule | Iterable[FrequencyRule], widths: Iterable[int]
    ) -> None:
        call = f"Axial({shown(rules)}, {shown(widths)})"
        counts = axis_widths(widths, call)
        each = (rules,) * len(counts) if isinstance(rules, FrequencyRule) else as_items(rules) or ()
        if len(each) != len(counts) or not all(isinstance(rule, FrequencyRule) for rule in each):
            raise FrequencyValueError(
                f"{call}: rules must be one frequency rule such as PowerLaw(10000), or one for "
                f"each of the {len(counts)} widths"
            )
        if len({rule.amplitude for rule in each}) > 1:
            amplitudes = ", ".join(approximately(rule.amplitude) for rule in each)
            raise AmplitudeError(
                f"{call}: the rules have amplitudes {amplitudes}, but cos and sin have one factor; "
                "give all the same"
            )
        object.__setattr__(self, "rules", each)
        object.__setattr__(self, "widths", counts)

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, that of each rule."""
        return self.rules[0].amplitude

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the first axis, then those of the next."""
        parts = (rule.frequencies(width) for rule, width in self._axes(rotary_dim))
        return tuple(frequency for part in parts for frequency in part)

    def _axes(self, rotary_dim: int) -> list[tuple[FrequencyRule, int]]:
        filled = total(self.widths)
        if rotary_dim != filled:
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with Axial(..., {self.widths}): the widths add up to "
                f"{filled}; give widths that fill rotary_dim, or set rotary_dim={filled}"
            )
        return list(zip(self.rules, self.widths, strict=True))


@dataclass(frozen=True, init=False)
class Reordered(FrequencyRule):
    """The frequencies of a rule in another order: pair i turns as pair ``order[i]`` does there.

    For models that sort the pairs of one ladder by axis, or mix the ladders of two.

    Parameters
    ----------
    rule
        Where the frequencies come from.
    order
        The pairs 0 to R/2 - 1 of `rule`, each once.
    repeats
        Some pairs may be named several times, and others not at all.

    Raises
    ------
    FrequencyValueError
        If `rule` is no rule.
    CountTypeError, PairOrderError
        If `order` does not hold each pair once, or with `repeats` names one there is not.
    FrequencyCountError
        When a spec is made, if its rotary_dim has another number of pairs.

    Notes
    -----
    Source: huggingface/transformers:src/transformers/models/pixtral/modeling_pixtral.py.
    """

    rule: FrequencyRule
    order: tuple[int, ...]
    repeats: bool = False

    def __init__(self, rule: FrequencyRule, *, order: Iterable[int], repeats: bool = False) -> None:
        call = f"Reordered({shown(rule)}, order={shown(order)})"
        if not isinstance(rule, FrequencyRule):
            raise FrequencyValueError(f"{call}: rule must be a rule such as PowerLaw(10000)")
        pairs = integers(order, call, "order")
        there = range(len(pairs))
        if sorted(pairs) != list(there) and not (repeats and set(pairs) <= set(there)):
            raise PairOrderError(
                f"{call}: order must hold the number of each pair, 0 to {len(pairs) - 1}, once"
                + ("; with repeats=True some of them several times" if not repeats else "")
            )
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "order", pairs)
        object.__setattr__(self, "repeats", bool(repeats))

    @property
    def amplitude(self) -> Fraction:
        """Factor A on cos and sin, that of the rule."""
        return self.rule.amplitude

    def frequencies(self, rotary_dim: int) -> tuple[Frequency, ...]:
        """Those of the rule, in the order given."""
        if rotary_dim != 2 * len(self.order):
            raise FrequencyCountError(
                f"rotary_dim={rotary_dim} with Reordered(..., order=...): order has "
                f"{len(self.order)} pairs, but rotary_dim={rotary_dim} has {rotary_dim // 2}; "
                f"order all of them, or set rotary_dim={2 * len(self.order)}"
            )
        theta = self.rule.frequencies(rotary_dim)
        return tuple(theta[i] for i in self.order)

"""A scaling: a rule that changes the frequencies of another rule for a longer context.

A scaling changes theta_i, and some of them the amplitude, and nothing else: layout, phase and
rotation do not know of it. What systems do differently under one name is a parameter; its
default is the commonest.
"""

from __future__ import annotations

from fractions import Fraction

from rope_ref.arguments import shown
from rope_ref.errors import FrequencyValueError
from rope_ref.scaling.frequencies import FrequencyRule, PowerLaw

__all__ = ["ScaledRule"]


class ScaledRule(FrequencyRule):
    """A rule over a rule. What it does not change is that rule's."""

    rule: FrequencyRule

    @property
    def amplitude(self) -> Fraction:
        """The amplitude of the rule below."""
        return self.rule.amplitude

    def _call(self, **parameters: object) -> str:
        given = ", ".join(
            f"{name}={'...' if value is ... else shown(value)}"
            for name, value in parameters.items()
        )
        return f"{type(self).__name__}({shown(self.rule)}, {given})"

    def _needs_rule(self, call: str) -> None:
        if not isinstance(self.rule, FrequencyRule):
            raise FrequencyValueError(
                f"{call}: rule must be a frequency rule such as PowerLaw(10000), got "
                f"{shown(self.rule)}"
            )

    def _needs_power_law(self, call: str) -> None:
        if not isinstance(self.rule, PowerLaw):
            raise FrequencyValueError(
                f"{call}: rule must be a PowerLaw, for its base is changed, got {shown(self.rule)}"
            )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

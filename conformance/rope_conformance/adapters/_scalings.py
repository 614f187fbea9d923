"""Scalings and their parameters under the names that configs of transformers have for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any

from rope_conformance.adapters._accept import plain
from rope_conformance.target.rule_parts import base_below
from rope_ref import PowerLaw
from rope_ref.scaling import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, ScaledRule, YaRN
from rope_ref.scaling.frequencies import FrequencyRule

__all__ = ["only", "rope_parameters", "scalings"]

_TYPES: dict[type, str] = {
    PowerLaw: "default",
    Linear: "linear",
    DynamicNTK: "dynamic",
    YaRN: "yarn",
    LongRoPE: "longrope",
    Llama3: "llama3",
    Proportional: "proportional",
}
_NAMES = {
    "original_length": "original_max_position_embeddings",
    "short_factors": "short_factor",
    "long_factors": "long_factor",
    "fraction": "partial_rotary_factor",
}
# Parameters that configs have no key for, with the value that transformers computes by.
_WITHOUT_KEY: dict[str, Any] = {
    "limit": "channels",
    "equal_ends": "raise",
    "amplitude_rule": "truthy",
    "coefficient": Fraction(1, 10),
    "below_one": False,
    "boundary": "slow",
}


def only(*kinds: type, **values: tuple[Any, ...]) -> Callable[[FrequencyRule], bool | str]:
    """Return a function that accepts scalings of some kinds over a power law.

    Parameters
    ----------
    kinds
        The classes of rules.
    values
        For a parameter, the values it may have. A parameter that configs have no key for must
        have the value of transformers, unless it is named here.
    """
    known_values = {name: (value,) for name, value in _WITHOUT_KEY.items()} | values

    def accepts(rule: FrequencyRule) -> bool | str:
        if not isinstance(rule, kinds) or plain(getattr(rule, "rule", rule)) is not True:
            return f"it is made for {', '.join(kind.__name__ for kind in kinds)} only"
        for name, known in known_values.items():
            if hasattr(rule, name) and getattr(rule, name) not in known:
                return f"it is not made for {name}={getattr(rule, name)!r}"
        return True

    return accepts


scalings = only(
    *_TYPES,
    short_mscale=(None,),
    long_mscale=(None,),
)
"""Accepts what ``ROPE_INIT_FUNCTIONS`` of transformers compute."""


def rope_parameters(rule: FrequencyRule) -> dict[str, Any]:
    """Return the ``rope_parameters`` that a config of transformers has for an accepted rule.

    They have neither the length of the text, nor the original length of a `DynamicNTK`.
    """
    own: dict[str, Any] = {
        "rope_type": _TYPES[type(rule)],
        "rope_theta": float(base_below(rule) or 0),
    }
    if not isinstance(rule, ScaledRule):
        return own
    left_out = {"rule", "length", *_WITHOUT_KEY}
    if isinstance(rule, DynamicNTK):
        left_out.add("original_length")
    for name in (each.name for each in fields(rule)):  # type: ignore[arg-type]
        value = getattr(rule, name)
        if name not in left_out and value is not None:
            own[_NAMES.get(name, name)] = _plain_number(name, value)
    return own


def _plain_number(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return [float(each) for each in value]
    if isinstance(value, bool):
        return value
    return int(value) if name == "original_length" else float(value)

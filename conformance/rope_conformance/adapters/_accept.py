"""For which specs an adapter can be made, and why not for others: the `accepts` of its claim."""

from __future__ import annotations

from collections.abc import Callable

from rope_conformance.target.rule_parts import base_below
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling.frequencies import FrequencyRule
from rope_ref.spec import LAYOUTS, Layout

__all__ = ["base_of", "plain", "takes"]

Pairs = tuple[int, ...]


def plain(rule: FrequencyRule) -> bool | str:
    """Accept a power law over the rotating channels, else return the reason why not."""
    if isinstance(rule, PowerLaw) and rule.denominator is None:
        return True
    return "it is made for frequencies base**(-2i/R) only"


def takes(
    *layouts: Layout,
    output: Layout | None = None,
    partial: bool = False,
    base: float | None = None,
    rule: Callable[[FrequencyRule], bool | str] = plain,
    axes: Callable[[Pairs], bool] | None = None,
) -> Callable[[RopeSpec], bool | str]:
    """Return a function for `Claim.accepts`, which answers True or the reason why not.

    Parameters
    ----------
    layouts
        Which layouts it reads; both if none is named.
    output
        The layout it writes, if not the one it reads.
    partial
        Whether the rotating channels may be the first of a wider head.
    base
        The only base it has, if the base cannot be chosen.
    rule
        Whether it can be made for a frequency rule: True, or the reason why not.
    axes
        If positions have several axes: whether it can be made for a spec's ``pair_axes``.
    """
    known = layouts or LAYOUTS

    def accepts(spec: RopeSpec) -> bool | str:
        if spec.layout not in known:
            return f"its pairs are {' or '.join(known)}, not {spec.layout}"
        if spec.output_layout != (output or spec.layout):
            return f"it writes pairs {output or spec.layout}, not {spec.output_layout}"
        if (answer := rule(spec.frequencies)) is not True:
            return answer
        if base is not None and base_of(spec) != base:
            return f"its base is {base:g} and cannot be chosen"
        if spec.rotary_dim != spec.head_dim and not (partial and spec.rotary_start == 0):
            which = "the first channels of a head" if partial else "whole heads"
            return f"it rotates {which} only"
        if spec.rotary_dim == 0:
            return "no channel would rotate"
        if spec.direction != 1 or (axes is None and spec.pair_axes is not None):
            return "it turns counter-clockwise by one position per token"
        if axes is not None and (spec.pair_axes is None or not axes(spec.pair_axes)):
            return "its pairs follow the axes of a position in another way"
        return True

    return accepts


def base_of(spec: RopeSpec) -> float:
    """Return the base of a spec that was accepted."""
    base = base_below(spec.frequencies)
    assert base is not None
    return float(base)

"""A RoPE in numbers, pair by pair, and what two RoPEs differ in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any

import numpy as np

from rope_conformance.describing.words import rule_in_words
from rope_conformance.target.rule_parts import plain_rule
from rope_ref import RopeSpec, pair_channels

__all__ = ["Difference", "Pair", "compare", "pairs_of"]


@dataclass(frozen=True)
class Pair:
    """What one pair does.

    Parameters
    ----------
    pair
        Its number.
    channels
        The two channels that are read.
    theta
        In radians per position.
    wavelength
        Positions in a full turn; infinite for a pair that stands still.
    turns
        Full turns inside the context, or None where the context is not known.
    ratio
        theta over that of the plain rule below all scalings.
    axis
        The position axis it follows; None if there is but one.
    """

    pair: int
    channels: tuple[int, int]
    theta: float
    wavelength: float
    turns: float | None
    ratio: float
    axis: int | None


@dataclass(frozen=True)
class Difference:
    """Where two RoPEs differ.

    Parameters
    ----------
    what
        Fields that differ: name, value of the first, value of the second.
    position
        Where angles are compared.
    different_pairs
        How many pairs turn at another speed. None, and the next two with it, where the two
        have different numbers of pairs: there is nothing to set side by side.
    theta
        The largest relative difference of theta, and its pair; infinite where one of the two
        stands still.
    angle
        The largest difference of angles at `position`, in radians, and its pair.
    """

    what: tuple[tuple[str, str, str], ...]
    position: float
    different_pairs: int | None = None
    theta: tuple[float, int] | None = None
    angle: tuple[float, int] | None = None


def pairs_of(spec: RopeSpec, context: float | None = None) -> list[Pair]:
    """Return what each pair does, within a context of so many positions."""
    theta = spec.theta()
    below = plain_rule(spec.frequencies).theta(spec.rotary_dim)
    first, second = pair_channels(spec)
    return [
        Pair(
            pair=i,
            channels=(int(first[i]), int(second[i])),
            theta=float(w),
            wavelength=math.tau / abs(float(w)) if w else math.inf,
            turns=None if context is None else abs(float(w)) * context / math.tau,
            ratio=float(w) / below[i] if below[i] else 1.0,
            axis=None if spec.pair_axes is None else spec.pair_axes[i],
        )
        for i, w in enumerate(theta)
    ]


def compare(first: RopeSpec, second: RopeSpec, position: float) -> Difference:
    """Return where two RoPEs differ, their angles at a position."""
    what = tuple(_fields(first, second))
    if first.rotary_dim != second.rotary_dim:
        return Difference(what, position)
    own, other = (spec.direction * spec.theta() for spec in (first, second))
    with np.errstate(over="ignore"):  # a quotient or an angle may be beyond float64
        apart = np.abs(own - other)
        smaller = np.minimum(np.abs(own), np.abs(other))
        relative = np.divide(apart, smaller, out=np.full_like(apart, np.inf), where=smaller > 0)
        relative[apart == 0] = 0.0
        return Difference(
            what,
            position,
            different_pairs=int(np.count_nonzero(apart)),
            theta=_largest(relative),
            angle=_largest(apart * abs(position)),
        )


def _largest(values: Any) -> tuple[float, int]:
    if not values.size:
        return 0.0, 0
    i = int(np.argmax(values))
    return float(values[i]), i


def _fields(first: RopeSpec, second: RopeSpec) -> Iterator[tuple[str, str, str]]:
    for field in fields(first):
        own, other = (vars(each)[field.name] for each in (first, second))
        if own == other:
            continue
        if field.name == "frequencies":
            yield from (
                ("frequencies", a, b)
                for a, b in zip_longest(
                    rule_in_words(own, first.rotary_dim),
                    rule_in_words(other, second.rotary_dim),
                    fillvalue="nothing more",
                )
                if a != b
            )
        elif field.name == "pair_axes":
            yield "axes of the pairs", _axes_in_words(own), _axes_in_words(other)
        else:
            yield field.name, str(own), str(other)
    a, b = (float(each.frequencies.amplitude) for each in (first, second))
    if a != b:
        yield "amplitude", f"{a:.9g}", f"{b:.9g}"


def _axes_in_words(axes: tuple[int, ...] | None) -> str:
    return "all follow one" if axes is None else "".join(map(str, axes))

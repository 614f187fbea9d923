"""Plain RoPE on one page: one vector at one position, in real numbers, rounded once.

Su et al., RoFormer, arXiv:2104.09864, sections 3.2.2 and 3.4.2. Of the D channels of a vector R
rotate, in R/2 pairs. Pair i, with values u and v at a position p, becomes::

    theta_i = base**(-2i/R)                                radians per position
    phase   = p theta_i
    u, v   -> A (u cos phase - v sin phase),  A (v cos phase + u sin phase)

The amplitude A is 1, and theta_i the power above, unless a scaling says otherwise. Everything else
in `rope_ref` does this for whole arrays, and fast, and is tested against this page.

Numbers are `Decimal`: `digits` says how many of theta's are right, and how many of the phase's
behind the point. Only `cos_sin` and `rotate` return float64, each number rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from rope_ref.exact.real import (
    Real,
    real,
    real_arithmetic,
    real_cos_sin,
    rounded_once,
    whole_digits,
)
from rope_ref.scaling.frequencies import PowerLaw
from rope_ref.spec import RopeSpec

__all__ = ["cos_sin", "pair", "phase", "rotate", "theta"]

Position = Real | Sequence[Real]  # a sequence where the spec has several position axes


def theta(i: int, spec: RopeSpec, digits: int) -> Decimal:
    """Return theta_i in radians per position, to `digits` significant digits."""
    rule = spec.frequencies
    if isinstance(rule, PowerLaw) and rule.denominator is None:
        with real_arithmetic(digits):
            return (real(rule.base).ln() * -2 * i / spec.rotary_dim).exp()  # base**(-2i/R)
    return rule.frequencies(spec.rotary_dim)[i].digits(digits)  # a scaling knows its own


def phase(i: int, position: Position, spec: RopeSpec, digits: int) -> Decimal:
    """Return ``direction * position * theta_i`` in radians, to `digits` places behind the point.

    With several position axes pair i follows one of them.
    """
    p = position if spec.pair_axes is None else position[spec.pair_axes[i]]  # type: ignore[index]

    def product(significant: int) -> Decimal:
        with real_arithmetic(significant):
            return spec.direction * real(p) * theta(i, spec, significant)  # type: ignore[arg-type]

    return product(digits + whole_digits([product(digits)]))


def cos_sin(i: int, position: Position, spec: RopeSpec) -> tuple[float, float]:
    """Return A cos phase and A sin phase of pair i, each the float64 nearest to it."""
    return _nearest(1, 0, i, position, spec), _nearest(0, 1, i, position, spec)


def pair(i: int, spec: RopeSpec, *, output: bool = False) -> tuple[int, int]:
    """Return the two channels of pair i: those it is read from or, with `output`, written to."""
    layout = spec.output_layout if output else spec.layout
    start, half = spec.rotary_start, spec.rotary_dim // 2
    if layout == "interleaved":
        return start + 2 * i, start + 2 * i + 1
    return start + i, start + i + half


def rotate(x: Sequence[float], position: Position, spec: RopeSpec) -> tuple[float, ...]:
    """Return a vector of D channels with its pairs rotated, each number the float64 nearest to it.

    Channels that are in no pair stay as they are. Those in a pair must be finite.
    """
    y = [float(channel) for channel in x]
    for i in range(spec.rotary_dim // 2):
        u, v = (float(x[channel]) for channel in pair(i, spec))
        first, second = pair(i, spec, output=True)
        y[first] = _nearest(u, -v, i, position, spec)
        y[second] = _nearest(v, u, i, position, spec)
    return tuple(y)


def _nearest(a: float, b: float, i: int, position: Position, spec: RopeSpec) -> float:
    """The float64 nearest to the real number A (a cos phase + b sin phase)."""
    on_cos, on_sin = (spec.frequencies.amplitude * Fraction(factor) for factor in (a, b))

    def value(digits: int) -> Decimal:
        with real_arithmetic(digits):
            digits += whole_digits([real(on_cos), real(on_sin)]) + 1  # lost by these factors
        cos, sin = real_cos_sin(phase(i, position, spec, digits), digits)
        with real_arithmetic(digits):
            return real(on_cos) * cos + real(on_sin) * sin

    return rounded_once(value)

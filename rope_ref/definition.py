"""Plain RoPE on one page: one vector at one position, in real numbers, rounded once.

Su et al., RoFormer, arXiv:2104.09864, sections 3.2.2 and 3.4.2. For pair i of R/2 pairs::

    theta_i = base**(-2i/R)                   radians per position
    phase   = position * theta_i
    (u, v)  ->  A (u cos phase - v sin phase,  u sin phase + v cos phase)

A, the amplitude, is 1 unless a scaling says otherwise. Everything else in `rope_ref` is this for
whole arrays, faster, and is tested equal to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

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


def theta(i: int, spec: RopeSpec, digits: int) -> Decimal:
    """theta_i, to `digits` significant digits. A scaling is a rule that knows its own."""
    rule = spec.frequencies
    if isinstance(rule, PowerLaw) and rule.denominator is None:
        with real_arithmetic(digits):
            return (real(rule.base).ln() * -2 * i / spec.rotary_dim).exp()  # base**(-2i/R)
    return rule.frequencies(spec.rotary_dim)[i].digits(digits)


def phase(i: int, position: Real | Sequence[Real], spec: RopeSpec, digits: int) -> Decimal:
    """position * theta_i in radians, to `digits` places behind the point.

    Where a position has several axes, pair i follows one of them.
    """
    p = position if spec.pair_axes is None else position[spec.pair_axes[i]]  # type: ignore[index]
    with real_arithmetic(digits):
        size = abs(real(p) * theta(i, spec, digits))  # type: ignore[arg-type]
    more = digits + whole_digits([size])
    with real_arithmetic(more):
        return spec.direction * real(p) * theta(i, spec, more)  # type: ignore[arg-type]


def circle(
    i: int, position: Real | Sequence[Real], spec: RopeSpec, digits: int
) -> tuple[Decimal, Decimal]:
    """A cos phase and A sin phase as real numbers, to `digits` places behind the point."""
    with real_arithmetic(digits):
        amplitude = real(spec.frequencies.amplitude)
    more = digits + whole_digits([amplitude])
    cos, sin = real_cos_sin(phase(i, position, spec, more), more)
    with real_arithmetic(more):
        return amplitude * cos, amplitude * sin


def nearest(a: float, b: float, i: int, position: Real | Sequence[Real], spec: RopeSpec) -> float:
    """The float64 nearest to the real number a A cos phase + b A sin phase."""
    a_exact, b_exact = Decimal(a), Decimal(b)
    size = whole_digits([abs(a_exact), abs(b_exact)]) + 1

    def value(digits: int) -> Decimal:
        cos, sin = circle(i, position, spec, digits + size)
        with real_arithmetic(digits + 2 * size):
            return a_exact * cos + b_exact * sin

    return rounded_once(value)


def cos_sin(i: int, position: Real | Sequence[Real], spec: RopeSpec) -> tuple[float, float]:
    """A cos phase and A sin phase of pair i, each rounded once."""
    return nearest(1.0, 0.0, i, position, spec), nearest(0.0, 1.0, i, position, spec)


def pair(i: int, spec: RopeSpec, *, output: bool = False) -> tuple[int, int]:
    """The two channels of pair i, as they are read or, for `output`, written."""
    start, half = spec.rotary_start, spec.rotary_dim // 2
    if (spec.output_layout if output else spec.layout) == "interleaved":
        return start + 2 * i, start + 2 * i + 1
    return start + i, start + half + i


def rotate(
    x: Sequence[float], position: Real | Sequence[Real], spec: RopeSpec
) -> tuple[float, ...]:
    """One vector of D channels, rotated: each pair by its phase, the other channels as they are."""
    y = [float(channel) for channel in x]
    for i in range(spec.rotary_dim // 2):
        u, v = (float(x[channel]) for channel in pair(i, spec))
        first, second = pair(i, spec, output=True)
        y[first] = nearest(u, -v, i, position, spec)
        y[second] = nearest(v, u, i, position, spec)
    return tuple(y)

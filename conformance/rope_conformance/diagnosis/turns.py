"""How far pairs turn, as complex numbers: what a target does, and what it should do.

A pair (1, 0) comes out as (cos, sin) of its phase, here cos + i sin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.number_types import FloatArray, unit_roundoff
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import all_positions, angles_probe, pairs, standard_case
from rope_conformance.target.frameworks import Array
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec, cos_sin, pair_channels

__all__ = [
    "Complex",
    "agreement",
    "measured_frequencies",
    "observed",
    "predicted_turn",
    "probed",
    "right_turn",
    "signed_theta",
    "tolerance",
    "turned",
]

Complex = npt.NDArray[np.complex128]


def turned(phase: Array) -> Complex:
    """cos + i sin of phases; NaN where a phase is NaN or infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(1j * np.asarray(phase, dtype=np.float64)))


def right_turn(p: Array, spec: RopeSpec) -> Complex:
    """cos + i sin of the right phases, without the amplitude."""
    cos, sin = cos_sin(p, spec, unit=True)
    return cos + 1j * sin


def predicted_turn(positions: Array, theta: FloatArray, spec: RopeSpec) -> Complex:
    """What pairs with other frequencies turn by, each at the positions of its own axis: (T, R/2).

    Parameters
    ----------
    positions
        (T,), or (A, T) for a spec with ``pair_axes``.
    theta
        The frequencies, one for each pair.
    spec
        Says the axes and the direction.
    """
    p = np.asarray(positions, np.float64)
    own = p[:, None] if spec.pair_axes is None else p[list(spec.pair_axes)].T
    return turned(spec.direction * own * theta)


def signed_theta(spec: RopeSpec) -> FloatArray:
    """theta_i, negative where pairs turn clockwise."""
    return np.asarray(spec.direction * spec.theta())


def probed(
    context: CheckContext, surface: str = "apply", *, second: bool = False, near: bool = False
) -> tuple[Array, Complex]:
    """Positions of all sizes, and what each pair of the target turns by there.

    Parameters
    ----------
    context
        Of the target.
    surface, second
        As in `observed`.
    near
        Whether all positions are small.
    """
    claim = context.claim
    low, high = claim.position_range
    chosen: list[float] = [p for p in (3, 0, 5) if low <= p <= high]
    chosen += [p for p in all_positions(context, limit=8 if near else 2**17) if p != 0]
    chosen += [p for p in (-1, -2, -7, -100) if p >= low]
    chosen += [0.5, 1.75, 10.25] if "real" in claim.position_kinds else []
    case = standard_case(context, chosen)
    p = context.positions(case)
    return p, observed(context, case, p, surface, second=second)


def observed(
    context: CheckContext, case: Case, positions: Array, surface: str, *, second: bool = False
) -> Complex:
    """What each pair of a target turns by, its amplitude divided by the one claimed: (T, R/2).

    Parameters
    ----------
    context
        Of the target.
    case
        How many rows and heads a call has; those beyond the first are not looked at.
    positions
        Of the tokens of the case: (T,), or (A, T) for a spec with ``pair_axes``.
    surface
        ``theta`` and ``table`` are asked for numbers; on all others x is rotated.
    second
        Whether pairs are (0, 1) instead of (1, 0); then they come out as (-sin, cos).
    """
    spec = context.spec
    amplitude = float(spec.frequencies.amplitude)
    if surface == "theta":
        theta = np.asarray(context.arrays.host(context.arrays.call("theta")), np.float64)
        return predicted_turn(positions, theta, spec)
    if surface == "table":
        cos, sin = context.arrays.call("table", context.arrays.native_positions(positions))
        both = context.arrays.host(cos) + 1j * np.asarray(context.arrays.host(sin), np.float64)
        return np.asarray(both / amplitude)
    x = angles_probe(context, case)
    if second:
        channels = pair_channels(spec)
        x[..., channels[1]], x[..., channels[0]] = x[..., channels[0]].copy(), 0
    u, v = pairs(context, context.arrays.apply(x, positions), output=True)[:, 0, :, 0]
    return np.asarray((u + 1j * v) / amplitude)


def tolerance(context: CheckContext, p: Array, theta: FloatArray) -> FloatArray:
    """How far a suspect may be off: it is honest in all but one thing, as float32 phases are."""
    base = base_below(context.spec.frequencies)
    spread = 0.0 if base is None else 4 * abs(np.log(float(base)))
    phase = (5 + spread) * np.abs(p)[:, None] * theta * unit_roundoff("float32")
    table = unit_roundoff("bfloat16") if context.profile.name == "model-dtype-table" else 0.0
    return np.asarray(
        phase + 4 * unit_roundoff(context.dtype) + 8 * unit_roundoff("float32") + table
    )


def agreement(
    seen: Complex, predicted: Complex, allowed: FloatArray
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Where two are the same or nothing can be told, and where something can be told."""
    with np.errstate(invalid="ignore"):
        close = np.abs(seen - predicted) <= allowed
    both_nan = np.isnan(seen) & np.isnan(predicted)
    tells = np.broadcast_to(allowed < 1 / 8, seen.shape)
    return close | both_nan | ~tells, tells


def measured_frequencies(p: FloatArray, seen: Complex) -> FloatArray | None:
    """theta_i read off the angles at 1, 2, 4, ...: each doubling gives one more bit."""
    at = {int(position): n for n, position in enumerate(p.tolist())}
    if 1 not in at:
        return None
    angle = np.angle(seen)
    theta = angle[at[1]]
    if not np.isfinite(theta).all():
        return None
    for position in (2**k for k in range(1, 13)):
        if position in at and np.isfinite(angle[at[position]]).all():
            whole = np.round((position * theta - angle[at[position]]) / (2 * np.pi))
            theta = (angle[at[position]] + 2 * np.pi * whole) / position
    return np.asarray(theta)

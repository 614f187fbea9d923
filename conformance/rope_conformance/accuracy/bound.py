"""How far from the truth an honest implementation may be.

Nothing here is fitted to anything. The bound counts the roundings of a profile: the derivation
is in the documentation (the page "The bound"), and the tests try to break it with honest code.

For one pair with inputs (u, v), ``r = A hypot(u, v)``, position p and frequency theta_i::

    residual = max(|y_u - want_u|, |y_v - want_v|) / (u_out r)
    bound    = a (1 + u_out) + k u_calc / u_out + gamma_i |p| theta_i / u_out
               + n tiny / (u_out r),     gamma_i = m_i u_phase / (1 - m_i u_phase)

Every implementation that keeps its profile has residuals of at most the bound.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.amplification import amplitude_roundings
from rope_conformance.accuracy.number_types import FloatArray, tiny, unit_roundoff
from rope_conformance.accuracy.profiles import Profile
from rope_ref import RopeSpec

__all__ = ["bound", "given_table_bound"]

_SQRT2 = math.sqrt(2)


def bound(
    profile: Profile,
    spec: RopeSpec,
    positions: npt.ArrayLike,
    dtype: str,
    r: npt.ArrayLike,
    *,
    norm: bool = False,
) -> FloatArray:
    """Return the largest residual an implementation of `profile` can show.

    Parameters
    ----------
    profile, spec
        What is claimed.
    positions
        Real numbers that broadcast with the pairs: one number, or of shape S + (R/2,), or
        S + (1,) where all pairs follow the same one.
    dtype
        The output type.
    r
        A hypot(u, v) of each pair, of a shape that broadcasts with S + (R/2,).
    norm
        Bound the length of a pair's error instead of its larger component. Only the two
        products round the components apart: their share alone grows, by sqrt 2.

    Returns
    -------
    bound
        In units of ``u_out r``; infinite where r is 0 or a position is outside the
        profile.
    """
    p = np.abs(np.asarray(positions, dtype=np.float64))
    calculation = profile.calculation(dtype)
    u_out, u_calc = unit_roundoff(dtype), unit_roundoff(calculation)
    # Where calculation and output have one type, k counts the table's rounding already.
    a: float = 1 if calculation == dtype else profile.output_roundings
    k: float = 2 * profile.trig_ulps + 2 + amplitude_roundings(spec.frequencies, calculation)
    n: float = 1 if profile.wide_products and calculation != dtype else 3
    least = tiny(dtype)
    if u_calc > u_out:  # the data itself is rounded to the narrower type
        k, n, least = k + 1, 5, tiny(calculation)
    if norm:
        a += 0 if profile.wide_products else _SQRT2 - 1
        k, n = k + _SQRT2 - 1, n * _SQRT2
    m = profile.amplification(spec) + np.zeros_like(p)
    if profile.phase == "float32":
        m = m + (p != p.astype(np.float32))  # the position itself is rounded
    u_phase = 0.0 if profile.phase is None else unit_roundoff(profile.phase)
    phase = m * u_phase / (1 - m * u_phase) * p * np.abs(spec.theta()) / u_out
    with np.errstate(divide="ignore", over="ignore"):
        underflow = n * least / (u_out * np.asarray(r, dtype=np.float64))
    total = a * (1 + u_out) + k * u_calc / u_out + phase + underflow
    return np.where(p >= profile.position_limit, np.inf, total)


def given_table_bound(profile: Profile, dtype: str, r: npt.ArrayLike) -> FloatArray:
    """Return the largest residual of rotating by tables that the caller gave.

    There is no phase and no trigonometry: of k only the two products and their sum are
    left, which together err by at most 2 u_calc r.

    Parameters
    ----------
    profile, dtype
        What is claimed, and the output type.
    r
        hypot(cos, sin) hypot(u, v) of each pair.
    """
    u_out, calculation = unit_roundoff(dtype), profile.calculation(dtype)
    n = 1 if profile.wide_products and calculation != dtype else 3
    with np.errstate(divide="ignore", over="ignore"):
        underflow = n * tiny(dtype) / (u_out * np.asarray(r, dtype=np.float64))
    roundings = profile.output_roundings * (1 + u_out) + 2 * unit_roundoff(calculation) / u_out
    return np.asarray(roundings + underflow)

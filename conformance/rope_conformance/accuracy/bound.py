"""How far from the truth an honest implementation may be, and how far one is.

A *profile* names the chain of number types a RoPE is computed in and the recipe its
frequencies come from. From the chain follows, by counting roundings, how large the
error of one rotated pair can be. Nothing here is fitted to anything: the derivation is
in the documentation (the page "The bound"), and the tests try to break it with honest
code.

For one pair with inputs (u, v), ``r = A hypot(u, v)``, position p and frequency theta_i::

    residual = max(|y_u - want_u|, |y_v - want_v|) / (u_out r)
    bound    = a (1 + u_out) + k u_calc / u_out + gamma_i |p| theta_i / u_out
               + n tiny / (u_out r),     gamma_i = m_i u_phase / (1 - m_i u_phase)

The ratio ``residual / bound`` is at most 1 for every implementation that keeps its
profile. Where the bound allows errors beyond 1/16 of r, a sample decides nothing and is
counted apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.amplification import Recipe, amplification, amplitude_roundings
from rope_ref import RopeSpec, apply_rope_parts, pair_channels
from rope_ref.arguments import POSITION_LIMIT

__all__ = [
    "PROFILES",
    "Judgement",
    "Profile",
    "bound",
    "given_table_bound",
    "judge",
    "profile_named",
    "tiny",
    "unit_roundoff",
]

Array = npt.NDArray[np.float64]

# precision in bits, exponent of the smallest subnormal
_FORMATS = {
    "float64": (53, -1074),
    "float32": (24, -149),
    "float16": (11, -24),
    "bfloat16": (8, -133),
}

_SQRT2 = math.sqrt(2)

DECISIVE = 1 / 16  # an error bound above this share of r decides nothing


def unit_roundoff(dtype: str) -> float:
    """Return u, the largest relative error of one rounding to `dtype`."""
    return float(2.0 ** -_FORMATS[dtype][0])


def tiny(dtype: str) -> float:
    """Return the largest absolute error of one rounding among the subnormals of `dtype`."""
    # Half of float64's smallest subnormal is no float64: the subnormal itself stands in.
    return max(2.0 ** (_FORMATS[dtype][1] - 1), 5e-324)


@dataclass(frozen=True)
class Profile:
    """A chain of number types and a frequency recipe.

    Parameters
    ----------
    name
        What claims and reports call it.
    sentence
        What it means, for people.
    phase
        The type positions, frequencies and phases are held in; None where phases are exact.
    recipe
        How the frequencies were computed.
    output_roundings
        ``a``: roundings in the output type that the calculation's ``k`` does not count.
    underflows
        ``n``: roundings that can fall among the subnormals of the output type.
    position_limit
        Positions at or beyond this are outside the profile.
    trig_ulps
        ``t``: documented error of sin and cos in ulps; ``k = 2 t + 2``.
    """

    name: str
    sentence: str
    phase: str | None
    recipe: Recipe = "rounded"
    output_roundings: int = 1
    wide_products: bool = True
    position_limit: int = POSITION_LIMIT
    trig_ulps: int = 1

    def calculation(self, dtype: str) -> str:
        """Return the type trig and products are computed in when the output is `dtype`."""
        if dtype == "float64" and self.phase != "float32":
            return "float64"
        return "float32"

    def amplification(self, spec: RopeSpec) -> Array:
        """Return m_i, how many units of the phase's rounding error pair i can gather."""
        if self.phase is None:
            return np.zeros(spec.rotary_dim // 2)
        return amplification(spec.frequencies, spec.rotary_dim, self.recipe, self.phase)


PROFILES = (
    Profile(
        "exact",
        "phases lose nothing, at every integer position below 2**31",
        phase=None,
        position_limit=2**31,
    ),
    Profile(
        "float64",
        "positions, frequencies and phases in float64",
        phase="float64",
        recipe="exp-single",
    ),
    Profile(
        "float32-power",
        "phases in float32, frequencies by 1 / base**(2i/R) in float32",
        phase="float32",
        recipe="power",
    ),
    Profile(
        "float32",
        "phases in float32, frequencies by any usual recipe in float32",
        phase="float32",
        recipe="exp-single",
    ),
    Profile(
        "float32-product",
        "phases in float32, frequencies by a running product over the pairs",
        phase="float32",
        recipe="product",
    ),
    Profile(
        "model-dtype-table",
        "phases in float32; table, products and sum in the type of the data",
        phase="float32",
        recipe="exp-single",
        output_roundings=3,
        wide_products=False,
    ),
)


def profile_named(name: str) -> Profile:
    """Return the named profile.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    for profile in PROFILES:
        if profile.name == name:
            return profile
    known = ", ".join(repr(p.name) for p in PROFILES)
    raise ValueError(f"profile={name!r} is not known; the profiles are {known}")


def bound(
    profile: Profile,
    spec: RopeSpec,
    positions: npt.ArrayLike,
    dtype: str,
    r: npt.ArrayLike,
    *,
    norm: bool = False,
) -> Array:
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


def given_table_bound(profile: Profile, dtype: str, r: npt.ArrayLike) -> Array:
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


@dataclass(frozen=True)
class Judgement:
    """How far an output lies from the truth, pair by pair. Shapes are (B, T, H, R/2).

    Parameters
    ----------
    error
        The larger of the two components' errors, as a share of r.
    residual
        The same in units of the output's roundoff.
    bound
        What the profile allows, in the same units.
    r
        A hypot(u, v).
    positions
        As `per_token` returns them.
    got, want
        The arrays compared, axes ``bthd``.
    dtype
        The output type.
    """

    error: Array
    residual: Array
    bound: Array
    r: Array
    positions: Array
    got: Array
    want: Array
    dtype: str

    @property
    def decisive(self) -> npt.NDArray[np.bool_]:
        """Where the bound is small enough to tell right from wrong."""
        return self.bound * unit_roundoff(self.dtype) <= DECISIVE

    @property
    def ratio(self) -> Array:
        """residual / bound where the sample is decisive, else 0; at most 1 where honest.

        A pair of zeros decides nothing, but must come out as zeros: infinite otherwise.
        """
        with np.errstate(invalid="ignore"):
            ratio = self.residual / self.bound
        return np.where(self.r == 0, self.residual, np.where(self.decisive, ratio, 0.0))


def judge(
    y: npt.NDArray[np.generic],
    x: npt.NDArray[np.generic],
    positions: npt.NDArray[np.generic],
    spec: RopeSpec,
    dtype: str,
    profile: Profile,
    *,
    components: tuple[int, ...] = (0, 1),
) -> Judgement:
    """Compare an output with the truth.

    Parameters
    ----------
    y, x
        Output and input, axes ``bthd``.
    positions
        (T,) or (B, T), with a leading axis for a spec with ``pair_axes``.
    spec, dtype, profile
        What is claimed; `dtype` is that of `y`.
    components
        Which channels of each pair are looked at.
    """
    want, want_low = apply_rope_parts(x, positions, spec, axes="bthd")
    written = pair_channels(spec, output=True)
    got = np.asarray(y, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        missing = np.abs((got - want) - want_low)
    error = missing[..., written[list(components)]].max(axis=-2)
    r = pair_norm(x, spec)
    p = per_token(positions, spec)
    allowed = bound(profile, spec, p, dtype, r)
    return compare(error, r, allowed, p, dtype, got=got, want=want)


def compare(
    error: Array, r: Array, allowed: Array, positions: Array, dtype: str, *, got: Array, want: Array
) -> Judgement:
    """Set errors against what is allowed.

    Parameters
    ----------
    error, r
        Of shape (B, T, H, R/2); `r` is the scale that errors are relative to.
    allowed
        In units of ``u_out r``.
    positions
        As `per_token` returns them.
    dtype
        The output type.
    got, want
        The arrays compared, for the report.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(error == 0, 0.0, error / r)
    # A NaN or an infinity in the output is as wrong as can be.
    share = np.where(np.isnan(share), np.inf, share)
    return Judgement(
        error=share,
        residual=share / unit_roundoff(dtype),
        bound=np.broadcast_to(allowed, share.shape),
        r=np.broadcast_to(r, share.shape),
        positions=positions,
        got=got,
        want=want,
        dtype=dtype,
    )


def per_token(positions: npt.NDArray[np.generic], spec: RopeSpec) -> Array:
    """Positions (T,) or (B, T) as float64 of shape (1 or B, T, 1, 1).

    With a leading axis, for a spec with ``pair_axes``: (1 or B, T, 1, R/2), each pair's own.
    """
    p = np.asarray(positions, dtype=np.float64)
    if spec.pair_axes is None:
        return (p if p.ndim == 2 else p[None])[..., None, None]
    own = np.moveaxis(p[list(spec.pair_axes)], 0, -1)
    return (own if own.ndim == 3 else own[None])[:, :, None]


def pair_norm(x: npt.NDArray[np.generic], spec: RopeSpec) -> Array:
    """Return A hypot(u, v) of each pair of an array whose last axis is the channels."""
    first, second = pair_channels(spec)
    values = np.asarray(x, dtype=np.float64)
    amplitude = float(spec.frequencies.amplitude)
    return amplitude * np.hypot(values[..., first], values[..., second])

"""How far an output lies from the truth, and whether that is within the bound.

The ratio ``residual / bound`` is at most 1 for every implementation that keeps its profile.
Where the bound allows errors beyond 1/16 of r, a sample decides nothing and is counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.expected import expected
from rope_conformance.accuracy.number_types import FloatArray, unit_roundoff
from rope_conformance.accuracy.profiles import Profile
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, pair_channels

__all__ = ["DECISIVE", "Judgement", "compare", "judge", "pair_norm", "per_token"]

DECISIVE = 1 / 16  # an error bound above this share of r decides nothing


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

    error: FloatArray
    residual: FloatArray
    bound: FloatArray
    r: FloatArray
    positions: FloatArray
    got: FloatArray
    want: FloatArray
    dtype: str

    @property
    def decisive(self) -> npt.NDArray[np.bool_]:
        """Where the bound is small enough to tell right from wrong."""
        return self.bound * unit_roundoff(self.dtype) <= DECISIVE

    @property
    def ratio(self) -> FloatArray:
        """residual / bound where the sample is decisive, else 0; at most 1 where honest.

        A pair of zeros decides nothing, but must come out as zeros: infinite otherwise.
        """
        with np.errstate(invalid="ignore"):
            ratio = self.residual / self.bound
        return np.where(self.r == 0, self.residual, np.where(self.decisive, ratio, 0.0))


def judge(
    y: Array,
    x: Array,
    positions: Array,
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
    want, want_low = expected(x, positions, spec)
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
    error: FloatArray,
    r: FloatArray,
    allowed: FloatArray,
    positions: FloatArray,
    dtype: str,
    *,
    got: FloatArray,
    want: FloatArray,
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


def per_token(positions: Array, spec: RopeSpec) -> FloatArray:
    """Positions (T,) or (B, T) as float64 of shape (1 or B, T, 1, 1).

    With a leading axis, for a spec with ``pair_axes``: (1 or B, T, 1, R/2), each pair's own.
    """
    p = np.asarray(positions, dtype=np.float64)
    if spec.pair_axes is None:
        return (p if p.ndim == 2 else p[None])[..., None, None]
    own = np.moveaxis(p[list(spec.pair_axes)], 0, -1)
    return (own if own.ndim == 3 else own[None])[:, :, None]


def pair_norm(x: Array, spec: RopeSpec) -> FloatArray:
    """Return A hypot(u, v) of each pair of an array whose last axis is the channels."""
    first, second = pair_channels(spec)
    values = np.asarray(x, dtype=np.float64)
    amplitude = float(spec.frequencies.amplitude)
    return amplitude * np.hypot(values[..., first], values[..., second])

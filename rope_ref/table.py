"""The table: cos and sin of every phase, rounded once.

`rope_ref.phase` says what part of a turn a phase is, `rope_ref.exact.sincos` takes cos and
sin of it as a sum ``high + low``: `high` is the entry of the table, within 0.8 ulp of the real
number for all integer positions below 2**53, and `low` is what it lacks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, IntArray, as_positions, shown
from rope_ref.errors import PositionShapeError
from rope_ref.exact.sincos import cos_sin_kernel, on_by_quarters, scaled
from rope_ref.phase import ladder
from rope_ref.spec import RopeSpec, demand_spec

__all__ = ["cos_sin", "cos_sin_parts"]


def cos_sin(
    positions: npt.ArrayLike, spec: RopeSpec, *, unit: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return cos and sin of ``direction * position * theta_i``, times the amplitude.

    Parameters
    ----------
    positions
        Integers or real numbers of any shape, magnitude below 2**53; for a spec
        with ``pair_axes`` with a leading axis, one entry per position axis.
    spec
        The RoPE.
    unit
        Leave the amplitude out.

    Returns
    -------
    cos, sin
        float64 arrays of shape ``positions.shape + (R/2,)``. For integer positions
        each entry is within 0.8 ulp of the real number, for others within 1 ulp. (A
        subnormal cos or sin has few bits, and an amplitude does not bring them back.)

    Raises
    ------
    PositionDtypeError, NonFinitePositionError, PositionRangeError, PositionShapeError
        If a position cannot be used; the message says which and why.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, equation 15.
    """
    (cos, _), (sin, _) = cos_sin_parts(positions, spec, unit=unit)
    return cos, sin


def cos_sin_parts(
    positions: npt.ArrayLike, spec: RopeSpec, *, unit: bool = False
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return ``(cos, cos_low), (sin, sin_low)``: the table and what rounding took from it.

    ``cos + cos_low``, as real numbers, is the true value to about 2**-57 of it. For
    judging float64 results, where the rounding of the table itself would show.
    Parameters, shapes and errors are those of `cos_sin`.
    """
    call = f"cos_sin(positions, {shown(spec)})"
    demand_spec(spec, call)
    p = as_positions(positions, call)
    pairs = spec.rotary_dim // 2
    if spec.pair_axes is None:
        parts = _table(p.ravel(), spec, unit)
        shape = (*p.shape, pairs)
    else:
        axes = max(spec.pair_axes) + 1
        if p.ndim == 0 or p.shape[0] != axes:
            raise PositionShapeError(
                f"{call}: pair_axes names {axes} position axes, so positions "
                f"needs a leading axis of {axes}; its shape is {p.shape}"
            )
        shape = (*p.shape[1:], pairs)
        parts = np.empty((4, p[0].size, pairs))
        for axis in range(axes):
            own = np.array([a == axis for a in spec.pair_axes], dtype=np.bool_)
            parts[..., own] = _table(p[axis].ravel(), spec, unit)[..., own]
    cos, cos_low, sin, sin_low = (part.reshape(shape) for part in parts)
    return (cos, cos_low), (sin, sin_low)


def _table(p: IntArray | FloatArray, spec: RopeSpec, unit: bool) -> FloatArray:
    """cos, cos_low, sin, sin_low of one-dimensional positions: shape (4, N, R/2)."""
    out = np.empty((4, p.size, spec.rotary_dim // 2))
    amplitude = Fraction(1) if unit else spec.frequencies.amplitude
    sign = np.where(p < 0, -1.0, 1.0)[:, None] * spec.direction
    for rows, columns, angle in ladder(spec.frequencies, spec.rotary_dim).angles(p):
        near_zero = cos_sin_kernel(angle.high, angle.low)
        cos, cos_low, sin, sin_low = on_by_quarters(angle.quarter, *near_zero)
        if amplitude != 1:
            cos, cos_low = scaled(cos, cos_low, amplitude)
            sin, sin_low = scaled(sin, sin_low, amplitude)
        signs = sign[rows]
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            rows = rows[:, None]  # the block of these rows and columns, not a list of elements
        for part, values in zip(out, (cos, cos_low, signs * sin, signs * sin_low), strict=True):
            part[rows, columns] = values
    return out

"""The table where positions have no value yet: under jit, compile and vmap.

The reference needs values, and cos(p theta) in float32 is wrong by 2.5e-2 at p = 2**20.
But the position can be split on the device, in integers,

    p = a 2**22 + b 2**11 + c,   -512 <= a < 512,   0 <= b, c < 2048

and the rotations by the three parts, which are known exactly beforehand (`exact_rows`),
combined by the addition theorem. Shifts and masks split every 32-bit p so, negative ones
too (two's complement). The tables have 1024 + 2048 + 2048 rows: 5 MB for R = 128 in
float32.

Rounding each table and each product once would lose 6.4 of the 5 units that the
profile ``exact`` allows. So each entry is kept as a sum h + l, h a multiple of 2**-m,
m = 11 in float32 (26 in float64), and |l| <= s = 2**-(m+1). Then:

* Products of two h are multiples of 2**-2m and sums of two of them stay below 2 in
  magnitude: 23 of float32's 24 bits (53 of 53). They are *exact*, whether or not the
  compiler fuses a product with the sum, and in whichever order it adds.
* The remaining products, h by l and l by l, are small, and their roundings smaller still.
  Write u for the unit roundoff. One rotation h + l after another h' + l' has, by Cauchy's
  inequality, remaining terms of at most ``|h| |l'| + |l| |h'+l'|`` in all, where ``|l|`` is
  the length over cos and sin, at most ``sqrt 2 s``: 2.9 s the first time. Each passes a
  product, an inner and an outer sum, 3 u; h'+l' is rounded too, ``sqrt 2 s u``. That is 10.2 s u
  in each of cos and sin, 14.4 s u in length. The l of two tables were rounded, 1.5 s u each.
* In between, h is rounded to a multiple of 2**-m again. The difference, ``sqrt 2 s`` in
  length, and the remaining terms, 2.9 s, are the new l: 4.4 s, and its rounding 4.4 s u.
* The second time the remaining terms are at most ``sqrt 2 s + 4.4 s`` < 5.9 s: 17.7 s u.
  Rounding h'+l' costs 4.4 s u, the l of the last table 1.5 s u.
* Last, h + l is rounded: u of the result. All in all each of cos and sin is off by at most
  u of itself and 46 s u, together by 1.02 u in float32. In float64 s is negligible, but the
  low parts of the reference are good to 2**-57 only, in each table: 1.2 u. With 2 u for the
  rotation itself (see `array_api`) a pair is off by at most 3.2 u r, 0.64 of the 5 units
  that ``exact`` allows.

The amplitude A = f 2**e, 1/2 < f <= 1, adds no rounding: f is multiplied into the table of
a before that is rounded, and the power of two multiplies the result exactly. (Relative to
f the 46 s u may count twice. It is 3.2 u r still, and ``exact`` then allows 7.)

Fractional positions cannot be split so. Their phase is a product in float32, in float64 if
positions or data are float64: the profiles ``float32`` and ``float64``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rope_backends.exact_rows import BITS, LOW_ROWS, SHIFT, TOP_ROWS, amplitude_exponent
from rope_backends.framework import Framework
from rope_ref import RopeSpec
from rope_ref.arguments import shown
from rope_ref.errors import PositionDtypeError

__all__ = ["cos_sin"]

_LARGEST = 2**31 - 1


def cos_sin(
    positions: Any, spec: RopeSpec, dtype: str, device: Any, framework: Framework
) -> tuple[Any, Any]:
    """Return cos and sin of traced positions.

    Parameters
    ----------
    positions
        An array of the framework, on `device`; for a spec with ``pair_axes`` with a
        leading axis.
    spec, dtype, device
        As in `Backend.cos_sin`.
    framework
        The framework of `positions`.

    Raises
    ------
    PositionDtypeError
        If positions are neither integers nor real numbers.
    """
    xp = framework.xp
    if xp.isdtype(positions.dtype, "real floating"):
        return _real(positions, spec, dtype, device, framework)
    if not xp.isdtype(positions.dtype, "integral"):
        raise PositionDtypeError(
            f"cos_sin(positions, {shown(spec)}): positions must be integers or real numbers, got "
            f"dtype {positions.dtype}; for tokens numbered from 0 pass arange(T)"
        )
    table = framework.exact_table(spec, dtype, device)
    if spec.pair_axes is None:
        return _integers(positions, table, spec, dtype, framework)
    # Rotate all pairs by each position axis, and keep of each the pairs that follow it.
    first, *others = sorted(set(spec.pair_axes))
    cos, sin = _integers(positions[first, ...], table, spec, dtype, framework)
    for axis in others:
        follows = framework.place(np.array(spec.pair_axes) == axis, device)
        c, s = _integers(positions[axis, ...], table, spec, dtype, framework)
        cos, sin = xp.where(follows, c, cos), xp.where(follows, s, sin)
    return cos, sin


def _integers(
    p: Any, table: Any, spec: RopeSpec, dtype: str, framework: Framework
) -> tuple[Any, Any]:
    """cos and sin of integer positions; NaN where a wide integer is out of range."""
    xp = framework.xp
    inside = None
    if xp.iinfo(p.dtype).max > _LARGEST:
        inside = p <= _LARGEST
        if xp.iinfo(p.dtype).min < 0:
            inside = inside & (p >= -_LARGEST - 1)
        p = xp.where(inside, p, xp.zeros_like(p))
    p = xp.astype(p, xp.int32, copy=False)  # narrower integers have no 22 bits to shift by
    index = (
        (p >> 2 * SHIFT) + TOP_ROWS // 2,
        ((p >> SHIFT) & (LOW_ROWS - 1)) + TOP_ROWS,
        (p & (LOW_ROWS - 1)) + (TOP_ROWS + LOW_ROWS),
    )
    a, b, c = (_quarters(framework.take_rows(table, i)) for i in index)
    cos, cos_rest, sin, sin_rest = _combine(a, b)
    steps = 2.0 ** BITS[dtype]
    cos_high, sin_high = (xp.round(high * steps) * (1 / steps) for high in (cos, sin))
    ab = (cos_high, (cos - cos_high) + cos_rest, sin_high, (sin - sin_high) + sin_rest)
    cos, cos_rest, sin, sin_rest = _combine(ab, c)
    cos, sin = cos + cos_rest, sin + sin_rest
    if exponent := amplitude_exponent(spec):
        cos, sin = cos * 2.0**exponent, sin * 2.0**exponent
    if inside is not None:
        inside = xp.expand_dims(inside, axis=-1)
        cos, sin = (xp.where(inside, part, xp.full_like(part, math.nan)) for part in (cos, sin))
    return cos, sin


def _quarters(rows: Any) -> tuple[Any, Any, Any, Any]:
    """The four numbers of `exact_rows`: h and l of cos, h and l of sin."""
    pairs = rows.shape[-1] // 4
    cos, cos_low, sin, sin_low = (rows[..., k * pairs : (k + 1) * pairs] for k in range(4))
    return cos, cos_low, sin, sin_low


def _combine(
    one: tuple[Any, Any, Any, Any], other: tuple[Any, Any, Any, Any]
) -> tuple[Any, Any, Any, Any]:
    """One rotation after another: cos, its remaining terms, sin, its remaining terms."""
    cos, cos_low, sin, sin_low = one
    cos2, cos2_low, sin2, sin2_low = other
    cos2_full, sin2_full = cos2 + cos2_low, sin2 + sin2_low
    return (
        cos * cos2 - sin * sin2,
        (cos * cos2_low + cos_low * cos2_full) - (sin * sin2_low + sin_low * sin2_full),
        sin * cos2 + cos * sin2,
        (sin * cos2_low + sin_low * cos2_full) + (cos * sin2_low + cos_low * sin2_full),
    )


def _real(p: Any, spec: RopeSpec, dtype: str, device: Any, framework: Framework) -> tuple[Any, Any]:
    """cos and sin of real positions: the product with theta, then cos and sin of it."""
    xp = framework.xp
    wide = dtype == "float64" or p.dtype == framework.dtypes.get("float64")
    calculation = "float64" if wide else "float32"
    p = xp.astype(p, framework.dtypes[calculation], copy=False)
    if spec.pair_axes is None:
        p = xp.expand_dims(p, axis=-1)
    else:
        pair_axes = framework.place(np.array(spec.pair_axes, dtype=np.int32), device)
        p = xp.moveaxis(xp.take(p, pair_axes, axis=0), 0, -1)
    phase = p * framework.place((spec.direction * spec.theta()).astype(calculation), device)
    amplitude = float(spec.frequencies.amplitude)
    cos, sin = xp.cos(phase), xp.sin(phase)
    if amplitude != 1:
        cos, sin = cos * amplitude, sin * amplitude
    narrow = framework.dtypes[dtype]
    return xp.astype(cos, narrow, copy=False), xp.astype(sin, narrow, copy=False)

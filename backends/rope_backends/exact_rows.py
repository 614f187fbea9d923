"""Tables of exact rotations on the host, from which `rope_backends.traced` combines any other.

Why positions, and cos and sin, are split as they are is derived there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_ref import RopeSpec, cos_sin_parts

__all__ = ["BITS", "LOW_ROWS", "SHIFT", "TOP_ROWS", "amplitude_exponent", "exact_rows"]

SHIFT = 11  # bits of a position that each of the two lower tables covers
LOW_ROWS = 2**SHIFT
TOP_ROWS = 2 ** (32 - 2 * SHIFT)
BITS = {"float32": 11, "float64": 26}  # the high part is a multiple of 2**-BITS


@lru_cache(maxsize=8)
def exact_rows(spec: RopeSpec, dtype: str) -> npt.NDArray[Any]:
    """Return the rotations by a 2**22, b 2**11 and c, one below the other.

    Returns
    -------
    rows
        Of `dtype` and shape (1024 + 2048 + 2048, 4 R/2). Each row holds four numbers per
        pair: h and l of cos, then h and l of sin. The amplitude, without its power of
        two, is in the first 1024 rows.
    """
    top = np.arange(-TOP_ROWS // 2, TOP_ROWS // 2) << 2 * SHIFT
    low = np.arange(LOW_ROWS)
    scale = 2.0 ** -amplitude_exponent(spec)
    blocks = [
        _block(top, spec, dtype, scale=scale),
        _block(low << SHIFT, spec, dtype),
        _block(low, spec, dtype),
    ]
    return np.concatenate(blocks)


def _block(
    positions: npt.NDArray[np.int64], spec: RopeSpec, dtype: str, scale: float | None = None
) -> npt.NDArray[Any]:
    """Rows of `exact_rows`; the amplitude times `scale` is in them, or none if that is None."""
    if spec.pair_axes is not None:
        positions = np.broadcast_to(positions, (max(spec.pair_axes) + 1, positions.size))
    parts = cos_sin_parts(positions, spec, unit=scale is None)
    numbers = []
    for high, low in parts:
        high, low = high * (scale or 1.0), low * (scale or 1.0)
        h = np.round(high * 2.0 ** BITS[dtype]) * 2.0 ** -BITS[dtype]
        numbers += [h, (high - h) + low]
    return np.concatenate(numbers, axis=-1).astype(dtype)


def amplitude_exponent(spec: RopeSpec) -> int:
    """Return e, where the amplitude is f 2**e with 1/2 < f <= 1."""
    fraction, exponent = math.frexp(float(spec.frequencies.amplitude))
    return exponent - (fraction == 0.5)  # a power of two leaves f = 1

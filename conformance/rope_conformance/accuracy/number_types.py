"""The number types that data and calculations come in, and what one rounding to them costs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "tiny", "unit_roundoff"]

FloatArray = npt.NDArray[np.float64]

# precision in bits, exponent of the smallest subnormal
_FORMATS = {
    "float64": (53, -1074),
    "float32": (24, -149),
    "float16": (11, -24),
    "bfloat16": (8, -133),
}


def unit_roundoff(dtype: str) -> float:
    """Return u, the largest relative error of one rounding to `dtype`."""
    return float(2.0 ** -_FORMATS[dtype][0])


def tiny(dtype: str) -> float:
    """Return the largest absolute error of one rounding among the subnormals of `dtype`."""
    # Half of float64's smallest subnormal is no float64: the subnormal itself stands in.
    return max(2.0 ** (_FORMATS[dtype][1] - 1), 5e-324)

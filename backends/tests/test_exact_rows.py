"""The exact tables that traced positions are combined from."""

from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr
from rope_backends.exact_rows import BITS, amplitude_exponent, exact_rows


def test_tables_are_small():
    rows = exact_rows(rr.RopeSpec(128, layout="half"), "float32")
    assert rows.shape == (5120, 256)
    assert rows.nbytes == 5 * 2**20


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_the_references_split_in_two(dtype):
    spec = rr.RopeSpec(8, layout="half", frequencies=rr.PowerLaw(500), direction=-1)
    rows = exact_rows(spec, dtype)
    assert rows.dtype == dtype
    positions = np.concatenate([np.arange(-512, 512) << 22, np.arange(2048) << 11, np.arange(2048)])
    cos, cos_low, sin, sin_low = np.split(rows.astype(np.float64), 4, axis=1)
    s = 2.0 ** -(BITS[dtype] + 1)
    for h, low, (want, want_low) in zip(
        (cos, sin), (cos_low, sin_low), rr.cos_sin_parts(positions, spec), strict=True
    ):
        assert (h * 2.0 ** BITS[dtype] % 1 == 0).all()
        assert (np.abs(low) <= s).all()
        # h is near want, so their difference is exact; what is left is the rounding of low.
        error = np.abs(((want - h) - low) + want_low)
        assert (error <= s * np.finfo(dtype).eps / 2 + 2.0**-80).all()


@pytest.mark.parametrize(
    "amplitude, exponent", [(Fraction(1), 0), (Fraction(4), 2), (Fraction(1, 3), -1), (1.3, 1)]
)
def test_the_first_rows_hold_the_amplitude_without_its_power_of_two(amplitude, exponent):
    frequencies = rr.ExplicitFrequencies([1.0, 0.1], amplitude=amplitude)
    spec = rr.RopeSpec(4, layout="half", frequencies=frequencies)
    assert amplitude_exponent(spec) == exponent
    cos, cos_low = exact_rows(spec, "float64")[:, :2], exact_rows(spec, "float64")[:, 2:4]
    assert cos[512, 0] + cos_low[512, 0] == float(amplitude) / 2.0**exponent  # position 0
    assert cos[1024, 0] + cos_low[1024, 0] == 1

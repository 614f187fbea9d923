"""Slightly wrong code does not keep the bound."""

import ml_dtypes
import numpy as np
import pytest

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_ref import PowerLaw

F = np.float32


@pytest.mark.parametrize(
    ("recipe", "times"),
    [("rounded", 50), ("power", 50), ("exp", 20), ("exp-single", 20), ("product", 8)],
)
def test_a_base_off_by_a_hundredth_of_a_percent_shows(recipe, times, honest):
    """At R = 128, b = 10000 and positions to 2**20 it exceeds the bound many times over."""
    positions = np.unique(np.random.default_rng(5).integers(0, 2**20, 200))
    x = honest.data(5, positions.size, 128, "float32")
    spec = honest.half(128, PowerLaw(1e4))
    for ladder in (honest.by_rounding, honest.by_power, honest.by_single_exp, honest.by_product):
        y = honest.rotated(x, positions, ladder(1e4 * 1.0001, 128))
        assert (
            honest.worst(judge(y, x, positions, spec, "float32", honest.profile(recipe, True)))
            > times
        )


@pytest.mark.parametrize(
    ("fault", "dtype", "times"),
    [
        # an error of 2**-9 of a cos or sin, against 5 units of 2**-24; under bfloat16 output it
        # is half as large as what the output's own rounding may be
        ("table", "float32", 2**15 / 5 / 2),
        # 0.5 %, against little more than one unit of 2**-11 or 2**-8
        ("amplitude", "float16", 0.005 * 2**11 / 2),
        ("amplitude", "bfloat16", 0.005 * 2**8 / 2),
        # theta off by up to 2**-9 against (4 + ln b) units of 2**-24
        ("frequencies", "float32", 2**15 / 14 / 2),
    ],
)
def test_narrow_tables_frequencies_and_amplitudes_show(fault, dtype, times, honest):
    """A fault of known size exceeds the bound by at least half of what its size demands."""
    positions = np.arange(0, 4096, 31)
    x = honest.data(3, positions.size, 64, dtype)
    theta = honest.by_power(1e4, 64)
    if fault == "frequencies":
        theta = theta.astype(ml_dtypes.bfloat16).astype(F)
    phase = (F(positions)[:, None] * theta)[:, None]
    cos, sin = np.cos(phase), np.sin(phase)
    if fault == "table":
        cos, sin = (t.astype(ml_dtypes.bfloat16).astype(F) for t in (cos, sin))
    if fault == "amplitude":
        cos, sin = F(1.005) * cos, F(1.005) * sin
    u, v = np.split(x.astype(F), 2, axis=-1)
    y = np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1).astype(x.dtype)
    spec = honest.half(64, PowerLaw(1e4))
    assert honest.worst(judge(y, x, positions, spec, dtype, profile_named("float32-power"))) > times

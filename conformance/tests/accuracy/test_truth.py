"""What outputs are compared with is the truth, also where the data is float64."""

import math

import numpy as np
import pytest
from flint import arb, ctx

import rope_ref as rr
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_ref import PowerLaw

F = np.float32
BASES = (1e4, 5e5, 1e6, 1e7)


@pytest.mark.parametrize("base", BASES)
def test_the_float64_textbook_keeps_float64_but_is_not_exact(base, honest):
    """Its phases are off by roundings that grow with the position; the reference's are not."""
    spec = honest.half(96, PowerLaw(base))
    positions = np.random.default_rng(2).integers(2**16, 2**31, 100)
    x = honest.data(2, positions.size, 96, "float64")
    y = honest.textbook(x, positions, base)
    assert honest.worst(judge(y, x, positions, spec, "float64", profile_named("float64"))) <= 1
    assert honest.worst(judge(y, x, positions, spec, "float64", profile_named("exact"))) > 100


def test_the_reference_is_exact_on_float64_below_2_to_the_31(honest):
    """Its own rounding is well inside the tightest profile there is."""
    rng = np.random.default_rng(3)
    positions = np.concatenate([rng.integers(0, 2**31, 100), [0, 1, 2**31 - 1, 1 - 2**31]])
    for base in honest.bases:
        spec = honest.half(100, PowerLaw(base))
        x = honest.data(4, positions.size, 100, "float64")
        y = rr.apply_rope(x, positions, spec, axes="bthd")
        ratio = honest.worst(judge(y, x, positions, spec, "float64", profile_named("exact")))
        # 0.8 ulp of the table, two products and a sum: (0.8 sqrt 2 + 2) of 5
        assert ratio <= (0.8 * math.sqrt(2) + 2) / 5


def test_float32_inside_float64_data_rounds_the_data_too(honest):
    """A RoPE that works in float32 on float64 data keeps float32, and nothing tighter."""
    positions = np.arange(0, 2000, 13)
    spec = honest.half(64, PowerLaw(1e4))
    x = np.random.default_rng(0).standard_normal((1, positions.size, 1, 64))
    y = honest.rotated(x.astype(F), positions, honest.by_power(1e4, 64)).astype(np.float64)
    assert (
        honest.worst(judge(y, x, positions, spec, "float64", profile_named("float32-power"))) <= 1
    )
    assert honest.worst(judge(y, x, positions, spec, "float64", profile_named("float64"))) > 1e6
    faint = (x * 1e-43).astype(F).astype(np.float64)
    for data64 in (faint, x * 1e-43):
        y = honest.rotated(data64.astype(F), positions, honest.by_power(1e4, 64)).astype(np.float64)
        judgement = judge(y, data64, positions, spec, "float64", profile_named("float32-power"))
        assert (judgement.residual[judgement.r > 0] <= judgement.bound[judgement.r > 0]).all()


def test_what_is_expected_is_the_truth(honest):
    """The judge's expectation is Arb's, and the rounded truth has a residual of at most 1."""
    rng = np.random.default_rng(6)
    for base, rotary_dim in ((1e4, 128), (5e5, 96), (1e7, 6), (0.37, 10)):
        spec = honest.half(rotary_dim, PowerLaw(base))
        positions = rng.integers(-(2**31) + 1, 2**31, 10)
        x = rng.standard_normal((1, 10, 1, rotary_dim))
        y = np.empty_like(x)
        with ctx.workprec(320):
            for t, p in enumerate(positions.tolist()):
                for i in range(rotary_dim // 2):
                    sin, cos = (p * (arb(base).log() * -2 * i / rotary_dim).exp()).sin_cos()
                    u, v = (arb(float(x[0, t, 0, c])) for c in (i, i + rotary_dim // 2))
                    y[0, t, 0, i] = float(u * cos - v * sin)
                    y[0, t, 0, i + rotary_dim // 2] = float(u * sin + v * cos)
        judgement = judge(y, x, positions, spec, "float64", profile_named("exact"))
        # want + want_low is within 2**-56 of r: an eighth of a unit
        assert judgement.residual.max() <= 1 + 2**-3
        r = np.tile(judgement.r, 2)
        assert (np.abs(judgement.want - y) <= (2.0**-52 + 2.0**-56) * r).all()

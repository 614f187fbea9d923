"""What a report says of accuracy: the tightest profile, and the horizon."""

import numpy as np
import pytest

import rope_ref as rr
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_conformance.accuracy.statistics import Meter
from rope_ref import PowerLaw

F = np.float32


@pytest.fixture
def metered(honest):
    """What is seen of a RoPE in float32 data at R = 128, b = 10000."""

    def measure(make, positions):
        meter = Meter()
        spec = honest.half(128, PowerLaw(1e4))
        x = honest.data(8, positions.size, 128, "float32")
        y = make(x, positions)
        profile = profile_named("model-dtype-table")
        meter.add(judge(y, x, positions, spec, "float32", profile), spec)
        return meter

    return measure


@pytest.mark.parametrize("name", ["exact", "float64", "float32-power", "float32"])
def test_the_tightest_profile_is_the_chain_that_was_used(name, honest):
    """Each chain keeps its own profile and none that is tighter."""
    spec = honest.half(100, PowerLaw(1e9))
    # In float32 the error of a float64 phase does not show below 2**31.
    dtype = "float64" if name == "float64" else "float32"
    positions = np.random.default_rng(9).integers(0, 2**20, 300)
    x = honest.data(8, positions.size, 100, dtype)
    y = {
        "exact": lambda: rr.apply_rope(x, positions, spec, axes="bthd").astype(F),
        "float64": lambda: honest.textbook(x, positions, 1e9),
        "float32-power": lambda: honest.rotated(x, positions, honest.by_power(1e9, 100)),
        "float32": lambda: honest.rotated(x, positions, honest.by_single_exp(1e9, 100)),
    }[name]()
    meter = Meter()
    meter.add(judge(y, x, positions, spec, dtype, profile_named("float32")), spec)
    assert meter.tightest() == name


def test_the_horizon_of_float32_phases(honest, metered):
    """Errors reach 1 % of a pair near position 10**5 at base 10000, as rounding theta_1 demands."""
    positions = np.unique(np.geomspace(1, 2**24, 4000).astype(np.int64))
    meter = metered(lambda x, p: honest.rotated(x, p, honest.by_power(1e4, 128)), positions)
    last, ends = meter.horizon.reach(0.01)
    assert ends
    # No earlier than the bound of the worst pair allows.
    spec = honest.half(128, PowerLaw(1e4))
    m = profile_named("float32-power").amplification(spec)
    assert last >= 0.01 / (m * spec.theta() * 2.0**-24).max() - 1
    assert 1e5 <= last <= 3.2e5
    exact = metered(lambda x, p: F(rr.apply_rope(x, p, spec, axes="bthd")), positions)
    assert exact.horizon.reach(0.01) == (positions[-1], False)


def test_a_horizon_may_be_nowhere(metered):
    """An implementation wrong from the start has none."""
    last, ends = metered(lambda x, p: -x, np.arange(5)).horizon.reach(0.01)
    assert (last, ends) == (None, True)

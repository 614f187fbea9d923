"""Each pair is judged by the position on the axis that it follows."""

import numpy as np
import pytest

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge, per_token
from rope_conformance.accuracy.statistics import Meter
from rope_ref import RopeSpec, apply_rope
from rope_ref.positions import (
    contiguous_axes,
)

SECTIONS = RopeSpec(16, layout="half", pair_axes=contiguous_axes((2, 3, 3)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_pair_is_judged_by_the_position_on_its_own_axis(dtype):
    """Pair by pair the bound, the error and the truth are those of a RoPE of one axis."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 4, 3, 16)).astype(np.float32)
    p = rng.integers(0, 2**18, (3, 2, 4))
    profile = profile_named("float32")
    y = np.asarray(apply_rope(x, p, SECTIONS, axes="bthd"), np.float32)
    y[1, 2, 0] += np.float32(2**-20)
    whole = judge(y, x, p, SECTIONS, dtype, profile)
    plain = RopeSpec(16, layout="half")
    for axis in range(3):
        own = np.equal(SECTIONS.pair_axes, axis)
        alone = judge(y, x, p[axis], plain, dtype, profile)
        for name in ("error", "residual", "bound", "r", "ratio"):
            assert np.array_equal(getattr(whole, name)[..., own], getattr(alone, name)[..., own])
        assert (per_token(p, SECTIONS)[..., own] == p[axis][..., None, None]).all()


def test_the_bound_takes_one_position_or_one_for_each_pair():
    """What broadcasts with the pairs."""
    profile, places = profile_named("float32"), np.array([1, 1, 7, 7, 7, 1000, 1000, 1000])
    each = bound(profile, SECTIONS, places, "float32", 1.0)
    for i, place in enumerate(places):
        assert each[i] == bound(profile, SECTIONS, place, "float32", 1.0)[i]


def test_errors_are_kept_under_the_position_that_a_pair_follows():
    """One wrong pair of axis 2 is no error at the positions of axes 0 and 1."""
    p = np.array([[1, 2], [30, 40], [500, 600]])
    x = np.ones((1, 2, 1, 16), dtype=np.float32)
    y = np.asarray(apply_rope(x, p, SECTIONS, axes="bthd"), np.float32)
    y[0, 1, 0, 7] += 0.5
    meter = Meter()
    meter.add(judge(y, x, p, SECTIONS, "float32", profile_named("float32")), SECTIONS)
    assert sorted(meter.horizon.errors) == [1, 2, 30, 40, 500, 600]
    assert [at for at, error in meter.horizon.errors.items() if error > 0.1] == [600]
    assert meter.horizon.reach(0.01) == (500, True)

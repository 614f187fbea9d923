"""What decides, what is infinitely wrong, and that rows are judged one by one."""

import numpy as np
import pytest

import rope_ref as rr
from rope_conformance.accuracy.number_types import tiny
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import compare, judge, per_token
from rope_conformance.target.claim import DTYPES
from rope_ref import PowerLaw


def test_a_sixteenth_of_a_pair_still_decides():
    """A bound of r / 16 tells right from wrong; the next number above it counts as nothing."""
    edge = 2.0**24 / 16
    allowed = np.array([edge, np.nextafter(edge, np.inf)])
    r = np.ones((1, 1, 1, 2))
    judgement = compare(r, r, allowed, np.zeros((1, 1, 1, 1)), "float32", got=r, want=r)
    assert judgement.decisive.ravel().tolist() == [True, False]
    assert judgement.ratio.ravel().tolist() == [16, 0]


def test_where_everything_is_allowed_nothing_is_decided(honest):
    """Near 2**23 a float32 phase of pair 0 may be off by a quarter turn; slow pairs still count."""
    spec = honest.half(64, PowerLaw(1e4))
    positions = np.array([2**23 + 1])
    x = honest.data(0, 1, 64, "float32")
    judgement = judge(-x, x, positions, spec, "float32", profile_named("float32-power"))
    allowed = judgement.bound[0, 0, 0] * 2.0**-24
    np.testing.assert_array_equal(judgement.decisive[0, 0, 0], allowed <= 1 / 16)
    assert not judgement.decisive[0, 0, 0, 0]
    assert judgement.decisive[0, 0, 0, -1]
    assert judgement.ratio[0, 0, 0, 0] == 0
    assert judgement.ratio[0, 0, 0, -1] > 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pair_of_zeros_must_stay_exactly_zero(dtype, honest):
    """0 and -0 are right; the smallest number there is, is not."""
    spec = honest.half(4, PowerLaw(1e4))
    x = np.zeros((1, 2, 1, 4), honest.types[dtype])
    positions = np.array([0, 12345])
    profile = profile_named("float32")
    for y in (x, -x):
        assert judge(y, x, positions, spec, dtype, profile).ratio.max() == 0
    y = x.copy()
    y[0, 1, 0, 3] = honest.types[dtype].type(2 * tiny(dtype))
    assert y[0, 1, 0, 3] != 0
    assert judge(y, x, positions, spec, dtype, profile).ratio[0, 1, 0, 1] == np.inf


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_as_wrong_as_can_be(bad, dtype, honest):
    """They are never within the bound, with or without data in the pair."""
    spec = honest.half(4, PowerLaw(1e4))
    positions = np.array([3])
    for x in (honest.data(1, 1, 4, dtype), np.zeros((1, 1, 1, 4), honest.types[dtype])):
        y = np.array(rr.apply_rope(x, positions, spec, axes="bthd")).astype(honest.types[dtype])
        y[..., 1] = bad
        ratio = judge(y, x, positions, spec, dtype, profile_named("float32")).ratio[0, 0, 0]
        assert ratio[1] == np.inf
        assert ratio[0] <= 1


def test_rows_with_positions_of_their_own_are_judged_one_by_one(honest):
    """A batch with positions (B, T) is judged as its rows are with positions (T,)."""
    positions = np.array([[0, 5, 900], [70000, 3, -2]])
    spec, profile = honest.half(8, PowerLaw(1e4)), profile_named("float32-power")
    x = np.concatenate([honest.data(row, 3, 8, "float32") for row in (0, 1)])
    y = np.concatenate(
        [honest.rotated(x[[row]], positions[row], honest.by_power(1e4, 8)) for row in (0, 1)],
        axis=0,
    )
    both = judge(y, x, positions, spec, "float32", profile)
    assert 0 < honest.worst(both) <= 1
    for row in (0, 1):
        alone = judge(y[[row]], x[[row]], positions[row], spec, "float32", profile)
        np.testing.assert_array_equal(both.ratio[row], alone.ratio[0])
        np.testing.assert_array_equal(both.bound[row], alone.bound[0])
        assert both.positions[row].ravel().tolist() == positions[row].tolist()


def test_each_pair_has_the_position_that_it_follows():
    """(T,) and (B, T) for all pairs alike; with axes each pair's own, rows and heads as axes."""
    plain = rr.RopeSpec(6, layout="half")
    assert per_token(np.array([4, 9]), plain).tolist() == [[[[4.0]], [[9.0]]]]
    assert per_token(np.array([[4, 9], [5, 6]]), plain).shape == (2, 2, 1, 1)
    axes = rr.RopeSpec(6, layout="half", pair_axes=(0, 1, 0))
    one_row = per_token(np.array([[4, 9], [40, 90]]), axes)
    assert one_row.tolist() == [[[[4.0, 40.0, 4.0]], [[9.0, 90.0, 9.0]]]]
    rows = per_token(np.array([[[4, 9]] * 3, [[40, 90]] * 3]), axes)
    assert rows.shape == (3, 2, 1, 3)
    assert (rows == one_row).all()

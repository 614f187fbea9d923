"""Keys that are moved in a cache stand where they went."""

from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors

U = 2.0**-53

YARN = rr.scaling.YaRN(rr.PowerLaw(1e6), factor=4, original_length=32768)
SPECS = {
    "plain": rr.RopeSpec(8, layout="half"),
    "amplitude": rr.RopeSpec(8, layout="interleaved", frequencies=YARN),
    "trailing": rr.RopeSpec(8, layout="half", rotary_dim=4, rotary_start=4, direction=-1),
    "written elsewhere": rr.RopeSpec(
        8, layout="interleaved", output_layout="half", rotary_dim=6, frequencies=YARN
    ),
    "two axes": rr.RopeSpec(8, layout="half", pair_axes=(0, 1, 0, 1), frequencies=YARN),
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("delta", [0, 5, -3, 100_000])
def test_moved_keys_stand_where_they_went(name, delta):
    """As if they had been rotated there at once, in every layout and with every amplitude."""
    spec = SPECS[name]
    x = np.random.default_rng(3).standard_normal((2, 5, 3, 8))
    axes = 1 if spec.pair_axes is None else 2
    p = np.arange(5) + 7 * np.arange(axes)[:, None]
    p = p[0] if spec.pair_axes is None else p
    moved = rr.extensions.reposition_rope(
        rr.apply_rope(x, p, spec, axes="bthd"), p * 0 + delta, spec, axes="bthd"
    )
    want = rr.apply_rope(x, p + delta, spec, axes="bthd")
    # A component of a rotation is off by less than 4 u r (see test_rotation), a pair of them
    # by sqrt 2 more. The first one's error is turned on; the second adds its own; `want` has
    # an error too. |x| is not below any r / A.
    r = float(spec.frequencies.amplitude) * np.linalg.norm(x, axis=-1, keepdims=True)
    assert (np.abs(moved - want) <= (np.sqrt(2) * 4 + 4 + 4) * U * 1.001 * r).all()


def test_moving_by_one_number_or_one_per_token():
    """A scalar, (T,) and (B, T) mean what they mean as positions; other channels stay."""
    spec = rr.RopeSpec(8, layout="half", rotary_dim=4)
    k = np.random.default_rng(0).standard_normal((2, 3, 1, 8))
    one, each, all_ = (
        rr.extensions.reposition_rope(k, delta, spec, axes="bthd")
        for delta in (5, np.full(3, 5), np.full((2, 3), 5))
    )
    assert np.array_equal(one, each)
    assert np.array_equal(one, all_)
    assert np.array_equal(one[..., 4:], k[..., 4:])
    assert not np.array_equal(one[..., :4], k[..., :4])
    two = SPECS["two axes"]
    assert np.array_equal(
        rr.extensions.reposition_rope(k, [5, 2], two, axes="bthd"),
        rr.extensions.reposition_rope(k, np.array([[5] * 3, [2] * 3]), two, axes="bthd"),
    )


def test_an_amplitude_is_not_put_on_twice():
    """`apply_rope` as a shift multiplies by 1.1386 at factor 4, by 1.19 for Phi-3, at 0 too."""
    phi = rr.scaling.LongRoPE(
        rr.PowerLaw(1e4),
        short_factors=[1.0] * 2,
        long_factors=[1.0, 32.0],
        original_length=4096,
        factor=32,
    )
    for rule, size in ((YARN, 1.13862943611), (phi, 1.19023807142)):
        spec = rr.RopeSpec(4, layout="half", frequencies=rule)
        assert float(spec.frequencies.amplitude) == pytest.approx(size, rel=0.5e-11)
        k = rr.apply_rope(np.ones((1, 4)), [9], spec, axes="td")
        again = rr.apply_rope(k, 0, spec, axes="td")
        assert again == pytest.approx(size * k, rel=0.5e-11)
        assert np.array_equal(rr.extensions.reposition_rope(k, 0, spec, axes="td"), k)


def test_moves_that_do_not_fit_are_refused():
    """In the words of the call."""
    spec = SPECS["plain"]
    with pytest.raises(errors.PositionShapeError, match=r"reposition_rope\(k, delta, spec"):
        rr.extensions.reposition_rope(np.ones((1, 3, 8)), np.arange(2), spec, axes="htd")
    with pytest.raises(errors.ShapeError, match="head_dim is 8"):
        rr.extensions.reposition_rope(np.ones((3, 6)), 1, spec, axes="td")
    with pytest.raises(errors.DtypeError):
        rr.extensions.reposition_rope(np.ones((3, 8), dtype=complex), 1, spec, axes="td")
    call = r"reposition_rope\(k, delta, spec, axes='td'\): "
    for delta, error in (
        ("x", errors.PositionDtypeError),
        ([[1], [1, 2]], errors.PositionDtypeError),
        (np.nan, errors.NonFinitePositionError),
        (2**53, errors.PositionRangeError),
    ):
        with pytest.raises(error, match=call + "delta must be"):
            rr.extensions.reposition_rope(np.ones((3, 8)), delta, spec, axes="td")
    with pytest.raises(errors.SpecError, match=call + "the spec must be a RopeSpec"):
        rr.extensions.reposition_rope(np.ones((3, 8)), 1, None, axes="td")
    assert Fraction(1) == spec.frequencies.amplitude


def test_a_scalar_moves_keys_along_all_axes():
    """As a text is moved whose tokens stand at the same number on all axes."""
    spec = rr.RopeSpec(12, layout="half", pair_axes=(0, 1, 2, 0, 1, 2))
    k = np.random.default_rng(5).standard_normal((4, 12))
    positions = np.stack([np.arange(4), np.arange(4) + 7, np.arange(4) + 9])
    rotated = rr.apply_rope(k, positions, spec, axes="td")
    moved = rr.extensions.reposition_rope(rotated, 5, spec, axes="td")
    want = rr.apply_rope(k, positions + 5, spec, axes="td")
    # Three rotations, each off by at most 0.8 ulp of cos and sin, two products and a sum.
    atol = 3 * (2 * 1.6 + 3) * 2.0**-53 * 2 * np.abs(k).max()
    np.testing.assert_allclose(moved, want, rtol=0, atol=atol)

"""xPos: the scales of queries and keys, and scores that fade."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

import rope_ref as rr
from rope_ref import errors

SPEC = rr.RopeSpec(64, layout="interleaved")
U = 2.0**-53


def true_scale(position, i, rotary_dim=64, middle=0, sign=1):
    """zeta_i to the power, as an Arb ball."""
    zeta = arb(fmpq(10 * i * 2 + 4 * rotary_dim, 14 * rotary_dim))
    away = Fraction(position) - middle
    return (sign * zeta.log() * arb(fmpq(away.numerator, away.denominator)) / 512).exp()


def test_worked_values():
    """R = 64, gamma 0.4: three of the zetas, and a power."""
    zeta = rr.extensions.XPos().zeta(64)
    assert [f"{zeta[i]:.12g}" for i in (0, 16, 31)] == [
        "0.285714285714", "0.642857142857", "0.977678571429",
    ]  # fmt: skip
    assert f"{rr.extensions.XPos().scale(100, 64, role='q')[0]:.12g}" == "0.782954834501"


def test_scales_are_rounded_once():
    """Against Arb: near and far, fractions and negative positions, queries and keys."""
    positions = np.array([[0, 1, -1], [777, 0.25, 100_000]])
    for role, sign in (("q", 1), ("k", -1)):
        got = rr.extensions.XPos(length=9).scale(positions, 64, role=role)
        assert got.shape == (2, 3, 32)
        for where in np.ndindex(got.shape):
            truth = true_scale(float(positions[where[:2]]), where[2], middle=4, sign=sign)
            half_ulp = arb(float(np.spacing(np.nextafter(got[where], 0.0)))) / 2
            assert abs(truth - float(got[where])) <= half_ulp


def test_the_middle_of_an_odd_length_is_read_two_ways():
    """Of 5 tokens the exponents are -2 to 2, or -3 to 1; of 4 there is one reading."""
    for length, centre, first in ((5, "down", -2), (5, "up", -3), (4, "down", -2), (4, "up", -2)):
        xpos = rr.extensions.XPos(length=length, centre=centre)
        exponents = np.arange(length) - xpos.middle
        assert exponents.tolist() == list(range(first, first + length))


def test_the_two_readings_differ_by_one_exponent_and_their_scores_do_not():
    """q is scaled by zeta_0**(1/512) = 0.99756, k inversely: a cache must not mix them."""
    rng = np.random.default_rng(1)
    q, k = rng.standard_normal((2, 5, 64))
    p = np.arange(5)
    sides = {}
    for centre in ("down", "up"):
        xpos = rr.extensions.XPos(length=5, centre=centre)
        rotated = [
            rr.extensions.apply_xpos(x, p, SPEC, xpos, axes="td", role=role)
            for x, role in ((q, "q"), (k, "k"))
        ]
        sides[centre] = rotated
    ratio = sides["down"][0][:, :2] / sides["up"][0][:, :2]
    assert ratio == pytest.approx(np.full((5, 2), 0.99756), abs=5e-6)
    ratio = sides["down"][1][:, :2] / sides["up"][1][:, :2]
    assert ratio == pytest.approx(np.full((5, 2), 1 / 0.99756), abs=5e-6)
    scores = {centre: a @ b.T for centre, (a, b) in sides.items()}
    # Components are off by 6 units of what they are scaled to (see below), on both sides, and
    # scales stay within 1.02 of 1 here; 64 products and sums.
    size = np.linalg.norm(q, axis=-1)[:, None] * np.linalg.norm(k, axis=-1)
    assert (np.abs(scores["down"] - scores["up"]) <= 2 * 2 * (6 + 6 + 64) * U * 1.05 * size).all()


@pytest.mark.parametrize("axes", ["td", "bthd"])
def test_it_is_the_rotation_with_every_pair_scaled(axes):
    """In every layout, with the amplitude; other channels stay."""
    given = rr.ExplicitFrequencies([1.0, 0.1, 0.01], amplitude=1.5)
    spec = rr.RopeSpec(8, layout="half", output_layout="interleaved", rotary_dim=6,
                       frequencies=given)  # fmt: skip
    shape = (5, 8) if axes == "td" else (2, 5, 3, 8)
    x = np.random.default_rng(2).standard_normal(shape)
    p = np.array([0, 3, 100, 5000, -20])
    xpos = rr.extensions.XPos(gamma=0.5, scale_base=1000, length=11)
    for role, sign in (("q", 1), ("k", -1)):
        got = rr.extensions.apply_xpos(x, p, spec, xpos, axes=axes, role=role)
        plain = rr.apply_rope(x, p, spec, axes=axes)
        for token, position in enumerate(p):
            for i in range(3):
                zeta = (2 * i / 6 + 0.5) / 1.5
                factor = zeta ** (sign * (position - 5) / 1000)
                here = np.s_[token, 2 * i : 2 * i + 2]
                here = here if axes == "td" else (slice(None), token, slice(None), here[1])
                # A component: table 1.6 u, scale 1 u, their product 1 u, two products 1 u and
                # a sum 1 u, of at most sqrt 2 r; the plain one 4 u r. The factor here: its
                # float64 exponent errs by 2 u |ln|, which is below 12.
                r = 1.5 * np.linalg.norm(x, axis=-1).max() * factor
                assert (
                    np.abs(got[here] - factor * plain[here]).max() <= (5.6 * 1.5 + 4 + 30) * U * r
                )
        assert np.array_equal(got[..., 6:], x[..., 6:])
    assert np.array_equal(
        rr.extensions.apply_xpos(x, 3, spec, xpos, axes=axes, role="q"),
        rr.extensions.apply_xpos(x, np.full(5, 3), spec, xpos, axes=axes, role="q"),
    )


def test_far_from_the_middle():
    """What is below the smallest float64 is 0; what is beyond the largest is refused."""
    xpos = rr.extensions.XPos()
    assert rr.extensions.XPos(length=2**21).scale(2**20, 64, role="k").tolist() == [1.0] * 32
    assert xpos.scale(2**52, 64, role="q").tolist() == [0.0] * 32
    with pytest.raises(
        errors.ScaleRangeError, match=r"at position 4503599627370496 .*give a length"
    ):
        xpos.scale(2**52, 64, role="k")


def test_what_it_cannot_use_is_refused():
    """Each argument by its name."""
    two_axes = rr.RopeSpec(4, layout="half", pair_axes=(0, 1))
    with pytest.raises(errors.PairAxesError, match="without pair_axes"):
        rr.extensions.apply_xpos(
            np.ones((1, 4)), [[0], [0]], two_axes, rr.extensions.XPos(), axes="td", role="q"
        )
    call = r"apply_xpos\(x, positions, spec, .*\): "
    for change, error, words in (
        ({"role": "query"}, errors.FrequencyValueError, "role must be one of 'q', 'k'"),
        ({"role": np.array(["q", "k"])}, errors.FrequencyValueError, "role must be one of"),
        ({"positions": [[1], [1, 2]]}, errors.PositionDtypeError, "positions must be an array"),
        ({"positions": [np.nan]}, errors.NonFinitePositionError, "positions must be finite"),
        ({"positions": [2**52], "role": "k"}, errors.ScaleRangeError, "at position"),
        ({"spec": "S"}, errors.SpecError, "the spec must be a RopeSpec"),
        ({"xpos": None}, errors.SpecError, "xpos must be an XPos"),
    ):
        given = {
            "x": np.ones((1, 64)),
            "positions": [0],
            "spec": SPEC,
            "xpos": rr.extensions.XPos(),
        }
        with pytest.raises(error, match=call + words):
            rr.extensions.apply_xpos(**{**given, "axes": "td", "role": "q", **change})
    for wrong in ({"gamma": 0}, {"scale_base": -1}, {"centre": "left"}):
        with pytest.raises(errors.FrequencyValueError, match=next(iter(wrong))):
            rr.extensions.XPos(**wrong)
    with pytest.raises(errors.CountError, match="length must be at least 0"):
        rr.extensions.XPos(length=-1)
    with pytest.raises(errors.CountError, match=r"length must be below 2\*\*53"):
        rr.extensions.XPos(length=2**53)
    for no_integer in (np.array([3]), np.array(3.5), True, 3.0):
        with pytest.raises(errors.CountTypeError, match="length must be an integer"):
            rr.extensions.XPos(length=no_integer)
    for function in (
        rr.extensions.XPos().zeta,
        lambda width: rr.extensions.XPos().scale([1], width, role="q"),
    ):
        for width, error in (
            ("a", errors.CountTypeError),
            (4.0, errors.CountTypeError),
            (3, errors.OddRotaryDimError),
            (-4, errors.CountError),
        ):
            with pytest.raises(error, match=rf"^(zeta|scale)\(.*{width}.*rotary_dim"):
                function(width)
    with pytest.raises(errors.PositionShapeError, match="apply_xpos"):
        rr.extensions.apply_xpos(
            np.ones((2, 64)), [0], SPEC, rr.extensions.XPos(), axes="td", role="q"
        )

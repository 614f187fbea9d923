"""Tables per channel: the usual ones rotate, crossed ones do not."""

import numpy as np
import pytest

import rope_ref as rr

POSITIONS = np.array([0, 1, 5, 37])


def tables(dim, kind, base=1e4, positions=POSITIONS):
    """cos and sin of a plain ladder, its halves or its entries repeated."""
    cos, sin = rr.cos_sin(positions, rr.RopeSpec(dim, layout="half", frequencies=rr.PowerLaw(base)))
    if kind == "halves":
        return np.concatenate([cos, cos], -1), np.concatenate([sin, sin], -1)
    return np.repeat(cos, 2, -1), np.repeat(sin, 2, -1)


@pytest.mark.parametrize(("layout", "kind"), [("half", "halves"), ("interleaved", "entries")])
@pytest.mark.parametrize("axes", ["td", "thd", "bhtd", "bthd"])
def test_tables_that_fit_the_layout_rotate(layout, kind, axes):
    """The channelwise form is then apply_rope to the last bit of a product and a sum."""
    shape = {"b": 2, "t": 4, "h": 3, "d": 16}
    x = np.random.default_rng(0).standard_normal([shape[letter] for letter in axes])
    cos, sin = tables(16, kind)
    y = rr.apply_channel_tables(x, cos, sin, layout=layout, axes=axes)
    want = rr.apply_rope(x, POSITIONS, rr.RopeSpec(16, layout=layout), axes=axes)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_allclose(rr.pair_determinants(cos, sin, layout=layout), 1, rtol=4e-16)


def test_v_jepa2_is_no_rotation():
    """Halves repeated, pairs of neighbours: determinants from -0.99 to 1 at position 5."""
    determinants = rr.pair_determinants(*tables(20, "halves"), layout="interleaved")[2]
    assert determinants.min() == pytest.approx(-0.99, abs=0.005)
    assert determinants.max() == pytest.approx(1, abs=0.005)


def test_paddles_half_style_is_no_rotation():
    """Entries repeated, pairs of halves: determinants from -0.997 to 0.998 at position 5."""
    determinants = rr.pair_determinants(*tables(128, "entries"), layout="half")[2]
    assert determinants.min() == pytest.approx(-0.997, abs=0.0005)
    assert determinants.max() == pytest.approx(0.998, abs=0.0005)


def test_channel_by_channel_as_written_out():
    """Channel 2j follows the angle 2j modulo D/2, channel 2j + 1 that of 2j + 1."""
    x = np.random.default_rng(1).standard_normal((4, 12))
    cos, sin = tables(12, "halves")
    y = rr.apply_channel_tables(x, cos, sin, layout="interleaved", axes="td")
    theta = 1e4 ** (-np.arange(6) / 6)
    for t, p in enumerate(POSITIONS):
        for c in range(12):
            partner = -x[t, c + 1] if c % 2 == 0 else x[t, c - 1]
            angle = p * theta[c % 6]
            want = x[t, c] * np.cos(angle) + partner * np.sin(angle)
            assert y[t, c] == pytest.approx(want, abs=1e-13)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (rr.errors.TableShapeError, "cos has shape", {"cos": np.ones((4, 3))}),
        (rr.errors.TableShapeError, "sin has shape", {"sin": np.ones((3, 4))}),
        (rr.errors.LayoutError, "layout='neox'", {"layout": "neox"}),
        (rr.errors.AxesError, "axes", {"axes": "t"}),
    ],
)
def test_what_cannot_be_used_is_named(error, words, call):
    """Each argument has its error."""
    given = {"cos": np.ones((4, 4)), "sin": np.ones((4, 4)), "layout": "half", "axes": "td"} | call
    with pytest.raises(error, match=words):
        rr.apply_channel_tables(np.ones((4, 4)), **given)


def test_determinants_need_tables_of_one_shape():
    """Two tables, one entry per channel each."""
    with pytest.raises(rr.errors.TableShapeError, match="both must be"):
        rr.pair_determinants(np.ones((2, 4)), np.ones((2, 6)), layout="half")

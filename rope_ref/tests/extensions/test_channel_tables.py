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
    y = rr.extensions.apply_channel_tables(x, cos, sin, layout=layout, axes=axes)
    want = rr.apply_rope(x, POSITIONS, rr.RopeSpec(16, layout=layout), axes=axes)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_allclose(
        rr.extensions.pair_determinants(cos, sin, layout=layout), 1, rtol=4e-16
    )


def test_v_jepa2_is_no_rotation():
    """Halves repeated, pairs of neighbours: determinants from -0.99 to 1 at position 5."""
    determinants = rr.extensions.pair_determinants(*tables(20, "halves"), layout="interleaved")[2]
    assert determinants.min() == pytest.approx(-0.99, abs=0.005)
    assert determinants.max() == pytest.approx(1, abs=0.005)


def test_paddles_half_style_is_no_rotation():
    """Entries repeated, pairs of halves: determinants from -0.997 to 0.998 at position 5."""
    determinants = rr.extensions.pair_determinants(*tables(128, "entries"), layout="half")[2]
    assert determinants.min() == pytest.approx(-0.997, abs=0.0005)
    assert determinants.max() == pytest.approx(0.998, abs=0.0005)


def test_channel_by_channel_as_written_out():
    """Channel 2j follows the angle 2j modulo D/2, channel 2j + 1 that of 2j + 1."""
    x = np.random.default_rng(1).standard_normal((4, 12))
    cos, sin = tables(12, "halves")
    y = rr.extensions.apply_channel_tables(x, cos, sin, layout="interleaved", axes="td")
    theta = 1e4 ** (-np.arange(6) / 6)
    for t, p in enumerate(POSITIONS):
        for c in range(12):
            partner = -x[t, c + 1] if c % 2 == 0 else x[t, c - 1]
            angle = p * theta[c % 6]
            want = x[t, c] * np.cos(angle) + partner * np.sin(angle)
            assert y[t, c] == pytest.approx(want, abs=1e-13)


@pytest.mark.parametrize(("layout", "kind"), [("interleaved", "halves"), ("half", "entries")])
@pytest.mark.parametrize("axes", ["td", "thd", "bhtd", "bthd"])
def test_crossed_tables_are_two_ropes(layout, kind, axes):
    """Of which one gives the first channel of each pair, and one the second."""
    shape = {"b": 2, "t": 4, "h": 3, "d": 20}
    x = np.random.default_rng(2).standard_normal([shape[letter] for letter in axes])
    want = rr.extensions.apply_channel_tables(x, *tables(20, kind), layout=layout, axes=axes)
    first, second = rr.extensions.crossed_ropes(rr.RopeSpec(20, layout=layout))
    y = rr.extensions.apply_channel_ropes(x, POSITIONS, first, second, axes=axes)
    np.testing.assert_array_equal(y, want)
    assert (
        np.abs(y - rr.apply_rope(x, POSITIONS, rr.RopeSpec(20, layout=layout), axes=axes)).max() > 1
    )


def test_each_block_of_channels_may_have_a_crossed_table():
    """V-JEPA2: frame, row and column, a table for each, and channels left over."""
    widths, base = (8, 12, 4), 1e4
    x = np.random.default_rng(3).standard_normal((4, 28))
    positions = np.array([[0, 1, 5, 37], [3, 0, 2, 9], [1, 1, 8, 0]])
    want, start = x.copy(), 0
    for width, p in zip(widths, positions, strict=True):
        own = tables(width, "halves", base, p)
        part = slice(start, start + width)
        want[:, part] = rr.extensions.apply_channel_tables(
            x[:, part], *own, layout="interleaved", axes="td"
        )
        start += width
    spec = rr.RopeSpec(
        28,
        layout="interleaved",
        rotary_dim=24,
        frequencies=rr.scaling.Axial(rr.PowerLaw(base), widths),
        pair_axes=rr.positions.axial_axes(widths),
    )
    first, second = rr.extensions.crossed_ropes(spec, widths=widths)
    y = rr.extensions.apply_channel_ropes(x, positions, first, second, axes="td")
    np.testing.assert_array_equal(y, want)


def test_the_channels_of_a_pair_may_follow_different_axes():
    """HunYuanVL: axes cut out of the repeated halves, so that the first RoPE has fewer of them."""
    x = np.random.default_rng(4).standard_normal((3, 8))
    positions = np.array([[0, 1, 5], [3, 0, 2], [1, 1, 8], [7, 2, 4]])
    first, second = (
        rr.RopeSpec(8, layout="half", pair_axes=axes) for axes in ((0, 0, 1, 1), (2, 2, 3, 3))
    )
    y = rr.extensions.apply_channel_ropes(x, positions, first, second, axes="td")
    theta = 1e4 ** (-np.arange(4) / 4)
    for t in range(3):
        for c in range(8):
            angle = positions[c // 2, t] * theta[c % 4]
            partner = -x[t, c + 4] if c < 4 else x[t, c - 4]
            want = x[t, c] * np.cos(angle) + partner * np.sin(angle)
            assert y[t, c] == pytest.approx(want, abs=1e-14)


def test_one_rope_for_both_channels_is_the_rotation():
    """Then it is apply_rope to the last bit, written in another layout too."""
    x = np.random.default_rng(5).standard_normal((4, 10))
    spec = rr.RopeSpec(10, layout="half", output_layout="interleaved", rotary_dim=8, rotary_start=2)
    y = rr.extensions.apply_channel_ropes(x, POSITIONS, spec, spec, axes="td")
    np.testing.assert_array_equal(y, rr.apply_rope(x, POSITIONS, spec, axes="td"))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"layout": "interleaved"}, "same pairs"),
        ({"output_layout": "interleaved"}, "same output pairs"),
        ({"head_dim": 10, "rotary_dim": 8}, "same head_dim"),
        ({"frequencies": rr.ExplicitFrequencies([1.0] * 4, amplitude=2)}, "same amplitude"),
        ({"pair_axes": (0, 0, 1, 1)}, "same kind of positions"),
    ],
)
def test_two_ropes_that_do_not_fit_each_other_are_refused(changed, words):
    """Neither could give what the other leaves."""
    plain = {"head_dim": 8, "layout": "half", "output_layout": "half"}
    first, second = (rr.RopeSpec(**(plain | more)) for more in ({}, changed))
    with pytest.raises(rr.errors.ChannelRopesError, match=words):
        rr.extensions.apply_channel_ropes(np.ones((1, 8)), [0], first, second, axes="td")


@pytest.mark.parametrize(
    ("layout", "widths"), [("half", (4, 4)), ("interleaved", (4, 2)), ("interleaved", (4, 6))]
)
def test_blocks_that_do_not_fit_are_refused(layout, widths):
    """They fill the rotating channels, and are blocks of pairs."""
    with pytest.raises(rr.errors.ChannelRopesError, match="widths must add up to rotary_dim=8"):
        rr.extensions.crossed_ropes(rr.RopeSpec(8, layout=layout), widths=widths)


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
        rr.extensions.apply_channel_tables(np.ones((4, 4)), **given)


def test_determinants_need_tables_of_one_shape():
    """Two tables, one entry per channel each."""
    with pytest.raises(rr.errors.TableShapeError, match="both must be"):
        rr.extensions.pair_determinants(np.ones((2, 4)), np.ones((2, 6)), layout="half")

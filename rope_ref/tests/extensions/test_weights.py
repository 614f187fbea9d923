"""Weights in the other layout: the same numbers, and the same scores."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rope_ref as rr
from rope_ref import errors
from rope_ref.spec import LAYOUTS

PLAIN = rr.RopeSpec(8, layout="half")
SPECS = [
    PLAIN,
    rr.RopeSpec(8, layout="interleaved"),
    rr.RopeSpec(10, layout="half", rotary_dim=6),
    rr.RopeSpec(11, layout="interleaved", rotary_dim=6, rotary_start=3),
    rr.RopeSpec(12, layout="half", output_layout="interleaved", rotary_dim=8),
    rr.RopeSpec(6, layout="interleaved", output_layout="half"),
    rr.RopeSpec(4, layout="half", rotary_dim=0),
]
WHICH = ("q", "k", "q_bias", "k_bias", "q_norm", "k_norm")


def other(spec):
    """The same RoPE on weights that are laid out the other way."""
    to = "half" if spec.layout == "interleaved" else "interleaved"
    return replace(spec, layout=to)


# The order of channels


def test_half_to_interleaved_by_hand():
    """Pair i of eight channels is (i, i + 4), and is wanted at (2i, 2i + 1); and back."""
    assert rr.extensions.channel_order(PLAIN, "interleaved").tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert rr.extensions.channel_order(other(PLAIN), "half").tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    late = rr.RopeSpec(8, layout="half", rotary_dim=6, rotary_start=1)
    assert rr.extensions.channel_order(late, "interleaved").tolist() == [0, 1, 4, 2, 5, 3, 6, 7]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_the_way_there_and_back_is_no_way(spec):
    """The two orders undo each other; to the layout there is, nothing moves."""
    there, back = (
        rr.extensions.channel_order(spec, other(spec).layout),
        rr.extensions.channel_order(other(spec), spec.layout),
    )
    assert there.dtype == np.int64
    assert there[back].tolist() == back[there].tolist() == list(range(spec.head_dim))
    assert rr.extensions.channel_order(spec, spec.layout).tolist() == list(range(spec.head_dim))


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_a_head_in_the_other_layout_is_rotated_alike(spec):
    """The same pairs turn by the same angles and are written to the same places: bit for bit."""
    x = np.random.default_rng(0).standard_normal((5, spec.head_dim))
    order = rr.extensions.channel_order(spec, other(spec).layout)
    assert other(spec).output_layout == spec.output_layout
    positions = [0, 1, 7, 4096, -3]
    before = rr.apply_rope(x, positions, spec, axes="td")
    after = rr.apply_rope(x[:, order], positions, other(spec), axes="td")
    np.testing.assert_array_equal(after, before)


# Scores


def layer(spec, n_heads, n_kv_heads, seed=0):
    """Weights of the queries and keys of a layer, in whole numbers: products are exact."""
    rng = np.random.default_rng(seed)
    shapes = {"q": (n_heads * spec.head_dim, 5), "k": (n_kv_heads * spec.head_dim, 5)}
    shapes |= {f"{which}_bias": shapes[which][:1] for which in "qk"}
    shapes |= {"q_norm": (spec.head_dim,), "k_norm": (n_kv_heads * spec.head_dim,)}
    return {which: rng.integers(-8, 9, shape).astype(float) for which, shape in shapes.items()}


def rotated(weights, spec, which, heads):
    """Vectors of a few tokens: projected, scaled by the gains, rotated; (token, head, channel)."""
    x = np.random.default_rng(9).integers(-4, 5, (3, 5)).astype(float)
    projected = x @ weights[which].T + weights[f"{which}_bias"]
    projected = projected.reshape(3, heads, spec.head_dim)
    projected = projected * weights[f"{which}_norm"].reshape(-1, spec.head_dim)
    return rr.apply_rope(projected, [0, 5, 1000], spec, axes="thd")


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("heads", [(1, 1), (4, 2), (6, 1), (3, 3)])
def test_scores_stay_what_they_are(spec, heads):
    """The score of every query and key is the same sum, as a real number, after conversion."""
    before = layer(spec, *heads)
    after = {
        which: rr.extensions.convert_weights(
            array, spec, other(spec).layout, n_heads=heads[0], n_kv_heads=heads[1], which=which
        )
        for which, array in before.items()
    }
    scores = []
    for weights, own in ((before, spec), (after, other(spec))):
        q, k = (rotated(weights, own, w, h) for w, h in zip("qk", heads, strict=True))
        k = np.repeat(k, heads[0] // heads[1], axis=1)
        products = q[:, None] * k[None]
        scores.append([math.fsum(p) for p in products.reshape(-1, spec.head_dim).tolist()])
    assert scores[0] == scores[1]


def test_where_pairs_are_written_does_not_show_in_scores(printed):
    """DeepSeek's rotation in transformers writes halves, vLLM's in place: 3.0 of unit-normal data.

    One query and one key. Their 64 products are added in another order: the score differs by
    rounding (once printed as 9e-16, a unit in the last place of a score between 4 and 8).
    """
    in_place = rr.RopeSpec(64, layout="interleaved")
    halves = rr.RopeSpec(64, layout="interleaved", output_layout="half")
    q, k = np.random.default_rng(0).standard_normal((2, 1, 64))
    ours, theirs = (
        [rr.apply_rope(x, [7], spec, axes="td") for x in (q, k)] for spec in (in_place, halves)
    )
    assert np.abs(ours[0] - theirs[0]).max() == printed("3.0")
    # Each sum of 64 products is off by at most 64 u of the sum of their magnitudes.
    bound = 2 * 64 * 2.0**-53 * (np.abs(ours[0]) @ np.abs(ours[1]).T)
    assert np.abs(ours[0] @ ours[1].T - theirs[0] @ theirs[1].T) <= bound
    order = rr.extensions.channel_order(in_place, "half")
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one[:, order], other)


# The arrays


@given(
    st.sampled_from(SPECS),
    st.sampled_from(WHICH),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["float64", "float16", "int8"]),
)
def test_rows_are_named_one_by_one(spec, which, kv_heads, group, dtype):
    """Row (head, channel) of the result is the row of the channel that pair had before."""
    heads = kv_heads * (group if which.startswith("q") else 1)
    rows = [(head, channel) for head in range(heads) for channel in range(spec.head_dim)]
    array = np.arange(len(rows)).astype(dtype)
    if which in "qk":
        array = np.stack([array, -array], axis=1)
    to = other(spec)
    converted = rr.extensions.convert_weights(
        array, spec, to.layout, n_heads=kv_heads * group, n_kv_heads=kv_heads, which=which
    )
    assert (converted.dtype, converted.shape) == (array.dtype, array.shape)
    places = (rr.pair_channels(one).ravel().tolist() for one in (to, spec))
    came_from = dict(zip(*places, strict=True))
    for row, (head, channel) in enumerate(rows):
        source = rows.index((head, came_from.get(channel, channel)))
        np.testing.assert_array_equal(converted[row], array[source])


def test_bits_and_the_array_given_stay_what_they_were():
    """NaN with a payload and -0.0 are moved, not computed with; the result is a new array."""
    bits = np.arange(8, dtype=np.uint32) + 0x7FC00001
    bits[3] = 0x80000000
    given_ = bits.view(np.float32)
    for to in LAYOUTS:
        converted = rr.extensions.convert_weights(
            given_, PLAIN, to, n_heads=1, n_kv_heads=1, which="q_bias"
        )
        order = rr.extensions.channel_order(PLAIN, to)
        np.testing.assert_array_equal(converted.view(np.uint32), bits[order])
        assert not np.shares_memory(converted, given_)
    np.testing.assert_array_equal(given_.view(np.uint32)[3], 0x80000000)


def test_keys_are_not_cut_into_query_heads():
    """The public bug: with the query head count the same rows end up elsewhere."""
    w = np.arange(16.0)[:, None]
    right = rr.extensions.convert_weights(
        w, PLAIN, "interleaved", n_heads=4, n_kv_heads=2, which="k"
    )
    narrow = rr.RopeSpec(4, layout="half")
    wrong = rr.extensions.convert_weights(
        w, narrow, "interleaved", n_heads=4, n_kv_heads=4, which="k"
    )
    assert right.ravel().tolist()[:8] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert wrong.ravel().tolist()[:8] == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("which", ["q_norm", "k_norm"])
def test_gains_come_for_all_heads_or_for_each(which):
    """Shared gains move as those of each head would."""
    shared = np.arange(8.0)
    options = {"n_heads": 4, "n_kv_heads": 4, "which": which}
    one = rr.extensions.convert_weights(shared, PLAIN, "interleaved", **options)
    each = rr.extensions.convert_weights(np.tile(shared, 4), PLAIN, "interleaved", **options)
    np.testing.assert_array_equal(each, np.tile(one, 4))


def test_a_projection_of_nothing_is_converted():
    """No input features, no rows to fill."""
    empty = rr.extensions.convert_weights(
        np.ones((8, 0)), PLAIN, "half", n_heads=1, n_kv_heads=1, which="q"
    )
    assert empty.shape == (8, 0)


# What is refused


def convert(array=None, spec=PLAIN, to="interleaved", n_heads=4, n_kv_heads=2, which="k"):
    array = np.ones((16, 3)) if array is None else array
    return rr.extensions.convert_weights(
        array, spec, to, n_heads=n_heads, n_kv_heads=n_kv_heads, which=which
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: convert(to="neox"), errors.LayoutError, ["'neox'", "interleaved", "half"]),
        (lambda: convert(which="v"), errors.WeightKindError, ["which='v'", "q_norm"]),
        (lambda: convert(which=None), errors.WeightKindError, ["which=None"]),
        (lambda: convert(n_heads=4.0), errors.CountTypeError, ["n_heads", "4.0"]),
        (lambda: convert(n_kv_heads=True), errors.CountTypeError, ["n_kv_heads", "True"]),
        (lambda: convert(n_kv_heads=0), errors.CountError, ["n_kv_heads", "at least 1"]),
        (lambda: convert(n_heads=3), errors.HeadGroupError, ["n_heads=3", "multiple"]),
        (lambda: convert(np.ones((32, 3))), errors.WeightShapeError,
         ["(16, in)", "2 heads of 8", "(32, 3)"]),
        (lambda: convert(np.ones((16, 3)), which="q"), errors.WeightShapeError, ["(32, in)"]),
        (lambda: convert(np.ones(16)), errors.WeightShapeError, ["(16,)"]),
        (lambda: convert(np.ones((16, 1)), which="k_bias"), errors.WeightShapeError, ["(16, 1)"]),
        (lambda: convert(np.ones(8), which="k_bias"), errors.WeightShapeError, ["(16,)"]),
        (lambda: convert(np.ones(32), which="k_norm"), errors.WeightShapeError,
         ["(16,) or (8,)", "(32,)"]),
        (lambda: convert(3.0), errors.WeightShapeError, ["()"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value).startswith("convert_weights(array, spec, ")
    for word in words:
        assert word in str(caught.value)


def test_the_order_alone_refuses_too():
    """channel_order names itself."""
    with pytest.raises(errors.LayoutError, match=r"channel_order\(spec, to='neox'\)"):
        rr.extensions.channel_order(PLAIN, "neox")
    assert all(len(rr.extensions.channel_order(s, t)) for s, t in itertools.product(SPECS, LAYOUTS))

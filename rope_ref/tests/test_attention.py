"""What RoPE is for: scores that depend on distance alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=60)

U = 2.0**-53


def score_bound(q, k, spec):
    """Largest rounding error of a score, for vectors along the last axis.

    A rotated component is off by less than 4 units of its pair's A hypot (3.6: see
    test_rotation), on both sides of each of D products, and a pair's two products of
    components are at most 2 hypot_q hypot_k; D products and D - 1 sums add D units of the
    same. |q| |k| bounds the sum of hypot_q hypot_k.
    """
    size = np.linalg.norm(q, axis=-1) * np.linalg.norm(k, axis=-1)
    amplitude = max(1.0, float(spec.frequencies.amplitude))
    return 2 * (4 + 4 + spec.head_dim) * U * amplitude * amplitude * size


def softmax_attention(logits, v):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def one(q, k, m, n, spec):
    """The score of one query at m with one key at n."""
    return rr.attention_logits(q[None], k[None], [m], [n], spec, axes="td")[0, 0, 0, 0]


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_worked_example(oracle, layout):
    """q = k = the first unit vector of pair 0, theta_0 = 1: positions 2 apart score cos 2."""
    spec = rr.RopeSpec(8, layout=layout)
    unit = np.eye(8)[0]
    cos_2, _ = oracle.cos_sin(2, oracle.exact(1))
    # At (0, 2) the only product is 1 * cos 2: no rounding but the table's.
    assert oracle.ulps(one(unit, unit, 0, 2, spec), [cos_2]).max() <= 0.8
    # At (5, 7) cos 5 cos 7 + sin 5 sin 7: four table entries at 1.6 units, two products
    # and a sum; |cos 5 cos 7| + |sin 5 sin 7| <= 1.
    assert oracle.error(one(unit, unit, 5, 7, spec), cos_2) <= (2 * 1.6 + 2) * U * 1.001


@pytest.mark.parametrize(("heads", "key_heads"), [(1, 1), (4, 4), (4, 2), (6, 2), (3, 1)])
def test_grouped_heads(heads, key_heads):
    """Query head h scores with key head h // (Hq / Hk), in a loop as in one call."""
    rng = np.random.default_rng(0)
    spec = rr.RopeSpec(8, layout="half", rotary_dim=6)
    q, k = rng.standard_normal((2, 3, heads, 8)), rng.standard_normal((2, 5, key_heads, 8))
    q_positions, k_positions = rng.integers(0, 2**31, (2, 3)), rng.integers(0, 2**31, 5)
    logits = rr.attention_logits(q, k, q_positions, k_positions, spec, axes="bthd", scale=0.125)
    assert logits.shape == (2, heads, 3, 5)
    rotated_q = rr.apply_rope(q, q_positions, spec, axes="bthd")
    rotated_k = rr.apply_rope(k, k_positions, spec, axes="bthd")
    for b, h, m, n in np.ndindex(logits.shape):
        key_head = h * key_heads // heads
        expected = 0.125 * (rotated_q[b, m, h] @ rotated_k[b, n, key_head])
        bound = 0.125 * score_bound(q[b, m, h], k[b, n, key_head], spec)
        assert abs(logits[b, h, m, n] - expected) <= bound


@pytest.mark.parametrize(
    "axes", ["td", "thd", "htd", "btd", "bthd", "bhtd", "tbhd", "bhdt", "dhtb"]
)
def test_axes_of_the_scores(axes):
    """Whatever the order of axes, logits are (B, H, Tq, Tk); an axis that is missing counts 1."""
    rng = np.random.default_rng(1)
    spec = rr.RopeSpec(4, layout="interleaved")
    sizes = {"b": 2, "h": 3, "d": 4}
    whole_q, whole_k = rng.standard_normal((2, 3, 5, 4)), rng.standard_normal((2, 3, 6, 4))
    index = tuple(slice(None) if letter in axes else slice(0, 1) for letter in "bhtd")
    expected = rr.attention_logits(
        whole_q[index], whole_k[index], np.arange(5), np.arange(6), spec, axes="bhtd"
    )

    def ordered(x):
        missing = tuple(n for n, letter in enumerate("bhtd") if letter not in axes)
        letters = [letter for letter in "bhtd" if letter in axes]
        return x[index].squeeze(missing).transpose([letters.index(letter) for letter in axes])

    logits = rr.attention_logits(
        ordered(whole_q), ordered(whole_k), np.arange(5), np.arange(6), spec, axes=axes
    )
    shape = [sizes[letter] if letter in axes else 1 for letter in "bh"]
    assert logits.shape == (*shape, 5, 6)
    # Sums in another order: each within D units of what it adds up, |q| |k| at most.
    size = np.linalg.norm(whole_q, axis=-1).max() * np.linalg.norm(whole_k, axis=-1).max()
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2 * 4 * U * size)


specs = st.builds(
    lambda layout, output, start, direction, amplitude: rr.RopeSpec(
        9,
        layout=layout,
        rotary_dim=6,
        rotary_start=start,
        output_layout=output,
        direction=direction,
        frequencies=rr.ExplicitFrequencies([1.0, 0.1, 1e-3], amplitude=amplitude),
    ),
    st.sampled_from(["interleaved", "half"]),
    st.sampled_from(["interleaved", "half"]),
    st.integers(0, 3),
    st.sampled_from([1, -1]),
    st.sampled_from([1, 0.1, 1.5]),
)
positions = st.integers(-(2**51), 2**51)


@PROPERTY
@given(specs, positions, positions, st.integers(0, 2**32 - 1))
def test_the_score_is_the_relative_form(spec, m, n, seed):
    """The score at (m, n) is that of M(0) q with M(n - m) k, wherever the two stand."""
    q, k = np.random.default_rng(seed).standard_normal((2, 9))
    relative = rr.relative_logit(q, k, n - m, spec)
    # Two entries in each row of the matrix are not 0: M k is rounded like a rotated k.
    assert abs(one(q, k, m, n, spec) - relative) <= 2 * score_bound(q, k, spec)


@PROPERTY
@given(specs, positions, positions, positions, st.integers(0, 2**32 - 1))
def test_scores_do_not_depend_on_where_it_starts(spec, m, n, offset, seed):
    """Moving query and key by one offset leaves the score as it is, up to rounding."""
    q, k = np.random.default_rng(seed).standard_normal((2, 9))
    moved = one(q, k, m + offset, n + offset, spec)
    assert abs(moved - one(q, k, m, n, spec)) <= 2 * score_bound(q, k, spec)


def test_relative_form_with_position_axes():
    """With several position axes the distance has one entry per axis."""
    rng = np.random.default_rng(2)
    spec = rr.RopeSpec(8, layout="half", pair_axes=(0, 1, 1, 0))
    q, k = rng.standard_normal((2, 8))
    m, n = np.array([3, 1000]), np.array([-5, 77777])
    score = rr.attention_logits(q[None], k[None], m, n, spec, axes="td")[0, 0, 0, 0]
    bound = 2 * score_bound(q, k, spec)
    assert abs(score - rr.relative_logit(q, k, n - m, spec)) <= bound


def test_at_distance_zero_the_score_is_the_plain_product():
    """Query and key at one position score as if there were no RoPE, pass-through included."""
    q, k = np.random.default_rng(3).standard_normal((2, 8))
    spec = rr.RopeSpec(8, layout="half", rotary_dim=4)
    for position in (0, 1, 2**40):
        assert abs(one(q, k, position, position, spec) - q @ k) <= 2 * score_bound(q, k, spec)


def test_scale_multiplies_the_scores():
    """A scale of a power of two changes every score by exactly that factor."""
    q, k = np.random.default_rng(4).standard_normal((2, 5, 8))
    spec = rr.RopeSpec(8, layout="half")
    plain = rr.attention_logits(q, k, np.arange(5), np.arange(5), spec, axes="td")
    scaled = rr.attention_logits(q, k, np.arange(5), np.arange(5), spec, axes="td", scale=0.25)
    np.testing.assert_array_equal(scaled, plain * 0.25)


def test_attention_without_rope_does_not_see_order():
    """Softmax attention is permutation equivariant; with RoPE at the tokens' places it is not."""
    rng = np.random.default_rng(5)
    tokens, width = 7, 8
    q, k, v = rng.standard_normal((3, tokens, width))
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    places = np.arange(tokens)

    def attend(q, k, v, spec):
        return softmax_attention(rr.attention_logits(q, k, places, places, spec, axes="td"), v)

    still = rr.RopeSpec(width, layout="half", frequencies=rr.ExplicitFrequencies([0.0] * 4))
    rope = rr.RopeSpec(width, layout="half")
    plain, shuffled = (attend(*x, still)[0, 0] for x in ((q, k, v), (q[order], k[order], v[order])))
    # Scores keep their order but for rounding; a score that moves by e moves its weight by
    # less than 2e of it, and the weighted sum has as many terms as tokens. exp is NumPy's.
    size = np.linalg.norm(q, axis=-1).max() * np.linalg.norm(k, axis=-1).max()
    bound = (4 * (width + 8) * size + 4 * tokens + 16) * U * np.abs(v).max()
    np.testing.assert_allclose(shuffled, plain[order], rtol=0, atol=bound)

    seen, moved = (attend(*x, rope)[0, 0] for x in ((q, k, v), (q[order], k[order], v[order])))
    assert np.abs(moved - seen[order]).max() > 0.1
    # It is positions that tell tokens apart: when they move along, nothing changes.
    logits = rr.attention_logits(q[order], k[order], order, order, rope, axes="td")
    together = softmax_attention(logits, v[order])[0, 0]
    np.testing.assert_allclose(together, seen[order], rtol=0, atol=bound)

"""Positions: tokens are counted one by one, whatever the layout in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rope_ref import errors
from rope_ref.positions import (
    context_parallel_positions,
    context_parallel_tokens,
    decoding_positions,
    packed_positions,
    padded_positions,
)
from rope_ref.positions.sequences import ORDERS

MASKS = st.integers(0, 9).flatmap(
    lambda tokens: st.lists(
        st.lists(st.integers(0, 1), min_size=tokens, max_size=tokens), min_size=1, max_size=5
    )
)
LENGTHS = st.lists(st.integers(0, 9), max_size=6)


def split(lengths):
    """The tokens of each document of a pack, each token called (document, place)."""
    return [[(d, place) for place in range(length)] for d, length in enumerate(lengths)]


def is_int64(positions, shape):
    assert isinstance(positions, np.ndarray)
    assert positions.dtype == np.int64
    assert positions.shape == shape


# Padded


@given(MASKS)
def test_padded_counts_the_tokens_before_each_token(mask):
    """Padding is 0; a token's position is how many tokens its row has before it."""
    positions = padded_positions(np.array(mask, dtype=np.int64).reshape(len(mask), -1))
    is_int64(positions, (len(mask), len(mask[0])))
    for row, got in zip(mask, positions.tolist(), strict=True):
        assert got == [row[:t].count(1) if real else 0 for t, real in enumerate(row)]


def test_padded_takes_one_row_booleans_and_narrow_integers():
    """(T,) in, (T,) out; a running count of narrow integers does not wrap."""
    np.testing.assert_array_equal(padded_positions([0, 0, 1, 1, 1]), [0, 0, 0, 1, 2])
    np.testing.assert_array_equal(padded_positions([[False, True, True]]), [[0, 0, 1]])
    for dtype in (bool, np.int8, np.uint8):
        np.testing.assert_array_equal(padded_positions(np.ones(300, dtype)), np.arange(300))


# Packed, and flat


@given(LENGTHS)
def test_packed_numbers_each_document_by_itself(lengths):
    """Each token's place in its document; no document, or an empty one, adds nothing."""
    positions = packed_positions(lengths)
    is_int64(positions, (sum(lengths),))
    assert positions.tolist() == [place for tokens in split(lengths) for _, place in tokens]


@given(MASKS)
def test_a_batch_without_its_padding_is_a_pack(mask):
    """Rows laid flat, padding left out, have the positions they had as rows."""
    mask = np.array(mask, dtype=np.int64).reshape(len(mask), -1)
    flat = padded_positions(mask)[mask == 1]
    np.testing.assert_array_equal(flat, packed_positions(mask.sum(axis=1)))


# Decoding


@given(st.lists(st.integers(0, 2**40), max_size=4), st.integers(0, 5))
def test_decoding_goes_on_where_the_cache_ends(cached, tokens):
    """The new tokens have the positions they would have in the whole sequence."""
    positions = decoding_positions(cached, tokens)
    is_int64(positions, (len(cached), tokens))
    assert positions.tolist() == [list(range(n, n + tokens)) for n in cached]
    for n in cached:
        alone = decoding_positions(n, tokens)
        is_int64(alone, (tokens,))
        assert alone.tolist() == list(range(n, n + tokens))


def test_token_by_token_is_the_whole_sequence():
    """A prompt of six, then one token after the other: 0 to 5, 6, 7, 8."""
    cached, positions = 0, []
    for tokens in (6, 1, 1, 1):
        positions += decoding_positions(cached, tokens).tolist()
        cached += tokens
    assert positions == packed_positions([9]).tolist()


def test_the_last_position_is_2_to_the_53_less_one():
    """One more is refused."""
    assert decoding_positions(2**53 - 2, 2).tolist() == [2**53 - 2, 2**53 - 1]
    with pytest.raises(errors.PositionRangeError, match="2\\*\\*53"):
        decoding_positions(2**53 - 2, 3)


# Context parallel

SPREAD = st.tuples(
    st.integers(1, 5), st.sampled_from(ORDERS), st.lists(st.integers(0, 3), max_size=4)
)


def dealt(lengths, rank, ranks, order):
    """The tokens of a rank, by walking through each document and asking whose each token is."""
    owners = list(range(ranks))
    if order == "zigzag":
        owners += owners[::-1]
    held = []
    for tokens in split(lengths):
        size = len(tokens) // len(owners)
        held += [token for token in tokens if owners[token[1] // size] == rank]
    return held


@given(SPREAD)
def test_context_parallel_deals_every_token_once(spread):
    """Each rank holds the chunks that are its own, document after document, in their order."""
    ranks, order, sizes = spread
    lengths = [n * ranks * (1 if order == "contiguous" else 2) for n in sizes]
    pack = [token for tokens in split(lengths) for token in tokens]
    seen = []
    for rank in range(ranks):
        options = {"rank": rank, "ranks": ranks, "order": order}
        tokens = context_parallel_tokens(lengths, **options)
        positions = context_parallel_positions(lengths, **options)
        is_int64(tokens, (sum(lengths) // ranks,))
        is_int64(positions, tokens.shape)
        held = dealt(lengths, rank, ranks, order)
        assert [pack[token] for token in tokens] == held
        assert positions.tolist() == [place for _, place in held]
        seen += tokens.tolist()
    assert sorted(seen) == list(range(len(pack)))


def test_zigzag_of_two_documents_on_two_ranks():
    """The example of public reports: rank 0 holds rows 0, 3, 4 and 7, not 0, 3, 0, 3."""
    both = [
        context_parallel_tokens([4, 4], rank=rank, ranks=2, order="zigzag").tolist()
        for rank in (0, 1)
    ]
    assert both == [[0, 3, 4, 7], [1, 2, 5, 6]]
    positions = context_parallel_positions([4, 4], rank=0, ranks=2, order="zigzag")
    assert positions.tolist() == [0, 3, 0, 3]


def test_zigzag_gives_all_ranks_the_same_work():
    """Under a causal mask a token meets one key more than its position: the sums are equal."""
    work = {
        int(context_parallel_positions([24, 48], rank=rank, ranks=3, order="zigzag").sum())
        for rank in range(3)
    }
    assert len(work) == 1


# What is refused


def spread(lengths=(8,), rank=0, ranks=2, order="zigzag"):
    return context_parallel_tokens(lengths, rank=rank, ranks=ranks, order=order)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: padded_positions([[0, 2]]), errors.MaskError, ["mask", "0 to 2"]),
        (lambda: padded_positions([[0.0, 1.0]]), errors.MaskError, ["float64"]),
        (lambda: padded_positions(1), errors.MaskError, ["shape ()"]),
        (lambda: padded_positions(np.ones((1, 2, 0), int)), errors.MaskError, ["(1, 2, 0)"]),
        (lambda: packed_positions([3, -1]), errors.CountError, ["lengths", "-1 to 3"]),
        (lambda: packed_positions(3), errors.CountError, ["one number each", "shape ()"]),
        (lambda: packed_positions([[3]]), errors.CountError, ["(1, 1)"]),
        (lambda: packed_positions([2**53]), errors.CountError, ["2**53"]),
        (lambda: packed_positions([3.0]), errors.CountTypeError, ["lengths", "float64"]),
        (lambda: packed_positions([True]), errors.CountTypeError, ["bool"]),
        (lambda: packed_positions([2**52] * 4096), errors.CountError, ["1.845e+19", "2**44"]),
        (lambda: packed_positions([2**52] * 2048), errors.CountError, ["no array can hold"]),
        (lambda: packed_positions([2**44, 1]), errors.CountError, ["at most 2**44"]),
        (lambda: packed_positions([[1], [1, 2]]), errors.CountTypeError,
         ["packed_positions(lengths)", "rows of one length"]),
        (lambda: padded_positions([[1], [1, 0]]), errors.MaskError,
         ["padded_positions(mask)", "rows of one length"]),
        (lambda: decoding_positions([], 10**30), errors.CountError, ["tokens", "below 2**53"]),
        (lambda: decoding_positions([], -(10**5000)), errors.CountError, ["of 16610 bits"]),
        (lambda: spread([2**52] * 4096), errors.CountError, ["2**44"]),
        (lambda: spread(ranks=10**30), errors.CountError, ["ranks", "below 2**53"]),
        (lambda: spread(rank=np.array([0])), errors.CountTypeError, ["rank", "array([0])"]),
        (lambda: spread(order=np.array(["zigzag", "x"])), errors.OrderError, ["order=array("]),
        (lambda: spread(order=["zigzag"]), errors.OrderError, ["order=['zigzag']"]),
        (lambda: context_parallel_positions([3], rank=0, ranks=2, order="zigzag"),
         errors.ChunkError, ["context_parallel_positions(lengths, rank=0"]),
        (lambda: decoding_positions([-1], 2), errors.CountError, ["cached", "-1"]),
        (lambda: decoding_positions([[1]], 2), errors.CountError, ["one number or", "(1, 1)"]),
        (lambda: decoding_positions("3", 2), errors.CountTypeError, ["cached"]),
        (lambda: decoding_positions(3, -2), errors.CountError, ["tokens", "-2"]),
        (lambda: decoding_positions(3, 2.0), errors.CountTypeError, ["tokens", "2.0"]),
        (lambda: decoding_positions(3, True), errors.CountTypeError, ["tokens", "True"]),
        (lambda: spread((8, 6)), errors.ChunkError, ["lengths[1]=6", "multiple of 4", "pad"]),
        (lambda: spread((3,), order="contiguous"), errors.ChunkError, ["multiple of 2"]),
        (lambda: spread(rank=2), errors.RankError, ["rank=2", "ranks - 1 = 1"]),
        (lambda: spread(rank=-1), errors.CountError, ["rank", "-1"]),
        (lambda: spread(ranks=0), errors.CountError, ["ranks", "at least 1"]),
        (lambda: spread(ranks=2.0), errors.CountTypeError, ["ranks", "2.0"]),
        (lambda: spread(order="striped"), errors.OrderError, ["order='striped'", "zigzag"]),
        (lambda: spread(8), errors.CountError, ["lengths", "(N,)"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    message = str(caught.value)
    assert "_positions(" in message or "context_parallel_tokens(" in message
    for word in words:
        assert word in message

"""Dual chunk attention: worked positions, and distances that stay within a chunk."""

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors


def test_worked_positions_of_dual_chunks():
    """Chunks of 8192 with 1024 of them local, at position 10000."""
    got = rr.positions.dual_chunk_positions(10_000, chunk_size=8192, local_size=1024)
    assert tuple(map(int, got)) == (2832, 2832, 8192, 8192, 10_000, 11_024)
    assert got._fields[2:4] == ("successor", "inter")


def test_dual_chunks_keep_near_distances():
    """In the chunk, and over its edge up to the local size; none reaches the chunk's size."""
    size, local = 12, 4
    p = np.arange(60)
    got = rr.positions.dual_chunk_positions(p, chunk_size=size, local_size=local)
    c = size - local
    for q in p:
        for k in range(q + 1):
            chunks = q // c - k // c
            name = ("intra", "successor", "inter")[min(chunks, 2)]
            distance = getattr(got, name)[q] - got.key[k]
            assert 0 <= distance <= size
            if chunks == 0 or (chunks == 1 and q - k <= local):
                assert distance == q - k
    assert (got.inter == size).all()
    assert rr.positions.dual_chunk_positions(0, chunk_size=4, local_size=3).inter == 1


def test_dual_chunks_refuse_what_they_cannot_use():
    """Whole numbers from 0, and a chunk longer than its local part."""
    with pytest.raises(errors.CountError, match="chunk_size must be at least 5"):
        rr.positions.dual_chunk_positions([1], chunk_size=4, local_size=4)
    with pytest.raises(errors.CountTypeError, match="positions must be integers"):
        rr.positions.dual_chunk_positions([1.5], chunk_size=4, local_size=1)
    with pytest.raises(errors.CountError, match=r"between 0 and 2\*\*53"):
        rr.positions.dual_chunk_positions([-1], chunk_size=4, local_size=1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"size": 2**63 - 1}, errors.CountError, ["chunk_size", "below 2**53"]),
        ({"local": 10**30}, errors.CountError, ["local_size", "below 2**53"]),
        ({"p": [[1], [1, 2]]}, errors.CountTypeError, ["positions", "rows of one length"]),
    ],
)
def test_bad_input_is_refused(options, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    p, size, local = ({"p": (1,), "size": 4, "local": 0} | options).values()
    with pytest.raises(error) as caught:
        rr.positions.dual_chunk_positions(p, chunk_size=size, local_size=local)
    assert type(caught.value) is error
    for word in ("dual_chunk_positions(", *words):
        assert word in str(caught.value)

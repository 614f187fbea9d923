"""Positions of text and grids in one sequence: what public models count, in numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rope_ref import errors
from rope_ref.positions import (
    GridSegment,
    TextSegment,
    decoding_delta,
    decoding_positions,
    multimodal_decoding_positions,
    multimodal_positions,
)
from rope_ref.positions.multimodal import NEXT_POSITIONS

SIZES = st.integers(1, 5)


def is_int64(positions, shape):
    assert isinstance(positions, np.ndarray)
    assert positions.dtype == np.int64
    assert positions.shape == shape


def text(tokens):
    return TextSegment(tokens)


def start_of_last(segments, next_position):
    positions = multimodal_positions(segments, next_position=next_position)
    return positions[:, -segments[-1].tokens].tolist()


def test_text_after_a_video():
    """Qwen2.5-VL, 30 x 8 x 12 patches at 2 s: text goes on at 9 or at 120; Qwen2-VL, at 9 or 33."""
    for interval, maximum in ((2 * 2, 120), (1, 33)):
        video = GridSegment(30, 8, 12, interval=interval, merge=2)
        segments = [text(3), video, text(4)]
        assert start_of_last(segments, "extent") == [9] * 3
        assert start_of_last(segments, "maximum") == [maximum] * 3


def test_the_first_decoded_token_after_a_video():
    """With "extent" the prompt ends at 12 and the first decoded token stands at 120."""
    segments = [text(3), GridSegment(30, 8, 12, interval=4, merge=2), text(4)]
    for next_position, last, first in (("extent", 12, 120), ("maximum", 123, 124)):
        positions = multimodal_positions(segments, next_position=next_position)
        tokens = positions.shape[1]
        assert positions[:, -1].tolist() == [last] * 3
        delta = decoding_delta(positions)
        assert delta == first - tokens
        new = multimodal_decoding_positions(tokens, 2, delta=delta)
        is_int64(new, (3, 2))
        assert new.tolist() == [[first, first + 1]] * 3


@given(st.lists(st.one_of(st.integers(0, 4), st.tuples(SIZES, SIZES)), max_size=5))
def test_images_alone_are_counted_alike_by_both_rules(parts):
    """An image lasts one position; text and images are where a count by hand puts them."""
    segments = [text(p) if isinstance(p, int) else GridSegment(1, *p) for p in parts]
    expected, start = [], 0
    for part in parts:
        if isinstance(part, int):
            expected += [[start + k] * 3 for k in range(part)]
            start += part
        else:
            expected += [
                [start, start + r, start + c] for r in range(part[0]) for c in range(part[1])
            ]
            start += max(part)
    for next_position in NEXT_POSITIONS:
        positions = multimodal_positions(segments, next_position=next_position)
        is_int64(positions, (3, len(expected)))
        assert positions.T.tolist() == expected


@given(
    st.lists(
        st.one_of(
            st.integers(0, 4).map(text),
            st.builds(GridSegment, SIZES, SIZES, SIZES, interval=st.sampled_from([1, 2.5])),
        ),
        max_size=5,
    )
)
def test_the_next_position_is_new_with_the_maximum_rule(segments):
    """Each segment starts 1 after the largest position before; the default is this rule."""
    positions = multimodal_positions(segments)
    seen = 0
    for k, segment in enumerate(segments):
        before = multimodal_positions(segments[:k])
        start = before.max(initial=-1) + 1
        own = positions[:, before.shape[1] :][:, : segment.positions().shape[1]]
        np.testing.assert_array_equal(own, start + segment.positions())
        seen += own.shape[1]
    assert seen == positions.shape[1]


def test_text_alone_is_the_rope_of_text():
    """0, 1, 2, .. on all axes; and decoding goes on as in text."""
    positions = multimodal_positions([text(3), text(0), text(2)])
    assert positions.tolist() == [[0, 1, 2, 3, 4]] * 3
    assert decoding_delta(positions) == 0
    np.testing.assert_array_equal(
        multimodal_decoding_positions([5, 9], 3, delta=0)[1],
        decoding_positions([5, 9], 3),
    )
    assert multimodal_positions([]).shape == (3, 0)
    assert decoding_delta(multimodal_positions([])) == 0


def test_rows_decode_with_their_own_delta():
    """A row with an image, whose tokens outnumber its positions, and a row of text."""
    image = multimodal_positions([text(2), GridSegment(1, 8, 8, merge=2), text(1)])
    assert image.shape == (3, 19)
    assert decoding_delta(image) == 2 + 4 + 1 - 19
    new = multimodal_decoding_positions([19, 19], 2, delta=[decoding_delta(image), 0])
    is_int64(new, (3, 2, 2))
    assert new[0].tolist() == [[7, 8], [19, 20]]


def test_segments_are_values():
    """Equal ones are equal, hold plain numbers, and cannot be changed."""
    one = GridSegment(np.int64(2), 4, 6, interval=0.5, merge=np.int8(2))
    assert one == GridSegment(2, 4, 6, interval=Fraction(1, 2), merge=2)
    assert hash(one) == hash(GridSegment(2, 4, 6, interval=0.5, merge=2))
    assert eval(repr(one), {"GridSegment": GridSegment, "Fraction": Fraction}) == one
    assert {type(n) for n in (one.frames, one.rows, one.columns, one.merge)} == {int}
    assert (one.extent, text(3).extent) == (3, 3)
    for segment, name in ((one, "frames"), (text(3), "tokens")):
        with pytest.raises(AttributeError):
            setattr(segment, name, 1)


def decode(cached=5, tokens=1, delta=0):
    return multimodal_decoding_positions(cached, tokens, delta=delta)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: GridSegment(1, 3, 4, merge=2), errors.GridError,
         ["GridSegment(1, 3, 4", "rows=3"]),
        (lambda: GridSegment(1, 2, 2, interval=float("nan")), errors.CoordinateError,
         ["finite"]),
        (lambda: text(-1), errors.CountError, ["TextSegment(-1)", "tokens"]),
        (lambda: text(2.0), errors.CountTypeError, ["TextSegment(2.0)"]),
        (lambda: multimodal_positions(text(3)), errors.SegmentError, ["sequence of segments"]),
        (lambda: multimodal_positions([text(3), 4]), errors.SegmentError,
         ["segments[1]", "TextSegment(tokens)", "got 4"]),
        (lambda: multimodal_positions([], next_position="max"), errors.NextPositionError,
         ["next_position='max'", "'maximum' or 'extent'"]),
        (lambda: multimodal_positions([], next_position=np.array(["maximum", "x"])),
         errors.NextPositionError, ["next_position=array("]),
        (lambda: multimodal_positions([10**5000]), errors.SegmentError, ["of 16610 bits"]),
        (lambda: multimodal_positions([GridSegment(2, 1, 1, interval=2**52), text(1)] * 2),
         errors.PositionRangeError, ["multimodal_positions(", "2**53"]),
        (lambda: decoding_delta([1, 2]), errors.PositionShapeError, ["(A, T)", "(2,)"]),
        (lambda: decoding_delta([[1], [1, 2]]), errors.PositionDtypeError,
         ["decoding_delta(positions)", "rows of one length"]),
        (lambda: decoding_delta([[0.5]]), errors.CountTypeError, ["positions", "float64"]),
        (lambda: decode(delta=0.5), errors.CountTypeError, ["delta", "float64"]),
        (lambda: decode([5, 6], delta=[1, 2, 3]), errors.PositionShapeError, ["(2,)", "(3,)"]),
        (lambda: decode(-1), errors.CountError,
         ["multimodal_decoding_positions(cached, 1, delta=0): cached", "-1"]),
        (lambda: decode(delta=[[1], [1, 2]]), errors.PositionDtypeError, ["delta", "one length"]),
        (lambda: decode(delta=np.inf), errors.NonFinitePositionError, ["delta must be finite"]),
        (lambda: decode(2**53 - 2, delta=5), errors.PositionRangeError, ["2**53"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)

"""Positions of patches, and coordinates: what public models count, in numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rope_ref as rr
from rope_ref import errors
from rope_ref.positions import (
    axial_axes,
    centred_coordinates,
    coordinate_grid,
    cropped_coordinates,
    grid_positions,
    normalised_coordinates,
)
from rope_ref.scaling import Axial

SIZES = st.integers(1, 5)


def is_int64(positions, shape):
    assert isinstance(positions, np.ndarray)
    assert positions.dtype == np.int64
    assert positions.shape == shape


@given(SIZES, SIZES, SIZES, st.sampled_from([1, 4, 0.5, Fraction(1, 3), 2.75]), st.integers(1, 3))
def test_a_grid_is_counted_row_by_row(frames, rows, columns, interval, merge):
    """Frame by frame, row by row; time is cut to an integer after the product."""
    positions = grid_positions(
        frames, merge * rows, merge * columns, interval=interval, merge=merge
    )
    is_int64(positions, (3, frames * rows * columns))
    expected = [
        [frame * Fraction(interval) // 1, row, column]
        for frame in range(frames)
        for row in range(rows)
        for column in range(columns)
    ]
    assert positions.T.tolist() == expected


def test_time_is_the_float64_product_cut():
    """Six frames of a sixth make 1 although the float64 next to a sixth is below it."""
    assert Fraction(1 / 6) < Fraction(1, 6)
    for sixth in (1 / 6, Fraction(1, 6)):
        time = grid_positions(13, 1, 1, interval=sixth)[0]
        assert time.tolist() == [0] * 6 + [1] * 6 + [2]


def test_coordinates_make_a_grid():
    """Any coordinates, the last axis fastest; integers stay integers, others become float64."""
    grid = coordinate_grid([-1, 0], [5], [7, 8, 9])
    is_int64(grid, (3, 6))
    assert grid.tolist() == [[-1] * 3 + [0] * 3, [5] * 6, [7, 8, 9] * 2]
    mixed = coordinate_grid(np.arange(2), [0.25, 0.5])
    assert mixed.dtype == np.float64
    assert mixed.tolist() == [[0, 0, 1, 1], [0.25, 0.5, 0.25, 0.5]]
    assert coordinate_grid([], [1, 2]).shape == (2, 0)
    np.testing.assert_array_equal(
        coordinate_grid(range(2), range(3), range(4)),
        grid_positions(2, 3, 4),
    )


@pytest.mark.parametrize(
    ("length", "coordinates"), [(1, [-1]), (4, [-2, -1, 0, 1]), (5, [-3, -2, -1, 0, 1])]
)
def test_centred(length, coordinates):
    """Qwen-Image: -(H - H // 2) to H // 2 - 1; the odd one lies below 0."""
    assert centred_coordinates(length).tolist() == coordinates
    is_int64(centred_coordinates(length), (length,))


def test_text_after_a_centred_grid():
    """Qwen-Image: text stands at max(H // 2, W // 2) and on, which no patch does."""
    rows, columns = 5, 8
    patches = coordinate_grid([0], centred_coordinates(5), centred_coordinates(8))
    text = max(rows // 2, columns // 2) + np.arange(3)
    assert patches.max() == 3
    assert text.tolist() == [4, 5, 6]


def test_cropped():
    """CogVideoX: the whole grid is counted, a crop of another size is squeezed onto it."""
    assert cropped_coordinates(0, 30, 30).tolist() == list(range(30))
    assert cropped_coordinates(0, 30, 60).tolist() == [k / 2 for k in range(60)]
    assert cropped_coordinates(7, 30, 1).tolist() == [7]
    # From 2 to 10 x 3/4: steps of 11/6.
    assert cropped_coordinates(2, 10, 4).tolist() == [2, 23 / 6, 34 / 6, 7.5]


@given(st.integers(-20, 20), st.integers(1, 200), st.integers(1, 40))
def test_cropped_is_linspace(start, stop, length):
    """As written in public code, where each operation of it rounds once more."""
    theirs = np.linspace(start, stop * (length - 1) / length, length)
    # Product, quotient, difference, step, product with i, sum: 6 roundings below 300 at most.
    np.testing.assert_allclose(
        cropped_coordinates(start, stop, length),
        theirs,
        rtol=0,
        atol=6 * 300 * 2.0**-53,
    )


def test_normalised():
    """DINOv3, 14 patches: 2 (i + 1/2) / 14 - 1, from -13/14 to 13/14; and by another size."""
    coordinates = normalised_coordinates(14)
    assert coordinates.tolist() == [k / 14 for k in range(-13, 14, 2)]
    assert normalised_coordinates(2, span=4).tolist() == [-0.75, -0.25]
    # LTX: 20 frames and 2048 pixels, 32 to a patch, are the span.
    assert normalised_coordinates(3, span=20, offset=0).tolist() == [-1, -0.9, -0.8]
    assert normalised_coordinates(2, span=Fraction(2048, 32), offset=0).tolist() == [
        -1,
        -31 / 32,
    ]


def test_real_coordinates_rotate(oracle):
    """The table at a coordinate that is no integer is within 1 ulp."""
    widths = (8, 8)
    turns = rr.PowerLaw(100).theta(8)
    rope = rr.RopeSpec(
        16,
        layout="half",
        frequencies=Axial(rr.ExplicitFrequencies(turns=turns), widths),
        pair_axes=axial_axes(widths),
    )
    grid = coordinate_grid(normalised_coordinates(3), normalised_coordinates(5))
    cos, sin = rr.cos_sin(grid, rope)
    for pair, axis in enumerate(rope.pair_axes):
        theta = 2 * oracle.pi * oracle.exact(turns[pair % 4])
        truth = [oracle.cos_sin(p, theta) for p in grid[axis].tolist()]
        for got, true in zip((cos, sin), zip(*truth, strict=True), strict=True):
            assert all(
                oracle.error(g, t) <= np.spacing(abs(float(t)))
                for g, t in zip(got[:, pair], true, strict=True)
            )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: grid_positions(0, 2, 2), errors.CountError, ["frames", "at least 1"]),
        (lambda: grid_positions(1, 2.0, 2), errors.CountTypeError, ["rows", "2.0"]),
        (lambda: grid_positions(1, 2, True), errors.CountTypeError, ["columns", "True"]),
        (lambda: grid_positions(1, 2, 2, merge=0), errors.CountError, ["merge", "at least 1"]),
        (lambda: grid_positions(np.array([1]), 3, 2), errors.CountTypeError,
         ["grid_positions(array([1]), 3, 2", "frames"]),
        (lambda: grid_positions(1, 10**30, 2), errors.CountError, ["rows", "below 2**53"]),
        *(
            (lambda d=d: grid_positions(1, 2, 2, interval=Decimal(d)), errors.CoordinateError,
             ["interval", "1e400", d.upper()])
            for d in ("1e-99999999", "1e+99999999")
        ),
        (lambda: grid_positions(1, 2, 2, interval=-(10**5000)), errors.CoordinateError,
         ["interval=an integer of 16610 bits"]),
        (lambda: grid_positions(1, 4, 6, merge=4), errors.GridError,
         ["columns=6", "multiple of merge=4", "4 x 4 patches"]),
        (lambda: grid_positions(1, 2, 2, interval=0), errors.CoordinateError,
         ["interval", "above 0"]),
        (lambda: grid_positions(1, 2, 2, interval="2"), errors.CoordinateError,
         ["interval", "'2'"]),
        (lambda: grid_positions(3, 1, 1, interval=1e308), errors.PositionRangeError,
         ["float64"]),
        (lambda: grid_positions(3, 1, 1, interval=2**52), errors.PositionRangeError, ["2**53"]),
        (lambda: coordinate_grid(), errors.CoordinateError, ["each axis"]),
        (lambda: coordinate_grid([1], [[1], [1, 2]]), errors.CoordinateError,
         ["axis 1", "rows of one length"]),
        (lambda: coordinate_grid([1], 3), errors.CoordinateError, ["(N,)", "[(1,), ()]"]),
        (lambda: coordinate_grid([1], [float("inf")]), errors.NonFinitePositionError,
         ["axis 1"]),
        (lambda: centred_coordinates(0), errors.CountError,
         ["centred_coordinates(0)", "length"]),
        (lambda: centred_coordinates(10**30), errors.CountError, ["below 2**53"]),
        (lambda: cropped_coordinates("a", 1, 2), errors.CoordinateError, ["start", "'a'"]),
        (lambda: cropped_coordinates(0, None, 2), errors.CoordinateError, ["stop", "None"]),
        (lambda: normalised_coordinates(4, span=0), errors.CoordinateError, ["span", "above 0"]),
        (lambda: normalised_coordinates(4, offset="x"), errors.CoordinateError, ["offset"]),
        (lambda: normalised_coordinates(4, span=1e-320), errors.PositionRangeError, ["float64"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    """Each kind of bad input has its exception, and the message restates the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)

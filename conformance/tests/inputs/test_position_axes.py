"""Where tokens stand on several position axes."""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.inputs.position_axes import (
    at_one_place,
    on_all_axes,
    on_each_axis,
    place_in_words,
)
from rope_ref import RopeSpec


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_every_axis_has_the_positions_of_the_case_in_another_order(axes):
    """So what is true of all positions of a case, its range and its sign, is true of each axis."""
    spec = RopeSpec(8, layout="half", pair_axes=(0, 0, 0, axes - 1))
    own = np.array([[3, 9, 4, 100, 7], [0, 1, 2, 3, 4]])
    for positions in (own, own[0], own[0] / 3, -own):
        spread = on_each_axis(positions, spec, rc.Claim())
        assert spread.shape == (axes, *positions.shape)
        assert spread.dtype == positions.dtype
        assert np.array_equal(spread[0], positions)
        assert (np.sort(spread, axis=-1) == np.sort(positions, axis=-1)).all()
        assert len({each.tobytes() for each in spread}) == axes


def test_a_single_token_stands_nearer_to_zero_axis_by_axis_inside_the_range():
    """It has no order to change."""
    spec = RopeSpec(8, layout="half", pair_axes=(0, 1, 2, 3))
    claim = rc.Claim(position_range=(-5, 100))
    assert on_each_axis(np.array([7]), spec, claim).ravel().tolist() == [7, 6, 5, 4]
    assert on_each_axis(np.array([1]), spec, claim).ravel().tolist() == [1, 0, 0, 0]
    assert on_each_axis(np.array([-2.5]), spec, claim).ravel().tolist() == [-2.5, -1.5, -0.5, 0]
    far = rc.Claim(position_range=(6, 100))
    assert on_each_axis(np.array([[7], [8]]), spec, far)[:, :, 0].T.tolist() == [
        [7, 6, 6, 6],
        [8, 7, 6, 6],
    ]


def test_without_pair_axes_positions_are_left_as_they_are():
    """(T,) and (B, T), and one number for each token."""
    plain, several = RopeSpec(8, layout="half"), RopeSpec(8, layout="half", pair_axes=(0, 1, 1, 2))
    p = np.arange(4)
    assert on_each_axis(p, plain, rc.Claim()) is p
    assert on_all_axes(p, plain) is p
    assert at_one_place(3, 2, plain).tolist() == [3, 3]
    assert at_one_place(3, 2, several).tolist() == [[3, 3]] * 3
    assert place_in_words(p, plain, 0, 2) == "2"
    assert place_in_words(np.array([[5, 6.5]]), plain, 0, 1) == "6.5"
    assert place_in_words(on_each_axis(p, several, rc.Claim()), several, 1, 2) == "(2, 1, 1)"
    rows = np.arange(12).reshape(3, 2, 2)
    assert place_in_words(rows, several, 1, 0) == "(2, 6, 10)"

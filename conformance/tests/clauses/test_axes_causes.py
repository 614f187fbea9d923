"""What is probably wrong where positions have several axes."""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.zoo import WRONG
from rope_ref import RopeSpec, apply_rope, pair_channels
from rope_ref.positions import (
    contiguous_axes,
)

SECTIONS = RopeSpec(16, layout="half", pair_axes=contiguous_axes((2, 3, 3)))
ROWS = rc.Claim(position_forms=("t", "bt"))


def phases(positions, theta, axes):
    """One phase for each token and pair, in float64."""
    return np.moveaxis(np.asarray(positions, np.float64)[list(axes)], 0, -1) * theta


def turned(x, phase, spec=SECTIONS):
    """Rotate by given phases."""
    cos, sin = np.cos(phase)[..., None, :], np.sin(phase)[..., None, :]
    (u, v), y = (x[..., c] for c in pair_channels(spec)), x.copy()
    first, second = pair_channels(spec)
    y[..., first], y[..., second] = u * cos - v * sin, u * sin + v * cos
    return y


THETA, PAIRS = SECTIONS.theta(), SECTIONS.pair_axes


def with_axes(axes):
    return lambda x, p: turned(x, phases(p, THETA, axes))


def moved(change):
    def rope(x, p):
        p = np.array(p, dtype=np.float64)
        change(p)
        return turned(x, phases(p, THETA, PAIRS))

    return rope


def one_later(p):
    p[1] += 1


def twice_the_time(p):
    p[0] *= 2


def columns_backwards(p):
    p[2] *= -1


def wraps(p):
    p %= 4096


FAULTS = {
    "round the axes": (
        with_axes([(axis + 1) % 3 for axis in PAIRS]),
        "multi-axis",
        "pairs of axis 0 follow axis 1; pairs of axis 1 follow axis 2; pairs of axis 2 follow",
    ),
    "time for rows": (
        with_axes([(0, 0, 2)[axis] for axis in PAIRS]),
        "multi-axis",
        "pairs of axis 1 follow axis 0",
    ),
    "other sections": (
        with_axes((0, 0, 0, 1, 1, 1, 2, 2)),
        "multi-axis",
        "the axes have [3, 3, 2] pairs, one after the other, claimed [2, 3, 3]",
    ),
    "one pair": (
        with_axes((0, 0, 1, 2, 1, 2, 2, 2)),
        "multi-axis",
        "pair 3 follows axis 2, claimed axis 1",
    ),
    "sums": (
        lambda x, p: turned(x, np.sum(p, axis=0)[..., None] * THETA),
        "multi-axis",
        "all pairs follow axes 0 and 1 and 2",
    ),
    "rows one later": (moved(one_later), "multi-axis", "positions on axis 1 are one too large"),
    "time doubled": (moved(twice_the_time), "multi-axis", "positions on axis 0 are doubled"),
    "columns backwards": (
        moved(columns_backwards),
        "multi-axis",
        "pairs of axis 2 turn the other way",
    ),
    "another base": (
        lambda x, p: turned(x, phases(p, 5e5 ** (-np.arange(8) / 8), PAIRS)),
        "config",
        "the base is 500000, claimed 10000",
    ),
    "the wrong way": (
        lambda x, p: turned(x, -phases(p, THETA, PAIRS)),
        "sign",
        "the sign of sin is flipped",
    ),
    "another layout": (
        lambda x, p: turned(x, phases(p, THETA, PAIRS), RopeSpec(16, layout="interleaved")),
        "layout",
        "pairs are interleaved",
    ),
    "a short table": (moved(wraps), "cache", "positions wrap around at 4096"),
    "nothing": (lambda x, p: x.copy(), "multi-axis", "all pairs follow no axis: they stand still"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name):
    """What concerns axes is told of these, what does not as with one axis."""
    rope, fault, words = FAULTS[name]
    report = rc.check(rope, spec=SECTIONS, claim=ROWS, effort="quick", only=["frequency.phase"])
    failure = report.findings[0].failure
    assert failure.cause is not None
    assert words in failure.cause
    assert failure.fault == fault


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sections_for_turns", "the contiguous map instead of the interleaved map"),
        ("pangu_axes_for_glm", "openPangu instead of the interleaved map of GLM"),
        ("left_over_pairs_stand_still", "the interleaved map of ggml, with a fourth axis"),
        ("fourth_axis_dropped", "pairs of axis 3 follow no axis: they stand still"),
        ("rows_and_columns_exchanged", "axes 1 and 2 are exchanged"),
        ("sections_doubled", "the contiguous map with each section twice as long"),
        ("one_denominator_for_all_widths", "each axis begins the ladder of the whole width anew"),
        ("blocks_of_the_tiled_table", "the two channels of pair 0 follow axes 0 and 2"),
        ("own_halves_in_each_block", "whose halves form its pairs"),
        ("coordinates_cut_to_integers", "coordinates are cut to whole numbers"),
        ("rows_for_axes", "positions of shape (A, B, T) are read as (B, A, T)"),
    ],
)
def test_a_member_of_the_zoo_is_told_in_words(name, words):
    """What was done instead, in the first failure that has a cause."""
    only = ["frequency.real", "axes.order"]
    report = rc.check(WRONG[name].factory, effort="quick", only=only)
    causes = [r.failure.cause for r in report.findings if r.failure.cause]
    assert causes
    assert words in causes[0]


class Surfaces:
    """theta() and cos_sin() with a ladder for each axis where one is shared."""

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        return apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)

    def theta(self):
        counts = [self.spec.pair_axes.count(axis) for axis in range(3)]
        return np.concatenate([1e4 ** (-np.arange(n) / n) for n in counts])

    def cos_sin(self, positions):
        phase = phases(positions, self.theta(), self.spec.pair_axes)
        return np.cos(phase), np.sin(phase)


@pytest.mark.parametrize("clause", ["frequency.theta", "table.values"])
def test_tables_and_frequencies_are_looked_at_by_themselves(clause):
    """Their faults are told like those of the rotation."""
    report = rc.check(Surfaces, spec=SECTIONS, claim=ROWS, effort="quick", only=[clause])
    failure = report.findings[0].failure
    assert failure.fault == "multi-axis"
    assert "each axis has a ladder of its own" in failure.cause

"""Positions with several axes: how they are made and judged, and what is said of faults."""

import json
from importlib import resources

import jsonschema
import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge, per_token
from rope_conformance.accuracy.statistics import Meter
from rope_conformance.clauses import all_checks
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.position_axes import (
    at_one_place,
    on_all_axes,
    on_each_axis,
    place_in_words,
)
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import PowerLaw, RopeSpec, apply_cos_sin, apply_rope, pair_channels
from rope_ref.positions import (
    alternating_axes,
    axial_axes,
    contiguous_axes,
    ggml_axes,
    interleaved_axes,
)
from rope_ref.scaling import Axial

CHECKS = {check.name: check for check in all_checks()}
AXES = [name for name in CHECKS if name.startswith("axes.")]
SEEDED = [name for name, check in CHECKS.items() if check.generated is not None]
SECTIONS = RopeSpec(16, layout="half", pair_axes=contiguous_axes((2, 3, 3)))
VIDEO = RopeSpec(
    24,
    layout="interleaved",
    frequencies=Axial(PowerLaw(1e4), (8, 8, 8)),
    pair_axes=axial_axes((8, 8, 8)),
)
CONTROLS_HERE = ["gathered_axes", "angles_of_every_axis", "blocks_rotated_apart", "four_axes"]
ROWS = rc.Claim(position_forms=("t", "bt"))


def told(report):
    """What would have to be explained if an honest one did not pass."""
    return [(r.clause, r.failure.message, r.failure.case) for r in report.findings], report.doubts


def reference(spec):
    """The reference, rounded once to the type of the data."""
    return lambda x, positions: apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)


# Where tokens stand


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


# How they are judged


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_pair_is_judged_by_the_position_on_its_own_axis(dtype):
    """Pair by pair the bound, the error and the truth are those of a RoPE of one axis."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 4, 3, 16)).astype(np.float32)
    p = rng.integers(0, 2**18, (3, 2, 4))
    profile = profile_named("float32")
    y = np.asarray(apply_rope(x, p, SECTIONS, axes="bthd"), np.float32)
    y[1, 2, 0] += np.float32(2**-20)
    whole = judge(y, x, p, SECTIONS, dtype, profile)
    plain = RopeSpec(16, layout="half")
    for axis in range(3):
        own = np.equal(SECTIONS.pair_axes, axis)
        alone = judge(y, x, p[axis], plain, dtype, profile)
        for name in ("error", "residual", "bound", "r", "ratio"):
            assert np.array_equal(getattr(whole, name)[..., own], getattr(alone, name)[..., own])
        assert (per_token(p, SECTIONS)[..., own] == p[axis][..., None, None]).all()


def test_the_bound_takes_one_position_or_one_for_each_pair():
    """What broadcasts with the pairs."""
    profile, places = profile_named("float32"), np.array([1, 1, 7, 7, 7, 1000, 1000, 1000])
    each = bound(profile, SECTIONS, places, "float32", 1.0)
    for i, place in enumerate(places):
        assert each[i] == bound(profile, SECTIONS, place, "float32", 1.0)[i]


def test_errors_are_kept_under_the_position_that_a_pair_follows():
    """One wrong pair of axis 2 is no error at the positions of axes 0 and 1."""
    p = np.array([[1, 2], [30, 40], [500, 600]])
    x = np.ones((1, 2, 1, 16), dtype=np.float32)
    y = np.asarray(apply_rope(x, p, SECTIONS, axes="bthd"), np.float32)
    y[0, 1, 0, 7] += 0.5
    meter = Meter()
    meter.add(judge(y, x, p, SECTIONS, "float32", profile_named("float32")), SECTIONS)
    assert sorted(meter.horizon.errors) == [1, 2, 30, 40, 500, 600]
    assert [at for at, error in meter.horizon.errors.items() if error > 0.1] == [600]
    assert meter.horizon.reach(0.01) == (500, True)


@pytest.mark.parametrize("name", CONTROLS_HERE)
def test_controls_pass_over_seeds_with_other_maps_and_bases(name):
    """No check of this surface, and none that draws inputs, fails or lacks evidence."""
    maps = {
        "angles_of_every_axis": [alternating_axes((4, 10, 10)), interleaved_axes((24, 20, 20))],
        "gathered_axes": [interleaved_axes((11, 11, 10)), ggml_axes((4, 4, 3)), (0, 2, 2)],
        "four_axes": [contiguous_axes((1, 1, 1, 1))],
        "blocks_rotated_apart": [axial_axes((44, 42, 42))],
    }
    for seed, axes in enumerate(maps[name]):
        rule = PowerLaw((1e4, 5e6)[seed % 2])
        if name == "blocks_rotated_apart":
            rule = Axial((PowerLaw(2000), PowerLaw(256), PowerLaw(1e4)), (44, 42, 42))
        layout = ("half", "interleaved")[seed % 2]
        width = 2 * len(axes)
        spec = RopeSpec(width, layout=layout, frequencies=rule, pair_axes=axes)
        drawn = SEEDED if seed == 0 and name in ("gathered_axes", "blocks_rotated_apart") else []
        only = [*AXES, *drawn]
        report = rc.check(CONTROLS[name].factory, spec=spec, effort="quick", seed=seed, only=only)
        assert report.passed, (spec, *told(report))


@pytest.mark.parametrize("spec", [SECTIONS, VIDEO], ids=["shared ladder", "own ladders"])
def test_the_reference_passes_as_a_bare_callable(spec):
    """It is found to take rows of positions too, and keeps the tightest profile."""
    only = [*AXES, "pairing.layout", "frequency.rows", "rotation.transpose", "score.offset"]
    report = rc.check(reference(spec), spec=spec, effort="quick", only=only)
    assert report.passed, told(report)
    assert report.claim["position_forms"] == ("t", "bt")
    assert report.tightest_profile == "exact"
    closed = {r.clause for r in report.results if r.verdict == "not claimed"}
    assert closed == {"rotation.transpose"} | ({"axes.equal"} if spec is VIDEO else set())


def test_our_backend_passes_with_several_axes():
    """On NumPy arrays, at positions up to 2**31."""
    only = [*AXES, "frequency.ladder", "frequency.rows", "frequency.negative"]
    report = rc.check("rope-backends/numpy", spec=VIDEO, dtype="float32", effort="quick", only=only)
    assert report.passed, told(report)
    assert sum(r.verdict == "passed" for r in report.results) == len(only) - 1


@pytest.mark.parametrize("axes", ["bhtd", "thd", "td", "btd"])
def test_any_order_of_the_axes_of_x_is_judged(axes):
    """One row or one head where there is no axis for more."""

    def rope(x, positions):
        return apply_rope(x, positions, SECTIONS, axes=axes).astype(x.dtype)

    claim = rc.Claim(axes=axes, position_forms=("t", "bt") if "b" in axes else ("t",))
    report = rc.check(rope, spec=SECTIONS, claim=claim, effort="quick", only=AXES)
    assert report.passed, told(report)


@pytest.mark.parametrize("low_high", [(0, 1), (0, 9), (5, 300), (-9, -1)])
def test_a_short_range_of_positions_is_enough(low_high):
    """Two positions, none of them 0, all negative."""
    claim = rc.Claim(position_forms=("t", "bt"), position_range=low_high)
    report = rc.check(reference(SECTIONS), spec=SECTIONS, claim=claim, effort="quick", only=AXES)
    assert report.passed, told(report)


# What cannot be judged


def test_with_one_axis_the_clauses_are_not_claimed():
    """And each says why."""
    report = rc.check(reference(RopeSpec(8, layout="half")), spec=RopeSpec(8, layout="half"),
                      effort="quick", only=AXES)  # fmt: skip
    assert {r.verdict for r in report.results} == {"not claimed"}
    assert {r.reason for r in report.results} == {"positions have one axis"}
    one = RopeSpec(8, layout="half", pair_axes=(0, 0, 0, 0))
    report = rc.check(reference(one), spec=one, effort="quick", only=AXES)
    verdicts = {r.clause: r.verdict for r in report.results}
    assert verdicts == dict.fromkeys(AXES, "passed") | dict.fromkeys(
        ("axes.map", "axes.shift"), "not claimed"
    )


@pytest.mark.parametrize("form", ["offset", "none"])
def test_an_offset_or_no_positions_at_all_cannot_say_where_a_token_stands(form):
    """No clause that needs positions is judged, and the run does not pass."""
    claim = rc.Claim(position_forms=(form,))
    report = rc.check(lambda x, *start: x, spec=SECTIONS, claim=claim, effort="quick")
    assert {r.verdict for r in report.results} == {"not claimed"}
    reasons = {r.clause: r.reason for r in report.results}
    assert reasons["frequency.phase"] == "several positions for each token need the form t or bt"
    assert "no clause passed" in report.doubts
    assert not report.passed


def test_a_table_consumer_is_judged_whatever_positions_it_could_take():
    """The tables are given."""

    class Consumer:
        def __init__(self, spec):
            self.spec = spec

        def apply_cos_sin(self, x, cos, sin):
            return apply_cos_sin(x, cos, sin, layout="half", axes="bthd").astype(x.dtype)

    only = ["tables.true", "tables.hostile", "pairing.layout", *AXES]
    report = rc.check(Consumer, spec=SECTIONS, claim=ROWS, effort="quick", only=only)
    assert report.passed, told(report)
    assert [r.verdict for r in report.results].count("passed") == 3


def test_a_spec_fixes_the_width_and_sessions_count_along_one_axis():
    """Clauses about other widths and about caches say why they are not judged."""

    class Rope:
        def __init__(self, spec):
            self.spec = spec
            assert spec.pair_axes == SECTIONS.pair_axes

        def apply_rope(self, x, positions):
            return reference(self.spec)(x, positions)

        def vjp(self, g, positions):
            return self.apply_rope(g, -positions)

        def start(self):
            raise AssertionError

    only = ["frequency.widths", "frequency.bases", "gradient.passthrough", "decode.prefill"]
    report = rc.check(Rope, spec=SECTIONS, claim=ROWS, effort="quick", only=only)
    found = {r.clause: (r.verdict, r.reason) for r in report.results}
    assert found["frequency.bases"] == ("passed", "")
    assert found["frequency.widths"][1] == "pair_axes, one axis for each pair, fix the width"
    assert found["gradient.passthrough"][1] == "every channel rotates"
    assert found["decode.prefill"][1] == "tokens of a session are counted along one axis"


# What a failure says


def test_a_failure_names_the_position_on_each_axis_and_the_axis_that_the_pair_follows():
    """In the message, in the report, and in the report read back."""

    def rope(x, positions):
        y = reference(SECTIONS)(x, positions)
        y[..., 4] *= np.float32(1.01)  # pair 4 follows axis 1
        return y

    report = rc.check(rope, spec=SECTIONS, effort="quick", only=["axes.order"])
    failure = report.findings[0].failure
    position = failure.spot["place"]
    assert len(position) == 3
    assert failure.spot["axis"] == 1
    assert failure.spot["position"] == position[1]
    numbers = ", ".join(str(int(each)) for each in position)
    assert f"position ({numbers}), pair 4 follows axis 1, channel 4 (row" in failure.message
    text = (
        resources.files("rope_conformance.report").joinpath("report.schema.json").read_text("utf-8")
    )
    spots = {"$ref": "#/$defs/spot", "$defs": json.loads(text)["$defs"]}
    jsonschema.Draft202012Validator(spots).validate(json.loads(json.dumps(failure.spot)))
    again = rc.Report.from_dict(json.loads(report.to_json()))
    assert again.findings[0].failure.spot == failure.spot | {"place": list(position)}


def test_an_axis_that_no_pair_follows_has_no_number():
    """It is not known to the judgement."""
    spec = RopeSpec(8, layout="half", pair_axes=(0, 2, 2, 0))

    def rope(x, positions):
        return -reference(spec)(x, positions)

    report = rc.check(rope, spec=spec, effort="quick", only=["axes.order"])
    assert ", -, " in report.findings[0].failure.message
    assert report.findings[0].failure.spot["place"][1] is None


@pytest.mark.parametrize("name", ["turns_for_sections", "rows_for_axes", "ladder_for_each_axis"])
def test_the_input_that_a_failure_shows_fails_again(name):
    """The text rebuilds it, and the check fails on it, at the same position."""
    factory = WRONG[name].factory
    implementation = Implementation(factory, factory.spec, factory.claim)
    check = CHECKS["axes.order"]
    context = CheckContext(implementation, "float32")
    result = run_check(check, context, effort="quick")
    case = rebuild(result.failure.case)
    assert isinstance(case, Case)
    with pytest.raises(CheckFailure) as again:
        check.body(context, case)
    assert str(again.value) == result.failure.message


def test_scores_are_told_with_the_positions_of_query_and_key():
    """One for each axis."""

    class Rope:
        def __init__(self, spec):
            self.spec = spec

        def apply_rope(self, x, positions):
            return reference(self.spec)(x, positions)

        def logits(self, q, k, q_positions, k_positions):
            q, k = self.apply_rope(q, q_positions), self.apply_rope(k, k_positions)
            k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
            return np.einsum("bqhd,bkhd->bhqk", q, k) + np.float32(1e-2)

    report = rc.check(Rope, spec=SECTIONS, claim=ROWS, effort="quick", only=["logits.values"])
    message = report.findings[0].failure.message
    assert message.count("at position (") == 2


# What is probably wrong


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
        return reference(self.spec)(x, positions)

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

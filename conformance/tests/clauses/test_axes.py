"""Positions with several axes: honest RoPEs pass, and what cannot be judged says why."""

import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.zoo import CONTROLS
from rope_ref import PowerLaw, RopeSpec, apply_cos_sin, apply_rope
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


@pytest.mark.parametrize("name", CONTROLS_HERE)
def test_controls_pass_over_seeds_with_other_maps_and_bases(name, told):
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
def test_the_reference_passes_as_a_bare_callable(spec, reference, told):
    """It is found to take rows of positions too, and keeps the tightest profile."""
    only = [*AXES, "pairing.layout", "frequency.rows", "rotation.transpose", "score.offset"]
    report = rc.check(reference(spec), spec=spec, effort="quick", only=only)
    assert report.passed, told(report)
    assert report.claim["position_forms"] == ("t", "bt")
    assert report.tightest_profile == "exact"
    closed = {r.clause for r in report.results if r.verdict == "not claimed"}
    assert closed == {"rotation.transpose"} | ({"axes.equal"} if spec is VIDEO else set())


def test_our_backend_passes_with_several_axes(told):
    """On NumPy arrays, at positions up to 2**31."""
    only = [*AXES, "frequency.ladder", "frequency.rows", "frequency.negative"]
    report = rc.check("rope-backends/numpy", spec=VIDEO, dtype="float32", effort="quick", only=only)
    assert report.passed, told(report)
    assert sum(r.verdict == "passed" for r in report.results) == len(only) - 1


@pytest.mark.parametrize("axes", ["bhtd", "thd", "td", "btd"])
def test_any_order_of_the_axes_of_x_is_judged(axes, told):
    """One row or one head where there is no axis for more."""

    def rope(x, positions):
        return apply_rope(x, positions, SECTIONS, axes=axes).astype(x.dtype)

    claim = rc.Claim(axes=axes, position_forms=("t", "bt") if "b" in axes else ("t",))
    report = rc.check(rope, spec=SECTIONS, claim=claim, effort="quick", only=AXES)
    assert report.passed, told(report)


@pytest.mark.parametrize("low_high", [(0, 1), (0, 9), (5, 300), (-9, -1)])
def test_a_short_range_of_positions_is_enough(low_high, reference, told):
    """Two positions, none of them 0, all negative."""
    claim = rc.Claim(position_forms=("t", "bt"), position_range=low_high)
    report = rc.check(reference(SECTIONS), spec=SECTIONS, claim=claim, effort="quick", only=AXES)
    assert report.passed, told(report)


# What cannot be judged


def test_with_one_axis_the_clauses_are_not_claimed(reference):
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


def test_a_table_consumer_is_judged_whatever_positions_it_could_take(told):
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


def test_a_spec_fixes_the_width_and_sessions_count_along_one_axis(reference):
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

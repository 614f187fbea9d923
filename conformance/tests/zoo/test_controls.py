"""Honest RoPEs pass, whatever the seed, the width and the base."""

from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.zoo import CONTROLS
from rope_ref import PowerLaw, RopeSpec

SEEDED = [each.name for each in all_checks() if each.generated is not None]
WIDTHS = (6, 48, 80, 96, 100, 192)
BASES = (1e4, 5e5, 1e6, 1e7)
GRID = [(rotary_dim, base) for base in BASES for rotary_dim in WIDTHS]
# Those that need a framework are run where it is there: frameworks/test_zoo_torch.py.
NUMPY = [n for n, e in CONTROLS.items() if e.factory.claim.namespace == "numpy"]
# Those with several position axes are made for these: clauses/test_axes.py; those declared to
# be no rotation for one definition: clauses/test_channels.py.
ONE_AXIS = [
    n
    for n in NUMPY
    if CONTROLS[n].factory.spec.pair_axes is None
    and CONTROLS[n].factory.claim.second_channels is None
]

# Each computes in another way; the others differ in what they offer and claim.
PLAIN = [
    name for name, each in CONTROLS.items() if each.factory.__module__.endswith(".honest.plain")
]


def told(report):
    """What would have to be explained if the control did not pass."""
    return [(r.clause, r.failure.message, r.failure.case) for r in report.findings], report.doubts


def awkward(name, seed):
    """A layout, a width and a base for a seed; all controls together meet all of the grid."""
    rotary_dim, base = GRID[(seed + 5 * list(CONTROLS).index(name)) % len(GRID)]
    layout = ("half", "interleaved")[seed % 2]
    return {"layout": layout, "rotary_dim": rotary_dim, "frequencies": PowerLaw(base)}


@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_control_passes_over_many_seeds_at_awkward_widths_and_bases(name, seeds):
    """No check that draws inputs fails or lacks evidence on honest code."""
    if len(seeds) == 1:
        pytest.skip("the first seed is tried with part of the head; ROPE_SEEDS=50 tries more")
    for seed in seeds:
        rope = awkward(name, seed)
        spec = RopeSpec(rope["rotary_dim"], **rope)
        report = rc.check(CONTROLS[name].factory, spec=spec, effort="quick", seed=seed, only=SEEDED)
        assert not report.findings, (seed, spec, *told(report))
        assert not report.doubts, (seed, spec, *told(report))


@pytest.mark.parametrize("name", PLAIN)
def test_the_bound_is_no_looser_than_it_must_be(name):
    """Each way to compute a RoPE comes near what its profile allows, and not beyond it."""
    largest = 0.0
    for seed in range(4):
        spec = RopeSpec(WIDTHS[seed + 2], layout="half", frequencies=PowerLaw(BASES[seed]))
        report = rc.check(CONTROLS[name].factory, spec=spec, effort="quick", seed=seed)
        assert report.passed, (seed, spec, *told(report))
        largest = max(largest, report.largest_ratio)
    assert 0.3 <= largest <= 1


@pytest.mark.parametrize("name", NUMPY)
def test_a_control_passes_as_it_comes(name):
    """At the spec it names it passes, and each clause is either passed or not claimed."""
    report = rc.check(CONTROLS[name].factory, effort="quick", seed=77)
    assert report.passed, told(report)
    assert {r.verdict for r in report.results} == {"passed", "not claimed"}
    assert report.calls > report.inputs


@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_control_passes_with_part_of_the_head(name):
    """At an awkward width and base, the channels that do not rotate, before and behind, change
    nothing.
    """
    rope = awkward(name, 0) | {"output_layout": "interleaved", "rotary_start": 32}
    spec = RopeSpec(rope["rotary_dim"] + 48, **rope)
    report = rc.check(CONTROLS[name].factory, spec=spec, effort="quick")
    assert report.passed, (spec, *told(report))
    assert {r.clause: r.verdict for r in report.results}["passthrough.channels"] == "passed"


@pytest.mark.parametrize("rotary_dim", [2, 4, 6])
@pytest.mark.parametrize("name", ["float32_power", "bfloat16_table"])
def test_a_control_passes_with_one_two_or_three_pairs(name, rotary_dim):
    """The evidence asked for can be had at any width."""
    spec = RopeSpec(rotary_dim, layout="half")
    report = rc.check(CONTROLS[name].factory, spec=spec)
    assert report.passed, told(report)


def test_the_controls_are_those_that_must_never_fail():
    """Power, exp and product, the complex form, and half-precision data with float32 inside."""
    assert {
        "float32_power",
        "float32_exp",
        "float32_product",
        "complex_product",
        "bfloat16_out",
        "float16_out",
    } <= set(CONTROLS)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_reference_itself_passes_as_exact(dtype):
    """rope_ref.apply_rope, rounded once to the type of the data, keeps the tightest profile."""
    from rope_ref import apply_rope

    spec = RopeSpec(80, layout="interleaved", rotary_dim=48, frequencies=PowerLaw(5e5))

    def reference(x, positions):
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    claim = rc.Claim(
        position_forms=("t", "bt"),
        position_range=(1 - 2**31, 2**31 - 1),
        position_kinds=("integer", "real"),
        dtypes=(dtype,),
        profile="exact",
        empty=True,
        strided=True,
    )
    report = rc.check(reference, spec=spec, claim=claim, effort="quick")
    assert report.passed, told(report)
    assert report.tightest_profile == "exact"
    assert report.horizon["ends"] is False


def test_a_verdict_repeats():
    """The same seed gives the same inputs and the same numbers, another seed gives others."""
    reports = [
        rc.check(CONTROLS["float32_power"].factory, effort="quick", seed=seed) for seed in (3, 3, 4)
    ]
    first, again, other = (
        [(r.clause, r.verdict, r.inputs, r.samples, r.decisive) for r in report.results]
        for report in reports
    )
    assert first == again
    assert reports[0].largest_ratio == reports[1].largest_ratio
    assert first != other


def test_a_flushing_platform_is_not_needed_for_zeros():
    """-0 in and out counts as 0: a RoPE may return either."""
    control = CONTROLS["float32_power"].factory

    def without_negative_zero(spec):
        rope = control(spec)
        return lambda x, positions: rope(x, positions) + np.float32(0)

    without_negative_zero.claim = replace(control.claim)
    report = rc.check(without_negative_zero, spec=control.spec, effort="quick")
    assert report.passed, told(report)

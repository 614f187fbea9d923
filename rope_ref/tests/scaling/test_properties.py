"""What holds for a scaling whatever its parameters, and what sort of values the rules are."""

import copy
import dataclasses
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

PAPER = rr.PowerLaw(1e4)
few = settings(max_examples=40, deadline=None)

# Edges first: what changes nothing, what is below 1, what is huge.
FACTORS = st.sampled_from([1, 1.5, 4, 40, 1e6, 1e30]) | st.floats(1, 100)
SMALL_FACTORS = st.sampled_from([1e-3, 0.5, Fraction(1, 3)]) | FACTORS
LAWS = (st.sampled_from([1.5, 100, 1e4, 5e5, 1e7, 1e12]) | st.floats(1.5, 1e9)).map(rr.PowerLaw)
LENGTHS = st.sampled_from([1, 7, 2048, 4096, 131072, 10**9]) | st.integers(1, 10**6)
TURNS = st.sampled_from([1e-3, 0.75, 1, 2, 32, 1e5]) | st.floats(0.1, 100)
TWO_TURNS = st.tuples(TURNS, TURNS).map(lambda both: tuple(sorted(both, reverse=True)))
SHARES = st.sampled_from([0, 1, 0.5]) | st.floats(0, 1)
WIDTHS = st.integers(1, 64).map(lambda pairs: 2 * pairs)
WIDE = st.integers(2, 64).map(lambda pairs: 2 * pairs)  # NTK has no value at 2


@st.composite
def scalings(draw, factors=FACTORS):
    """A width and a scaling by a factor: every kind that has one, over a power law."""
    law, factor, rotary_dim = draw(LAWS), draw(factors), draw(WIDE)
    length, ramp, second_ramp = draw(LENGTHS), draw(TWO_TURNS), draw(TWO_TURNS)
    fast, slow = ramp
    kind = draw(st.integers(0, 8))
    if kind == 0:
        return rotary_dim, rr.scaling.Linear(law, factor=factor)
    if kind == 1:
        return rotary_dim, rr.scaling.NTK(law, alpha=factor)
    if kind == 2:
        mixing = draw(st.none() | st.sampled_from([0.625, 1, 1e-9, 50]))
        return rotary_dim, rr.scaling.FixedNTK(law, factor=factor, mixing=mixing)
    if kind == 3:
        q = draw(st.none() | LENGTHS)
        rule = rr.scaling.DynamicNTK(law, factor=factor, original_length=length, length=q)
        return rotary_dim, rule
    if kind == 4:
        return rotary_dim, rr.scaling.NTKByParts(
            law,
            factor=factor,
            original_length=length,
            ntk_factor=draw(SHARES),
            extrapolation_factor=draw(SHARES),
            betas=ramp,
            gammas=second_ramp,
        )
    if kind == 5:
        return rotary_dim, rr.scaling.YaRN(
            law,
            factor=factor,
            original_length=length,
            beta_fast=fast,
            beta_slow=slow,
            truncate=draw(st.booleans()),
            limit=draw(st.sampled_from(["channels", "pairs"])),
            equal_ends=draw(st.sampled_from(["raise", "least", "lower"])),
        )
    if kind == 6:
        return rotary_dim, rr.scaling.Llama3(
            law,
            factor=factor,
            low_freq_factor=slow,
            high_freq_factor=fast,
            original_length=length,
        )
    if kind == 7:
        return rotary_dim, rr.scaling.Proportional(law, fraction=draw(SHARES), factor=factor)
    lists = st.lists(FACTORS, min_size=rotary_dim // 2, max_size=rotary_dim // 2).map(sorted)
    return rotary_dim, rr.scaling.LongRoPE(
        law,
        short_factors=draw(lists),
        long_factors=draw(lists),
        original_length=length + 1,
        factor=factor,
        length=draw(st.none() | LENGTHS),
    )


def runs_backwards(rule, rotary_dim):
    """Whether ends that were cut have changed places, which public systems do not prevent."""
    if isinstance(rule, rr.scaling.YaRN):
        low, high = rule.ends(rotary_dim)
        return low > high
    if isinstance(rule, rr.scaling.NTKByParts):
        ramps = (
            rr.scaling.YaRN(
                rule.rule,
                factor=1,
                original_length=rule.original_length,
                beta_fast=fast,
                beta_slow=slow,
            )
            for fast, slow in (rule.betas, rule.gammas)
        )
        return any(runs_backwards(ramp, rotary_dim) for ramp in ramps)
    return False


@settings(max_examples=150, deadline=None)
@given(scalings())
def test_no_pair_is_faster_than_the_one_before(case):
    """With a factor of at least 1 the pairs still turn more slowly one after the other.

    Nor does a pair turn faster than without the scaling.
    """
    rotary_dim, rule = case
    theta, plain = rule.theta(rotary_dim), rule.rule.theta(rotary_dim)
    assert len(theta) == rotary_dim // 2
    assert all(0 <= t <= p for t, p in zip(theta, plain, strict=True))
    if not runs_backwards(rule, rotary_dim):
        assert list(theta) == sorted(theta, reverse=True)


@settings(max_examples=80, deadline=None)
@given(scalings(factors=st.just(1)))
def test_a_factor_of_one_changes_nothing(case):
    """theta is the plain one bit for bit, and the amplitude 1.

    But pairs that stand still do, and dynamic NTK follows the length whatever the factor.
    """
    rotary_dim, rule = case
    if isinstance(rule, rr.scaling.DynamicNTK):
        rule = rule.at(rule.original_length)
    if isinstance(rule, rr.scaling.LongRoPE):
        ones = (1,) * (rotary_dim // 2)
        rule = dataclasses.replace(rule, short_factors=ones, long_factors=ones)
    plain = rule.rule.theta(rotary_dim)
    if isinstance(rule, rr.scaling.Proportional):
        turning = rule.turning(rotary_dim)
        plain = plain[:turning] + (0.0,) * (len(plain) - turning)
    assert rule.theta(rotary_dim) == plain
    assert rule.amplitude == 1


@few
@given(LAWS, SMALL_FACTORS, WIDE)
def test_ntk_keeps_the_first_pair_and_divides_the_last(law, alpha, rotary_dim):
    """Pair 0 makes a radian as before, and the last pair is divided by exactly alpha."""
    theta = rr.scaling.NTK(law, alpha=alpha).theta(rotary_dim)
    assert theta[0] == 1.0
    assert theta[-1] == rr.scaling.Linear(law, factor=alpha).theta(rotary_dim)[-1]


@few
@given(LAWS, SMALL_FACTORS, WIDTHS, st.none() | st.sampled_from([0.5, 1, 7]))
def test_fixed_ntk_divides_the_last_pair(law, factor, rotary_dim, mixing):
    """The last pair is divided by exactly the factor, with any mixing exponent."""
    theta = rr.scaling.FixedNTK(law, factor=factor, mixing=mixing).theta(rotary_dim)
    assert theta[-1] == rr.scaling.Linear(law, factor=factor).theta(rotary_dim)[-1]


@few
@given(LAWS, SMALL_FACTORS, LENGTHS, LENGTHS, WIDE)
def test_dynamic_ntk_is_ntk_at_each_length(law, factor, original_length, length, rotary_dim):
    """Up to the original length it changes nothing, beyond it is NTK with an alpha of its own."""
    rule = rr.scaling.DynamicNTK(law, factor=factor, original_length=original_length)
    assert rule.theta(rotary_dim) == law.theta(rotary_dim)
    there = rule.at(length)
    assert there.theta(rotary_dim) == rr.scaling.NTK(law, alpha=there.alpha).theta(rotary_dim)
    longer = max(0, Fraction(length, original_length) - 1)
    assert there.alpha == 1 + Fraction(factor) * longer


@few
@given(LAWS, SMALL_FACTORS, LENGTHS, WIDTHS)
def test_longrope_of_ones_is_the_plain_rule(law, factor, length, rotary_dim):
    """Factors of 1 leave every theta as it is, bit for bit; the amplitude is another matter."""
    ones = (1,) * (rotary_dim // 2)
    rule = rr.scaling.LongRoPE(
        law, short_factors=ones, long_factors=ones, original_length=4096, factor=factor
    )
    assert rule.at(length).theta(rotary_dim) == law.theta(rotary_dim)
    assert (rule.amplitude == 1) == (factor <= 1)


@few
@given(LAWS, st.sampled_from([1, 2, 4, 8, 0.5]), st.integers(-(2**50), 2**50))
def test_linear_divides_positions(law, factor, position):
    """Linear by a factor at p is the plain rule at p/factor: the same angle by another product.

    p/factor is a float64 number here, so both tables are near the same real numbers: within
    0.8 ulp for an integer, 1 ulp for another.
    """
    spec = rr.RopeSpec(16, layout="half", frequencies=rr.scaling.Linear(law, factor=factor))
    plain = rr.RopeSpec(16, layout="half", frequencies=law)
    tables = rr.cos_sin(position, spec), rr.cos_sin(position / factor, plain)
    for ours, theirs in zip(*tables, strict=True):
        ulp = np.spacing(np.maximum(np.abs(ours), np.abs(theirs)))
        assert (np.abs(ours - theirs) <= 1.8 * ulp).all()


@few
@given(LAWS, FACTORS, LENGTHS, TWO_TURNS, WIDTHS)
def test_llama3_has_three_zones(oracle, law, factor, length, turns, rotary_dim):
    """Pairs of many turns are plain, of few divided, bit for bit; the others lie between.

    Within the blend the number of turns says how much of the frequency is kept.
    """
    high, low = turns
    rule = rr.scaling.Llama3(
        law, factor=factor, low_freq_factor=low, high_freq_factor=high, original_length=length
    )
    plain = law.theta(rotary_dim)
    divided = rr.scaling.Linear(law, factor=factor).theta(rotary_dim)
    for i, (w, theta) in enumerate(
        zip(oracle.power_law(law.base, rotary_dim), rule.theta(rotary_dim), strict=True)
    ):
        n = w * length / (2 * oracle.pi)
        if n >= high:
            assert theta == plain[i]
        elif n <= low:
            assert theta == divided[i]
        else:
            assert divided[i] <= theta <= plain[i]


@few
@given(LAWS, SHARES, SMALL_FACTORS, WIDTHS)
def test_proportional_pairs_stand_still(law, fraction, factor, rotary_dim):
    """The first pairs are those of Linear, the rest have theta 0 and so cos 1 and sin 0."""
    rule = rr.scaling.Proportional(law, fraction=fraction, factor=factor)
    turning = rule.turning(rotary_dim)
    assert turning == int(fraction * rotary_dim // 2)
    theta = rule.theta(rotary_dim)
    assert theta[:turning] == rr.scaling.Linear(law, factor=factor).theta(rotary_dim)[:turning]
    assert theta[turning:] == (0.0,) * (rotary_dim // 2 - turning)
    spec = rr.RopeSpec(rotary_dim, layout="half", frequencies=rule)
    for position in (2**53 - 1, -0.1):
        cos, sin = rr.cos_sin(position, spec)
        assert (cos[turning:] == 1).all()
        assert (sin[turning:] == 0).all()


ONES = (1.0, 1.0, 1.0)
EACH = [
    rr.scaling.Linear(PAPER, factor=4),
    rr.scaling.NTK(PAPER, alpha=4),
    rr.scaling.FixedNTK(PAPER, factor=4, mixing=0.625),
    rr.scaling.DynamicNTK(PAPER, factor=4, original_length=4096, length=5000),
    rr.scaling.NTKByParts(PAPER, factor=4),
    rr.scaling.YaRN(PAPER, factor=4, original_length=4096, mscale=Fraction(1, 3)),
    rr.scaling.LongRoPE(
        PAPER, short_factors=ONES, long_factors=ONES, original_length=4096, factor=4
    ),
    rr.scaling.Llama3(rr.ExplicitFrequencies([1.0, 0.5, Fraction(1, 3)], amplitude=2), factor=4),
    rr.scaling.Proportional(rr.scaling.Linear(PAPER, factor=2), fraction=0.25, factor=4),
]


def parameters(rule):
    return {f.name: getattr(rule, f.name) for f in dataclasses.fields(rule) if f.name != "rule"}


@pytest.mark.parametrize("rule", EACH, ids=repr)
def test_a_number_is_one_number_however_it_is_written(rule):
    """4, 4.0, Fraction(4), Decimal(4) and NumPy's make equal rules, and one type is held."""
    name = "alpha" if isinstance(rule, rr.scaling.NTK) else "factor"
    kinds = (int, float, Fraction, Decimal, np.int64, np.float32, np.float64)
    same = [dataclasses.replace(rule, **{name: kind(4)}) for kind in kinds]
    assert set(same) == {rule}
    assert {repr(each) for each in same} == {repr(rule)}
    third = dataclasses.replace(rule, **{name: Fraction(1, 3)})
    assert third != dataclasses.replace(rule, **{name: 1 / 3})
    assert getattr(third, name) == Fraction(1, 3)


@pytest.mark.parametrize("rule", EACH, ids=repr)
def test_rules_survive_a_trip(rule):
    """Pickled, copied or printed and read again, a rule is the same rule, and hashes the same."""
    names = vars(rr.scaling) | {"Fraction": Fraction}
    trips = [pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule), eval(repr(rule), names)]
    for trip in trips:
        assert trip == rule
        assert hash(trip) == hash(rule)
        assert trip.theta(6) == rule.theta(6)
        assert trip.amplitude == rule.amplitude


@pytest.mark.parametrize("rule", EACH, ids=repr)
def test_rules_are_immutable(rule):
    """No parameter of a rule can be set or deleted, nor a new one added."""
    for name in ["rule", *parameters(rule), "more"]:
        with pytest.raises(AttributeError):
            setattr(rule, name, 1)
    with pytest.raises(AttributeError):
        del rule.rule


def test_lists_are_taken_over():
    """A sequence given as a parameter may change afterwards: the rule does not."""
    lists = [1.0, 2.0], np.array([3, 4]), [1.5, 0.5]
    options = {"original_length": 4096, "factor": 4}
    long = rr.scaling.LongRoPE(PAPER, short_factors=lists[0], long_factors=lists[1], **options)
    parts = rr.scaling.NTKByParts(PAPER, factor=4, betas=lists[2])
    for each in lists:
        each[0] = 99
    assert long == rr.scaling.LongRoPE(PAPER, short_factors=(1, 2), long_factors=(3, 4), **options)
    assert parts == rr.scaling.NTKByParts(PAPER, factor=4, betas=(1.5, 0.5))
    assert len({long, parts}) == 2


@pytest.mark.parametrize("rule", EACH, ids=repr)
def test_every_parameter_tells_rules_apart(rule):
    """Another value of any one parameter makes another rule."""
    others = {
        "truncate": False,
        "below_one": True,
        "limit": "pairs",
        "equal_ends": "lower",
        "amplitude_rule": "one",
        "boundary": "fast",
        "low_freq_factor": 2,
        "betas": (3, 2),
        "gammas": (3, 2),
        "short_factors": (1, 1, 2),
        "long_factors": (1, 1, 2),
        "fraction": 0.75,
    }
    changed = [
        dataclasses.replace(rule, **{name: others.get(name, 7)}) for name in parameters(rule)
    ]
    changed.append(dataclasses.replace(rule, rule=rr.PowerLaw(777)))
    assert len({rule, *changed}) == len(changed) + 1


@pytest.mark.parametrize("rule", EACH[:6], ids=repr)
def test_a_head_that_does_not_rotate(rule):
    """With rotary_dim 0 there are no frequencies, and that is no error."""
    assert rule.theta(0) == rule.frequencies(0) == ()
    spec = rr.RopeSpec(4, layout="half", rotary_dim=0, frequencies=rule)
    assert rr.cos_sin([0, 1], spec)[0].shape == (2, 0)


@pytest.mark.parametrize("rule", EACH, ids=repr)
def test_the_rule_below_decides_what_is_rational(rule):
    """Turns are rational where those of the rule below are, and agree with theta."""
    turns = [frequency.rational for frequency in rule.frequencies(6)]
    assert len(turns) == 3
    for theta, t in zip(rule.theta(6), turns, strict=True):
        assert (t is None) == (theta != 0)

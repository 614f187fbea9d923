"""cos and sin against Arb, where they are easy and where they are hard."""

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

import rope_ref as rr
from rope_ref.phase import Ladder

# Half an ulp for rounding the result, and the error of what was rounded.
INTEGER_ULPS = 0.8
REAL_ULPS = 1.0
# high + low: at most six roundings of terms no larger than x**4/24 <= 0.016 (x <= pi/4), each
# within 2**-53 of its term, and 2**-53 is an ulp of a result in [1/2, 1): 6 * 0.016 < 0.1.
PARTS_ULPS = 0.1

AMPLITUDES = [0.1, 1.5, Fraction(1, 3), 1.3465735902799727]
TURNS = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(-3, 8),
    Fraction(7, 5),
    Fraction(1, 2**40 + 15),
    Fraction(10**12 + 1, 2**40 + 15),  # its products with positions do not fit 64 bits
    Fraction(2**31 - 2, 2**31 - 1),
    Fraction(10**30 + 1, 10**31 + 7),
    Fraction(1, 2**200 + 1),
]
# In radians per position: a usual one, whole turns and more, next to nothing, backwards, none.
VALUES = [0.1, 6.283185307179586, 1e5, 1e300, 1e-13, 1e-200, 5e-324, -1.0, -3e7, -1e-200, 0.0]


def spec_of(rule, pairs):
    return rr.RopeSpec(2 * pairs, layout="half", frequencies=rule)


def ladder_specs(oracle):
    for base, rotary_dim in oracle.ladders:
        yield spec_of(rr.PowerLaw(base), rotary_dim // 2), oracle.power_law(base, rotary_dim)


def mixed_integers(rng, count):
    """Integers of either sign: half of them below 2**31, half of them below 2**53."""
    positions = rng.integers(0, [[2**31], [2**53]], (2, count // 2)).ravel()
    return rng.permutation(positions) * rng.choice([-1, 1], positions.size)


def near_quarter_turns(rng, theta, count):
    """Floats below 2**52 next to a multiple of pi / (2 theta), where cos or sin is tiny."""
    quarter = np.pi / 2 / abs(theta)
    largest = min(2.0**52, 2.0**60 * quarter)
    return quarter * np.floor(np.exp(rng.uniform(0, np.log(largest), count)) / quarter)


def real_positions(rng, count):
    """Floats of every magnitude and sign, halves as large as they exist, the smallest float."""
    size = 10.0 ** rng.uniform(-320, 15.6, count)
    halves = rng.integers(0, 2 ** rng.integers(1, 52, count)) + 0.5
    edges = [5e-324, 1e-300, 2.0**-1022, 0.5, 2.0**52 - 0.5, 2.0**51 + 0.25, 1e15 + 0.125]
    positions = np.concatenate([size, halves, edges])
    return positions * rng.choice([-1, 1], positions.size)


def worst_ulps(oracle, positions, spec, truth, pairs=None):
    """Largest error, in ulps, of high and of high + low; truth(position, pair) is (cos, sin).

    With `pairs`, position k is judged on pair k of these alone.
    """
    tables = rr.cos_sin_parts(positions, spec)
    rows, columns = np.indices((len(positions), spec.rotary_dim // 2)).reshape(2, -1)
    if pairs is not None:
        rows, columns = np.arange(len(positions)), np.array(pairs)
    p = np.asarray(positions).tolist()
    balls = zip(*map(truth, [p[row] for row in rows], columns.tolist()), strict=True)
    high = both = 0.0
    for (got, low), true in zip(tables, balls, strict=True):
        got, low = got[rows, columns], low[rows, columns]
        high = max(high, oracle.ulps(got, true).max())
        both = max(both, oracle.ulps(got, true, low).max())
    return high, both


def test_a_million_integer_positions(oracle):
    """cos and sin are within 0.8 ulp at a million random (position, pair) below 2**53."""
    rng = np.random.default_rng(0)
    samples = 0
    for spec, thetas in ladder_specs(oracle):
        positions = mixed_integers(rng, 3500)
        samples += positions.size * len(thetas)
        high, both = worst_ulps(
            oracle, positions, spec, lambda p, i, thetas=thetas: oracle.cos_sin(p, thetas[i])
        )
        assert high <= INTEGER_ULPS, spec
        assert both <= PARTS_ULPS, spec
    assert samples >= 10**6


def test_integer_positions_next_to_quarter_turns(oracle):
    """cos and sin are within 0.8 ulp where an integer position comes closest to a quarter turn.

    These are denominators of convergents of 2t and 4t, t = theta / 2 pi: no smaller position
    leaves a smaller rest. Random samples do not come near them.
    """
    for spec, thetas in ladder_specs(oracle):
        cases = {
            (denominator, i)
            for i, theta in enumerate(thetas)
            for halves in (theta / oracle.pi, 2 * theta / oracle.pi)
            for limit in (2**31, 2**53)
            for denominator in oracle.convergents(halves, below=limit)
        }
        positions, pairs = zip(*sorted(cases), strict=True)
        high, both = worst_ulps(
            oracle,
            positions,
            spec,
            lambda p, i, thetas=thetas: oracle.cos_sin(p, thetas[i]),
            pairs,
        )
        assert high <= INTEGER_ULPS, spec
        assert both <= PARTS_ULPS, spec


def test_the_hardest_known_position(oracle):
    """At p = 7252436179928985, pair 26 of the paper's ladder, 128 bits of theta do not do."""
    position, pair = 7252436179928985, 26
    theta = oracle.power_law(10000, 128)[pair]
    cos, sin = oracle.cos_sin(position, theta)
    # So close to a quarter turn that the result has no leading bit above 2**-60.
    assert min(abs(float(cos)), abs(float(sin))) < 2.0**-55
    high, both = worst_ulps(
        oracle, [position], spec_of(rr.PowerLaw(10000), 64), lambda p, i: (cos, sin), [pair]
    )
    assert high <= INTEGER_ULPS
    assert both <= PARTS_ULPS


def test_every_small_position(oracle):
    """The first positions and those next to powers of two are within 0.8 ulp like all others."""
    steps = np.array([2**k + d for k in range(3, 53) for d in (-1, 0, 1)])
    positions = np.concatenate([np.arange(-6, 7), steps, -steps, [2**53 - 1, 1 - 2**53]])
    for base, rotary_dim in ((1e4, 128), (1e7, 64)):
        thetas = oracle.power_law(base, rotary_dim)
        high, _ = worst_ulps(
            oracle,
            positions,
            spec_of(rr.PowerLaw(base), rotary_dim // 2),
            lambda p, i, thetas=thetas: oracle.cos_sin(p, thetas[i]),
        )
        assert high <= INTEGER_ULPS


@pytest.mark.parametrize(("base", "rotary_dim"), [(1e4, 128), (1e7, 64), (0.37, 10), (1e40, 16)])
def test_real_positions(oracle, base, rotary_dim):
    """Real positions of every magnitude, and next to quarter turns, are within 1 ulp."""
    rng = np.random.default_rng(1)
    thetas = oracle.power_law(base, rotary_dim)
    spec = spec_of(rr.PowerLaw(base), rotary_dim // 2)

    def truth(p, i):
        return oracle.cos_sin(p, thetas[i])

    assert worst_ulps(oracle, real_positions(rng, 60), spec, truth)[0] <= REAL_ULPS
    hard = [near_quarter_turns(rng, float(theta), 8) for theta in thetas]
    pairs = np.repeat(np.arange(len(thetas)), 8)
    assert worst_ulps(oracle, np.concatenate(hard), spec, truth, pairs)[0] <= REAL_ULPS


@pytest.mark.parametrize(("base", "rotary_dim"), [(1e-40, 16), (1e-300, 8), (1e300, 8)])
def test_bases_far_from_one(oracle, base, rotary_dim):
    """A theta of 1e225 keeps the digits after its point, one of 1e-225 those it begins with."""
    rng = np.random.default_rng(6)
    with ctx.workprec(1400):
        thetas = oracle.power_law(base, rotary_dim)
        spec = spec_of(rr.PowerLaw(base), rotary_dim // 2)
        assert spec.theta().tolist() == [float(t) for t in thetas]
        integers, reals = mixed_integers(rng, 200), real_positions(rng, 40)
        for positions, limit in ((integers, INTEGER_ULPS), (reals, REAL_ULPS)):
            high, _ = worst_ulps(oracle, positions, spec, lambda p, i: oracle.cos_sin(p, thetas[i]))
            assert high <= limit


@pytest.mark.parametrize("bits", [64, 192, 500, 2048])
def test_turns_in_fixed_point(oracle, bits):
    """Turns in fixed point are within one unit of theta / 2 pi, for any number of bits."""
    with ctx.workprec(4000):
        turn = 2 * oracle.pi
        for base in (10000, 1234.5678, 1e300, 1e-300):
            thetas = oracle.power_law(base, 16)
            for got, theta in zip(rr.PowerLaw(base).frequencies(16), thetas, strict=True):
                units = theta / turn * oracle.exact(2**bits)
                assert abs(units - got.scaled_turns(bits)) <= 1
        given = rr.ExplicitFrequencies(VALUES).frequencies(2 * len(VALUES))
        for got, value in zip(given, VALUES, strict=True):
            units = oracle.exact(value) / turn * oracle.exact(2**bits)
            assert abs(units - got.scaled_turns(bits)) <= 1
        given = rr.ExplicitFrequencies(turns=TURNS).frequencies(2 * len(TURNS))
        for got, turns in zip(given, TURNS, strict=True):
            assert abs(turns * 2**bits - got.scaled_turns(bits)) <= 1


def test_given_values(oracle):
    """Given frequencies may exceed a turn, vanish or be negative: the errors stay the same."""
    rng = np.random.default_rng(2)
    spec = spec_of(rr.ExplicitFrequencies(VALUES), len(VALUES))
    thetas = [oracle.exact(value) for value in VALUES]
    with ctx.workprec(1400):  # 1e300 * 2**53 has 1050 bits before the point
        integers, reals = mixed_integers(rng, 300), real_positions(rng, 40)
        for positions, limit in ((integers, INTEGER_ULPS), (reals, REAL_ULPS)):
            high, _ = worst_ulps(oracle, positions, spec, lambda p, i: oracle.cos_sin(p, thetas[i]))
            assert high <= limit


def test_ordinary_positions_need_no_exact_arithmetic(monkeypatch):
    """Integer limbs answer alone but next to a quarter turn, which random positions do not meet.

    The exact way gives the same numbers, a thousand times slower: only this test would notice.
    """

    def exact(self, position, pair):
        raise AssertionError(f"position {position} of pair {pair} was handed on")

    monkeypatch.setattr(Ladder, "_exact", exact)
    rng = np.random.default_rng(9)
    # A limb cannot decide within 2**21 of 2**62 parts of a quarter turn, or p / 8 of them.
    for top in (2**31, 2**53):
        positions = np.concatenate([[0], rng.integers(1, top, 1000)])
        assert rr.cos_sin(positions, spec_of(rr.PowerLaw(4321.5), 32))[0].shape == (1001, 32)


def test_given_turns(oracle):
    """Frequencies that are rational parts of a turn are as exact, however long their fraction."""
    rng = np.random.default_rng(3)
    spec = spec_of(rr.ExplicitFrequencies(turns=TURNS), len(TURNS))

    def truth(p, i):
        turns = Fraction(p) * TURNS[i]
        sin, cos = oracle.exact(2 * (turns - round(turns))).sin_cos_pi()
        return cos, sin

    assert worst_ulps(oracle, mixed_integers(rng, 600), spec, truth)[0] <= INTEGER_ULPS
    assert worst_ulps(oracle, real_positions(rng, 60), spec, truth)[0] <= REAL_ULPS


def test_exactly_pi():
    """With half a turn per position cos is exactly 1 or -1 and sin exactly 0, at any integer."""
    positions = np.concatenate([np.arange(-5, 6), [2**31 - 1, 2**53 - 1, 1 - 2**53, 2**52]])
    spec = spec_of(rr.ExplicitFrequencies(turns=[Fraction(1, 2)]), 1)
    cos, sin = rr.cos_sin(positions, spec)
    np.testing.assert_array_equal(cos[:, 0], np.where(positions % 2, -1.0, 1.0))
    np.testing.assert_array_equal(sin, 0.0)
    # Half of pi at half positions: the other axis.
    cos, sin = rr.cos_sin(np.array([0.5, 1.5, -0.5]), spec)
    np.testing.assert_array_equal(cos, 0.0)
    np.testing.assert_array_equal(sin[:, 0], [1.0, -1.0, -1.0])


@pytest.mark.parametrize("amplitude", [*AMPLITUDES, 1e-300, 1e300])
def test_amplitude_is_inside_the_last_rounding(oracle, amplitude):
    """A cos and A sin are one rounding away from the real product, not two."""
    rng = np.random.default_rng(4)
    values = [1.0, 0.3, 1e-4]
    thetas = [oracle.exact(value) for value in values]
    factor = oracle.exact(amplitude)

    def truth(p, i):
        cos, sin = oracle.cos_sin(p, thetas[i])
        return cos * factor, sin * factor

    spec = spec_of(rr.ExplicitFrequencies(values, amplitude=amplitude), len(values))
    assert worst_ulps(oracle, mixed_integers(rng, 3000), spec, truth)[0] <= INTEGER_ULPS


def test_theta_is_rounded_once(oracle):
    """theta() is the float64 nearest to base**(-2i/R): both ends of Arb's ball round to it."""
    for spec, thetas in ladder_specs(oracle):
        assert [float(t.lower()) for t in thetas] == [float(t.upper()) for t in thetas]
        assert spec.theta().tolist() == [float(t) for t in thetas]


def test_theta_of_given_turns_is_rounded_once(oracle):
    """Given turns times 2 pi are rounded once as well; given radians are not rounded at all."""
    spec = spec_of(rr.ExplicitFrequencies(turns=TURNS), len(TURNS))
    assert spec.theta().tolist() == [float(oracle.exact(t) * 2 * oracle.pi) for t in TURNS]
    assert spec_of(rr.ExplicitFrequencies(VALUES), len(VALUES)).theta().tolist() == VALUES


def test_pair_axes_select_the_position(oracle):
    """With several position axes each pair turns by the position on its own axis."""
    rng = np.random.default_rng(5)
    positions = mixed_integers(rng, 180).reshape(3, 60)
    axes = (0, 2, 1, 1, 0, 2)
    spec = rr.RopeSpec(12, layout="half", pair_axes=axes)
    thetas = oracle.power_law(10000, 12)
    cos, sin = rr.cos_sin(positions, spec)
    for i, axis in enumerate(axes):
        truth = [oracle.cos_sin(p, thetas[i]) for p in positions[axis].tolist()]
        true_cos, true_sin = zip(*truth, strict=True)
        assert oracle.ulps(cos[:, i], true_cos).max() <= INTEGER_ULPS
        assert oracle.ulps(sin[:, i], true_sin).max() <= INTEGER_ULPS

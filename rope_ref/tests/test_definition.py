"""The definition on one page: right to the last bit, and what the vectorised way is equal to."""

import dataclasses
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr
from rope_ref import definition, scaling
from rope_ref.phase import Ladder

PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=200)
FEW = settings(PROPERTY, max_examples=100)

U = 2.0**-53
SMALLEST = 5e-324
HARDEST = 7252436179928985  # of pair 26 at R = 128: next to a quarter turn
TWO_PI = 2 * Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
    "86280348253421170679821480865132823066470938446095505822"
)


# Against Arb


def assert_rounded_once(oracle, position, spec, truth, pairs=None):
    """cos and sin of some pairs are the float64 numbers nearest to ``truth(i)``."""
    for i in range(spec.rotary_dim // 2) if pairs is None else pairs:
        got = definition.cos_sin(i, position, spec)
        assert got == tuple(map(oracle.rounded_once, truth(i))), (spec, position, i)


def plain(base, rotary_dim):
    return rr.RopeSpec(rotary_dim, layout="half", frequencies=rr.PowerLaw(base))


def explicit(*values, **options):
    rule = rr.ExplicitFrequencies(values or None, **options)
    return rr.RopeSpec(2 * len(values or rule.turns), layout="half", frequencies=rule)


def test_next_to_quarter_turns(oracle):
    """Where an integer position comes closest to a quarter turn, forwards and backwards.

    These are denominators of convergents of 4t, t = theta / 2 pi: no smaller position leaves a
    smaller rest, and so a smaller cos or sin.
    """
    for base, rotary_dim in oracle.ladders:
        thetas = oracle.power_law(base, rotary_dim)
        spec = plain(base, rotary_dim)
        for i in range(rotary_dim // 2):
            for limit in (2**31, 2**53):
                (p,) = oracle.convergents(2 * thetas[i] / oracle.pi, below=limit, count=1)
                for position in (p, -p):
                    truth = oracle.cos_sin(position, thetas[i])
                    assert_rounded_once(oracle, position, spec, lambda _, t=truth: t, [i])


def test_the_hardest_known_position(oracle):
    """128 bits of theta do not do here; the page asks for digits until the rounding is certain."""
    truth = oracle.cos_sin(HARDEST, oracle.power_law(10000, 128)[26])
    assert_rounded_once(oracle, HARDEST, plain(10000, 128), lambda _: truth, [26])


@pytest.mark.parametrize(
    "position",
    [0, 1, -1, 0.1, -2.5e-7, 1e-300, SMALLEST, Fraction(1, 3), Decimal("0.7")]
    + [2**31 - 1, 1 - 2**53, 2.0**52 - 0.5, 2**53 + 1, 10**40, -Fraction(10**40, 7)],
    ids=repr,
)
def test_positions_of_every_size(oracle, position):
    """Any real number is a position here, beyond 2**53 too."""
    for base, rotary_dim in ((1e4, 8), (0.37, 10)):
        thetas = oracle.power_law(base, rotary_dim)
        truth = [oracle.cos_sin(Fraction(position), theta) for theta in thetas]
        assert_rounded_once(oracle, position, plain(base, rotary_dim), truth.__getitem__)


@pytest.mark.parametrize("base", [1e-300, 1e-40, 1e300])
def test_bases_far_from_one(oracle, base):
    """A theta of 1e225 has as many digits before its point; one of 1e-225 makes sin subnormal."""
    with ctx.workprec(2600):
        thetas = oracle.power_law(base, 8)
        for position in (1, -3, 2**53 - 1, 0.1, 1e-300):
            truth = [oracle.cos_sin(position, theta) for theta in thetas]
            assert_rounded_once(oracle, position, plain(base, 8), truth.__getitem__)


def test_subnormal_results(oracle):
    """cos and sin of few bits, or of none, are rounded once as well."""
    spec = explicit(0.5, 0.75, 1e-10, 3.0)
    for position in (SMALLEST, 3 * SMALLEST, -1e-310, 1.7e-315):
        with ctx.workprec(2600):
            truth = [oracle.cos_sin(position, oracle.exact(w)) for w in (0.5, 0.75, 1e-10, 3.0)]
            assert_rounded_once(oracle, position, spec, truth.__getitem__)
    # Amplitude times sin, where either alone is a normal number.
    spec = explicit(1.0, amplitude=1e-300)
    for position in (1e-10, 1e-20, -3e-24):
        cos, sin = oracle.cos_sin(position, oracle.exact(1))
        truth = oracle.exact(1e-300) * cos, oracle.exact(1e-300) * sin
        assert_rounded_once(oracle, position, spec, lambda _, t=truth: t)


@pytest.mark.parametrize("amplitude", [0.1, 1.3465735902799727, Fraction(1, 3), 1e300, 1e-300])
def test_amplitudes_are_inside_the_rounding(oracle, amplitude):
    """A cos and A sin are rounded once, not cos and then its product."""
    factor = oracle.exact(amplitude)
    for position in (0, 1, -7, 123456789, 0.3):
        cos, sin = oracle.cos_sin(position, oracle.exact(0.3))
        truth = factor * cos, factor * sin
        spec = explicit(0.3, amplitude=amplitude)
        assert_rounded_once(oracle, position, spec, lambda _, t=truth: t)


def test_position_zero():
    """cos 0 is 1 and sin 0 is 0, without a sign."""
    for position in (0, 0.0, -0.0):
        cos, sin = definition.cos_sin(0, position, explicit(-0.3))
        assert (cos, sin, np.signbit(sin)) == (1.0, 0.0, False)


@pytest.mark.parametrize(
    ("amplitude", "even"),
    [
        (2**53 + 1, 2.0**53),
        (2**53 + 3, 2.0**53 + 4),
        (Fraction(2**53 + 1, 2**100), 2.0**-47),
        (Fraction(3, 2**1075), 2 * SMALLEST),  # one and a half of the smallest subnormal
        (Fraction(5, 2**1075), 2 * SMALLEST),
    ],
)
def test_halfway_cases_go_to_the_even_one(amplitude, even):
    """An amplitude of 54 bits lies in the middle between two float64 numbers; so does A cos 0."""
    spec = explicit(turns=[Fraction(1, 2), Fraction(1, 6)], amplitude=amplitude)
    assert definition.cos_sin(0, 0, spec) == (even, 0.0)
    assert definition.cos_sin(0, 1, spec) == (-even, 0.0)  # half a turn
    doubled = dataclasses.replace(spec.frequencies, amplitude=2 * amplitude)
    half = dataclasses.replace(spec, frequencies=doubled)
    assert definition.cos_sin(1, 1, half)[0] == even  # a sixth of a turn: cos is 1/2


def test_rational_turns(oracle):
    """Parts of a turn, reduced exactly at any position."""
    turns = [Fraction(1, 3), Fraction(-3, 8), Fraction(7, 5), Fraction(1, 2**40 + 15)]
    for position in (1, -5, 2**53 - 1, 0.125):
        truth = []
        for t in turns:
            sin, cos = oracle.exact(2 * (t * Fraction(position) % 1)).sin_cos_pi()
            truth.append((cos, sin))
        assert_rounded_once(oracle, position, explicit(turns=turns), truth.__getitem__)


@pytest.mark.parametrize("digits", [1, 40, 300])
def test_theta_and_phase_have_the_digits_asked_for(oracle, digits):
    """theta to so many significant digits, the phase to so many places behind the point."""
    with ctx.workprec(2600):
        for base, position in ((1e4, 12345), (1e-300, 2**53 - 1), (1e40, -0.1)):
            for i, truth in enumerate(oracle.power_law(base, 8)):
                theta = Fraction(definition.theta(i, plain(base, 8), digits))
                assert abs(oracle.exact(theta) - truth) <= truth * oracle.exact(10) ** -digits
                phase = Fraction(definition.phase(i, position, plain(base, 8), digits))
                error = abs(oracle.exact(phase) - oracle.exact(position) * truth)
                assert error <= oracle.exact(10) ** -digits


def test_a_rotation_is_rounded_once(oracle):
    """u cos - v sin is the float64 nearest to it, also where the two products cancel."""
    spec = rr.RopeSpec(2, layout="half", frequencies=rr.ExplicitFrequencies([1.0], amplitude=1.5))
    theta, factor = oracle.exact(1), oracle.exact(1.5)
    rng = np.random.default_rng(0)
    for position in (1, -2, 1000003, 0.75):
        cos, sin = oracle.cos_sin(position, theta)
        near = float(sin), float(cos)  # u cos - v sin is 0 but for the rounding of u and v
        for u, v in (near, (1e300, 1e-300), (SMALLEST, -3.0), *rng.standard_normal((5, 2))):
            a, b = oracle.exact(float(u)), oracle.exact(float(v))
            truth = factor * (a * cos - b * sin), factor * (b * cos + a * sin)
            got = definition.rotate([u, v], position, spec)
            assert got == tuple(map(oracle.rounded_once, truth))


# The vectorised way against the definition


def rules(rotary_dim):
    """Every kind of frequency rule over R/2 pairs, those with an amplitude included."""
    pairs = rotary_dim // 2
    law, length = rr.PowerLaw(1e4), {"original_length": 100}
    radians = rr.ExplicitFrequencies([1.0, -0.3, 1e5, 1e-13, 0.0][:pairs], amplitude=1.1)
    turns = [Fraction(1, 2), Fraction(-1, 3), Fraction(1, 2**40 + 15), Fraction(0), Fraction(7, 5)]
    turns = rr.ExplicitFrequencies(turns=turns[:pairs], amplitude=Fraction(1, 3))
    factors = [1.5, 2, 3, 5, 8][:pairs]
    yield from (law, radians, turns)
    yield from (rr.PowerLaw(b) for b in (0.37, 1, 1234.5678, 1e40))
    yield rr.PowerLaw(500, denominator=64)
    yield scaling.Linear(law, factor=3)
    yield scaling.Linear(turns, factor=2)
    yield scaling.FixedNTK(law, factor=3)
    yield scaling.FixedNTK(law, factor=3, mixing=0.625)
    if rotary_dim > 2:
        yield scaling.NTK(law, alpha=3)
        yield scaling.DynamicNTK(law, factor=3, **length, length=777)
        yield scaling.NTKByParts(law, factor=3)
    yield scaling.YaRN(law, factor=3, **length)
    yield scaling.YaRN(law, factor=40, **length, truncate=False, mscale=0.7, mscale_all_dim=1)
    lists = {"short_factors": factors, "long_factors": factors[::-1]}
    yield scaling.LongRoPE(law, **lists, **length, factor=8, length=101)
    yield scaling.Divided(law, factors=factors)
    yield scaling.Llama3(law, factor=8, **length)
    yield scaling.Llama3(turns, factor=8, original_length=3)
    yield scaling.Proportional(law, fraction=0.5, factor=2)
    yield scaling.Axial(law, [2] * pairs)
    yield scaling.Reordered(law, order=range(pairs)[::-1])


def test_every_rule_is_among_them():
    """A rule that is added is tested against the definition too."""
    known = {getattr(scaling, name) for name in scaling.__all__}
    known = {rule for rule in known if isinstance(rule, type)} - {
        scaling.FrequencyRule,
        scaling.ScaledRule,
    }
    assert {type(rule) for rule in rules(6)} == known


@st.composite
def specs(draw):
    """Every kind of spec: layouts, widths, starts, directions, axes and rules."""
    pairs = draw(st.integers(1, 5))
    start, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    layout, output = draw(st.tuples(*[st.sampled_from(["interleaved", "half"])] * 2))
    axes = draw(st.none() | st.lists(st.integers(0, 2), min_size=pairs, max_size=pairs))
    return rr.RopeSpec(
        start + 2 * pairs + after,
        layout=layout,
        output_layout=output,
        rotary_dim=2 * pairs,
        rotary_start=start,
        frequencies=draw(st.sampled_from(list(rules(2 * pairs)))),
        direction=draw(st.sampled_from([1, -1])),
        pair_axes=axes,
    )


INTEGERS = st.integers(-1000, 1000) | st.integers(1 - 2**53, 2**53 - 1)
REALS = st.floats(-(2.0**52), 2.0**52).filter(lambda p: abs(p) > 1e-3)
# Few zeros: that a result is exactly 0 takes the definition hundreds of digits to find out.
NUMBERS = st.floats(1e-3, 1e3) | st.floats(-1e3, -1e-3) | st.sampled_from([1e200, -1e-200])


def axes_of(spec):
    """How many numbers a position of a spec is; None for a plain one."""
    return None if spec.pair_axes is None else max(spec.pair_axes) + 1


def position_of(data, spec):
    """One position: a number, or one on each axis, all integers or all real."""
    numbers = data.draw(st.sampled_from([INTEGERS, REALS]))
    axes = axes_of(spec)
    return data.draw(numbers if axes is None else st.lists(numbers, min_size=axes, max_size=axes))


def vector_of(data, spec):
    """A vector of D channels."""
    return np.array(data.draw(st.lists(NUMBERS, min_size=spec.head_dim, max_size=spec.head_dim)))


def assert_within_an_ulp(got, want):
    """A table entry against the definition's.

    The table is within 0.8 ulp of the real number at integer positions and within 1 ulp at
    others; the definition is within half an ulp of it. So they are at most 1.5 ulp apart. Two
    float64 numbers of one binade are whole ulps apart, hence 1; at a power of two, where the
    spacing halves, at most 1 of the larger spacing.
    """
    spacing = np.spacing(np.maximum(np.abs(got), np.abs(want)))
    assert (np.abs(got - want) <= spacing).all()


@PROPERTY
@given(st.data(), specs())
def test_the_table(data, spec):
    """cos_sin() of any spec is the definition's, pair by pair, to within an ulp."""
    position = position_of(data, spec)
    cos, sin = rr.cos_sin(position, spec)
    want = [definition.cos_sin(i, position, spec) for i in range(spec.rotary_dim // 2)]
    assert_within_an_ulp(np.stack([cos, sin], axis=-1), np.array(want))


@PROPERTY
@given(st.data(), st.integers(1, 5))
def test_the_phase(data, pairs):
    """Quarter turns and rest are the definition's phase less whole turns.

    The rest is known to 2**-57 of itself: what is cut off from theta in fixed point is below
    2**-60 of it, and its low half, below 2**-11 of it, is rounded a few times to 53 bits.
    """
    rule = data.draw(st.sampled_from(list(rules(2 * pairs))))
    spec = rr.RopeSpec(2 * pairs, layout="half", frequencies=rule)
    position = abs(data.draw(INTEGERS | REALS))
    for rows, columns, (quarter, high, low) in Ladder(rule, 2 * pairs).angles(np.array([position])):
        assert np.arange(1)[rows].tolist() == [0]
        for k, i in enumerate(np.arange(pairs)[columns]):
            turns = (Fraction(definition.phase(i, position, spec, 100)) / TWO_PI) % 1
            rest = Fraction(float(high[0, k])) + Fraction(float(low[0, k]))
            error = (turns - Fraction(int(quarter[0, k]), 4)) * TWO_PI - rest
            error -= round(error / TWO_PI) * TWO_PI
            assert abs(error) <= abs(rest) / 2**57 + Fraction(1, 10**90)


@PROPERTY
@given(specs())
def test_the_pairs(spec):
    """pair_channels() lists what the definition says of each pair."""
    for output in (False, True):
        want = [definition.pair(i, spec, output=output) for i in range(spec.rotary_dim // 2)]
        assert [tuple(p) for p in rr.pair_channels(spec, output=output).T.tolist()] == want


def assert_rotated(got, want, x, position, spec, more=0):
    """A vector rotated in float64 against the definition.

    With u = 2**-53: an entry of the table is within an ulp, so within 2u of itself; the product
    adds u and the sum another u, each of |u cos| + |v sin|, and the definition is rounded too.
    That makes 5u of |u cos| + |v sin|; the sixth is for terms of second order, and `more` for
    what else is done. Each product, the sum and the definition may end among the subnormals,
    where half the smallest is lost instead.
    """
    cos, sin = (np.abs(part) for part in rr.cos_sin(position, spec))
    u, v = (np.abs(x[channels]) for channels in rr.pair_channels(spec))
    first, second = rr.pair_channels(spec, output=True)
    got, want = np.array(got), np.array(want)
    for channels, size in ((first, u * cos + v * sin), (second, v * cos + u * sin)):
        bound = (6 + more) * U * size + 4 * SMALLEST
        assert (np.abs(got[channels] - want[channels]) <= bound).all()
    unmoved = np.setdiff1d(np.arange(spec.head_dim), rr.pair_channels(spec))
    assert got[unmoved].tobytes() == want[unmoved].tobytes()


def tokens(position):
    """One position as those of a single token."""
    return np.array(position)[..., None]


@FEW
@given(st.data(), specs())
def test_the_rotation(data, spec):
    """apply_rope() is the definition, to within the rounding of float64."""
    position, x = position_of(data, spec), vector_of(data, spec)
    got = rr.apply_rope(x[None], tokens(position), spec, axes="td")[0]
    assert_rotated(got, definition.rotate(x, position, spec), x, position, spec)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("output", ["interleaved", "half"])
def test_the_matrix(layout, output, direction):
    """A column of rotation_matrix() is the definition of a unit vector."""
    rule = rr.ExplicitFrequencies([1.0, -0.01], amplitude=1.1)
    spec = rr.RopeSpec(
        6,
        layout=layout,
        output_layout=output,
        rotary_dim=4,
        rotary_start=1,
        frequencies=rule,
        direction=direction,
    )
    for axes, position in ((None, -12345), ((1, 0), (0.7, 3))):
        spec = dataclasses.replace(spec, pair_axes=axes)
        matrix = rr.rotation_matrix(position, spec)
        for j, unit in enumerate(np.eye(6)):
            want = definition.rotate(unit, position, spec)
            # + 0.0: the sign of a zero is no part of a value
            assert_rotated(matrix[:, j] + 0.0, want, unit, position, spec)


@FEW
@given(st.data(), specs())
def test_the_transpose(data, spec):
    """transpose_rope() is the definition turned the other way, read where it was written."""
    position = position_of(data, spec)
    back = dataclasses.replace(
        spec,
        direction=-spec.direction,
        layout=spec.output_layout,
        output_layout=spec.layout,
    )
    g = vector_of(data, spec)
    got = rr.transpose_rope(g[None], tokens(position), spec, axes="td")[0]
    assert_rotated(got, definition.rotate(g, position, back), g, position, back)


@FEW
@given(st.data(), specs())
def test_the_inverse(data, spec):
    """invert_rope() is the definition turned the other way, with one over the amplitude.

    The amplitude is rounded to float64 and divided by: two more units of rounding.
    """
    rule = spec.frequencies
    if isinstance(rule, rr.ExplicitFrequencies):
        rule = dataclasses.replace(rule, amplitude=1 / rule.amplitude)
    elif rule.amplitude != 1:
        return  # a scaling's amplitude is its own; there is no rule with one over it
    position = position_of(data, spec)
    back = dataclasses.replace(
        spec,
        frequencies=rule,
        direction=-spec.direction,
        layout=spec.output_layout,
        output_layout=spec.layout,
    )
    y = vector_of(data, spec)
    got = rr.invert_rope(y[None], tokens(position), spec, axes="td")[0]
    assert_rotated(got, definition.rotate(y, position, back), y, position, back, more=2)

"""An entry of a table depends on its own position and frequency, and on nothing else."""

import decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

# The same examples on every run: a verdict repeats.
PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=60)

# Limb, exact and rational pairs side by side, and an amplitude.
RULES = [
    rr.PowerLaw(10000),
    rr.PowerLaw(1e60),
    rr.ExplicitFrequencies([1.0, 1e-14, 0.0, -2.5, 1e5, 0.01], amplitude=1.25),
    rr.ExplicitFrequencies(
        turns=[Fraction(1, 3), Fraction(1, 2**40 + 15), *[Fraction(k, 8) for k in range(4)]]
    ),
]
SPECS = [rr.RopeSpec(12, layout="half", frequencies=rule) for rule in RULES]

integers = st.one_of(
    st.integers(-40, 40),
    st.integers(2**32 - 3, 2**32 + 3),  # where the arithmetic changes width
    st.integers(-(2**31), 2**31),
    st.integers(1 - 2**53, 2**53 - 1),
)
reals = st.one_of(integers.map(float), st.floats(-(2.0**52), 2.0**52))
specs = st.sampled_from(SPECS)


def bits(tables):
    return [np.ascontiguousarray(table).tobytes() for table in tables]


@PROPERTY
@given(spec=specs, positions=st.lists(st.one_of(integers, reals), min_size=1), data=st.data())
def test_a_slice_of_the_table_is_the_table_of_the_slice(spec, positions, data):
    """Any choice of positions, in any order and shape, gives the same bits one by one."""
    positions = np.array(positions, dtype=np.float64)
    where = data.draw(st.lists(st.integers(0, positions.size - 1)))
    whole = rr.cos_sin(positions, spec)
    assert bits(rr.cos_sin(positions[where], spec)) == bits(t[where] for t in whole)
    assert bits(rr.cos_sin(positions[::-1], spec)) == bits(t[::-1] for t in whole)
    one = data.draw(st.integers(0, positions.size - 1))
    assert bits(rr.cos_sin(positions[one], spec)) == bits(t[one] for t in whole)
    square = rr.cos_sin(np.stack([positions, positions])[:, :, None], spec)
    assert square[0].shape == (2, positions.size, 1, 6)
    assert bits(t[1, :, 0] for t in square) == bits(whole)


def test_blocks_do_not_show():
    """Tables longer than the blocks they are computed in, ragged or mixed, have the same bits."""
    rng = np.random.default_rng(0)
    positions = rng.permutation(rng.integers(0, [[2**20], [2**53]], (2, 900)).ravel())
    spec = rr.RopeSpec(128, layout="half")
    whole = rr.cos_sin(positions, spec)
    for part in (slice(0, 1), slice(7, 200), slice(1, None, 3), positions < 2**32):
        assert bits(rr.cos_sin(positions[part], spec)) == bits(t[part] for t in whole)
    for k in range(0, positions.size, 97):
        assert bits(rr.cos_sin(int(positions[k]), spec)) == bits(t[k] for t in whole)


def test_a_wide_position_beside_a_hard_one(oracle):
    """Positions above 2**32 change nothing, to the last bit of the low part, for those below."""
    spec = rr.RopeSpec(128, layout="half")
    near_quarter_turns = [
        denominator
        for theta in oracle.power_law(10000, 128)
        for denominator in oracle.convergents(2 * theta / oracle.pi, below=2**32)
    ]
    alone = rr.cos_sin_parts(near_quarter_turns, spec)
    mixed = rr.cos_sin_parts([2**53 - 1, *near_quarter_turns, 0.5, 2**32], spec)
    for (high, low), (mixed_high, mixed_low) in zip(alone, mixed, strict=True):
        assert bits([high, low]) == bits([mixed_high[1:-2], mixed_low[1:-2]])


@PROPERTY
@given(spec=specs, positions=st.lists(integers))
def test_integer_valued_floats_are_integers(spec, positions):
    """A position means its value: every dtype that holds it gives the same bits."""
    whole = bits(rr.cos_sin(np.array(positions, dtype=np.int64), spec))
    assert bits(rr.cos_sin(np.array(positions, dtype=np.float64), spec)) == whole
    for dtype in (np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32):
        with np.errstate(all="ignore"):
            cast = np.array(positions, dtype=np.int64).astype(dtype)
        if np.array_equal(cast.astype(np.float64), positions):
            assert bits(rr.cos_sin(cast, spec)) == whole


@PROPERTY
@given(spec=specs, positions=st.lists(reals))
def test_negative_positions_mirror_positive_ones(spec, positions):
    """At -p cos is that of p and sin its negative, exactly."""
    positions = np.array(positions)
    cos, sin = rr.cos_sin(positions, spec)
    mirrored_cos, mirrored_sin = rr.cos_sin(-positions, spec)
    np.testing.assert_array_equal(mirrored_cos, cos)
    np.testing.assert_array_equal(mirrored_sin, -sin)


@PROPERTY
@given(spec=specs, positions=st.lists(reals))
def test_direction_negates_sin_alone(spec, positions):
    """A clockwise RoPE has the cos of the other and the negative of its sin."""
    clockwise = rr.RopeSpec(12, layout="half", frequencies=spec.frequencies, direction=-1)
    cos, sin = rr.cos_sin(np.array(positions), spec)
    other_cos, other_sin = rr.cos_sin(np.array(positions), clockwise)
    np.testing.assert_array_equal(other_cos, cos)
    np.testing.assert_array_equal(other_sin, -sin)


@PROPERTY
@given(positions=st.lists(reals))
def test_unit_leaves_the_amplitude_out(positions):
    """unit=True gives the bits of the same frequencies at amplitude 1."""
    values = [1.0, 0.3, 1e-14]
    scaled = rr.RopeSpec(
        6, layout="half", frequencies=rr.ExplicitFrequencies(values, amplitude=0.7)
    )
    plain = rr.RopeSpec(6, layout="half", frequencies=rr.ExplicitFrequencies(values))
    positions = np.array(positions)
    assert bits(rr.cos_sin(positions, scaled, unit=True)) == bits(rr.cos_sin(positions, plain))


def test_the_table_is_the_high_part():
    """cos_sin is the first of each of cos_sin_parts, and the second is below half its ulp."""
    positions = np.arange(-300, 300) * 7919
    for spec in SPECS:
        parts = rr.cos_sin_parts(positions, spec)
        assert bits(rr.cos_sin(positions, spec)) == bits(high for high, _ in parts)
        for high, low in parts:
            assert (np.abs(low) <= np.spacing(np.abs(high)) / 2).all()


def test_tables_are_kept_apart(oracle):
    """Specs that share a base or a width get their own tables, in whatever order they come."""
    position = 123457
    ladders = [(b, r) for b in (10000, 10000.5, 500000) for r in (8, 12)]
    for base, rotary_dim in [*ladders, *ladders[::-1]]:
        spec = rr.RopeSpec(16, layout="half", rotary_dim=rotary_dim, frequencies=rr.PowerLaw(base))
        cos, _ = rr.cos_sin(position, spec)
        truth = [oracle.cos_sin(position, t)[0] for t in oracle.power_law(base, rotary_dim)]
        assert oracle.ulps(cos, truth).max() <= 0.8


@pytest.mark.parametrize("base", [31.25, 1e-5])
def test_the_callers_decimal_context_plays_no_part(oracle, base):
    """Precision, rounding and traps of the caller change nothing, and are left as they are."""
    traps = [s for s in decimal.Context().flags if s is not decimal.DecimalException]
    hostile = decimal.Context(prec=5, rounding=decimal.ROUND_UP, Emin=-3, Emax=3, traps=traps)
    thetas = oracle.power_law(base, 10)
    # Parameters that no other test uses: nothing of them is in a cache yet.
    with decimal.localcontext(hostile) as context:
        before = repr(context)
        spec = rr.RopeSpec(10, layout="half", frequencies=rr.PowerLaw(base))
        theta = spec.theta()
        cos, sin = rr.cos_sin(2**40 + 1, spec)
        turned = rr.RopeSpec(
            4, layout="half", frequencies=rr.ExplicitFrequencies(turns=[base, base / 3])
        )
        assert turned.theta()[0] == float(2 * oracle.pi * oracle.exact(base))
        assert repr(decimal.getcontext()) == before
    assert theta.tolist() == [float(t) for t in thetas]
    true_cos, true_sin = zip(*(oracle.cos_sin(2**40 + 1, t) for t in thetas), strict=True)
    assert oracle.ulps(cos, true_cos).max() <= 0.8
    assert oracle.ulps(sin, true_sin).max() <= 0.8

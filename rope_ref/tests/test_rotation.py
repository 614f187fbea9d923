"""Which channels turn together, which way, and what is left alone."""

from itertools import permutations

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=60)

# The channels of each pair, written out.
PAIRS = {
    ("interleaved", 2): [(0, 1)],
    ("interleaved", 4): [(0, 1), (2, 3)],
    ("interleaved", 6): [(0, 1), (2, 3), (4, 5)],
    ("half", 2): [(0, 1)],
    ("half", 4): [(0, 2), (1, 3)],
    ("half", 6): [(0, 3), (1, 4), (2, 5)],
}
LAYOUTS = ("interleaved", "half")

# One component of a rotated pair, in units of 2**-53 of A hypot(u, v): the table is within
# 0.8 ulp (at most 1.6 units), each product adds 1 and the sum 1, on |u cos| + |v sin| which
# is at most hypot(u, v). That is 3.6; the rest is for terms of second order.
ROTATED = 3.7
# The inverse divides by an amplitude that is itself rounded to float64: 2 more.
INVERTED = 5.7
# Two ways from the same table: two products and a sum each, so 2 units each.
SAME_TABLE = 4


def spec_of(width, layout="half", **options):
    return rr.RopeSpec(width, layout=layout, **options)


def rotate_by_hand(oracle, x, position, spec, pairs, written):
    """One vector as balls: the definition, pair by pair."""
    amplitude = oracle.exact(spec.frequencies.amplitude)
    y = [oracle.exact(channel) for channel in x]
    thetas = oracle.power_law(10000, spec.rotary_dim)
    if isinstance(spec.frequencies, rr.ExplicitFrequencies):
        thetas = [oracle.exact(value) for value in spec.frequencies.values]
    for (i, j), (to_i, to_j), theta in zip(pairs, written, thetas, strict=True):
        cos, sin = oracle.cos_sin(position, theta)
        u, v = oracle.exact(x[i]) * amplitude, oracle.exact(x[j]) * amplitude
        y[to_i], y[to_j] = u * cos - v * sin * spec.direction, u * sin * spec.direction + v * cos
    return y


def sizes(x, spec):
    """A hypot(u, v) of each channel's pair, in the output layout; |x| for the others."""
    r = np.abs(np.asarray(x, dtype=np.float64))
    first, second = rr.pair_channels(spec)
    r_pairs = np.hypot(r[..., first], r[..., second]) * float(spec.frequencies.amplitude)
    r[..., rr.pair_channels(spec, output=True).ravel()] = np.concatenate([r_pairs] * 2, axis=-1)
    return r


def assert_rotated(oracle, x, positions, spec, pairs, written=None, y=None):
    """Every channel of x, shape (T, D), is where and what the definition says."""
    y = rr.apply_rope(x, positions, spec, axes="td") if y is None else y
    assert y.dtype == np.float64
    bound = ROTATED * oracle.u * sizes(x, spec)
    for t, position in enumerate(positions.tolist()):
        truth = rotate_by_hand(oracle, x[t].tolist(), position, spec, pairs, written or pairs)
        error = [oracle.error(*both) for both in zip(y[t].tolist(), truth, strict=True)]
        assert (np.array(error) <= bound[t]).all()


@pytest.mark.parametrize(("layout", "width"), PAIRS)
def test_a_layout_is_its_list_of_pairs(oracle, layout, width):
    """interleaved pairs 2i with 2i+1, half pairs i with i + R/2; both rotate (u, v) alike."""
    rng = np.random.default_rng(0)
    spec = spec_of(width, layout)
    assert rr.pair_channels(spec).T.tolist() == [list(pair) for pair in PAIRS[layout, width]]
    x, positions = rng.standard_normal((7, width)), np.array([0, 1, -1, 5, 4096, 2**31, -(2**52)])
    assert_rotated(oracle, x, positions, spec, PAIRS[layout, width])


@pytest.mark.parametrize("start", [0, 1, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_partial_rotation_at_either_end(oracle, layout, start):
    """rotary_dim channels from rotary_start on rotate; the rest is x, NaN and -0 included."""
    rng = np.random.default_rng(1)
    spec = spec_of(8, layout, rotary_dim=4, rotary_start=start)
    pairs = [(i + start, j + start) for i, j in PAIRS[layout, 4]]
    x, positions = rng.standard_normal((3, 8)), np.array([3, -70000, 2**40 + 1])
    assert_rotated(oracle, x, positions, spec, pairs)
    left = [d for d in range(8) if not start <= d < start + 4]
    x[:, left] = [np.nan, -0.0, np.inf, 5e-324]
    y = rr.apply_rope(x, positions, spec, axes="td")
    assert y[:, left].tobytes() == x[:, left].tobytes()


def test_rotary_start_alone_rotates_the_end():
    """Without rotary_dim everything from rotary_start on rotates."""
    assert spec_of(8, rotary_start=2) == spec_of(8, rotary_start=2, rotary_dim=6)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_output_layout_moves_what_is_written(oracle, layout, direction):
    """Pairs are read in one layout and written in the other, and rotate as before."""
    rng = np.random.default_rng(2)
    other = LAYOUTS[1 - LAYOUTS.index(layout)]
    spec = spec_of(6, layout, output_layout=other, direction=direction)
    x, positions = rng.standard_normal((4, 6)), np.array([0, 1, 999, 2**33])
    assert_rotated(oracle, x, positions, spec, PAIRS[layout, 6], PAIRS[other, 6])


def test_amplitude_scales_the_rotating_channels(oracle):
    """The amplitude is part of the rotation; channels that pass through do not have it."""
    rng = np.random.default_rng(3)
    rule = rr.ExplicitFrequencies([1.0, 0.02], amplitude=1.3465735902799727)
    spec = spec_of(6, rotary_dim=4, frequencies=rule)
    x, positions = rng.standard_normal((4, 6)), np.array([0, 1, 999, 2**33])
    assert_rotated(oracle, x, positions, spec, PAIRS["half", 4])


def test_no_rotating_channels():
    """With rotary_dim 0 the map is the identity and the table has no columns."""
    spec = spec_of(4, rotary_dim=0)
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(rr.apply_rope(x, np.arange(3), spec, axes="td"), x)
    np.testing.assert_array_equal(rr.invert_rope(x, np.arange(3), spec, axes="td"), x)
    assert [table.shape for table in rr.cos_sin(np.arange(3), spec)] == [(3, 0), (3, 0)]
    np.testing.assert_array_equal(rr.rotation_matrix(5, spec), np.eye(4))


specs = st.builds(
    lambda layout, output, start, rest, direction, amplitude: spec_of(
        start + 6 + rest,
        layout,
        rotary_dim=6,
        rotary_start=start,
        output_layout=output,
        direction=direction,
        frequencies=rr.ExplicitFrequencies([1.0, 0.1, 1e-3], amplitude=amplitude),
    ),
    st.sampled_from(LAYOUTS),
    st.sampled_from(LAYOUTS),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from([1, -1]),
    st.sampled_from([1, 0.1, 1.5]),
)
position_lists = st.lists(
    st.one_of(st.integers(-(2**40), 2**40), st.floats(-1e6, 1e6)), min_size=1, max_size=4
)


@PROPERTY
@given(spec=specs, positions=position_lists, seed=st.integers(0, 2**32 - 1))
def test_the_inverse_undoes_the_rotation(spec, positions, seed):
    """invert_rope(apply_rope(x)) is x, whatever layouts, direction and amplitude."""
    x = np.random.default_rng(seed).standard_normal((len(positions), spec.head_dim))
    y = rr.apply_rope(x, positions, spec, axes="td")
    # The error of y, rotated back, has the size of the pair in each of two components.
    bound = (np.sqrt(2) * ROTATED + INVERTED) * 2.0**-53 * 1.001
    back = rr.invert_rope(y, positions, spec, axes="td")
    r = np.abs(x)
    pairs = rr.pair_channels(spec)
    r[:, pairs] = np.hypot(*x[:, pairs].transpose(1, 0, 2))[:, None]
    assert (np.abs(back - x) <= bound * r).all()


@PROPERTY
@given(spec=specs, positions=position_lists, seed=st.integers(0, 2**32 - 1))
def test_the_transpose_is_the_adjoint(spec, positions, seed):
    """<g, f(x)> = <f^T(g), x> for every g and x: transpose_rope is the gradient."""
    rng = np.random.default_rng(seed)
    x, g = rng.standard_normal((2, len(positions), spec.head_dim))
    left = g * rr.apply_rope(x, positions, spec, axes="td")
    right = rr.transpose_rope(g, positions, spec, axes="td") * x
    # Each component is off by ROTATED units of its pair, each inner product by one unit per
    # product and sum; hypot_x * hypot_g sums to at most |x| |g|, and each pair has two terms.
    units = 2 * 2 * ROTATED + 2 * x.size
    size = max(1.0, float(spec.frequencies.amplitude)) * np.linalg.norm(x) * np.linalg.norm(g)
    assert abs(left.sum() - right.sum()) <= units * 2.0**-53 * size


@PROPERTY
@given(spec=specs, position=st.one_of(st.integers(-(2**40), 2**40), st.floats(-1e6, 1e6)))
def test_the_transpose_is_the_transposed_matrix(spec, position):
    """Column j of the matrix of transpose_rope is row j of the matrix of apply_rope, bit by bit."""
    matrix = rr.rotation_matrix(position, spec)
    eye = np.eye(spec.head_dim)
    np.testing.assert_array_equal(rr.transpose_rope(eye, position, spec, axes="td"), matrix)


def test_inverse_and_transpose_differ_by_the_squared_amplitude():
    """They are the same map at amplitude 1 and A**2 apart otherwise."""
    y = np.random.default_rng(4).standard_normal((5, 4))
    positions = np.arange(5) * 1001
    plain = spec_of(4, frequencies=rr.ExplicitFrequencies([1.0, 0.01]))
    doubled = spec_of(4, frequencies=rr.ExplicitFrequencies([1.0, 0.01], amplitude=2))
    inverse, transpose = (f(y, positions, plain, axes="td") for f in INVERSES)
    np.testing.assert_array_equal(inverse, transpose)
    # Powers of two scale without rounding.
    inverse, transpose = (f(y, positions, doubled, axes="td") for f in INVERSES)
    np.testing.assert_array_equal(transpose, 4 * inverse)


INVERSES = (rr.invert_rope, rr.transpose_rope)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_teaching_code(layout):
    """Two lines, tables and their application to [B, T, H, d], are the whole RoPE."""
    x = np.random.default_rng(5).standard_normal((2, 5, 3, 8))
    spec = spec_of(8, layout)

    cos, sin = rr.cos_sin(np.arange(5), spec)
    y = rr.apply_cos_sin(x, cos, sin, layout=layout, axes="bthd")

    assert cos.shape == sin.shape == (5, 4)
    np.testing.assert_array_equal(y, rr.apply_rope(x, np.arange(5), spec, axes="bthd"))


def test_a_table_need_not_be_a_rotation():
    """apply_cos_sin uses any two numbers per pair, by batch row and token, as they are."""
    rng = np.random.default_rng(6)
    x, cos, sin = rng.standard_normal((2, 3, 8)), *rng.standard_normal((2, 2, 3, 2))
    y = rr.apply_cos_sin(
        x, cos, sin, layout="half", axes="btd", rotary_start=3, output_layout="interleaved"
    )
    u, v = x[..., [3, 4]], x[..., [5, 6]]
    np.testing.assert_array_equal(y[..., [3, 5]], u * cos - v * sin)
    np.testing.assert_array_equal(y[..., [4, 6]], u * sin + v * cos)
    np.testing.assert_array_equal(y[..., [0, 1, 2, 7]], x[..., [0, 1, 2, 7]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_matrix_is_made_of_two_by_two_blocks(oracle, layout):
    """rotation_matrix has A [[cos, -sin], [sin, cos]] on each pair and the identity elsewhere."""
    rule = rr.ExplicitFrequencies([1.0, 0.3, 1e-5], amplitude=1.5)
    spec = spec_of(8, layout, rotary_dim=6, rotary_start=1, frequencies=rule)
    for position in (0, 1, -12345, 2**45 + 1, 0.25):
        matrix = rr.rotation_matrix(position, spec)
        truth = [[arb(int(row == column)) for column in range(8)] for row in range(8)]
        for (i, j), theta in zip(PAIRS[layout, 6], rule.values, strict=True):
            cos, sin = (1.5 * z for z in oracle.cos_sin(position, oracle.exact(theta)))
            truth[i + 1][i + 1], truth[i + 1][j + 1] = cos, -sin
            truth[j + 1][i + 1], truth[j + 1][j + 1] = sin, cos
        assert matrix.shape == (8, 8)
        flat = [entry for row in truth for entry in row]
        assert oracle.ulps(matrix, flat).max() <= 0.8


@PROPERTY
@given(spec=specs, positions=position_lists, seed=st.integers(0, 2**32 - 1))
def test_the_complex_form_is_the_same_map(spec, positions, seed):
    """Pairs as complex numbers give the same rotation up to rounding."""
    x = np.random.default_rng(seed).standard_normal((len(positions), spec.head_dim))
    y = rr.apply_rope(x, positions, spec, axes="td")
    z = rr.apply_rope_complex(x, positions, spec, axes="td")
    assert (np.abs(z - y) <= SAME_TABLE * 1.001 * 2.0**-53 * sizes(x, spec)).all()


AXES = ["td", "dt", *("".join(p) for n in ("btd", "thd", "bthd") for p in permutations(n))]


@pytest.mark.parametrize("axes", AXES)
def test_axes_are_only_an_order(oracle, axes):
    """For any order of batch, token, head and channel the result is the bthd one, reordered."""
    rng = np.random.default_rng(7)
    spec = spec_of(6, "interleaved", rotary_dim=4, output_layout="half")
    whole = rng.standard_normal((2, 3, 4, 6))
    index = tuple(slice(None) if letter in axes else 0 for letter in "bthd")
    letters = [letter for letter in "bthd" if letter in axes]
    order = [letters.index(letter) for letter in axes]
    x = whole[index].transpose(order)
    near = SAME_TABLE * oracle.u * 1.5 * np.abs(whole).max()  # hypot(u, v) < 1.5 max
    shapes = [np.arange(3) * 1013, np.int64(-77)]
    if "b" in axes:
        shapes.append(rng.integers(0, 2**40, (2, 3)))
    for positions in shapes:
        expected = rr.apply_rope(whole, positions, spec, axes="bthd")[index].transpose(order)
        np.testing.assert_array_equal(rr.apply_rope(x, positions, spec, axes=axes), expected)
        z = rr.apply_rope_complex(x, positions, spec, axes=axes)
        np.testing.assert_allclose(z, expected, rtol=0, atol=near)
        high, low = rr.apply_rope_parts(x, positions, spec, axes=axes)
        np.testing.assert_allclose(high, expected, rtol=0, atol=near)
        assert (np.abs(low) <= np.spacing(np.abs(high))).all()


def test_position_forms(oracle):
    """(T,) holds for every row, (B, T) row by row, a scalar everywhere; B == T is no exception."""
    rng = np.random.default_rng(8)
    spec = spec_of(4)
    x = rng.standard_normal((3, 3, 2, 4))  # B == T
    rows = rng.integers(0, 2**31, (3, 3))
    y = rr.apply_rope(x, rows, spec, axes="bthd")
    for b in range(3):
        for h in range(2):
            assert_rotated(oracle, x[b, :, h], rows[b], spec, PAIRS["half", 4], y=y[b, :, h])
    shared = rr.apply_rope(x, rows[0], spec, axes="bthd")
    repeated = np.stack([rows[0]] * 3)
    np.testing.assert_array_equal(shared, rr.apply_rope(x, repeated, spec, axes="bthd"))
    np.testing.assert_array_equal(
        rr.apply_rope(x, 17, spec, axes="bthd"),
        rr.apply_rope(x, np.full(3, 17), spec, axes="bthd"),
    )
    np.testing.assert_array_equal(
        rr.apply_rope(x, np.arange(3) + 4096, spec, axes="bthd"),
        rr.apply_rope(x, [4096, 4097, 4098], spec, axes="bthd"),
    )


@pytest.mark.parametrize("shape", [(0, 3, 2, 4), (2, 0, 2, 4), (2, 3, 0, 4)])
def test_empty_input_gives_empty_output(shape):
    """No tokens, no batch rows or no heads: the shape comes back, for every function."""
    spec = spec_of(4)
    x = np.empty(shape)
    functions = (rr.apply_rope, rr.apply_rope_complex, rr.invert_rope, rr.transpose_rope)
    for function in functions:
        assert function(x, np.arange(shape[1]), spec, axes="bthd").shape == shape
        assert function(x, np.zeros(shape[:2], int), spec, axes="bthd").shape == shape
    assert rr.apply_rope_parts(x, np.arange(shape[1]), spec, axes="bthd")[1].shape == shape


DTYPES = [
    *(np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_real_dtype(dtype):
    """x and positions of any real dtype mean their values; the result is float64."""
    x = np.arange(6).reshape(1, 6).astype(dtype)
    y = rr.apply_rope(x, np.array([3]).astype(dtype), spec_of(6), axes="td")
    assert y.dtype == np.float64
    expected = rr.apply_rope(np.arange(6.0)[None], [3], spec_of(6), axes="td")
    np.testing.assert_array_equal(y, expected)


def test_byte_order_and_lists():
    """Big-endian arrays and nested lists are arrays like any other."""
    x, spec = np.arange(6.0).reshape(1, 6), spec_of(6)
    expected = rr.apply_rope(x, np.array([3]), spec, axes="td")
    swapped = rr.apply_rope(x.astype(">f4"), np.array([3], ">i2"), spec, axes="td")
    np.testing.assert_array_equal(swapped, expected)
    np.testing.assert_array_equal(rr.apply_rope(x.tolist(), [3], spec, axes="td"), expected)


def test_a_table_rotates_narrow_arrays_and_lists_in_float64():
    """apply_cos_sin computes in float64, whatever type x and the table come in."""
    x, spec = np.arange(6.0).reshape(1, 6), spec_of(6)
    cos, sin = rr.cos_sin([3], spec)
    expected = rr.apply_rope(x, [3], spec, axes="td")
    for given_x in (x.astype(np.float32), x.astype(np.int8), x.tolist()):
        for table in ((cos, sin), (cos.tolist(), sin.tolist())):
            y = rr.apply_cos_sin(given_x, *table, layout=spec.layout, axes="td")
            assert y.dtype == np.float64
            np.testing.assert_array_equal(y, expected)


def test_a_head_of_one_channel_is_left_alone():
    """One channel is a head, as long as none is asked to rotate."""
    x = np.arange(3.0)[:, None]
    y = rr.apply_rope(x, range(3), spec_of(1, rotary_dim=0), axes="td")
    np.testing.assert_array_equal(y, x)


def test_input_is_read_only():
    """Read-only and strided views are taken; what came in is not changed and not shared."""
    rng = np.random.default_rng(9)
    spec = spec_of(8, rotary_dim=4, frequencies=rr.ExplicitFrequencies([1.0, 0.1], amplitude=2))
    base = rng.standard_normal((6, 16))
    x, positions = base[::2, ::-2], np.arange(6)[::-2]
    x.flags.writeable = positions.flags.writeable = False
    before = base.copy()
    expected = rr.apply_rope(x.copy(), positions.copy(), spec, axes="td")
    cos, sin = rr.cos_sin(positions, spec)
    results = [
        rr.apply_rope(x, positions, spec, axes="td"),
        rr.apply_cos_sin(x, cos, sin, layout="half", axes="td"),
        rr.apply_rope_parts(x, positions, spec, axes="td")[0],
        rr.invert_rope(x, positions, spec, axes="td"),
        rr.transpose_rope(x, positions, spec, axes="td"),
        rr.apply_rope_complex(x, positions, spec, axes="td"),
    ]
    for y in results[:2]:
        np.testing.assert_array_equal(y, expected)
    for y in results:
        assert y.flags.writeable
        assert not np.shares_memory(y, base)
    np.testing.assert_array_equal(base, before)


def test_nan_stays_in_its_pair():
    """A NaN reaches the two channels of its own pair and nothing else."""
    x = np.ones((3, 2, 6))
    x[1, 0, 2] = np.nan
    y = rr.apply_rope(x, np.arange(3), spec_of(6), axes="thd")
    expected = np.zeros(x.shape, dtype=bool)
    expected[1, 0, [2, 5]] = True
    np.testing.assert_array_equal(np.isnan(y), expected)


def test_pair_axes(oracle):
    """Equal positions on all axes are the plain RoPE; else each pair follows its own axis."""
    rng = np.random.default_rng(10)
    x, plain = rng.standard_normal((2, 5, 8)), spec_of(8)
    spec = spec_of(8, pair_axes=(0, 1, 2, 1))
    p = rng.integers(0, 2**40, (2, 5))
    np.testing.assert_array_equal(
        rr.apply_rope(x, np.stack([p, p, p]), spec, axes="btd"),
        rr.apply_rope(x, p, plain, axes="btd"),
    )
    grid = rng.integers(0, 2**40, (3, 2, 5))
    y = rr.apply_rope(x, grid, spec, axes="btd")
    for pair, axis in enumerate(spec.pair_axes):
        channels = [pair, pair + 4]
        expected = rr.apply_rope(x, grid[axis], plain, axes="btd")
        np.testing.assert_array_equal(y[..., channels], expected[..., channels])
    # One position on each axis for all tokens, and as a matrix.
    everywhere = rr.apply_rope(x, [3, 1, 4], spec, axes="btd")
    repeated = np.broadcast_to(np.array([3, 1, 4])[:, None], (3, 5))
    np.testing.assert_array_equal(everywhere, rr.apply_rope(x, repeated, spec, axes="btd"))
    matrix = rr.rotation_matrix([3, 1, 4], spec)
    # A row of the matrix has two entries that are not 0.
    near = SAME_TABLE * oracle.u * 1.5 * np.abs(x).max()
    np.testing.assert_allclose(x @ matrix.T, everywhere, rtol=0, atol=near)


@pytest.mark.parametrize("exponent", [0, -1000, -1022, -1060, -500, -390, 480, 520, 1000, 1020])
def test_parts_are_exact_at_every_magnitude(oracle, exponent):
    """y + y_low is within 2**-56 of A hypot(u, v), or the smallest float if that is more."""
    rng = np.random.default_rng(11)
    rule = rr.ExplicitFrequencies([1.0, 0.3, 1e-5, 1e-9], amplitude=1.3465735902799727)
    spec = spec_of(8, frequencies=rule)
    pairs = [(i, i + 4) for i in range(4)]
    x = rng.standard_normal((40, 8))
    x[20:] *= 2.0 ** rng.integers(-60, 1, (20, 8))  # u and v of different size
    x = np.ldexp(x, exponent)
    positions = rng.integers(-(2**53) + 1, 2**53, 40)
    high, low = rr.apply_rope_parts(x, positions, spec, axes="td")
    smallest = float.fromhex("0x1p-1074")
    with ctx.workprec(400):
        for t, position in enumerate(positions.tolist()):
            truth = rotate_by_hand(oracle, x[t].tolist(), position, spec, pairs, pairs)
            for channel, true in enumerate(truth):
                u, v = (oracle.exact(x[t, c]) for c in pairs[channel % 4])
                r = (u * u + v * v).sqrt() * oracle.exact(rule.amplitude)
                error = abs(true - float(high[t, channel]) - float(low[t, channel]))
                # Scaling back rounds high and low once more where they are subnormal.
                assert error <= r * arb(2) ** -56 + arb(smallest)


def test_parts_of_untouched_channels():
    """Channels that pass through have no low part; the others agree with apply_rope."""
    x = np.random.default_rng(12).standard_normal((9, 6))
    spec = spec_of(6, rotary_dim=4)
    high, low = rr.apply_rope_parts(x, np.arange(9) * 12345, spec, axes="td")
    np.testing.assert_array_equal(high[:, 4:], x[:, 4:])
    np.testing.assert_array_equal(low[:, 4:], 0)
    y = rr.apply_rope(x, np.arange(9) * 12345, spec, axes="td")
    assert (np.abs(y - high) <= ROTATED * 2.0**-53 * sizes(x, spec)).all()


def test_worked_rotations(printed):
    """One vector of four channels at position 3, in each layout and direction, and half of it."""
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    for options, expected in (
        ({"layout": "half"}, "-1.41335252078 1.879118066688 -2.828857481741 4.058191135401"),
        ({"layout": "interleaved"}, "-1.27223251272 -1.838864985141 2.878668100437 4.088186635603"),
        (
            {"layout": "half", "direction": -1},
            "-0.566632472421 2.119082068308 -3.111097497861 3.938209134591",
        ),
        ({"layout": "half", "rotary_dim": 2}, "-1.27223251272 -1.838864985141 3 4"),
    ):
        y = rr.apply_rope(x, [3], rr.RopeSpec(4, **options), axes="td")
        assert y[0].tolist() == [printed(text) for text in expected.split()]

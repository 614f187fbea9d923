"""Positions without values: the table combined on the device from exact ones.

Every backend is tested, also those whose positions are never traced: its framework is
made to say that positions have no value, and arrays with values take the same way.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import rope_backends
import rope_ref as rr

BASES = {"1e4": (1e4, 128), "5e5": (5e5, 128), "1e7": (1e7, 64), "odd": (1234.5678, 6)}
LIMIT = 2**31


@pytest.fixture
def as_traced(changed):
    """A function that makes a backend treat all positions as traced."""
    return lambda backend: changed(backend, concrete=lambda self, positions: None)


@pytest.fixture
def rotated_traced(bench, as_traced):
    """A call that rotates x by traced positions; JAX really traces them."""
    rope = as_traced(bench.backend)

    def rotated(x, p, spec, axes="td"):
        def call(a, b):
            return rope.apply_rope(a, b, spec, axes=axes)

        if bench.backend.name == "jax":
            import jax

            call = jax.jit(call)
        given = bench.array(p)
        return bench.rotated(x, lambda a: call(a, given))

    return rotated


def data(shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def hard_positions(spec):
    """Where digits are lost or carried: powers of two, table ends, phases near a quarter turn."""
    found = {0}
    for k in range(32):
        found |= {2**k + d for d in (-2, -1, 0, 1, 2)}
    found |= {a * 2**22 + b for a in (1, 255, 511) for b in (0, 1, 2047, 2048, 2**22 - 1)}
    for frequency in spec.frequencies.frequencies(spec.rotary_dim):
        turns = frequency.scaled_turns(160)
        for part in (2, 4):
            # Denominators of the continued fraction: p theta is as near a quarter turn as can be.
            rest, before, denominator = Fraction(part * turns, 2**160) % 1, 0, 1
            while rest and denominator < LIMIT:
                found.add(denominator)
                rest = 1 / rest
                before, denominator = denominator, int(rest) * denominator + before
                rest -= int(rest)
    p = np.array(sorted(n for n in found if n < LIMIT))
    return np.concatenate([p, -p[p > 0]])


def some_positions(spec, count):
    p = np.random.default_rng(7).integers(1 - LIMIT, LIMIT, count)
    p[: count // 4] >>= np.arange(count // 4) % 31  # small ones too
    return np.concatenate([p, hard_positions(spec)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("base, width", BASES.values(), ids=BASES)
def test_table_keeps_its_derived_bound(base, width, dtype, as_traced):
    # The derivation: off by u of itself, by 46 s u, and by 2**-57 for each of three tables.
    u, s = (2.0**-24, 2.0**-12) if dtype == "float32" else (2.0**-53, 2.0**-27)
    spec = rr.RopeSpec(width, layout="half", frequencies=rr.PowerLaw(base))
    p = some_positions(spec, 200_000 // width)
    got = as_traced(rope_backends.load("numpy")).cos_sin(p, spec, dtype=dtype)
    for mine, (high, low) in zip(got, rr.cos_sin_parts(p, spec), strict=True):
        assert mine.dtype == dtype
        error = np.abs((mine.astype(np.float64) - high) - low)
        assert (error <= u * np.abs(high) + 46 * s * u + 4 * 2.0**-57).all()


def test_table_of_100000_random_positions_keeps_the_profile(ratio, as_traced):
    spec = rr.RopeSpec(16, layout="half", frequencies=rr.PowerLaw(10_000))
    rope = as_traced(rope_backends.load("numpy"))
    p = some_positions(spec, 100_000)
    for dtype in ("float32", "float64"):
        x = data((p.size, 16), dtype)
        y = rope.apply_rope(x, p, spec, axes="td")
        # 3.02 of 5 units by derivation, 3.2 in float64.
        assert 0.3 < ratio(y, x, p, spec, "td", dtype) < 0.64


@pytest.mark.parametrize("amplitude", [Fraction(1, 3), Fraction(4), 1.3, 2.0**-20])
def test_amplitude_adds_no_rounding(amplitude, ratio, as_traced):
    theta = rr.RopeSpec(8, layout="half").theta()
    spec = rr.RopeSpec(
        8, layout="half", frequencies=rr.ExplicitFrequencies(theta, amplitude=amplitude)
    )
    p, rope = some_positions(spec, 5000), as_traced(rope_backends.load("numpy"))
    cos, _ = rope.cos_sin(p, spec)
    (high, low), _ = rr.cos_sin_parts(p, spec)
    error = np.abs((cos - high) - low) / float(amplitude)
    assert error.max() <= 2.0**-24 * (1 + 2 * 46 * 2.0**-12)
    x = data((p.size, 8), "float32")
    assert ratio(rope.apply_rope(x, p, spec, axes="td"), x, p, spec, "td", "float32") < 0.5


def test_position_0_is_the_identity(bench, dtype, as_traced):
    spec, x = rr.RopeSpec(8, layout="half"), data((3, 8), dtype)
    rope = as_traced(bench.backend)
    with bench.types(dtype):
        p = bench.array(np.zeros(3, dtype=np.int32))
        y = bench.rotated(x, lambda a: rope.apply_rope(a, p, spec, axes="td"))
    np.testing.assert_array_equal(y, x)


def test_every_backend_keeps_exact(bench, dtype, ratio, rotated_traced):
    spec = rr.RopeSpec(8, layout="interleaved", output_layout="half", direction=-1)
    p = hard_positions(spec).astype(np.int32)
    x = data((p.size, 8), dtype)
    with bench.types(dtype):
        y = rotated_traced(x, p, spec)
    assert ratio(y, x, p, spec, "td", dtype) <= (0.64 if dtype in ("float32", "float64") else 1)


def test_rows_and_position_axes(bench, ratio, rotated_traced):
    spec = rr.RopeSpec(8, layout="half", pair_axes=(0, 2, 2, 0))
    p = np.random.default_rng(4).integers(1 - LIMIT, LIMIT, (3, 2, 5)).astype(np.int32)
    x = data((2, 5, 1, 8), "float32")
    y = rotated_traced(x, p, spec, "bthd")
    assert ratio(y, x, p, spec, "bthd", "float32") <= 0.64


INTEGERS = ["int8", "uint8", "int16", "uint16", "int64", "uint32"]


@pytest.mark.parametrize("kind", INTEGERS)
def test_every_type_of_integer(bench, kind, ratio, rotated_traced):
    if bench.backend.name == "torch" and kind == "uint32":
        pytest.skip("torch cannot compare uint32")
    spec = rr.RopeSpec(8, layout="half")
    info = np.iinfo(kind)
    low, high = max(info.min, 1 - LIMIT), min(info.max, LIMIT - 1)
    p = np.array([0, 1, low, high, high - 1], dtype=kind)
    x = data((5, 8), "float32")
    with bench.types("float64" if kind == "int64" else "float32"):
        y = rotated_traced(x, p, spec)
    assert ratio(y, x, p, spec, "td", "float32") <= 0.64


def test_positions_out_of_range_give_nan_and_spare_their_neighbours(bench, rotated_traced):
    spec = rr.RopeSpec(8, layout="half", rotary_dim=4)
    p = np.array([5, LIMIT, -LIMIT, -LIMIT - 1, 2**40, 5])
    x = np.ones((6, 8), dtype=np.float32)
    with bench.types("float64"):
        y = rotated_traced(x, p, spec)
    nan = np.isnan(y[:, :4])
    assert nan.all(axis=1).tolist() == nan.any(axis=1).tolist()
    assert nan[:, 0].tolist() == [False, True, False, True, True, False]
    assert not np.isnan(y[:, 4:]).any()


def test_real_positions_keep_the_float32_profile(bench, ratio, rotated_traced):
    spec = rr.RopeSpec(8, layout="half", frequencies=rr.PowerLaw(500))
    p = (np.arange(40) * 25.7).astype("float32")
    x = data((40, 8), "float32")
    y = rotated_traced(x, p, spec)
    assert ratio(y, x, p, spec, "td", "float32", profile="float32") <= 1
    axes = rr.RopeSpec(8, layout="half", pair_axes=(1, 0, 0, 1))
    both = np.stack([p, -p])
    y = rotated_traced(x, both, axes)
    # theta is at most 1: m |p| u for the phase, m = 4, and 5 u; r is below 1.5 times the largest x
    off = (4 * p.max() + 5) * 2.0**-24 * 1.5 * np.abs(x).max()
    np.testing.assert_allclose(y, rr.apply_rope(x, both, axes, axes="td"), rtol=0, atol=off)


def test_real_positions_with_float64_data_keep_the_float64_profile(bench, ratio, rotated_traced):
    if "float64" not in bench.dtypes:
        pytest.skip(f"{bench.place} is tested without float64")
    spec = rr.RopeSpec(
        8, layout="half", frequencies=rr.ExplicitFrequencies([1.0, 0.1, 1e-3, 0], amplitude=1.5)
    )
    p = np.arange(40) * 25.7
    x = data((40, 8), "float64")
    with bench.types("float64"):
        y = rotated_traced(x, p, spec)
    assert ratio(y, x, p, spec, "td", "float64", profile="float64") <= 1


def test_positions_that_are_no_numbers_are_refused(bench, as_traced):
    spec, x = rr.RopeSpec(8, layout="half"), bench.array(np.zeros((3, 8), dtype=np.float32))
    p = bench.array(np.array([True, False, True]))
    with pytest.raises(rr.errors.PositionDtypeError, match="integers or real numbers"):
        as_traced(bench.backend).apply_rope(x, p, spec, axes="td")

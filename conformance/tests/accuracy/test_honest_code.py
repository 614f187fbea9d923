"""Honest code, as people write it, keeps the bound of its profile."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from rope_conformance.accuracy.amplification import Recipe
from rope_conformance.accuracy.bound import bound, given_table_bound
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_conformance.target.claim import DTYPES
from rope_ref import ExplicitFrequencies, PowerLaw

F = np.float32


@pytest.mark.parametrize("recipe", get_args(Recipe))
def test_honest_code_keeps_the_bound_of_its_recipe(recipe, chain, honest):
    """At awkward widths, large bases and positions to 2**26, every ratio is at most 1."""
    dtype, wide = chain
    profile = honest.profile(recipe, wide)
    largest = 0.0
    for rotary_dim in honest.widths:
        for base in honest.bases:
            spec = honest.half(rotary_dim, PowerLaw(base))
            seed = rotary_dim + int(base)
            positions = honest.positions(seed)
            x = honest.data(seed, positions.size, rotary_dim, dtype)
            for ladder in honest.ladders[recipe]:
                y = honest.rotated(x, positions, ladder(base, rotary_dim), wide=wide)
                ratio = honest.worst(judge(y, x, positions, spec, dtype, profile))
                assert ratio <= 1, (ladder.__name__, rotary_dim, base)
                largest = max(largest, ratio)
    assert largest >= 0.3


def test_the_functions_are_as_good_as_the_derivation_takes_them_to_be(honest):
    """Here sin and cos are within 2 ulp, pow and log within 2 roundings, exp within 6."""
    rng = np.random.default_rng(0)

    def errors(f, x, *before):
        x = F(x)
        got, want = f(*map(F, before), x).astype(np.float64), f(*before, x.astype(np.float64))
        ulps = np.abs(got - want) / np.spacing(np.abs(F(want))).astype(np.float64)
        return float(ulps.max()), float(np.abs(got / want - 1).max() * 2**24)

    phases = np.concatenate([rng.uniform(0, top, 100_000) for top in (1, 10, 1e3, 1e5, 1.6e7)])
    assert errors(np.sin, phases)[0] <= 2
    assert errors(np.cos, phases)[0] <= 2
    assert errors(np.exp, rng.uniform(-17, 0, 100_000))[1] <= 6
    assert errors(np.log, np.array(honest.bases))[1] <= 2
    for base in honest.bases:
        assert errors(np.power, rng.random(100_000), base)[1] <= 2
        assert errors(np.power, -rng.random(100_000), base)[1] <= 2


@pytest.mark.parametrize("recipe", get_args(Recipe))
def test_frequencies_take_no_more_roundings_than_the_recipe_counts(recipe, honest):
    """theta_i is off by at most m_i - 1 roundings; the product with the position is the last."""
    for rotary_dim in (2, 4, 14, 62, 150, 164, 182, 194, 208, 256, *honest.widths):
        # The last three are no float32 numbers; one is below 1.
        for base in (*honest.bases, 2.0, 1e9, 7.3, 1234.5678, 0.37):
            spec = honest.half(rotary_dim, PowerLaw(base))
            counted = honest.profile(recipe, True).amplification(spec) - 1
            for ladder in honest.ladders[recipe]:
                error = np.abs(ladder(base, rotary_dim).astype(np.float64) / spec.theta() - 1)
                assert (error <= counted * 2.0**-24).all(), (ladder.__name__, rotary_dim, base)


@pytest.mark.parametrize("recipe", get_args(Recipe))
def test_no_honest_code_found_that_breaks_the_bound(recipe, chain, honest):
    """A search that climbs towards the largest ratio finds none above 1."""
    dtype, wide = chain
    profile = honest.profile(recipe, wide)

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(
        st.integers(1, 128).map(lambda pairs: 2 * pairs),
        st.one_of(st.sampled_from(honest.bases), st.floats(0.01, 1e12)),
        st.lists(st.integers(-(2**27), 2**27), min_size=1, max_size=20),
        st.integers(0, 2**32),
        st.integers(0, len(honest.ladders[recipe]) - 1),
    )
    def search(rotary_dim, base, positions, seed, way):
        spec = honest.half(rotary_dim, PowerLaw(base))
        positions = np.array(positions)
        x = honest.data(seed, positions.size, rotary_dim, dtype)
        y = honest.rotated(x, positions, honest.ladders[recipe][way](base, rotary_dim), wide=wide)
        ratio = float(judge(y, x, positions, spec, dtype, profile).ratio.max())
        target(ratio)
        assert ratio <= 1

    search()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_real_positions_are_rounded_once_more(dtype, honest):
    """0.1 and 1000.1 are no float32 numbers: one more rounding of the phase, and no second."""
    positions = np.array([0.1, 1 / 3, 1000.1, 4095.7, 70000.3, 1e-3, -0.7])
    spec = honest.half(96, PowerLaw(1e4))
    profile = profile_named("float32-power")
    for seed in range(20):
        x = honest.data(seed, positions.size, 96, dtype)
        y = honest.rotated(x, positions, honest.by_power(1e4, 96))
        assert honest.worst(judge(y, x, positions, spec, dtype, profile)) <= 1
    one = honest.half(2, ExplicitFrequencies([1.0]))
    exact, rounded = (bound(profile, one, p, "float32", 1.0)[0] for p in (0.25, 0.3))
    assert rounded - exact == pytest.approx(5 * 0.3 - 4 * 0.25, abs=1e-5)
    above = [bound(profile, one, 2**24 + p, "float32", 1.0)[0] for p in (0, 1)]
    assert above[1] - above[0] == pytest.approx(2**24 + 5)


def test_given_frequencies_in_radians_and_in_turns(honest):
    """A frequency given is rounded once, one given in turns is made of 2 pi in float32."""
    values = [1.0, 0.3, 0.01, math.pi, 7.7]
    turns = [0.5, 0.1, 1 / 3, 0.001, 0.9]
    positions = honest.positions(1)[:24]
    for rule, theta in (
        (ExplicitFrequencies(values), F(values)),
        (ExplicitFrequencies(turns=turns), F(2 * np.pi) * F(turns)),
    ):
        for seed in range(20):
            x = honest.data(seed, positions.size, 10, "float32")
            y = honest.rotated(x, positions, theta)
            profile = profile_named("float32")
            assert (
                honest.worst(judge(y, x, positions, honest.half(10, rule), "float32", profile)) <= 1
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_amplitude_takes_two_more_roundings(dtype, honest):
    """A is rounded, and so is its product with cos and sin."""
    amplitude = 1.3465735902799727
    spec = honest.half(8, ExplicitFrequencies([1.0, 0.1, 0.01, 0.001], amplitude=amplitude))
    plain = honest.half(8, ExplicitFrequencies([1.0, 0.1, 0.01, 0.001]))
    kind = np.float64 if dtype == "float64" else F
    profile = profile_named("float64" if dtype == "float64" else "float32")
    positions = np.arange(0, 400, 7)
    for seed in range(20):
        x = honest.data(seed, positions.size, 8, dtype)
        wide = honest.rotated(x.astype(kind), positions, kind([1.0, 0.1, 0.01, 0.001]))
        y = (kind(amplitude) * wide).astype(x.dtype)
        assert honest.worst(judge(y, x, positions, spec, dtype, profile)) <= 1
    more = [bound(profile, s, 0, dtype, 1.0)[0] for s in (spec, plain)]
    share = 2 * unit_roundoff(np.dtype(kind).name) / unit_roundoff(dtype)
    assert more[0] - more[1] == pytest.approx(share, rel=1e-6)


def test_honest_code_keeps_the_bound_of_a_given_table(chain, honest):
    """Rotating by tables of the data's own type, however large or small the data."""
    dtype, wide = chain
    kind = F if wide else honest.types[dtype]
    profile = honest.profile("power", wide)
    largest = 0.0
    for exponent in range(-24, 6, 3):
        u, v, c, s = (honest.data(k, 500, 64, dtype) for k in range(4))
        u, v = (np.ldexp(F(z), exponent).astype(honest.types[dtype]) for z in (u, v))
        y = (u.astype(kind) * c.astype(kind) - v.astype(kind) * s.astype(kind)).astype(u.dtype)
        u, v, c, s = (np.float64(z) for z in (u, v, c, s))
        # The products of narrow numbers are exact in float64.
        error, r = np.abs(np.float64(y) - (u * c - v * s)), np.hypot(u, v) * np.hypot(c, s)
        share = (error / unit_roundoff(dtype))[r > 0] / r[r > 0]
        ratio = share / given_table_bound(profile, dtype, r[r > 0])
        assert ratio.max() <= 1
        largest = max(largest, ratio.max())
    assert largest >= 0.3


def test_the_length_of_an_error_keeps_its_own_bound(chain, honest):
    """It grows by sqrt 2 in the share of the products alone."""
    dtype, wide = chain
    profile = honest.profile("power", wide)
    for rotary_dim in honest.widths:
        spec = honest.half(rotary_dim, PowerLaw(5e5))
        positions = honest.positions(rotary_dim)
        x = honest.data(rotary_dim, positions.size, rotary_dim, dtype)
        y = honest.rotated(x, positions, honest.by_power(5e5, rotary_dim), wide=wide)
        judgement = judge(y, x, positions, spec, dtype, profile)
        error = np.hypot(*np.split(np.float64(y) - judgement.want, 2, axis=-1))
        u, p = unit_roundoff(dtype), positions[None, :, None, None]
        allowed = bound(profile, spec, p, dtype, judgement.r, norm=True)
        assert (error <= allowed * u * judgement.r)[judgement.decisive].all()
        assert (allowed >= judgement.bound).all()
        assert (allowed <= math.sqrt(2) * judgement.bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wide", [True, False])
def test_subnormal_results_keep_the_bound(dtype, wide, honest):
    """Below the smallest normal number a rounding is absolute; n counts it."""
    bits, lowest = {"float64": (53, -1074), "float32": (24, -149)}.get(dtype, (0, 0))
    bits, lowest = {"float16": (11, -24), "bfloat16": (8, -133)}.get(dtype, (bits, lowest))
    recipe = honest.profile("power", wide) if dtype != "float64" else profile_named("float64")
    theta = (
        honest.by_power(1e4, 32) if dtype != "float64" else honest.half(32, PowerLaw(1e4)).theta()
    )
    positions = np.arange(0, 900, 17)
    nothing = 0
    for exponent in range(lowest, lowest + bits + 3, 2):
        x = np.ldexp(honest.data(exponent + 2000, positions.size, 32, "float64"), exponent)
        x = x.astype(honest.types[dtype])
        y = honest.rotated(x, positions, theta, wide=wide)
        judgement = judge(y, x, positions, honest.half(32, PowerLaw(1e4)), dtype, recipe)
        assert judgement.ratio.max() <= 1
        nothing += not (judgement.decisive & (judgement.r > 0)).any()
    # At the very bottom a rounding is as large as the pair itself.
    assert nothing >= 1

"""The bound: honest code keeps it, slightly wrong code does not, and the truth is the truth."""

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings, target
from hypothesis import strategies as st

import rope_ref as rr
from rope_conformance.accuracy.bound import bound, given_table_bound
from rope_conformance.accuracy.number_types import tiny, unit_roundoff
from rope_conformance.accuracy.profiles import PROFILES, Profile, profile_named
from rope_conformance.accuracy.residual import compare, judge
from rope_conformance.accuracy.statistics import Meter
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec

WIDTHS = (6, 48, 64, 80, 96, 100, 128, 192)
BASES = (1e4, 5e5, 1e6, 1e7)
TYPES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
F = np.float32


# Honest code, as people write it. Each ladder returns float32 frequencies.


def by_rounding(base, rotary_dim):
    return F(float(base) ** (-np.arange(0, rotary_dim, 2) / rotary_dim))


def by_power(base, rotary_dim):
    return F(1) / F(base) ** (np.arange(0, rotary_dim, 2, dtype=F) / F(rotary_dim))


def by_negative_power(base, rotary_dim):
    return F(base) ** -(np.arange(0, rotary_dim, 2, dtype=F) / F(rotary_dim))


def by_exp(base, rotary_dim):
    return np.exp(np.arange(0, rotary_dim, 2, dtype=F) * F(-math.log(base) / rotary_dim))


def by_single_exp(base, rotary_dim):
    return np.exp(-(np.log(F(base)) / F(rotary_dim)) * np.arange(0, rotary_dim, 2, dtype=F))


def by_exp_of_fraction(base, rotary_dim):
    return np.exp(-np.log(F(base)) * (np.arange(0, rotary_dim, 2, dtype=F) / F(rotary_dim)))


def by_product(base, rotary_dim):
    ratio = F(float(base) ** (-2 / rotary_dim))
    return np.multiply.accumulate(np.r_[F(1), np.full(rotary_dim // 2 - 1, ratio)], dtype=F)


LADDERS = {
    "rounded": (by_rounding,),
    "power": (by_power, by_negative_power),
    "exp": (by_exp,),
    "exp-single": (by_single_exp, by_exp_of_fraction),
    "product": (by_product,),
}
CHAINS = [(kind, True) for kind in ("float32", "float16", "bfloat16")]
CHAINS += [("float16", False), ("bfloat16", False)]


def half(rotary_dim, rule):
    return RopeSpec(rotary_dim, layout="half", frequencies=rule)


def float32_profile(recipe, wide):
    """The profile of a recipe, whether or not it has a name."""
    return Profile(
        f"float32 by {recipe}",
        "",
        phase="float32",
        recipe=recipe,
        output_roundings=1 if wide else 3,
        wide_products=wide,
    )


def rotated(x, positions, theta, *, wide=True):
    """Rotate the halves of x (bthd); products in float32 or, if not `wide`, in x's type."""
    phase = (positions.astype(theta.dtype)[..., None] * theta)[:, None, :]
    kind = np.promote_types(np.float32, theta.dtype) if wide else x.dtype
    cos, sin = np.cos(phase).astype(kind), np.sin(phase).astype(kind)
    u, v = np.split(x.astype(kind), 2, axis=-1)
    return np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1).astype(x.dtype)


def data(seed, tokens, rotary_dim, dtype):
    x = np.random.default_rng(seed).standard_normal((1, tokens, 1, rotary_dim), dtype=F)
    return x.astype(TYPES[dtype])


def some_positions(seed):
    rng = np.random.default_rng(seed)
    spread = [rng.integers(0, top, 12) for top in (512, 8192, 2**17, 2**20, 2**24)]
    edges = [0, 1, 2, 3, 4095, 2**17 - 1, 2**20, 2**24 - 1, 2**24 + 1, 2**26 + 2, -5, -(2**20)]
    return np.concatenate([*spread, edges])


def worst(judgement):
    """The largest ratio among the samples that can tell right from wrong."""
    assert judgement.decisive.any()
    return float(judgement.ratio.max())


# Honest code keeps the bound


@pytest.mark.parametrize(("dtype", "wide"), CHAINS)
@pytest.mark.parametrize("recipe", LADDERS)
def test_honest_code_keeps_the_bound_of_its_recipe(recipe, dtype, wide):
    """At awkward widths, large bases and positions to 2**26, every ratio is at most 1."""
    profile = float32_profile(recipe, wide)
    largest = 0.0
    for rotary_dim in WIDTHS:
        for base in BASES:
            spec = half(rotary_dim, PowerLaw(base))
            seed = rotary_dim + int(base)
            positions = some_positions(seed)
            x = data(seed, positions.size, rotary_dim, dtype)
            for ladder in LADDERS[recipe]:
                y = rotated(x, positions, ladder(base, rotary_dim), wide=wide)
                ratio = worst(judge(y, x, positions, spec, dtype, profile))
                assert ratio <= 1, (ladder.__name__, rotary_dim, base)
                largest = max(largest, ratio)
    assert largest >= 0.3


def test_the_functions_are_as_good_as_the_derivation_takes_them_to_be():
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
    assert errors(np.log, np.array(BASES))[1] <= 2
    for base in BASES:
        assert errors(np.power, rng.random(100_000), base)[1] <= 2
        assert errors(np.power, -rng.random(100_000), base)[1] <= 2


@pytest.mark.parametrize("recipe", LADDERS)
def test_frequencies_take_no_more_roundings_than_the_recipe_counts(recipe):
    """theta_i is off by at most m_i - 1 roundings; the product with the position is the last."""
    for rotary_dim in (2, 4, 14, 62, 150, 164, 182, 194, 208, 256, *WIDTHS):
        # The last three are no float32 numbers; one is below 1.
        for base in (*BASES, 2.0, 1e9, 7.3, 1234.5678, 0.37):
            spec = half(rotary_dim, PowerLaw(base))
            counted = float32_profile(recipe, True).amplification(spec) - 1
            for ladder in LADDERS[recipe]:
                error = np.abs(ladder(base, rotary_dim).astype(np.float64) / spec.theta() - 1)
                assert (error <= counted * 2.0**-24).all(), (ladder.__name__, rotary_dim, base)


@pytest.mark.parametrize(("dtype", "wide"), CHAINS)
@pytest.mark.parametrize("recipe", LADDERS)
def test_no_honest_code_found_that_breaks_the_bound(recipe, dtype, wide):
    """A search that climbs towards the largest ratio finds none above 1."""
    profile = float32_profile(recipe, wide)

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(
        st.integers(1, 128).map(lambda pairs: 2 * pairs),
        st.one_of(st.sampled_from(BASES), st.floats(0.01, 1e12)),
        st.lists(st.integers(-(2**27), 2**27), min_size=1, max_size=20),
        st.integers(0, 2**32),
        st.integers(0, len(LADDERS[recipe]) - 1),
    )
    def search(rotary_dim, base, positions, seed, way):
        spec = half(rotary_dim, PowerLaw(base))
        positions = np.array(positions)
        x = data(seed, positions.size, rotary_dim, dtype)
        y = rotated(x, positions, LADDERS[recipe][way](base, rotary_dim), wide=wide)
        ratio = float(judge(y, x, positions, spec, dtype, profile).ratio.max())
        target(ratio)
        assert ratio <= 1

    search()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_real_positions_are_rounded_once_more(dtype):
    """0.1 and 1000.1 are no float32 numbers: one more rounding of the phase, and no second."""
    positions = np.array([0.1, 1 / 3, 1000.1, 4095.7, 70000.3, 1e-3, -0.7])
    spec = half(96, PowerLaw(1e4))
    profile = profile_named("float32-power")
    for seed in range(20):
        x = data(seed, positions.size, 96, dtype)
        y = rotated(x, positions, by_power(1e4, 96))
        assert worst(judge(y, x, positions, spec, dtype, profile)) <= 1
    one = half(2, ExplicitFrequencies([1.0]))
    exact, rounded = (bound(profile, one, p, "float32", 1.0)[0] for p in (0.25, 0.3))
    assert rounded - exact == pytest.approx(5 * 0.3 - 4 * 0.25, abs=1e-5)
    above = [bound(profile, one, 2**24 + p, "float32", 1.0)[0] for p in (0, 1)]
    assert above[1] - above[0] == pytest.approx(2**24 + 5)


def test_given_frequencies_in_radians_and_in_turns():
    """A frequency given is rounded once, one given in turns is made of 2 pi in float32."""
    values = [1.0, 0.3, 0.01, math.pi, 7.7]
    turns = [0.5, 0.1, 1 / 3, 0.001, 0.9]
    positions = some_positions(1)[:24]
    for rule, theta in (
        (ExplicitFrequencies(values), F(values)),
        (ExplicitFrequencies(turns=turns), F(2 * np.pi) * F(turns)),
    ):
        for seed in range(20):
            x = data(seed, positions.size, 10, "float32")
            y = rotated(x, positions, theta)
            profile = profile_named("float32")
            assert worst(judge(y, x, positions, half(10, rule), "float32", profile)) <= 1


@pytest.mark.parametrize("dtype", TYPES)
def test_amplitude_takes_two_more_roundings(dtype):
    """A is rounded, and so is its product with cos and sin."""
    amplitude = 1.3465735902799727
    spec = half(8, ExplicitFrequencies([1.0, 0.1, 0.01, 0.001], amplitude=amplitude))
    plain = half(8, ExplicitFrequencies([1.0, 0.1, 0.01, 0.001]))
    kind = np.float64 if dtype == "float64" else F
    profile = profile_named("float64" if dtype == "float64" else "float32")
    positions = np.arange(0, 400, 7)
    for seed in range(20):
        x = data(seed, positions.size, 8, dtype)
        wide = rotated(x.astype(kind), positions, kind([1.0, 0.1, 0.01, 0.001]))
        y = (kind(amplitude) * wide).astype(x.dtype)
        assert worst(judge(y, x, positions, spec, dtype, profile)) <= 1
    more = [bound(profile, s, 0, dtype, 1.0)[0] for s in (spec, plain)]
    share = 2 * unit_roundoff(np.dtype(kind).name) / unit_roundoff(dtype)
    assert more[0] - more[1] == pytest.approx(share, rel=1e-6)


def test_the_bound_is_the_formula_worked_by_hand():
    """R = 4, b = 10000, pair 1, position 100: phase 1, m = 4 + ln(10000)/2, a = 1, k = 4."""
    spec = half(4, PowerLaw(1e4))
    m = 4 + math.log(1e4) / 2
    at = {
        ("float32-power", "float32"): 1 + 4 + m,
        ("float32-power", "bfloat16"): 1 + 2**-8 + (4 + m) * 2**-16,
        ("float32-power", "float64"): 1 + (4 + 1 + m) * 2**29,
        ("float32", "float32"): 1 + 4 + 7 + 2 * math.log(1e4),
        ("float32-product", "float32"): 1 + 4 + 7,
        ("model-dtype-table", "float16"): 3 * (1 + 2**-11) + (4 + 7 + 2 * math.log(1e4)) * 2**-13,
        ("exact", "float64"): 1 + 4,
        ("exact", "float16"): 1 + 2**-11 + 4 * 2**-13,
        ("float64", "float64"): 1 + 4 + 7 + 2 * math.log(1e4),
    }
    for (name, dtype), value in at.items():
        got = bound(profile_named(name), spec, 100, dtype, 1.0)[1]
        underflow = (3 if dtype == "float16" and "table" in name else 1) * tiny(dtype)
        assert got == pytest.approx(value + underflow / unit_roundoff(dtype), rel=2e-6)


@pytest.mark.parametrize(
    ("name", "dtype", "n", "least", "products"),
    [
        # products and sum in the output's type, in a wider one, in a narrower one
        ("float32-power", "float32", 3, 2.0**-150, 1),
        ("float32-power", "bfloat16", 1, 2.0**-134, 2.0**-16),
        ("float32-power", "float64", 5, 2.0**-150, 2.0**29),
        ("model-dtype-table", "float16", 3, 2.0**-25, 1 + 2.0**-11 + 2.0**-13),
    ],
)
def test_underflow_and_the_length_of_an_error_by_hand(name, dtype, n, least, products):
    """n least / (u r) is added, and for a length sqrt 2 on it and on the products' one rounding."""
    spec, u = half(4, PowerLaw(1e4)), unit_roundoff(dtype)

    def at(r, **options):
        return bound(profile_named(name), spec, 0, dtype, r, **options)[0]

    assert at(least) - at(np.inf) == pytest.approx(n / u, rel=1e-12)
    longer = at(least, norm=True) - at(np.inf, norm=True)
    assert longer == pytest.approx(math.sqrt(2) * n / u, rel=1e-12)
    more = (math.sqrt(2) - 1) * products
    assert at(np.inf, norm=True) - at(np.inf) == pytest.approx(more, rel=1e-6)


def test_the_phase_counts_its_second_order():
    """Four roundings in a row err by up to 4u / (1 - 4u), not 4u: it shows in the ninth digit."""
    one = half(2, ExplicitFrequencies([1.0]))
    start, end = (bound(profile_named("float32"), one, p, "float32", 1.0)[0] for p in (0, 2**23))
    assert end - start == pytest.approx(4 * 2**23 / (1 - 4 * 2.0**-24), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "dtype", "products", "n", "least"),
    [
        ("float32", "float32", 1 + 2.0**-24 + 2, 3, 2.0**-150),
        ("float32", "bfloat16", 1 + 2.0**-8 + 2 * 2.0**-16, 1, 2.0**-134),
        ("model-dtype-table", "float16", 3 * (1 + 2.0**-11) + 2 * 2.0**-13, 3, 2.0**-25),
    ],
)
def test_a_given_table_leaves_two_products_and_a_sum(name, dtype, products, n, least):
    """a (1 + u_out) + 2 u_calc / u_out, and n roundings among subnormal numbers."""
    profile = profile_named(name)
    assert given_table_bound(profile, dtype, np.inf) == pytest.approx(products, rel=1e-12)
    more = given_table_bound(profile, dtype, least) - products
    assert more == pytest.approx(n / unit_roundoff(dtype), rel=1e-12)


@pytest.mark.parametrize(("dtype", "wide"), CHAINS)
def test_honest_code_keeps_the_bound_of_a_given_table(dtype, wide):
    """Rotating by tables of the data's own type, however large or small the data."""
    kind = F if wide else TYPES[dtype]
    profile = float32_profile("power", wide)
    largest = 0.0
    for exponent in range(-24, 6, 3):
        u, v, c, s = (data(k, 500, 64, dtype) for k in range(4))
        u, v = (np.ldexp(F(z), exponent).astype(TYPES[dtype]) for z in (u, v))
        y = (u.astype(kind) * c.astype(kind) - v.astype(kind) * s.astype(kind)).astype(u.dtype)
        u, v, c, s = (np.float64(z) for z in (u, v, c, s))
        # The products of narrow numbers are exact in float64.
        error, r = np.abs(np.float64(y) - (u * c - v * s)), np.hypot(u, v) * np.hypot(c, s)
        share = (error / unit_roundoff(dtype))[r > 0] / r[r > 0]
        ratio = share / given_table_bound(profile, dtype, r[r > 0])
        assert ratio.max() <= 1
        largest = max(largest, ratio.max())
    assert largest >= 0.3


def test_each_recipe_counts_the_roundings_of_the_derivation():
    """m_i is the table of the page "The bound": 2 is a number of float32, 0.37 is none."""
    i = np.arange(3)
    for base, base_is_rounded in ((2.0, 0), (0.37, 1)):
        once = 2 * i / 6  # one more rounding of the base
        x = once * abs(math.log(base))
        power, division, exp, product = 2, 1, 6, 1
        counted = {
            "rounded": 4 + base_is_rounded * once,
            "power": power + division + product + x + base_is_rounded * once,
            "exp": exp + product + (1 + 1) * x + base_is_rounded * once,
            "exp-single": exp + product + (2 + 1 + 1) * x + base_is_rounded * once,
            "product": 4 + (2 + product) * i,
        }
        for recipe, m in counted.items():
            got = float32_profile(recipe, True).amplification(half(6, PowerLaw(base)))
            np.testing.assert_allclose(got, m, rtol=1e-14, err_msg=recipe)


# Slightly wrong code does not


@pytest.mark.parametrize(
    ("recipe", "times"),
    [("rounded", 50), ("power", 50), ("exp", 20), ("exp-single", 20), ("product", 8)],
)
def test_a_base_off_by_a_hundredth_of_a_percent_shows(recipe, times):
    """At R = 128, b = 10000 and positions to 2**20 it exceeds the bound many times over."""
    positions = np.unique(np.random.default_rng(5).integers(0, 2**20, 200))
    x = data(5, positions.size, 128, "float32")
    spec = half(128, PowerLaw(1e4))
    for ladder in (by_rounding, by_power, by_single_exp, by_product):
        y = rotated(x, positions, ladder(1e4 * 1.0001, 128))
        assert worst(judge(y, x, positions, spec, "float32", float32_profile(recipe, True))) > times


@pytest.mark.parametrize(
    ("fault", "dtype", "times"),
    [
        # an error of 2**-9 of a cos or sin, against 5 units of 2**-24; under bfloat16 output it
        # is half as large as what the output's own rounding may be
        ("table", "float32", 2**15 / 5 / 2),
        # 0.5 %, against little more than one unit of 2**-11 or 2**-8
        ("amplitude", "float16", 0.005 * 2**11 / 2),
        ("amplitude", "bfloat16", 0.005 * 2**8 / 2),
        # theta off by up to 2**-9 against (4 + ln b) units of 2**-24
        ("frequencies", "float32", 2**15 / 14 / 2),
    ],
)
def test_narrow_tables_frequencies_and_amplitudes_show(fault, dtype, times):
    """A fault of known size exceeds the bound by at least half of what its size demands."""
    positions = np.arange(0, 4096, 31)
    x = data(3, positions.size, 64, dtype)
    theta = by_power(1e4, 64)
    if fault == "frequencies":
        theta = theta.astype(ml_dtypes.bfloat16).astype(F)
    phase = (F(positions)[:, None] * theta)[:, None]
    cos, sin = np.cos(phase), np.sin(phase)
    if fault == "table":
        cos, sin = (t.astype(ml_dtypes.bfloat16).astype(F) for t in (cos, sin))
    if fault == "amplitude":
        cos, sin = F(1.005) * cos, F(1.005) * sin
    u, v = np.split(x.astype(F), 2, axis=-1)
    y = np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1).astype(x.dtype)
    spec = half(64, PowerLaw(1e4))
    assert worst(judge(y, x, positions, spec, dtype, profile_named("float32-power"))) > times


# What decides, and what is infinitely wrong


def test_a_sixteenth_of_a_pair_still_decides():
    """A bound of r / 16 tells right from wrong; the next number above it counts as nothing."""
    edge = 2.0**24 / 16
    allowed = np.array([edge, np.nextafter(edge, np.inf)])
    r = np.ones((1, 1, 1, 2))
    judgement = compare(r, r, allowed, np.zeros((1, 1, 1, 1)), "float32", got=r, want=r)
    assert judgement.decisive.ravel().tolist() == [True, False]
    assert judgement.ratio.ravel().tolist() == [16, 0]


def test_where_everything_is_allowed_nothing_is_decided():
    """Near 2**23 a float32 phase of pair 0 may be off by a quarter turn; slow pairs still count."""
    spec = half(64, PowerLaw(1e4))
    positions = np.array([2**23 + 1])
    x = data(0, 1, 64, "float32")
    judgement = judge(-x, x, positions, spec, "float32", profile_named("float32-power"))
    allowed = judgement.bound[0, 0, 0] * 2.0**-24
    np.testing.assert_array_equal(judgement.decisive[0, 0, 0], allowed <= 1 / 16)
    assert not judgement.decisive[0, 0, 0, 0]
    assert judgement.decisive[0, 0, 0, -1]
    assert judgement.ratio[0, 0, 0, 0] == 0
    assert judgement.ratio[0, 0, 0, -1] > 1


@pytest.mark.parametrize("dtype", TYPES)
def test_a_pair_of_zeros_must_stay_exactly_zero(dtype):
    """0 and -0 are right; the smallest number there is, is not."""
    spec = half(4, PowerLaw(1e4))
    x = np.zeros((1, 2, 1, 4), TYPES[dtype])
    positions = np.array([0, 12345])
    profile = profile_named("float32")
    for y in (x, -x):
        assert judge(y, x, positions, spec, dtype, profile).ratio.max() == 0
    y = x.copy()
    y[0, 1, 0, 3] = TYPES[dtype].type(2 * tiny(dtype))
    assert y[0, 1, 0, 3] != 0
    assert judge(y, x, positions, spec, dtype, profile).ratio[0, 1, 0, 1] == np.inf


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_as_wrong_as_can_be(bad, dtype):
    """They are never within the bound, with or without data in the pair."""
    spec = half(4, PowerLaw(1e4))
    positions = np.array([3])
    for x in (data(1, 1, 4, dtype), np.zeros((1, 1, 1, 4), TYPES[dtype])):
        y = np.array(rr.apply_rope(x, positions, spec, axes="bthd")).astype(TYPES[dtype])
        y[..., 1] = bad
        ratio = judge(y, x, positions, spec, dtype, profile_named("float32")).ratio[0, 0, 0]
        assert ratio[1] == np.inf
        assert ratio[0] <= 1


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wide", [True, False])
def test_subnormal_results_keep_the_bound(dtype, wide):
    """Below the smallest normal number a rounding is absolute; n counts it."""
    bits, lowest = {"float64": (53, -1074), "float32": (24, -149)}.get(dtype, (0, 0))
    bits, lowest = {"float16": (11, -24), "bfloat16": (8, -133)}.get(dtype, (bits, lowest))
    recipe = float32_profile("power", wide) if dtype != "float64" else profile_named("float64")
    theta = by_power(1e4, 32) if dtype != "float64" else half(32, PowerLaw(1e4)).theta()
    positions = np.arange(0, 900, 17)
    nothing = 0
    for exponent in range(lowest, lowest + bits + 3, 2):
        x = np.ldexp(data(exponent + 2000, positions.size, 32, "float64"), exponent)
        x = x.astype(TYPES[dtype])
        y = rotated(x, positions, theta, wide=wide)
        judgement = judge(y, x, positions, half(32, PowerLaw(1e4)), dtype, recipe)
        assert judgement.ratio.max() <= 1
        nothing += not (judgement.decisive & (judgement.r > 0)).any()
    # At the very bottom a rounding is as large as the pair itself.
    assert nothing >= 1


# float64 data: the truth must be better than what is judged


def textbook(x, positions, base):
    """What everybody writes in float64."""
    rotary_dim = x.shape[-1]
    theta = 1.0 / base ** (np.arange(0, rotary_dim, 2) / rotary_dim)
    return rotated(x, positions, theta)


@pytest.mark.parametrize("base", BASES)
def test_the_float64_textbook_keeps_float64_but_is_not_exact(base):
    """Its phases are off by roundings that grow with the position; the reference's are not."""
    spec = half(96, PowerLaw(base))
    positions = np.random.default_rng(2).integers(2**16, 2**31, 100)
    x = data(2, positions.size, 96, "float64")
    y = textbook(x, positions, base)
    assert worst(judge(y, x, positions, spec, "float64", profile_named("float64"))) <= 1
    assert worst(judge(y, x, positions, spec, "float64", profile_named("exact"))) > 100


def test_the_reference_is_exact_on_float64_below_2_to_the_31():
    """Its own rounding is well inside the tightest profile there is."""
    rng = np.random.default_rng(3)
    positions = np.concatenate([rng.integers(0, 2**31, 100), [0, 1, 2**31 - 1, 1 - 2**31]])
    for base in BASES:
        spec = half(100, PowerLaw(base))
        x = data(4, positions.size, 100, "float64")
        y = rr.apply_rope(x, positions, spec, axes="bthd")
        ratio = worst(judge(y, x, positions, spec, "float64", profile_named("exact")))
        # 0.8 ulp of the table, two products and a sum: (0.8 sqrt 2 + 2) of 5
        assert ratio <= (0.8 * math.sqrt(2) + 2) / 5


def test_float32_inside_float64_data_rounds_the_data_too():
    """A RoPE that works in float32 on float64 data keeps float32, and nothing tighter."""
    positions = np.arange(0, 2000, 13)
    spec = half(64, PowerLaw(1e4))
    x = np.random.default_rng(0).standard_normal((1, positions.size, 1, 64))
    y = rotated(x.astype(F), positions, by_power(1e4, 64)).astype(np.float64)
    assert worst(judge(y, x, positions, spec, "float64", profile_named("float32-power"))) <= 1
    assert worst(judge(y, x, positions, spec, "float64", profile_named("float64"))) > 1e6
    faint = (x * 1e-43).astype(F).astype(np.float64)
    for data64 in (faint, x * 1e-43):
        y = rotated(data64.astype(F), positions, by_power(1e4, 64)).astype(np.float64)
        judgement = judge(y, data64, positions, spec, "float64", profile_named("float32-power"))
        assert (judgement.residual[judgement.r > 0] <= judgement.bound[judgement.r > 0]).all()


def test_what_is_expected_is_the_truth():
    """The judge's expectation is Arb's, and the rounded truth has a residual of at most 1."""
    rng = np.random.default_rng(6)
    for base, rotary_dim in ((1e4, 128), (5e5, 96), (1e7, 6), (0.37, 10)):
        spec = half(rotary_dim, PowerLaw(base))
        positions = rng.integers(-(2**31) + 1, 2**31, 10)
        x = rng.standard_normal((1, 10, 1, rotary_dim))
        y = np.empty_like(x)
        with ctx.workprec(320):
            for t, p in enumerate(positions.tolist()):
                for i in range(rotary_dim // 2):
                    sin, cos = (p * (arb(base).log() * -2 * i / rotary_dim).exp()).sin_cos()
                    u, v = (arb(float(x[0, t, 0, c])) for c in (i, i + rotary_dim // 2))
                    y[0, t, 0, i] = float(u * cos - v * sin)
                    y[0, t, 0, i + rotary_dim // 2] = float(u * sin + v * cos)
        judgement = judge(y, x, positions, spec, "float64", profile_named("exact"))
        # want + want_low is within 2**-56 of r: an eighth of a unit
        assert judgement.residual.max() <= 1 + 2**-3
        r = np.tile(judgement.r, 2)
        assert (np.abs(judgement.want - y) <= (2.0**-52 + 2.0**-56) * r).all()


def test_rows_with_positions_of_their_own_are_judged_one_by_one():
    """A batch with positions (B, T) is judged as its rows are with positions (T,)."""
    positions = np.array([[0, 5, 900], [70000, 3, -2]])
    spec, profile = half(8, PowerLaw(1e4)), profile_named("float32-power")
    x = np.concatenate([data(row, 3, 8, "float32") for row in (0, 1)])
    y = np.concatenate(
        [rotated(x[[row]], positions[row], by_power(1e4, 8)) for row in (0, 1)], axis=0
    )
    both = judge(y, x, positions, spec, "float32", profile)
    assert 0 < worst(both) <= 1
    for row in (0, 1):
        alone = judge(y[[row]], x[[row]], positions[row], spec, "float32", profile)
        np.testing.assert_array_equal(both.ratio[row], alone.ratio[0])
        np.testing.assert_array_equal(both.bound[row], alone.bound[0])
        assert both.positions[row].ravel().tolist() == positions[row].tolist()


# The length of a pair's error


@pytest.mark.parametrize(("dtype", "wide"), CHAINS)
def test_the_length_of_an_error_keeps_its_own_bound(dtype, wide):
    """It grows by sqrt 2 in the share of the products alone."""
    profile = float32_profile("power", wide)
    for rotary_dim in WIDTHS:
        spec = half(rotary_dim, PowerLaw(5e5))
        positions = some_positions(rotary_dim)
        x = data(rotary_dim, positions.size, rotary_dim, dtype)
        y = rotated(x, positions, by_power(5e5, rotary_dim), wide=wide)
        judgement = judge(y, x, positions, spec, dtype, profile)
        error = np.hypot(*np.split(np.float64(y) - judgement.want, 2, axis=-1))
        u, p = unit_roundoff(dtype), positions[None, :, None, None]
        allowed = bound(profile, spec, p, dtype, judgement.r, norm=True)
        assert (error <= allowed * u * judgement.r)[judgement.decisive].all()
        assert (allowed >= judgement.bound).all()
        assert (allowed <= math.sqrt(2) * judgement.bound).all()


# What a report says of accuracy


def metered(make, positions, base=1e4, rotary_dim=128):
    meter = Meter()
    spec = half(rotary_dim, PowerLaw(base))
    x = data(8, positions.size, rotary_dim, "float32")
    y = make(x, positions)
    profile = profile_named("model-dtype-table")
    meter.add(judge(y, x, positions, spec, "float32", profile), spec)
    return meter


@pytest.mark.parametrize("name", ["exact", "float64", "float32-power", "float32"])
def test_the_tightest_profile_is_the_chain_that_was_used(name):
    """Each chain keeps its own profile and none that is tighter."""
    spec = half(100, PowerLaw(1e9))
    # In float32 the error of a float64 phase does not show below 2**31.
    dtype = "float64" if name == "float64" else "float32"
    positions = np.random.default_rng(9).integers(0, 2**20, 300)
    x = data(8, positions.size, 100, dtype)
    y = {
        "exact": lambda: rr.apply_rope(x, positions, spec, axes="bthd").astype(F),
        "float64": lambda: textbook(x, positions, 1e9),
        "float32-power": lambda: rotated(x, positions, by_power(1e9, 100)),
        "float32": lambda: rotated(x, positions, by_single_exp(1e9, 100)),
    }[name]()
    meter = Meter()
    meter.add(judge(y, x, positions, spec, dtype, profile_named("float32")), spec)
    assert meter.tightest() == name


def test_the_horizon_of_float32_phases():
    """Errors reach 1 % of a pair near position 10**5 at base 10000, as rounding theta_1 demands."""
    positions = np.unique(np.geomspace(1, 2**24, 4000).astype(np.int64))
    meter = metered(lambda x, p: rotated(x, p, by_power(1e4, 128)), positions)
    last, ends = meter.horizon.reach(0.01)
    assert ends
    # No earlier than the bound of the worst pair allows.
    spec = half(128, PowerLaw(1e4))
    m = profile_named("float32-power").amplification(spec)
    assert last >= 0.01 / (m * spec.theta() * 2.0**-24).max() - 1
    assert 1e5 <= last <= 3.2e5
    exact = metered(lambda x, p: F(rr.apply_rope(x, p, spec, axes="bthd")), positions)
    assert exact.horizon.reach(0.01) == (positions[-1], False)


def test_a_horizon_may_be_nowhere():
    """An implementation wrong from the start has none."""
    last, ends = metered(lambda x, p: -x, np.arange(5)).horizon.reach(0.01)
    assert (last, ends) == (None, True)


def test_profiles_have_names_and_sentences_of_their_own():
    """Each is found by its name; an unknown name is refused and the known ones are listed."""
    assert [profile_named(p.name) for p in PROFILES] == list(PROFILES)
    assert len({p.name for p in PROFILES}) == len({p.sentence for p in PROFILES}) == len(PROFILES)
    with pytest.raises(ValueError, match="'float8' is not known.*'exact'.*'model-dtype-table'"):
        profile_named("float8")


def test_exact_ends_at_2_to_the_31():
    """Beyond, the profile promises nothing: the bound is infinite."""
    spec = half(4, PowerLaw(1e4))
    inside, outside = (
        bound(profile_named("exact"), spec, p, "float32", 1.0) for p in (2**31 - 1, 2**31)
    )
    assert np.isfinite(inside).all()
    assert np.isinf(outside).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_units_are_those_of_the_formats(dtype):
    """u is half the distance from 1 to the next number, tiny half the smallest number."""
    info = np.finfo(dtype) if dtype.startswith("float") else ml_dtypes.finfo(dtype)
    assert unit_roundoff(dtype) == float(info.eps) / 2
    smallest = float(info.smallest_subnormal)
    assert tiny(dtype) == (smallest / 2 or smallest)


def test_each_documented_ulp_of_the_functions_costs_two_roundings():
    """k = 2 t + 2."""
    spec = half(4, PowerLaw(1e4))
    bounds = [
        bound(replace(profile_named("exact"), trig_ulps=t), spec, 5, "float32", 1.0)[0]
        for t in (1, 2, 4)
    ]
    assert bounds[1] - bounds[0] == 2
    assert bounds[2] - bounds[0] == 6

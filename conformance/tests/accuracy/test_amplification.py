"""m_i of every remap: honest code keeps what is counted, and what is counted is no more."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_conformance.accuracy.amplification import amplification, amplitude_roundings
from rope_conformance.accuracy.bound import bound, judge, profile_named, unit_roundoff
from rope_conformance.zoo import CONTROLS
from rope_conformance.zoo.honest import scaled as honest_scalings
from rope_conformance.zoo.parts import scaling_formulas
from rope_conformance.zoo.parts.scaling_formulas import amplitude_of, rotated, theta_of
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec
from rope_ref.scaling import (
    NTK,
    Axial,
    Divided,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    Reordered,
    YaRN,
)

F = np.float32
U = 2.0**-24
WIDTHS = (6, 48, 80, 96, 100, 192)
BASES = (1e4, 5e5, 150_000.0, 1e7, 1234.5678)
FACTORS = (2, 3, 8, 32, 2.1, 100.7)
HABITS = {"all in float32": F, "single numbers in Python's": float}
SCALED = {
    name: each.factory
    for name, each in CONTROLS.items()
    if each.factory.__module__ == honest_scalings.__name__
}


# Ladders as people write them, by recipe: base, what stands below 2 i, exponents


def by_exp(base, rule, width):
    return np.exp(np.arange(0, width, 2, dtype=F) * F(-math.log(base) / width))


def by_single_exp(base, rule, width):
    return np.exp(-(np.log(F(base)) / F(width)) * np.arange(0, width, 2, dtype=F))


def by_product(base, rule, width):
    ratio = F(float(base) ** (-2 / width))
    return np.multiply.accumulate(np.r_[F(1), np.full(width // 2 - 1, ratio)], dtype=F)


LADDERS = {
    "power": scaling_formulas._ladder,
    "exp": by_exp,
    "exp-single": by_single_exp,
    "product": by_product,
}


def factors(pairs, most):
    """A list for each pair that rises from 1 to `most`, like the published ones."""
    return tuple(most ** (i / max(pairs - 1, 1)) for i in range(pairs))


def remaps(rotary_dim, base, factor):
    """One of each remap and more of those that amplify."""
    law, pairs = PowerLaw(base), rotary_dim // 2
    untruncated = YaRN(law, factor=factor, original_length=4096, truncate=False)
    dynamic = DynamicNTK(law, factor=factor, original_length=4096)
    return {
        "linear": Linear(law, factor=factor),
        "ntk": NTK(law, alpha=factor),
        "fixed ntk": FixedNTK(law, factor=factor),
        "fixed ntk, mixed": FixedNTK(law, factor=factor, mixing=0.625),
        "dynamic, short": dynamic,
        "dynamic, longer by one": dynamic.at(4097),
        "dynamic, long": replace(dynamic, original_length=5000, length=32771),
        "by parts": NTKByParts(law, factor=factor),
        "by parts of parts": NTKByParts(
            law, factor=factor, original_length=4096, ntk_factor=0.7, extrapolation_factor=0.9
        ),
        "yarn": YaRN(law, factor=factor, original_length=32768),
        "yarn, untruncated": untruncated,
        "yarn, narrow": replace(untruncated, beta_fast=8.3, beta_slow=0.7, original_length=5000),
        "longrope": LongRoPE(
            law,
            short_factors=factors(pairs, 2.1),
            long_factors=factors(pairs, 64),
            original_length=4096,
            factor=factor,
            length=8192,
        ),
        "llama3": Llama3(law, factor=factor),
        "llama3, narrow": Llama3(law, factor=factor, low_freq_factor=0.9, high_freq_factor=1.3),
        "llama3, a threshold": Llama3(law, factor=factor, high_freq_factor=1),
        "proportional": Proportional(law, fraction=0.5, factor=factor),
        "linear of yarn": Linear(untruncated, factor=3),
        "llama3 of ntk": Llama3(NTK(law, alpha=factor), factor=8),
    }


def off(rule, rotary_dim, number):
    """How far honest frequencies are from the truth, in units of u."""
    got = theta_of(rule, rotary_dim, number)
    assert got.dtype == F
    want = np.array(rule.theta(rotary_dim))
    assert (got[want == 0] == 0).all()
    return np.abs(got[want != 0] / want[want != 0] - 1) / U, want != 0


# Honest code keeps what is counted


@pytest.mark.parametrize("recipe", LADDERS)
@pytest.mark.parametrize("habit", HABITS)
def test_no_frequency_takes_more_roundings_than_are_counted(recipe, habit, monkeypatch):
    """theta_i is off by at most m_i - 1 units; the product with the position is the last."""
    monkeypatch.setattr(scaling_formulas, "_ladder", LADDERS[recipe])
    nearest = {}
    for n, rotary_dim in enumerate(WIDTHS):
        for k, base in enumerate(BASES):
            factor = FACTORS[(n + k) % len(FACTORS)]
            for name, rule in remaps(rotary_dim, base, factor).items():
                m = amplification(rule, rotary_dim, recipe, "float32")
                error, moving = off(rule, rotary_dim, HABITS[habit])
                share = (error / (m[moving] - 1)).max()
                assert share <= 1, (name, rotary_dim, base, factor)
                nearest[name] = max(nearest.get(name, 0), share)
    if recipe == "power" and HABITS[habit] is F:
        assert all(share >= 0.3 for share in nearest.values()), nearest


@pytest.mark.parametrize("habit", HABITS)
def test_honest_code_keeps_the_bound_of_its_remap(habit):
    """At awkward widths, large bases and positions to 2**20, every ratio is at most 1."""
    number, profile = HABITS[habit], profile_named("float32-power")
    nearest = {}
    for n, rotary_dim in enumerate(WIDTHS):
        for k, base in list(enumerate(BASES))[n % 2 :: 2]:
            rng = np.random.default_rng(n + 6 * k)
            positions = np.r_[rng.integers(0, 2**20, 8), rng.integers(0, 2**13, 8)]
            x = rng.standard_normal((1, 16, 1, rotary_dim), dtype=F)
            factor = FACTORS[(2 * n + k) % len(FACTORS)]
            for name, rule in remaps(rotary_dim, base, factor).items():
                spec = RopeSpec(rotary_dim, layout="half", frequencies=rule)
                theta = theta_of(rule, rotary_dim, number)
                y = rotated(x, positions, spec, theta, amplitude_of(rule, number))
                judgement = judge(y, x, positions, spec, "float32", profile)
                ratio = judgement.ratio.max()
                assert ratio <= 1, (name, rotary_dim, base, factor)
                nearest[name] = max(nearest.get(name, 0), ratio)
    assert all(ratio >= 0.3 for ratio in nearest.values()), nearest


positive = st.floats(0.5, 200)


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    st.integers(2, 96).map(lambda pairs: 2 * pairs),
    st.floats(1.5, 1e9),
    positive,
    st.integers(64, 2**20),
    st.integers(1, 2**21),
    st.tuples(st.floats(0.1, 4), st.floats(4.5, 200)),
    st.sampled_from(sorted(HABITS)),
)
def test_no_honest_code_found_that_takes_more(rotary_dim, base, factor, trained, length, ends, by):
    """Whatever the parameters, no pair is off by more than is counted."""
    law, (low, high) = PowerLaw(base), ends
    for rule in (
        Linear(law, factor=factor),
        NTK(law, alpha=factor),
        FixedNTK(law, factor=factor),
        FixedNTK(law, factor=factor, mixing=low),
        DynamicNTK(law, factor=factor, original_length=trained, length=max(length, trained)),
        YaRN(
            law,
            factor=factor,
            original_length=trained,
            beta_fast=high,
            beta_slow=low,
            truncate=False,
            attention_factor=1,
        ),
        Llama3(
            law,
            factor=factor,
            low_freq_factor=low,
            high_freq_factor=high,
            original_length=trained,
        ),
    ):
        counted = amplification(rule, rotary_dim, "power", "float32") - 1
        error, moving = off(rule, rotary_dim, HABITS[by])
        assert (error <= counted[moving]).all(), rule


def test_untruncated_ramps_blended_as_phases():
    """Code that blends phases, not frequencies, as ggml does, keeps the same bound."""
    rule = YaRN(PowerLaw(150_000), factor=32, original_length=4096, truncate=False)
    spec, profile = RopeSpec(64, layout="half", frequencies=rule), profile_named("float32-power")
    low, high = map(F, rule.ends(64))
    mix = F(1) - ((np.arange(32, dtype=F) - low) / max(F(0.001), high - low)).clip(0, 1)
    positions = np.random.default_rng(0).integers(0, 2**20, 500)
    plain = positions.astype(F)[:, None] * theta_of(PowerLaw(150_000), 64, F)
    phase = (F(1 / 32) * plain * (F(1) - mix) + plain * mix)[None, :, None]
    x = np.random.default_rng(1).standard_normal((1, 500, 1, 64), dtype=F)
    u, v = np.split(x, 2, axis=-1)
    scale = F(1) + F(0.1) * np.log(F(1) / F(1 / 32))
    cos, sin = np.cos(phase) * scale, np.sin(phase) * scale
    y = np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1)
    assert judge(y, x, positions, spec, "float32", profile).ratio.max() <= 1


# What is counted, worked by hand

LOG = math.log(1e4)
PAIR = np.arange(4)
E = PAIR / 4  # 2i/R at R = 8
PLAIN = 4 + LOG * E


def m(rule, rotary_dim=8, recipe="power", dtype="float32"):
    return amplification(rule, rotary_dim, recipe, dtype)


@pytest.mark.parametrize(
    ("factor", "more"), [(8, 0), (0.25, 0), (3, 2), (2.1, 3), (Fraction(1, 3), 3)]
)
def test_a_division_costs_nothing_two_or_three(factor, more):
    """Nothing by a power of two; else the reciprocal and the product; the factor, if rounded."""
    law = PowerLaw(1e4)
    for rule in (Linear(law, factor=factor), Proportional(law, fraction=1, factor=factor)):
        np.testing.assert_allclose(m(rule), PLAIN + more)
    lists = [(1, 4, factor, 3), (2.1, factor, 2, 1)]
    long = LongRoPE(
        law, short_factors=lists[0], long_factors=lists[1], original_length=4096, factor=2
    )
    np.testing.assert_allclose(m(long), PLAIN + [0, 0, more, 2])
    np.testing.assert_allclose(m(long.at(5000)), PLAIN + [3, more, 0, 0])
    np.testing.assert_allclose(m(Divided(law, factors=lists[1])), PLAIN + [3, more, 0, 0])


def test_a_larger_base_by_hand():
    """R = 8, alpha = 3: the base is b 3**(4/3), off by 3 + (4/3) ln 3 units."""
    law, power = PowerLaw(1e4), 4 / 3
    base, log = 3 + power * math.log(3), LOG + power * math.log(3)
    np.testing.assert_allclose(m(NTK(law, alpha=3)), 4 + E * (log + base))
    np.testing.assert_allclose(m(NTK(law, alpha=3), recipe="exp-single"), 7 + E * (4 * log + base))
    np.testing.assert_allclose(m(NTK(law, alpha=3), recipe="product"), 4 + 3 * PAIR + E * base)
    np.testing.assert_allclose(m(NTK(law, alpha=1)), PLAIN)
    rounded = NTK(PowerLaw(0.37), alpha=2.1)
    log, base = (
        math.log(0.37) + power * math.log(2.1),
        1 + power + 3 + power * math.log(2.1),
    )
    np.testing.assert_allclose(m(rounded), 4 + E * (abs(log) + base))


def test_an_alpha_that_grows_by_hand():
    """2 * 8192/4096 - 1 is exact; 3 * 5000/4099 - 2 loses 2 units of 3.659 and 1 of 1.659."""
    law, power = PowerLaw(1e4), 4 / 3
    exact = DynamicNTK(law, factor=2, original_length=4096, length=8192)
    np.testing.assert_allclose(m(exact), m(NTK(law, alpha=3)))
    np.testing.assert_allclose(m(exact.at(100)), PLAIN)
    rule = DynamicNTK(law, factor=3, original_length=4099, length=5000)
    grown = 3 * 5000 / 4099
    alpha = grown - 2
    base = power * (2 * grown / alpha + 1) + 3 + power * math.log(alpha)
    log = LOG + power * math.log(alpha)
    np.testing.assert_allclose(m(rule), 4 + E * (log + base))
    # A factor that float32 does not hold moves alpha by (alpha - 1)/alpha of itself.
    rule = DynamicNTK(law, factor=2.1, original_length=4096, length=4 * 4096)
    alpha = 2.1 * 3 + 1
    base = power * ((2 * 8.4 + 1.1 + alpha - 1) / alpha + 1) + 3 + power * math.log(alpha)
    log = LOG + power * math.log(alpha)
    np.testing.assert_allclose(m(rule), 4 + E * (log + base))


def test_the_fixed_rule_by_hand():
    """R = 8, s = 2 and 2.1: base b s, and a root of s; or a power of i and an exponential."""
    law = PowerLaw(1e4)
    root = 2 + math.log(2) / 4 + 2
    np.testing.assert_allclose(m(FixedNTK(law, factor=2)), 4 + E * math.log(2e4) + root)
    root = 2 + (math.log(2.1) + 1) / 4 + 2  # the factor is rounded, b s is rounded
    np.testing.assert_allclose(m(FixedNTK(law, factor=2.1)), 4 + E * (math.log(2.1e4) + 2) + root)
    np.testing.assert_allclose(m(FixedNTK(law, factor=1)), PLAIN)
    share = ((PAIR + 1) / 4) ** 0.5
    np.testing.assert_allclose(
        m(FixedNTK(law, factor=2, mixing=0.5)), PLAIN + 8 * share * math.log(2) + 6 + 1
    )
    share = ((PAIR + 1) / 4) ** 0.3
    slowed = share * (math.log(2) * (8 + 0.3 * np.log(4 * (PAIR + 1))))
    np.testing.assert_allclose(m(FixedNTK(law, factor=2, mixing=0.3)), PLAIN + slowed + 7)


def test_a_whole_ramp_by_hand():
    """R = 8, ends 0 and 3, s = 3: pair 0 is kept, pair 3 divided, and two are blended."""
    rule = YaRN(PowerLaw(1e4), factor=3, original_length=2000, beta_fast=32, beta_slow=1)
    assert rule.ends(8) == (0, 3)
    want = PLAIN.copy()
    want[3] += 2
    for i, g in ((1, 1 / 3), (2, 2 / 3)):
        kept, slow = 1 - g, g / 3
        # g and 1 - g lose 1 unit of themselves, together 1, which moves theta by 1 - 1/3
        want[i] = PLAIN[i] + (2 * slow + 2 * (kept + slow) + 2 / 3) / (kept + slow) + 1
    np.testing.assert_allclose(m(rule), want)


def test_an_untruncated_ramp_amplifies_by_about_its_factor():
    """The last pair of the ramp is off by s - 1 times the ramp's own error, the first by that."""
    law = PowerLaw(150_000)
    plain = amplification(law, 64, "power", "float32")
    for factor in (4, 32, 128):
        rule = YaRN(law, factor=factor, original_length=4096, truncate=False)
        more = m(rule, 64) - plain
        low, high = map(float, rule.ends(64))
        inside = np.flatnonzero((np.arange(32) > low) & (np.arange(32) < high))
        assert (more[: inside[0]] == 0).all()
        assert (more[inside[-1] + 1 :] == 0).all()
        i = inside[-1]
        g = (i - low) / (high - low)
        fixed = 3 * 64 / (2 * math.log(150_000))
        at = [fixed + 6 * end for end in (low, high)]
        ramp = ((1 - g) * at[0] + g * at[1]) / (high - low) + 3 * g + (1 - g)
        share = 1 - g + g / factor
        assert more[i] == pytest.approx(3 + ramp * (1 - 1 / factor) / share)


def test_a_blend_by_turns_by_hand():
    """A pair of 2 turns between 1 and 4, s = 8: what theta has lost counts in its turns again."""
    law = ExplicitFrequencies([2.0 * math.pi / 4096, 0.5, 1e-6, 0.0])
    rule = Llama3(law, factor=8)  # 8192 positions: 2 turns, many, next to none, none
    kept = 1 / 3
    share = kept + (1 - kept) / 8
    lost = 2 * (4 + 3) / 3 + 3 * kept
    np.testing.assert_allclose(m(rule), [4 + 2 + lost * 7 / 8 / share + 1, 4, 4, 4])


def test_parts_keep_their_own_counts():
    """Ladders side by side, and in another order, count each pair where it comes from."""
    one, two = Linear(PowerLaw(1e4), factor=3), PowerLaw(500)
    axial = Axial((one, two), (8, 6))
    parts = [m(one, 8), m(two, 6)]
    np.testing.assert_array_equal(m(axial, 14), np.concatenate(parts))
    order = (3, 0, 2, 1)
    np.testing.assert_array_equal(m(Reordered(one, order=order)), parts[0][list(order)])
    np.testing.assert_array_equal(m(Linear(one, factor=5)), parts[0] + 2)


def test_by_parts_of_nothing_is_linear():
    """Without a share of NTK and of the plain frequencies only the division is left."""
    rule = NTKByParts(PowerLaw(1e4), factor=3, ntk_factor=0, extrapolation_factor=0)
    linear = Linear(PowerLaw(1e4), factor=3)
    np.testing.assert_allclose(rule.theta(64), linear.theta(64), rtol=1e-15)
    np.testing.assert_allclose(m(rule, 64), m(linear, 64))


def test_rounded_once_is_rounded_once():
    """Code that computes in float64 and rounds at the end owes no more with a remap."""
    for rule in remaps(48, 1e4, 32).values():
        assert (m(rule, 48, recipe="rounded") == 4).all()


def test_no_pairs_and_the_largest_numbers_have_a_count():
    """Without channels there is nothing to count; a base beyond every type is merely rounded."""
    for rule in remaps(0, 1e4, 3).values():
        assert m(rule, 0).shape == (0,)
    huge = FixedNTK(PowerLaw(1.7e308), factor=3)
    log = math.log(1.7e308) + math.log(3)
    np.testing.assert_allclose(m(huge), 4 + E * (log + 2) + 4 + math.log(3) / 4)


def test_what_float64_holds_is_not_rounded_there():
    """0.1 is no float32 number; as a parameter it is a float64 number by itself."""
    rule = Linear(PowerLaw(1e4), factor=2.1)
    assert (m(rule, dtype="float64") == PLAIN + 2).all()


# An amplitude that is computed


def yarn(factor, **more):
    return YaRN(PowerLaw(1e4), factor=factor, original_length=4096, **more)


def longrope(factor, length=4096):
    ones = (1,) * 4
    return LongRoPE(
        PowerLaw(1e4),
        short_factors=ones,
        long_factors=ones,
        original_length=length,
        factor=factor,
    )


AMPLITUDES = {
    "one logarithm": yarn,
    "a quotient of two": lambda factor: yarn(factor, mscale=1, mscale_all_dim=0.707),
    "a root": longrope,
}


@pytest.mark.parametrize("name", AMPLITUDES)
def test_a_computed_amplitude_is_off_by_what_is_counted(name):
    """In float32 it may be off by more than one rounding, and never by more than counted."""
    largest = 0.0
    for factor in (1.5, 2, 2.1, 3, 4, 8, 16, 32, 40, 64, 97.5, *np.linspace(1.1, 300, 300)):
        rule = AMPLITUDES[name](float(factor))
        error = abs(float(amplitude_of(rule, F)) / float(rule.amplitude) - 1) / U
        assert error <= amplitude_roundings(rule, "float32") - 1, factor
        largest = max(largest, error)
    assert largest > 1


def test_amplitudes_by_hand():
    """1 is no amplitude; one given is rounded and multiplied; logarithms cost what they weigh."""
    log, tenth = 0.1 * math.log(4), 1
    one = (2 + 2 + tenth) * log / (1 + log) + 1
    assert amplitude_roundings(PowerLaw(1e4), "float32") == 0
    assert amplitude_roundings(yarn(4, attention_factor=1.3), "float32") == 2
    assert amplitude_roundings(yarn(4), "float32") == pytest.approx(one + 1)
    assert amplitude_roundings(yarn(4, mscale=1, mscale_all_dim=1), "float32") == 0
    weighed = (2 + 2 + tenth + 1) * 0.7 * log / (1 + 0.7 * log) + 1
    both = yarn(4, mscale=1, mscale_all_dim=0.7)
    assert amplitude_roundings(both, "float32") == pytest.approx(one + weighed + 1 + 1)
    quotient = math.log(32) / math.log(4096)
    root = (5 * quotient / (1 + quotient) + 1) / 2 + 1
    assert amplitude_roundings(longrope(32), "float32") == pytest.approx(root + 1)
    assert amplitude_roundings(Linear(longrope(32), factor=3), "float32") == root + 1
    assert amplitude_roundings(ExplicitFrequencies([1.0], amplitude=1.3), "float64") == 2


def test_the_bound_has_the_amplitude_in_k():
    """At position 0 an amplitude adds its units and nothing else."""
    profile = profile_named("float32-power")
    plain, scaled = (RopeSpec(8, layout="half", frequencies=r) for r in (PowerLaw(1e4), yarn(4)))
    for dtype in ("float32", "bfloat16"):
        one, other = (bound(profile, each, 0, dtype, 1.0).ravel()[0] for each in (plain, scaled))
        units = amplitude_roundings(yarn(4), "float32") * U / unit_roundoff(dtype)
        assert other - one == pytest.approx(units)


# A parameter that is off by little shows

QWEN = YaRN(PowerLaw(1e6), factor=4, original_length=32768)
GPT_OSS = YaRN(PowerLaw(150_000), factor=32, original_length=4096, truncate=False)
LLAMA = Llama3(PowerLaw(5e5), factor=8)
DYNAMIC = DynamicNTK(PowerLaw(1e4), factor=2, original_length=4096, length=8192)
OFF = {
    "linear, factor": (Linear(PowerLaw(1e4), factor=8), {"factor": 8.008}),
    "ntk, alpha": (NTK(PowerLaw(1e4), alpha=8), {"alpha": 8.008}),
    "fixed ntk, factor": (FixedNTK(PowerLaw(1e4), factor=8), {"factor": 8.008}),
    "dynamic, length": (DYNAMIC, {"length": 8193}),
    "dynamic, factor": (DYNAMIC, {"factor": 2.002}),
    "by parts, factor": (NTKByParts(PowerLaw(1e4), factor=4), {"factor": 4.004}),
    "by parts, ntk_factor": (NTKByParts(PowerLaw(1e4), factor=4), {"ntk_factor": 0.999}),
    "yarn, factor": (QWEN, {"factor": 4.004}),
    "yarn, a pair further": (QWEN, {"original_length": 40000}),
    "untruncated, factor": (GPT_OSS, {"factor": 32.032}),
    "untruncated, original_length": (GPT_OSS, {"original_length": 4096 * 1.01}),
    "untruncated, beta_fast": (GPT_OSS, {"beta_fast": 32 * 1.01}),
    "untruncated, beta_slow": (GPT_OSS, {"beta_slow": 1.01}),
    "llama3, factor": (LLAMA, {"factor": 8.008}),
    "llama3, low": (LLAMA, {"low_freq_factor": 1.01}),
    "llama3, high": (LLAMA, {"high_freq_factor": 4.04}),
    "llama3, original_length": (LLAMA, {"original_length": 8194}),
}


@pytest.mark.parametrize("name", OFF)
def test_a_parameter_that_is_off_by_little_shows(name):
    """At R = 128, by 0.1 % or 1 % or less: many times the bound."""
    rule, change = OFF[name]
    spec = RopeSpec(128, layout="half", frequencies=rule)
    wrong = replace(rule, **change)
    positions = np.unique(np.random.default_rng(5).integers(0, 2**20, 200))
    x = np.random.default_rng(6).standard_normal((1, positions.size, 1, 128), dtype=F)
    y = rotated(x, positions, spec, theta_of(wrong, 128, F), amplitude_of(rule, F))
    profile = profile_named("float32-power")
    assert judge(y, x, positions, spec, "float32", profile).ratio.max() > 50


@pytest.mark.parametrize("name", SCALED)
def test_controls_are_honest_in_either_habit(name):
    """Each of the zoo's honest remaps is within its count at the model's own parameters."""
    spec, profile = SCALED[name].spec, profile_named(SCALED[name].claim.profile)
    counted = profile.amplification(spec) - 1
    for number in HABITS.values():
        error, moving = off(spec.frequencies, spec.rotary_dim, number)
        assert (error <= counted[moving]).all()

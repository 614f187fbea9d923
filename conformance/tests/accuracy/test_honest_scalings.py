"""Honest code of every scaling keeps what is counted for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_conformance.accuracy.amplification import amplification
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_conformance.zoo import CONTROLS
from rope_conformance.zoo.honest import scaled as honest_scalings
from rope_conformance.zoo.parts import scaling_formulas
from rope_conformance.zoo.parts.scaling_formulas import amplitude_of, rotated, theta_of
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import NTK, DynamicNTK, FixedNTK, Linear, Llama3, YaRN

F = np.float32
HABITS = ("all in float32", "single numbers in Python's")
RECIPES = ("power", "exp", "exp-single", "product")
SCALED = {
    name: each.factory
    for name, each in CONTROLS.items()
    if each.factory.__module__ == honest_scalings.__name__
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("habit", HABITS)
def test_no_frequency_takes_more_roundings_than_are_counted(
    recipe, habit, monkeypatch, honest, scalings
):
    """theta_i is off by at most m_i - 1 units; the product with the position is the last."""
    if recipe != "power":  # which the zoo has
        ladder = honest.ladders[recipe][0]
        monkeypatch.setattr(
            scaling_formulas, "_ladder", lambda base, rule, width: ladder(base, width)
        )
    nearest = {}
    for n, rotary_dim in enumerate(scalings.widths):
        for k, base in enumerate(scalings.bases):
            factor = scalings.factors[(n + k) % len(scalings.factors)]
            for name, rule in scalings.of(rotary_dim, base, factor).items():
                m = amplification(rule, rotary_dim, recipe, "float32")
                error, moving = scalings.off(rule, rotary_dim, scalings.habits[habit])
                share = (error / (m[moving] - 1)).max()
                assert share <= 1, (name, rotary_dim, base, factor)
                nearest[name] = max(nearest.get(name, 0), share)
    if recipe == "power" and scalings.habits[habit] is F:
        assert all(share >= 0.3 for share in nearest.values()), nearest


@pytest.mark.parametrize("habit", HABITS)
def test_honest_code_keeps_the_bound_of_its_scaling(habit, scalings):
    """At awkward widths, large bases and positions to 2**20, every ratio is at most 1."""
    number, profile = scalings.habits[habit], profile_named("float32-power")
    nearest = {}
    for n, rotary_dim in enumerate(scalings.widths):
        for k, base in list(enumerate(scalings.bases))[n % 2 :: 2]:
            rng = np.random.default_rng(n + 6 * k)
            positions = np.r_[rng.integers(0, 2**20, 8), rng.integers(0, 2**13, 8)]
            x = rng.standard_normal((1, 16, 1, rotary_dim), dtype=F)
            factor = scalings.factors[(2 * n + k) % len(scalings.factors)]
            for name, rule in scalings.of(rotary_dim, base, factor).items():
                spec = RopeSpec(rotary_dim, layout="half", frequencies=rule)
                theta = theta_of(rule, rotary_dim, number)
                y = rotated(x, positions, spec, theta, amplitude_of(rule, number))
                judgement = judge(y, x, positions, spec, "float32", profile)
                ratio = judgement.ratio.max()
                assert ratio <= 1, (name, rotary_dim, base, factor)
                nearest[name] = max(nearest.get(name, 0), ratio)
    assert all(ratio >= 0.3 for ratio in nearest.values()), nearest


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    st.integers(2, 96).map(lambda pairs: 2 * pairs),
    st.floats(1.5, 1e9),
    st.floats(0.5, 200),
    st.integers(64, 2**20),
    st.integers(1, 2**21),
    st.tuples(st.floats(0.1, 4), st.floats(4.5, 200)),
    st.sampled_from(sorted(HABITS)),
)
def test_no_honest_code_found_that_takes_more(
    scalings, rotary_dim, base, factor, trained, length, ends, by
):
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
        error, moving = scalings.off(rule, rotary_dim, scalings.habits[by])
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


@pytest.mark.parametrize("name", SCALED)
def test_controls_are_honest_in_either_habit(name, scalings):
    """Each of the zoo's honest scalings is within its count at the model's own parameters."""
    spec, profile = SCALED[name].spec, profile_named(SCALED[name].claim.profile)
    counted = profile.amplification(spec) - 1
    for number in scalings.habits.values():
        error, moving = scalings.off(spec.frequencies, spec.rotary_dim, number)
        assert (error <= counted[moving]).all()

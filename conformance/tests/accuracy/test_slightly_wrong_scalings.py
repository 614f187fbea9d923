"""A parameter of a scaling that is off by little shows."""

from dataclasses import replace

import numpy as np
import pytest

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_conformance.zoo.parts.scaling_formulas import amplitude_of, rotated, theta_of
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import NTK, DynamicNTK, FixedNTK, Linear, Llama3, NTKByParts, YaRN

F = np.float32
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

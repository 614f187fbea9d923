"""What several files here need: RoPEs as honest people write them, and data to judge them on.

The helpers come as fixtures because tests are collected with ``--import-mode=importlib`` and so
cannot import each other.
"""

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from rope_conformance.accuracy.profiles import Profile
from rope_conformance.zoo.parts.scaling_formulas import theta_of
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import (
    NTK,
    DynamicNTK,
    FixedNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKByParts,
    Proportional,
    YaRN,
)

F = np.float32


# Ladders as people write them, by recipe: float32 frequencies of a base and a width


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


class Honest:
    """Honest code for a power law: ladders, the rotation, and data."""

    widths = (6, 48, 64, 80, 96, 100, 128, 192)
    bases = (1e4, 5e5, 1e6, 1e7)
    types = {
        "float64": np.dtype(np.float64),
        "float32": np.dtype(np.float32),
        "float16": np.dtype(np.float16),
        "bfloat16": np.dtype(ml_dtypes.bfloat16),
    }
    ladders = {
        "rounded": (by_rounding,),
        "power": (by_power, by_negative_power),
        "exp": (by_exp,),
        "exp-single": (by_single_exp, by_exp_of_fraction),
        "product": (by_product,),
    }
    by_rounding = staticmethod(by_rounding)
    by_power = staticmethod(by_power)
    by_single_exp = staticmethod(by_single_exp)
    by_product = staticmethod(by_product)

    def half(self, rotary_dim, rule):
        """A spec whose whole head rotates, its pairs split in halves."""
        return RopeSpec(rotary_dim, layout="half", frequencies=rule)

    def profile(self, recipe, wide):
        """The profile of a recipe in float32, whether or not it has a name."""
        return Profile(
            f"float32 by {recipe}",
            "",
            phase="float32",
            recipe=recipe,
            output_roundings=1 if wide else 3,
            wide_products=wide,
        )

    def rotated(self, x, positions, theta, *, wide=True):
        """Rotate the halves of x (bthd); products in float32 or, if not `wide`, in x's type."""
        phase = (positions.astype(theta.dtype)[..., None] * theta)[:, None, :]
        kind = np.promote_types(np.float32, theta.dtype) if wide else x.dtype
        cos, sin = np.cos(phase).astype(kind), np.sin(phase).astype(kind)
        u, v = np.split(x.astype(kind), 2, axis=-1)
        return np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1).astype(x.dtype)

    def textbook(self, x, positions, base):
        """What everybody writes, in float64."""
        rotary_dim = x.shape[-1]
        theta = 1.0 / base ** (np.arange(0, rotary_dim, 2) / rotary_dim)
        return self.rotated(x, positions, theta)

    def data(self, seed, tokens, rotary_dim, dtype):
        """One row with one head."""
        x = np.random.default_rng(seed).standard_normal((1, tokens, 1, rotary_dim), dtype=F)
        return x.astype(self.types[dtype])

    def positions(self, seed):
        """Positions to 2**26: some of every size, and where numbers end."""
        rng = np.random.default_rng(seed)
        spread = [rng.integers(0, top, 12) for top in (512, 8192, 2**17, 2**20, 2**24)]
        edges = [0, 1, 2, 3, 4095, 2**17 - 1, 2**20, 2**24 - 1, 2**24 + 1, 2**26 + 2, -5, -(2**20)]
        return np.concatenate([*spread, edges])

    def worst(self, judgement):
        """The largest ratio among the samples that can tell right from wrong."""
        assert judgement.decisive.any()
        return float(judgement.ratio.max())


@pytest.fixture(scope="session")
def honest():
    return Honest()


@pytest.fixture(
    params=[
        ("float32", True),
        ("float16", True),
        ("bfloat16", True),
        ("float16", False),
        ("bfloat16", False),
    ],
    ids=lambda chain: f"{chain[0]}-{'wide' if chain[1] else 'narrow'}",
)
def chain(request):
    """A type of data, and whether its products are made in float32 or in that type."""
    return request.param


def factors(pairs, most):
    """A list for each pair that rises from 1 to `most`, like the published ones."""
    return tuple(most ** (i / max(pairs - 1, 1)) for i in range(pairs))


class Scalings:
    """Scalings at many parameters, and how far honest code of one is off."""

    widths = (6, 48, 80, 96, 100, 192)
    bases = (1e4, 5e5, 150_000.0, 1e7, 1234.5678)
    factors = (2, 3, 8, 32, 2.1, 100.7)
    habits = {"all in float32": F, "single numbers in Python's": float}
    u = 2.0**-24

    def of(self, rotary_dim, base, factor):
        """One of each scaling and more of those that amplify."""
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
            "yarn, narrow": replace(
                untruncated, beta_fast=8.3, beta_slow=0.7, original_length=5000
            ),
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

    def off(self, rule, rotary_dim, number):
        """How far honest frequencies are from the truth, in units of u, and which pairs turn."""
        got = theta_of(rule, rotary_dim, number)
        assert got.dtype == F
        want = np.array(rule.theta(rotary_dim))
        assert (got[want == 0] == 0).all()
        return np.abs(got[want != 0] / want[want != 0] - 1) / self.u, want != 0


@pytest.fixture(scope="session")
def scalings():
    return Scalings()

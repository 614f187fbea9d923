"""The bound is the formula of the page "The bound", worked by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rope_conformance.accuracy.bound import bound, given_table_bound
from rope_conformance.accuracy.number_types import tiny, unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_ref import ExplicitFrequencies, PowerLaw


def test_the_bound_is_the_formula_worked_by_hand(honest):
    """R = 4, b = 10000, pair 1, position 100: phase 1, m = 4 + ln(10000)/2, a = 1, k = 4."""
    spec = honest.half(4, PowerLaw(1e4))
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
def test_underflow_and_the_length_of_an_error_by_hand(name, dtype, n, least, products, honest):
    """n least / (u r) is added, and for a length sqrt 2 on it and on the products' one rounding."""
    spec, u = honest.half(4, PowerLaw(1e4)), unit_roundoff(dtype)

    def at(r, **options):
        return bound(profile_named(name), spec, 0, dtype, r, **options)[0]

    assert at(least) - at(np.inf) == pytest.approx(n / u, rel=1e-12)
    longer = at(least, norm=True) - at(np.inf, norm=True)
    assert longer == pytest.approx(math.sqrt(2) * n / u, rel=1e-12)
    more = (math.sqrt(2) - 1) * products
    assert at(np.inf, norm=True) - at(np.inf) == pytest.approx(more, rel=1e-6)


def test_the_phase_counts_its_second_order(honest):
    """Four roundings in a row err by up to 4u / (1 - 4u), not 4u: it shows in the ninth digit."""
    one = honest.half(2, ExplicitFrequencies([1.0]))
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


def test_each_recipe_counts_the_roundings_of_the_derivation(honest):
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
            got = honest.profile(recipe, True).amplification(honest.half(6, PowerLaw(base)))
            np.testing.assert_allclose(got, m, rtol=1e-14, err_msg=recipe)


def test_each_documented_ulp_of_the_functions_costs_two_roundings(honest):
    """k = 2 t + 2."""
    spec = honest.half(4, PowerLaw(1e4))
    bounds = [
        bound(replace(profile_named("exact"), trig_ulps=t), spec, 5, "float32", 1.0)[0]
        for t in (1, 2, 4)
    ]
    assert bounds[1] - bounds[0] == 2
    assert bounds[2] - bounds[0] == 6


def test_exact_ends_at_2_to_the_31(honest):
    """Beyond, the profile promises nothing: the bound is infinite."""
    spec = honest.half(4, PowerLaw(1e4))
    inside, outside = (
        bound(profile_named("exact"), spec, p, "float32", 1.0) for p in (2**31 - 1, 2**31)
    )
    assert np.isfinite(inside).all()
    assert np.isinf(outside).all()

"""Temperatures and softmax factors."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import rope_ref as rr
from rope_ref import errors


def holds(got, truth):
    """Whether a float64 is the real number, an Arb ball, rounded to nearest."""
    half_ulp = arb(float(np.spacing(np.nextafter(abs(got), 0.0)))) / 2
    return abs(truth - float(got)) <= half_ulp


@pytest.mark.parametrize(
    ("first", "length", "position", "printed"),
    [
        (1, 8192, 8190, "1"),
        (1, 8192, 8191, "1.06931471806"),
        (1, 8192, 16383, "1.10986122887"),
        (0, 8192, 8191, "1"),
        (0, 16384, 16383, "1"),
        (0, 16384, 16384, "1.06931471806"),
        (0, 16384, 49152, "1.13862943611"),
    ],
)
def test_worked_values_of_step_temperatures(first, length, position, printed):
    """Llama-4 counts from 1, Ministral-3 from 0: at 8191 the two differ."""
    got = rr.extensions.step_temperature(position, length=length, first=first)
    assert got.shape == ()
    assert f"{got:.12g}" == printed


def test_step_temperatures_are_rounded_once():
    """Against Arb, on both sides of every step; a float64 coefficient is what it is."""
    steps = [8192 * k + d for k in range(1, 9) for d in (-1, 0, 1)]
    for coefficient, exact in (({}, arb(1) / 10), ({"coefficient": 0.1}, arb(0.1))):
        got = rr.extensions.step_temperature(np.array(steps), length=8192, **coefficient)
        truth = [1 + exact * arb(1 + p // 8192).log() for p in steps]
        assert all(holds(g, t) for g, t in zip(got, truth, strict=True))


def test_log_temperatures():
    """Qwen-1 counts from 1, Grok from 0; up to the trained length there is none."""
    p = np.array([[0, 5, 8191], [8192, 8193, 100_000]])
    for first in (0, 1):
        got = rr.extensions.log_temperature(p, length=8192, first=first)
        assert got.shape == p.shape
        for g, index in zip(got.ravel(), (p + first).ravel(), strict=True):
            assert holds(g, arb(int(index)).log() / arb(8192).log()) if index > 8192 else g == 1
    # In base 2, as one system writes it, the quotient is the same.
    assert rr.extensions.log_temperature(16384, length=8192, first=0) == 14 / 13
    assert rr.extensions.log_temperature(8192, length=8192) > 1
    assert rr.extensions.log_temperature(8192, length=8192, first=0) == 1


@pytest.mark.parametrize(
    ("factor", "mscale", "root", "square"),
    [
        (40, 0.707, "1.26080377741", "1.58962616512"),
        (40, 1, "1.36888794541", "1.87385420709"),
        (1, 1, "1", "1"),
        (0.5, 1, "1", "1"),
    ],
)
def test_worked_values_of_the_softmax_factor(factor, mscale, root, square):
    """DeepSeek-V2-Lite and V3."""
    got = rr.extensions.softmax_factor(factor, mscale=mscale)
    assert f"{got:.12g}" == square
    assert f"{got**0.5:.12g}" == root


def test_the_softmax_factor_is_yarns_amplitude_on_both_sides():
    """And V3's whole scale, over a head of 192 channels."""
    assert f"{rr.extensions.softmax_factor(40) / 192**0.5:.12g}" == "0.135233778861"
    yarn = rr.scaling.YaRN(rr.PowerLaw(), factor=40, original_length=4096)
    assert rr.extensions.softmax_factor(40) == float(yarn.amplitude**2)
    assert holds(rr.extensions.softmax_factor(40), (1 + arb(40).log() / 10) ** 2)
    # 0.05 at factor 4 in the first code of dual chunk attention, not squared there
    assert f"{rr.extensions.softmax_factor(4, coefficient=0.05) ** 0.5:.12g}" == "1.06931471806"


def test_temperatures_refuse_what_they_cannot_use():
    """Each argument by its name."""
    for temperature in (rr.extensions.step_temperature, rr.extensions.log_temperature):
        with pytest.raises(errors.NegativePositionError, match=r"at least 0.*got -1"):
            temperature([3, -1], length=8192)
        with pytest.raises(errors.FrequencyValueError, match="first must be one of 0, 1"):
            temperature([3], length=8192, first=2)
        with pytest.raises(errors.FrequencyValueError, match="length must be positive"):
            temperature([3], length=0)
        with pytest.raises(errors.NonFinitePositionError):
            temperature([np.inf], length=8192)
        with pytest.raises(errors.PositionDtypeError, match=r"_temperature\(.*rows of one length"):
            temperature([[1], [1, 2]], length=8192)
        with pytest.raises(errors.FrequencyValueError, match="first must be one of 0, 1"):
            temperature([3], length=8192, first=np.array([1, 0]))
        assert temperature([3], length=2, first=np.int8(1)) == temperature([3], length=2, first=1)
        assert temperature([], length=8192).shape == (0,)
    for length in (1, 1 + Fraction(1, 10**200)):
        with pytest.raises(errors.FrequencyValueError, match="length must be above 1"):
            rr.extensions.log_temperature([3], length=length)
    with pytest.raises(errors.FrequencyValueError, match="factor must be positive"):
        rr.extensions.softmax_factor(0)


def test_what_is_beyond_float64_is_refused_by_its_name():
    """With the call that was made, and a hint for it."""
    beyond = "is beyond the largest float64; give a smaller "
    with pytest.raises(errors.FrequencyValueError) as caught:
        rr.extensions.softmax_factor(1e300, mscale=1e200)
    call = "softmax_factor(1e+300, mscale=1e+200, coefficient=Fraction(1, 10))"
    assert str(caught.value) == f"{call}: the factor {beyond}mscale or coefficient"
    with pytest.raises(errors.FrequencyValueError) as caught:
        rr.extensions.step_temperature([0, 10], length=1, coefficient=1e308)
    call = "step_temperature(positions, length=1, coefficient=1e+308, first=0)"
    assert str(caught.value) == f"{call}: the temperature at 10 {beyond}coefficient"

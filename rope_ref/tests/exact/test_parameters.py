"""Parameters: each is the rational number that it is, or refused in a message."""

from decimal import Decimal

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors

PAPER = rr.PowerLaw(1e4)
HUGE = 10**5000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rr.scaling.Linear(PAPER, factor=HUGE), "Linear(PowerLaw(base=10000.0, "),
        (
            lambda: rr.scaling.NTK(PAPER, alpha=-HUGE),
            "alpha=an integer of 16610 bits): alpha must be ",
        ),
        (
            lambda: rr.scaling.DynamicNTK(PAPER, factor=2, original_length=9).at(HUGE),
            "): length must be ",
        ),
        (
            lambda: rr.scaling.YaRN(PAPER, factor=2, original_length=9, mscale=HUGE),
            "mscale must be ",
        ),
        (
            lambda: rr.scaling.Proportional(PAPER, fraction=HUGE),
            "fraction=an integer of 16610 bits, ",
        ),
        (lambda: rr.scaling.NTKByParts(PAPER, factor=2, betas=(HUGE, 1)), "betas must be "),
        (lambda: rr.extensions.XPos(gamma=HUGE), "XPos(gamma=an integer of 16610 bits, "),
        (lambda: rr.extensions.softmax_factor(HUGE), "softmax_factor(an integer of 16610 bits, "),
        (
            lambda: rr.extensions.step_temperature([1], length=HUGE),
            "length=an integer of 16610 bits, ",
        ),
    ],
)
def test_a_number_too_long_to_print_is_told_by_its_size(call, words):
    """Python refuses to write integers of more than 4300 digits; a message does not need to."""
    with pytest.raises(errors.FrequencyValueError) as caught:
        call()
    assert words in str(caught.value)
    assert str(caught.value).endswith("must be a finite real number, got an integer of 16610 bits")


def test_a_list_with_such_a_number_is_told_by_its_kind():
    """What cannot be printed inside another thing keeps that from being printed."""
    with pytest.raises(errors.FrequencyValueError, match="two numbers of turns, got a value of"):
        rr.scaling.NTKByParts(PAPER, factor=2, betas=[HUGE])


@pytest.mark.parametrize("text", ["1e99999999", "1e-99999999", "-1e401", "1e-401"])
def test_a_decimal_far_beyond_float64_is_refused_before_it_is_written_out(text):
    """As a fraction it would have as many digits as its exponent says; 0 has none."""
    value = Decimal(text)
    with pytest.raises(errors.FrequencyValueError) as caught:
        rr.scaling.Linear(PAPER, factor=value)
    words = "factor must be a finite real number between 1e-400 and 1e400 in magnitude, got "
    assert str(caught.value).endswith(words + repr(value))
    assert rr.scaling.YaRN(PAPER, factor=2, original_length=9, mscale=value * 0).mscale == 0


@pytest.mark.parametrize("kind", [np.longdouble, np.float32, np.float16])
def test_numbers_of_numpy_are_what_they_are(kind):
    """A wide float is not rounded to float64, a narrow one is exact; what is none is refused."""
    value = kind("0.1")
    factor = rr.scaling.Linear(PAPER, factor=value).factor
    assert factor.as_integer_ratio() == value.as_integer_ratio()
    assert rr.scaling.Linear(PAPER, factor=kind(4)) == rr.scaling.Linear(PAPER, factor=4)
    for text in ("nan", "inf"):
        with pytest.raises(errors.FrequencyValueError, match="must be a finite real number"):
            rr.scaling.Linear(PAPER, factor=kind(text))


def test_qwen_alpha_takes_numbers_of_tokens():
    """Both lengths are integers of at least 1."""
    for lengths, name in (
        ((0, 8192), "length"),
        ((8192, 0), "trained_length"),
        ((-1, 1), "length"),
        (("8193", 8192), "length"),
        ((8193, 8192.0), "trained_length"),
        ((True, True), "length"),
        ((np.array([9000]), 8192), "length"),
        ((-HUGE, 8192), "length"),
    ):
        words = rf"^qwen_alpha\(.*\): {name} must be an integer of at least 1, got "
        with pytest.raises(errors.FrequencyValueError, match=words):
            rr.scaling.qwen_alpha(*lengths)
    assert rr.scaling.qwen_alpha(np.int64(9000), np.int16(8192)) == 3

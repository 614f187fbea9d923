"""Which frequencies hold while a text grows, and keys that are moved in a cache."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors
from rope_ref.extensions.length_rules import LENGTH_RULES

# As in the worked values of the public rule: factor 2, 4096 trained positions, R = 128.
DYNAMIC = rr.scaling.DynamicNTK(rr.PowerLaw(1e4), factor=2, original_length=4096)
LONG = rr.scaling.LongRoPE(
    rr.PowerLaw(1e4), short_factors=[1.0] * 4, long_factors=[1.0, 2.0, 4.0, 8.0],
    original_length=4096, factor=32,
)  # fmt: skip
U = 2.0**-53


def lengths(rule, length_rule, *forwards):
    """The length whose frequencies hold at each forward, each given by its length."""
    found = []
    for length in forwards:
        rule = rr.extensions.served_rule(
            rule, np.arange(length - 1, length), length_rule=length_rule
        )
        found.append(rule.length and int(rule.length))
    return found


def base(rule, rotary_dim=128):
    """The base, read from the second pair: theta_1 = base**(-2 / R)."""
    spec = rr.RopeSpec(rotary_dim, layout="half", frequencies=rule)
    return spec.theta()[1] ** (-rotary_dim / 2)


# Each row was printed by transformers' own dynamic rotary embedding, 4.57 and 5.24.
@pytest.mark.parametrize(
    ("forwards", "bases"),
    [
        ((4096, 4097, 8192), (10000, 10004.9603367, 30527.7367488)),
        ((8192, 5000, 4096, 4095), (30527.7367488, 30527.7367488, 30527.7367488, 10000)),
        ((32768, 8192), (156588.323457, 156588.323457)),
    ],
)
def test_resets_as_the_public_class_does(forwards, bases):
    """Growth is kept until a forward is shorter than the original length; equal does not do."""
    rule = DYNAMIC
    for length, expected in zip(forwards, bases, strict=True):
        rule = rr.extensions.served_rule(rule, np.arange(length), length_rule="resets")
        # The power of 64 multiplies theta's rounding and its own by no more than 64 + 4.
        assert base(rule) == pytest.approx(expected, rel=68 * U + 0.5e-11)


def test_the_length_rules_part_where_they_are_said_to():
    """One sequence of forwards that tells all four apart."""
    served = (10, 4096, 4097, 9000, 5000, 4096, 4095, 6000)
    assert lengths(DYNAMIC, "forward", *served) == [
        None, None, 4097, 9000, 5000, None, None, 6000,
    ]  # fmt: skip
    assert lengths(DYNAMIC, "grows", *served) == [None, None, 4097] + 5 * [9000]
    assert lengths(DYNAMIC, "resets", *served) == [
        None, None, 4097, 9000, 9000, 9000, None, 6000,
    ]  # fmt: skip
    assert lengths(DYNAMIC, "configured", *served) == 8 * [None]
    assert lengths(DYNAMIC.at(8192), "configured", *served) == 8 * [8192]


def test_longrope_switches_above_the_original_length():
    """4096 tokens are short, the token at position 4096 is long; then a short text is short."""
    rule, seen = LONG, []
    for first, stop in ((0, 4096), (4096, 4097), (0, 7)):
        rule = rr.extensions.served_rule(rule, np.arange(first, stop))
        seen.append(rule.is_long)
    assert seen == [False, True, False]
    assert rr.extensions.served_rule(LONG.at(2**17), [0], length_rule="configured").is_long


def test_the_length_of_a_forward_is_over_all_rows():
    """The whole batch has one rule, that of the largest position in it."""
    rows = np.array([[0, 1, 2], [4095, 4096, 4097]])
    assert rr.extensions.served_rule(DYNAMIC, rows).length == 4098
    assert rr.extensions.served_rule(DYNAMIC, rows[:1]).length is None


def test_below_the_original_length_the_base_stays():
    """Where one public system computes a negative number, and a complex base of it."""
    assert rr.extensions.served_rule(DYNAMIC, np.arange(100), length_rule="grows").alpha == 1
    assert DYNAMIC.at(1024).alpha == 1


def test_old_keys_keep_their_table():
    """A key at 8192 lies 0.055 rad from where the next forward's frequencies would put it."""
    rule = rr.scaling.DynamicNTK(rr.PowerLaw(1e4), factor=4, original_length=4096)
    before, after = (
        rr.RopeSpec(
            128, layout="half", frequencies=rr.extensions.served_rule(rule, [length - 1])
        ).theta()
        for length in (8192, 8193)
    )
    assert np.abs(8192 * (after - before)).max() == pytest.approx(0.055, abs=0.0005)


@pytest.mark.parametrize("length_rule", LENGTH_RULES)
def test_a_step_changes_nothing_that_is_there(length_rule):
    """Rules are values: the one given is as it was, and an equal one gives an equal one."""
    rule = DYNAMIC.at(5000)
    step = rr.extensions.served_rule(rule, [7000], length_rule=length_rule)
    assert rule == DYNAMIC.at(5000)
    assert step == rr.extensions.served_rule(DYNAMIC.at(5000), [7000], length_rule=length_rule)
    assert replace(step, length=None) == DYNAMIC


def test_what_cannot_be_served_is_refused():
    """In words that name what was expected."""
    with pytest.raises(errors.FrequencyValueError, match="must be a DynamicNTK or a LongRoPE"):
        rr.extensions.served_rule(rr.PowerLaw(), [0])
    with pytest.raises(errors.FrequencyValueError, match="length_rule must be one of 'resets'"):
        rr.extensions.served_rule(DYNAMIC, [0], length_rule="chunk")
    with pytest.raises(errors.PositionShapeError, match="at least one position"):
        rr.extensions.served_rule(DYNAMIC, [])
    with pytest.raises(errors.NonFinitePositionError):
        rr.extensions.served_rule(DYNAMIC, [np.nan])
    with pytest.raises(errors.FrequencyValueError, match="length_rule must be one of 'resets'"):
        rr.extensions.served_rule(DYNAMIC, [0], length_rule=np.array(["grows", "resets"]))
    with pytest.raises(errors.PositionDtypeError, match=r"served_rule\(.*rows of one length"):
        rr.extensions.served_rule(DYNAMIC, [[1], [1, 2]])
    # A rule may hold a number that Python does not print.
    rule = replace(DYNAMIC, factor=Fraction(10**5000 + 1, 10**5000))
    with pytest.raises(errors.PositionShapeError, match="a value of type DynamicNTK"):
        rr.extensions.served_rule(rule, [])

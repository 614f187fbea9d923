"""NTK: what the base becomes, and the steps of Qwen-1."""

from decimal import Decimal

import pytest

import rope_ref as rr

PAPER = rr.PowerLaw(1e4)


def base_of(rule, rotary_dim):
    """The base of a ladder, told by its second pair."""
    second = rule.frequencies(rotary_dim)[1].digits(80)
    return float(second ** (Decimal(-rotary_dim) / 2))


def dynamic(factor, length):
    return rr.scaling.DynamicNTK(PAPER, factor=factor, original_length=4096, length=length)


@pytest.mark.parametrize(
    ("rule", "base"),
    [
        (rr.scaling.NTK(PAPER, alpha=8), "82684.6226406"),
        (rr.scaling.NTK(PAPER, alpha=2), "20221.2616897"),
        # Hunyuan.
        (rr.scaling.NTK(PAPER, alpha=1000), "11158839.9251"),
        (rr.scaling.NTK(PAPER, alpha=50), "532032.03393"),
        # Qwen-1, one step above its length.
        (rr.scaling.NTK(PAPER, alpha=rr.scaling.qwen_alpha(8193, 8192)), "30527.7367488"),
        (dynamic(2, None), "10000"),
        (dynamic(2, 4096), "10000"),
        (dynamic(2, 4097), "10004.9603367"),
        (dynamic(2, 8192), "30527.7367488"),
        (dynamic(2, 32768), "156588.323457"),
        # One table for the longest text, factor x original_length.
        (dynamic(4, 4 * 4096), "135401.973042"),
    ],
)
def test_worked_bases(printed, rule, base):
    """What the base becomes, told by the second of 64 pairs."""
    assert base_of(rule, 128) == printed(base)


def test_qwen_alpha_doubles_with_the_length():
    """1 up to the trained length, then 3, 7, 15, each up to the next doubling."""
    steps = {1: 1, 8192: 1, 8193: 3, 16384: 3, 16385: 7, 32768: 7, 32769: 15, 65536: 15}
    assert {n: rr.scaling.qwen_alpha(n, 8192) for n in steps} == steps
    assert rr.scaling.qwen_alpha(1, 1) == rr.scaling.qwen_alpha(2047, 2048) == 1

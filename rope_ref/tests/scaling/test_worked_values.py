"""Rules give the numbers that were worked out for real models and public systems.

All of them are float64 numbers printed to some digits; `printed` asks for just these.
"""

import pytest

import rope_ref as rr

PAPER = rr.PowerLaw(1e4)
LLAMA = rr.PowerLaw(5e5)


def dynamic(factor, length):
    return rr.scaling.DynamicNTK(PAPER, factor=factor, original_length=4096, length=length)


def llama3(factor, **options):
    return rr.scaling.Llama3(LLAMA, factor=factor, **options)


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "theta"),
    [
        (PAPER, 128, {0: "1", 1: "0.86596432336", 32: "0.01", 63: "1.15478198469e-4"}),
        (LLAMA, 128, {1: "0.814617233857", 63: "2.45514079113e-6"}),
        (rr.scaling.Linear(PAPER, factor=4), 128, {0: "0.25", 63: "2.88695496172e-5"}),
        (rr.scaling.NTK(PAPER, alpha=8), 128, {0: "1", 63: "1.44347748086e-5"}),
        (dynamic(2, 8192), 128, {0: "1", 63: "3.8492732823e-5"}),
        (llama3(8), 128, {30: "1.37189356776e-3", 63: "3.06892598891e-7"}),
        # Gemma 4: a quarter of the pairs of a head of 512, and what the same quarter would
        # have if it were a RoPE of its own.
        (
            rr.scaling.Proportional(rr.PowerLaw(1e6), fraction=0.25),
            512,
            {0: "1", 1: "0.947463525655", 63: "0.0333762469429", 64: "0", 255: "0"},
        ),
        (rr.PowerLaw(1e6), 128, {63: "1.24093776075e-6"}),
    ],
)
def test_worked_frequencies(printed, rule, rotary_dim, theta):
    """theta of single pairs."""
    assert {i: rule.theta(rotary_dim)[i] for i in theta} == {
        i: printed(text) for i, text in theta.items()
    }


@pytest.mark.parametrize(
    ("rule", "rotary_dim", "ratios"),
    [
        (rr.scaling.NTK(PAPER, alpha=8), 128, {0: "1", 63: "0.125"}),
        # vLLM's `ntk`, without and with mixed_b.
        (rr.scaling.FixedNTK(PAPER, factor=8), 128, {0: "0.968030896746", 63: "0.125"}),
        (
            rr.scaling.FixedNTK(PAPER, factor=8, mixing=0.625),
            128,
            {0: "0.856796009516", 31: "0.259668094931", 63: "0.125"},
        ),
        (
            rr.scaling.NTKByParts(PAPER, factor=4),
            128,
            {0: "1", 20: "1", 32: "0.620896738051", 40: "0.348823238608", 50: "0.25", 63: "0.25"},
        ),
        # Llama-3.1, and Llama-3.2-1B.
        (
            llama3(8),
            128,
            {
                28: "1",
                29: "0.828168411837",
                30: "0.643743133128",
                31: "0.493507122732",
                32: "0.371122279518",
                33: "0.271425477073",
                34: "0.190210743641",
                35: "0.125",
            },
        ),
        (
            llama3(32),
            64,
            {
                14: "1",
                15: "0.605572754534",
                16: "0.303742523752",
                17: "0.103447609031",
                18: "0.03125",
            },
        ),
    ],
)
def test_worked_ratios(printed, rule, rotary_dim, ratios):
    """What single pairs are multiplied by."""
    theta, plain = rule.theta(rotary_dim), rule.rule.theta(rotary_dim)
    assert {i: theta[i] / plain[i] for i in ratios} == {
        i: printed(text) for i, text in ratios.items()
    }

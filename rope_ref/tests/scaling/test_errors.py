"""Bad parameters of scalings: the class of the error, and a message that names the parameter."""

import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors

PAPER = rr.PowerLaw(1e4)
OTHER = rr.ExplicitFrequencies([1.0, 0.5])
GOOD = {
    rr.scaling.Linear: {"factor": 4},
    rr.scaling.NTK: {"alpha": 4},
    rr.scaling.FixedNTK: {"factor": 4, "mixing": 0.625},
    rr.scaling.DynamicNTK: {"factor": 4, "original_length": 4096, "length": 5000},
    rr.scaling.NTKByParts: {
        "factor": 4,
        "original_length": 2048,
        "betas": (1.25, 0.75),
        "gammas": (16, 2),
    },
    rr.scaling.YaRN: {
        "factor": 4,
        "original_length": 4096,
        "beta_fast": 32,
        "beta_slow": 1,
        "attention_factor": 1.5,
    },
    rr.scaling.LongRoPE: {
        "short_factors": (1, 2),
        "long_factors": (3, 4),
        "original_length": 4096,
        "factor": 32,
        "length": 5000,
        "attention_factor": 1.5,
        "short_mscale": 1.5,
        "long_mscale": 1.5,
    },
    rr.scaling.Divided: {"factors": (1, 2)},
    rr.scaling.Llama3: {
        "factor": 8,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
        "original_length": 8192,
    },
    rr.scaling.Proportional: {"fraction": 0.25, "factor": 4},
}
# Numbers of either sign that are no share of anything.
ANY_SIGN = {
    rr.scaling.NTKByParts: ("ntk_factor", "extrapolation_factor"),
    rr.scaling.YaRN: ("mscale", "mscale_all_dim", "coefficient"),
}
NO_NUMBERS = [
    True,
    np.True_,
    "4",
    b"4",
    float("nan"),
    float("inf"),
    -float("inf"),
    Decimal("nan"),
    10**400,
    Fraction(10**400, 3),
    1j,
    np.complex128(4),
    [4.0],
    {},
]
NOT_POSITIVE = [0, -0.0, -1, Fraction(-1, 3), np.float32(-2)]
OPTIONAL = ("length", "mixing", "attention_factor", "short_mscale", "long_mscale")
SEQUENCES = ("betas", "gammas", "short_factors", "long_factors", "factors")
NUMBERS = [
    (kind, name)
    for kind, good in GOOD.items()
    for name in good
    if name not in (*SEQUENCES, "fraction")
]


def refuse(call, *words, error=errors.FrequencyValueError):
    """The call raises this very class, which a caller may catch as ValueError, in one line."""
    with pytest.raises(ValueError) as caught:
        call()
    assert type(caught.value) is error
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == [], message


def test_the_good_ones_are_taken():
    """What each case below spoils one parameter of."""
    for kind, good in GOOD.items():
        assert len(kind(PAPER, **good).theta(4)) == 2


@pytest.mark.parametrize(("kind", "name"), NUMBERS, ids=str)
def test_a_parameter_must_be_a_positive_number(kind, name):
    """What is no finite real number is refused, what is not above 0 as well."""
    for value in NO_NUMBERS:
        refuse(
            lambda value=value: kind(PAPER, **{**GOOD[kind], name: value}),
            f"{kind.__name__}(PowerLaw(base=10000.0",
            f"{name} must be a finite real number, got {value!r}",
        )
    for value in NOT_POSITIVE:
        refuse(
            lambda value=value: kind(PAPER, **{**GOOD[kind], name: value}),
            f"{kind.__name__}(",
            f"{name} must be positive, got {value!r}; ",
        )


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in ANY_SIGN.items() for name in names], ids=str
)
def test_a_parameter_must_be_a_number(kind, name):
    """Shares and weights may be 0 or below, but must be numbers."""
    for value in NO_NUMBERS:
        refuse(
            lambda value=value: kind(PAPER, **{**GOOD[kind], name: value}),
            f"{kind.__name__}(",
            f"{name} must be a finite real number, got {value!r}",
        )
    assert kind(PAPER, **{**GOOD[kind], name: 0}) != kind(PAPER, **{**GOOD[kind], name: -1})


@pytest.mark.parametrize("name", ["length", "mixing", "attention_factor", "long_mscale"])
def test_what_may_be_left_out_says_so(name):
    """None is no mistake where a parameter is optional, and the message about 0 says so."""
    kind = next(kind for kind, good in GOOD.items() if name in good)
    assert getattr(kind(PAPER, **{**GOOD[kind], name: None}), name) is None
    refuse(lambda: kind(PAPER, **{**GOOD[kind], name: 0}), name, "leave it out")


@pytest.mark.parametrize(
    ("kind", "name"), [each for each in NUMBERS if each[1] not in OPTIONAL], ids=str
)
def test_what_may_not_be_left_out(kind, name):
    """None stands for no number where one is needed."""
    refuse(lambda: kind(PAPER, **{**GOOD[kind], name: None}), f"{name} must be", "got None")


@pytest.mark.parametrize("kind", GOOD, ids=str)
def test_a_scaling_needs_a_rule(kind):
    """Without a rule Python says so; a number or a class in its place is refused."""
    with pytest.raises(TypeError, match="rule"):
        kind(**GOOD[kind])
    for rule in (10000.0, None, rr.PowerLaw, "PowerLaw(10000)", [1.0, 0.5]):
        refuse(lambda rule=rule: kind(rule, **GOOD[kind]), f"{kind.__name__}(", "rule must be")


@pytest.mark.parametrize("kind", GOOD, ids=str)
def test_parameters_are_named(kind):
    """Nothing but the rule goes by position, and a name that does not exist is refused."""
    with pytest.raises(TypeError, match="positional"):
        kind(PAPER, *GOOD[kind].values())
    with pytest.raises(TypeError, match="scale"):
        kind(PAPER, **GOOD[kind], scale=2)
    others = {
        rr.scaling.NTK: "alpha",
        rr.scaling.Proportional: "fraction",
        rr.scaling.Divided: "factors",
    }
    needed = others.get(kind, "factor")
    with pytest.raises(TypeError, match=needed):
        kind(PAPER, **{name: value for name, value in GOOD[kind].items() if name != needed})


@pytest.mark.parametrize(
    "kind",
    [
        rr.scaling.NTK,
        rr.scaling.FixedNTK,
        rr.scaling.DynamicNTK,
        rr.scaling.NTKByParts,
        rr.scaling.YaRN,
    ],
    ids=str,
)
def test_what_changes_the_base_needs_a_power_law(kind):
    """Given frequencies and scaled ones have no base to change."""
    for rule in (OTHER, rr.scaling.Linear(PAPER, factor=2)):
        refuse(
            lambda rule=rule: kind(rule, **GOOD[kind]),
            f"{kind.__name__}(",
            "rule must be a PowerLaw",
            f"got {rule!r}",
        )


@pytest.mark.parametrize(
    "kind",
    [
        rr.scaling.Linear,
        rr.scaling.LongRoPE,
        rr.scaling.Divided,
        rr.scaling.Llama3,
        rr.scaling.Proportional,
    ],
    ids=str,
)
def test_what_keeps_the_base_takes_any_rule(kind):
    """Given frequencies and scaled ones can be divided like any other."""
    for rule in (OTHER, rr.scaling.Linear(PAPER, factor=2), rr.scaling.NTK(PAPER, alpha=2)):
        assert len(kind(rule, **GOOD[kind]).theta(4)) == 2


@pytest.mark.parametrize("kind", [rr.scaling.NTKByParts, rr.scaling.YaRN], ids=str)
def test_a_ramp_needs_a_base_above_one(kind):
    """With a base of 1 or less the pairs do not slow down, and no pair is where the ramp ends."""
    for base in (1, 0.5):
        refuse(
            lambda base=base: kind(rr.PowerLaw(base), **GOOD[kind]),
            f"{kind.__name__}(PowerLaw(base={float(base)}",
            "base must be above 1",
        )


@pytest.mark.parametrize(
    "rule",
    [
        rr.scaling.NTK(PAPER, alpha=8),
        rr.scaling.DynamicNTK(PAPER, factor=8, original_length=4096, length=8192),
        rr.scaling.NTKByParts(PAPER, factor=8),
    ],
    ids=repr,
)
def test_ntk_has_no_value_at_two_channels(rule):
    """R/(R - 2) is infinite at R = 2; where nothing is changed there is nothing to refuse."""
    for call in (
        lambda: rule.theta(2),
        lambda: rule.frequencies(2),
        lambda: rr.RopeSpec(2, layout="half", frequencies=rule),
    ):
        refuse(call, "rotary_dim=2", "R = 2", "at least 4", error=errors.NtkWidthError)
    assert rr.scaling.NTK(PAPER, alpha=1).theta(2) == (1.0,)
    assert rr.scaling.DynamicNTK(PAPER, factor=8, original_length=4096).theta(2) == (1.0,)


@pytest.mark.parametrize("name", ["short_factors", "long_factors"])
def test_longrope_needs_a_factor_for_each_pair(name):
    """Both lists must have R/2 entries, the one that is not in use too, all of them positive."""
    rule = rr.scaling.LongRoPE(PAPER, **{**GOOD[rr.scaling.LongRoPE], name: (1, 2, 3)})
    for call in (
        lambda: rule.theta(4),
        lambda: rule.frequencies(4),
        lambda: rr.RopeSpec(4, layout="half", frequencies=rule),
    ):
        refuse(
            call,
            "rotary_dim=4",
            f"3 {name} given",
            "2 pairs",
            "one per pair",
            error=errors.FrequencyCountError,
        )
    for value, words in (
        (2.0, "must be a sequence"),
        (None, "must be a sequence"),
        ("12", "must be a sequence"),
        ((1, 0), "[1] must be positive, got 0"),
        ((float("nan"), 1), "[0] must be a finite real number"),
    ):
        refuse(
            lambda value=value: rr.scaling.LongRoPE(
                PAPER, **{**GOOD[rr.scaling.LongRoPE], name: value}
            ),
            "short_factors=..., long_factors=...",
            f"{name}{words}" if words.startswith("[") else f"{name} {words}",
        )


def test_divided_needs_a_factor_for_each_pair():
    """R/2 of them, all positive."""
    rule = rr.scaling.Divided(PAPER, factors=(1, 2, 3))
    for call in (lambda: rule.theta(4), lambda: rule.frequencies(4)):
        refuse(call, "rotary_dim=4 with Divided: 3 factors", error=errors.FrequencyCountError)
    for value, words in ((2.0, "factors must be a sequence"), ((1, 0), "factors[1] must be")):
        refuse(lambda value=value: rr.scaling.Divided(PAPER, factors=value), "Divided(", words)


def test_longrope_divides_by_the_logarithm_of_the_length():
    """A length of 1 leaves no amplitude, unless it is given or the factor asks for none."""
    options = {"short_factors": (1,), "long_factors": (1,)}
    refuse(
        lambda: rr.scaling.LongRoPE(PAPER, **options, original_length=1, factor=2),
        "original_length must be above 1",
        "attention_factor",
    )
    refuse(
        lambda: rr.scaling.LongRoPE(PAPER, **options, original_length=1, factor=2, short_mscale=3),
        "original_length must be above 1",
    )
    near = 1 + Fraction(1, 10**200)  # its logarithm is 0 to a hundred digits
    refuse(lambda: rr.scaling.LongRoPE(PAPER, **options, original_length=near, factor=2), "above 1")
    given = rr.scaling.LongRoPE(PAPER, **options, original_length=1, factor=2, attention_factor=3)
    assert given.amplitude == 3
    both = {"short_mscale": 3, "long_mscale": 4}
    given = rr.scaling.LongRoPE(PAPER, **options, original_length=1, factor=2, **both)
    assert (given.amplitude, given.at(2).amplitude) == (3, 4)
    assert rr.scaling.LongRoPE(PAPER, **options, original_length=1, factor=1).amplitude == 1


def test_llama3_ends_in_order():
    """high_freq_factor may be equal to low_freq_factor, but not below it."""
    refuse(
        lambda: rr.scaling.Llama3(PAPER, factor=8, low_freq_factor=4, high_freq_factor=1),
        "low_freq_factor=4, high_freq_factor=1",
        "high_freq_factor must not be below low_freq_factor",
        "low 1, high 4",
    )
    assert rr.scaling.Llama3(PAPER, factor=8, low_freq_factor=4, high_freq_factor=4).theta(4)


def test_a_fraction_lies_between_0_and_1():
    """Proportional takes both ends, and nothing beyond."""
    for value in (-0.25, 1.5, 64, Fraction(-1, 10**30)):
        refuse(
            lambda value=value: rr.scaling.Proportional(PAPER, fraction=value),
            f"fraction={value!r}",
            "fraction must lie between 0 and 1",
        )
    for value in NO_NUMBERS:
        refuse(
            lambda value=value: rr.scaling.Proportional(PAPER, fraction=value), "fraction must be a"
        )
    assert [rr.scaling.Proportional(PAPER, fraction=f).turning(8) for f in (0, 1)] == [0, 4]


@pytest.mark.parametrize("name", ["betas", "gammas"])
def test_a_ramp_has_two_ends(name):
    """NTK-by-parts takes two numbers of turns, both positive."""
    for value, words in (
        (1.25, "must be two numbers of turns, got 1.25"),
        ((1,), "must be two numbers of turns, got (1,)"),
        ((3, 2, 1), "must be two numbers of turns, got (3, 2, 1)"),
        ("12", "must be two numbers of turns, got '12'"),
        ((1, 0), "must be positive, got 0"),
        ((True, 1), "must be a finite real number, got True"),
    ):
        refuse(
            lambda value=value: rr.scaling.NTKByParts(PAPER, factor=4, **{name: value}),
            f"{name} {words}",
        )


@pytest.mark.parametrize(
    ("kind", "name", "known"),
    [
        (rr.scaling.Llama3, "boundary", ("slow", "fast")),
        (rr.scaling.YaRN, "limit", ("channels", "pairs")),
        (rr.scaling.YaRN, "equal_ends", ("raise", "least", "lower")),
        (rr.scaling.YaRN, "amplitude_rule", ("truthy", "given", "defaults", "single", "one")),
        (rr.scaling.YaRN, "truncate", (True, False)),
        (rr.scaling.YaRN, "below_one", (True, False)),
    ],
    ids=str,
)
def test_a_word_that_is_not_known(kind, name, known):
    """The message lists the words there are; in place of a truth value no word will do."""
    for word in known:
        assert getattr(kind(PAPER, **GOOD[kind], **{name: word}), name) == word
    for word in ("Slow", "false", "", None, 2, [known[0]], np.array(known), np.array(known[:1])):
        refuse(
            lambda word=word: kind(PAPER, **GOOD[kind], **{name: word}),
            f"{kind.__name__}(",
            f"{name} must be one of {', '.join(map(repr, known))}, got {word!r}",
        )


def test_an_amplitude_must_be_positive():
    """Weights that make the amplitude 0 or less, or divide by 0, are refused with their values."""
    with decimal.localcontext(prec=100):
        cancels = Fraction(-1 / Decimal(2).ln())  # 1 + cancels x ln(2) is 0 to 100 digits
    for options in (
        {"factor": 40, "mscale": -100, "mscale_all_dim": 1},
        {"factor": 40, "mscale": 1, "mscale_all_dim": -100},
        {"factor": 0.5, "mscale": 2, "mscale_all_dim": 1, "coefficient": 1, "below_one": True},
        {"factor": 2, "mscale": 0.5, "mscale_all_dim": 1, "coefficient": cancels},
        {"factor": 2, "mscale": 1, "mscale_all_dim": 0.5, "coefficient": cancels},
    ):
        refuse(
            lambda options=options: rr.scaling.YaRN(PAPER, original_length=4096, **options),
            "amplitude must be positive",
            f"mscale={float(options['mscale'])}",
            f"mscale_all_dim={float(options['mscale_all_dim'])}",
        )


def test_a_frequency_beyond_float64():
    """What grows beyond the largest number says which pair, or what to give instead."""
    smallest = 5e-324
    for rule in (rr.scaling.Linear(PAPER, factor=smallest), rr.scaling.NTK(PAPER, alpha=smallest)):
        refuse(lambda rule=rule: rule.theta(4), "theta() of pair", "largest float64")
    beyond = rr.PowerLaw(1e-300, denominator=1e-300)
    refuse(lambda: beyond.theta(4), "theta()", "beyond any number", "base nearer to 1")


@pytest.mark.parametrize("rule", [rr.scaling.DynamicNTK, rr.scaling.LongRoPE], ids=str)
def test_another_length_is_checked_too(rule):
    """at() refuses what the constructor refuses."""
    made = rule(PAPER, **GOOD[rule])
    for value in (0, -1, True, "4096", float("nan")):
        refuse(lambda value=value: made.at(value), "length must be", repr(value))
    assert made.at(None).length is None


def test_a_frequency_that_float64_does_not_hold_is_refused():
    """Not 0 and yet rounded to 0: positions could be multiplied by it for ever."""
    with pytest.raises(rr.errors.FrequencyValueError, match="pair 1: the frequency is not 0"):
        rr.RopeSpec(4, layout="half", frequencies=rr.PowerLaw(1e4, denominator=1e-9))

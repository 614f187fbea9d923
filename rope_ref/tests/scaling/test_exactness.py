"""Scaled frequencies, and cos and sin made of them, against Arb.

The truth is written down a second time here, from the formulas and by other ways than
rope_ref's: ends of a ramp are found by counting turns, bases are never formed.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import rope_ref as rr

INTEGER_ULPS = 0.8  # what cos_sin promises for integer positions
REAL_ULPS = 1.0
PAPER, LLAMA = rr.PowerLaw(1e4), rr.PowerLaw(5e5)
ODD = [rr.PowerLaw(1234.5678), rr.PowerLaw(1e6, denominator=512)]
LADDERS = [(PAPER, width) for width in (2, 4, 6, 10, 48, 64, 80, 96, 128, 192, 256)]
LADDERS += [(LLAMA, width) for width in (4, 64, 128)]
LADDERS += [(law, width) for law in ODD for width in (2, 4, 10, 64, 128)]


def factors(pairs, last):
    return [1 + (last - 1) * Fraction(i, pairs) ** 2 for i in range(pairs)]


def over_lists(rule, rotary_dim, **options):
    pairs = rotary_dim // 2
    return rr.scaling.LongRoPE(
        rule,
        short_factors=factors(pairs, 1.25),
        long_factors=factors(pairs, 64.0),
        original_length=4096,
        **{"factor": 32, **options},
    )


def rules(rule, rotary_dim):
    """Every scaling over a power law, with usual, odd and extreme parameters."""
    if rotary_dim > 2:  # NTK has no value at 2
        yield from (
            rr.scaling.NTK(rule, alpha=a) for a in (8, 1000, 1.1, 0.3, Fraction(1, 3), 1e30)
        )
        dynamic = rr.scaling.DynamicNTK(rule, factor=2, original_length=4096)
        yield from (dynamic.at(n) for n in (None, 1, 4097, 8192, 100_000.5, 10**9))
        yield rr.scaling.NTKByParts(rule, factor=4)
        yield rr.scaling.NTKByParts(
            rule,
            factor=7.7,
            original_length=100_000,
            ntk_factor=0.5,
            extrapolation_factor=0.25,
            betas=(9, 0.01),
            gammas=(1, 1),
        )
    yield from (rr.scaling.Linear(rule, factor=f) for f in (4, 0.1, Fraction(1, 3), 1e300))
    for mixing in (None, 0.625, 1, 3.5):
        yield from (rr.scaling.FixedNTK(rule, factor=f, mixing=mixing) for f in (8, 0.7, 1e9))
    for truncate in (True, False):
        for limit in ("channels", "pairs"):
            for equal_ends in ("raise", "least", "lower"):
                for length, fast, slow in (
                    (4096, 32, 1),
                    (131072, 32, 1),
                    (4096, 1, 1),
                    (2048, 3.3, 0.2),
                    (5, 64, 2),
                    (10**9, 32, 1),
                ):
                    yield rr.scaling.YaRN(
                        rule,
                        factor=40,
                        original_length=length,
                        beta_fast=fast,
                        beta_slow=slow,
                        truncate=truncate,
                        limit=limit,
                        equal_ends=equal_ends,
                    )
    long = over_lists(rule, rotary_dim)
    yield from (long.at(n) for n in (None, 4096, 4097))
    yield rr.scaling.Divided(rule, factors=factors(rotary_dim // 2, 1e30))
    for factor, low, high, length in (
        (8, 1, 4, 8192),
        (32, 1, 4, 8192),
        (16, 1, 1, 8192),
        (16, 1, 32, 8194),
        (0.3, 0.1, 1e4, 1e6),
    ):
        yield rr.scaling.Llama3(
            rule, factor=factor, low_freq_factor=low, high_freq_factor=high, original_length=length
        )
    yield from (rr.scaling.Proportional(rule, fraction=f, factor=3) for f in (0, 0.25, 0.334, 1))
    # One over another.
    yield rr.scaling.Linear(rr.scaling.Llama3(rule, factor=8), factor=3)
    yield rr.scaling.Llama3(rr.scaling.Linear(rule, factor=3), factor=8)


def exact(value):
    return arb(value.numerator) / value.denominator if isinstance(value, Fraction) else arb(value)


def clip(x):
    return arb(0).max(arb(1).min(x))


def true_theta(rule, rotary_dim):
    """theta of a rule as balls."""
    if isinstance(rule, rr.PowerLaw):
        base, width = exact(rule.base), exact(rule.denominator or rotary_dim)
        return [base ** (-2 * i / width) for i in range(rotary_dim // 2)]
    return list(TRUTHS[type(rule)](rule, rotary_dim, true_theta(rule.rule, rotary_dim)))


def linear(rule, rotary_dim, plain):
    return (w / exact(rule.factor) for w in plain)


def ntk(rule, rotary_dim, plain):
    """The new base is never formed: pair i is multiplied by alpha**(-2i/(R - 2))."""
    width = exact(rule.rule.denominator or rotary_dim)
    power = rotary_dim / width / (rotary_dim - 2)
    return (w * exact(rule.alpha) ** (-2 * i * power) for i, w in enumerate(plain))


def fixed_ntk(rule, rotary_dim, plain):
    pairs = arb(rotary_dim) / 2
    if rule.mixing is None:
        return (w * exact(rule.factor) ** (-(i + 1) / pairs) for i, w in enumerate(plain))
    mixing = exact(rule.mixing)
    c = exact(rule.factor).log() / pairs**mixing
    return (w / (c * arb(i + 1) ** mixing).exp() for i, w in enumerate(plain))


def slowness(rule, rotary_dim, fast, slow, truncate=True, last=None, equal_ends="raise"):
    """0 up to the pair that makes `fast` turns, 1 from that of `slow` turns on."""
    log_base, width = exact(rule.rule.base).log(), exact(rule.rule.denominator or rotary_dim)
    in_the_first = exact(rule.original_length) / (2 * arb.pi())

    def pair_that_makes(turns):
        return (in_the_first / exact(turns)).log() * width / (2 * log_base)

    def first_that_makes_fewer(turns):
        pair = int(float(pair_that_makes(turns)) // 1) + 1
        before, after = (in_the_first * (-2 * k * log_base / width).exp() for k in (pair - 1, pair))
        assert after < exact(turns) < before
        return pair

    last = rotary_dim - 1 if last is None else last
    if truncate:
        uncut = arb(first_that_makes_fewer(fast) - 1), arb(first_that_makes_fewer(slow))
    else:
        uncut = pair_that_makes(fast), pair_that_makes(slow)
    low, high = uncut[0].max(arb(0)), uncut[1].min(arb(last))
    one_end = fast == slow and not truncate and 0 < uncut[0] < last
    thousandth = arb(1) / 1000
    if equal_ends == "least":
        high = high.max(low + thousandth)
    elif one_end or low == high:
        low, high = (low - thousandth, high) if equal_ends == "lower" else (low, low + thousandth)
    return [clip((i - low) / (high - low)) for i in range(rotary_dim // 2)]


def yarn(rule, rotary_dim, plain):
    last = (rotary_dim if rule.limit == "channels" else rotary_dim // 2) - 1
    turns = rule.beta_fast, rule.beta_slow
    slow = slowness(rule, rotary_dim, *turns, rule.truncate, last, rule.equal_ends)
    return (w * (1 - g * (1 - 1 / exact(rule.factor))) for w, g in zip(plain, slow, strict=True))


def ntk_by_parts(rule, rotary_dim, plain):
    scaled = ntk(rr.scaling.NTK(rule.rule, alpha=rule.factor), rotary_dim, plain)
    to_ntk = slowness(rule, rotary_dim, *rule.betas)
    to_plain = slowness(rule, rotary_dim, *rule.gammas)
    for w, n, g, h in zip(plain, scaled, to_ntk, to_plain, strict=True):
        divided = w / exact(rule.factor)
        middle = divided + (n - divided) * (1 - g) * exact(rule.ntk_factor)
        yield middle + (w - middle) * (1 - h) * exact(rule.extrapolation_factor)


def longrope(rule, rotary_dim, plain):
    is_long = (rule.length or 0) > rule.original_length
    factors = rule.long_factors if is_long else rule.short_factors
    return (w / exact(e) for w, e in zip(plain, factors, strict=True))


def divided(rule, rotary_dim, plain):
    return (w / exact(e) for w, e in zip(plain, rule.factors, strict=True))


def llama3(rule, rotary_dim, plain):
    low, high = exact(rule.low_freq_factor), exact(rule.high_freq_factor)
    for w in plain:
        wavelength = 2 * arb.pi() / w
        turns = exact(rule.original_length) / wavelength
        kept = clip((turns - low) / (high - low)) if low < high else arb(turns > low)
        yield w / exact(rule.factor) * (1 - kept) + w * kept


def proportional(rule, rotary_dim, plain):
    turning = int(rule.fraction * rotary_dim // 2)
    return (w / exact(rule.factor) if i < turning else arb(0) for i, w in enumerate(plain))


TRUTHS = {
    rr.scaling.Linear: linear,
    rr.scaling.NTK: ntk,
    rr.scaling.DynamicNTK: ntk,
    rr.scaling.FixedNTK: fixed_ntk,
    rr.scaling.NTKByParts: ntk_by_parts,
    rr.scaling.YaRN: yarn,
    rr.scaling.LongRoPE: longrope,
    rr.scaling.Divided: divided,
    rr.scaling.Llama3: llama3,
    rr.scaling.Proportional: proportional,
}


@pytest.mark.parametrize(("rule", "rotary_dim"), LADDERS, ids=str)
def test_theta_is_rounded_once(rule, rotary_dim):
    """theta() of every scaling is the float64 nearest to the real number: both ends of the ball."""
    for scaled in rules(rule, rotary_dim):
        truth = true_theta(scaled, rotary_dim)
        assert [float(t.lower()) for t in truth] == [float(t.upper()) for t in truth], scaled
        assert list(scaled.theta(rotary_dim)) == [float(t) for t in truth], scaled


@pytest.mark.parametrize("bits", [64, 192, 700])
def test_turns_in_fixed_point(bits):
    """Turns in fixed point are within one unit of theta / 2 pi, for any number of bits."""
    with ctx.workprec(2400):
        for scaled in rules(rr.PowerLaw(1.5), 16):
            truth = true_theta(scaled, 16)
            for got, theta in zip(scaled.frequencies(16), truth, strict=True):
                units = theta / (2 * arb.pi()) * arb(2) ** bits
                assert abs(units - got.scaled_turns(bits)) <= 1, scaled


# Rules of real models and one of each other scaling; those with an amplitude have it last.
REAL = [
    (rr.scaling.YaRN(rr.PowerLaw(1e6), factor=4, original_length=32768), 128),
    (rr.scaling.YaRN(rr.PowerLaw(150000), factor=32, original_length=4096, truncate=False), 64),
    (rr.scaling.Llama3(LLAMA, factor=8), 128),
    (rr.scaling.NTK(PAPER, alpha=1000), 128),
    (rr.scaling.DynamicNTK(PAPER, factor=2, original_length=4096, length=8192), 80),
    (rr.scaling.FixedNTK(PAPER, factor=8, mixing=0.625), 48),
    (rr.scaling.NTKByParts(PAPER, factor=4), 96),
    (over_lists(PAPER, 96, length=10**5), 96),
    (rr.scaling.Divided(LLAMA, factors=factors(32, 8.0)), 64),
    (rr.scaling.Proportional(rr.PowerLaw(1e6), fraction=0.25), 256),
    (rr.scaling.Linear(PAPER, factor=Fraction(1, 3)), 16),
]


def true_amplitude(rule):
    """The amplitude of the rules of REAL as a ball."""
    if isinstance(rule, rr.scaling.YaRN):
        return 1 + exact(rule.factor).log() / 10
    if isinstance(rule, rr.scaling.LongRoPE):
        return (exact(rule.factor).log() / exact(rule.original_length).log()).log1p().exp().sqrt()
    return arb(1)


@pytest.mark.parametrize(("rule", "rotary_dim"), REAL, ids=lambda v: type(v).__name__)
def test_amplitudes_have_80_digits(rule, rotary_dim):
    """The amplitude is exact, or right to 80 digits."""
    assert abs(exact(rule.amplitude) - true_amplitude(rule)) < arb(10) ** -79


def judge(oracle, rule, rotary_dim, positions, pairs=None):
    """The largest error of cos and sin in ulps; with `pairs`, of pair k at position k alone."""
    spec = rr.RopeSpec(rotary_dim, layout="half", frequencies=rule)
    theta, amplitude = true_theta(rule, rotary_dim), true_amplitude(rule)
    rows, columns = np.indices((len(positions), rotary_dim // 2)).reshape(2, -1)
    if pairs is not None:
        rows, columns = np.arange(len(positions)), np.array(pairs)
    p = [positions[row] for row in rows]
    truth = (oracle.cos_sin(x, theta[i]) for x, i in zip(p, columns.tolist(), strict=True))
    balls = zip(*((cos * amplitude, sin * amplitude) for cos, sin in truth), strict=True)
    tables = rr.cos_sin(np.array(positions), spec)
    return max(
        oracle.ulps(table[rows, columns], ball).max()
        for table, ball in zip(tables, balls, strict=True)
    )


@pytest.mark.parametrize(("rule", "rotary_dim"), REAL, ids=lambda v: type(v).__name__)
def test_cos_and_sin(oracle, rule, rotary_dim):
    """The table is within 0.8 ulp at random integers below 2**53, within 1 ulp at others.

    The amplitude is inside: it costs no rounding of its own.
    """
    rng = np.random.default_rng(7)
    whole = rng.integers(0, [[2**31], [2**53]], (2, 200)).ravel() * rng.choice([-1, 1], 400)
    assert judge(oracle, rule, rotary_dim, whole.tolist()) <= INTEGER_ULPS
    broken = (10.0 ** rng.uniform(-20, 15, 8)).tolist()
    assert judge(oracle, rule, rotary_dim, broken) <= REAL_ULPS


@pytest.mark.parametrize(("rule", "rotary_dim"), REAL, ids=lambda v: type(v).__name__)
def test_cos_and_sin_next_to_quarter_turns(oracle, rule, rotary_dim):
    """The same where an integer position comes closest to a quarter turn of its own pair.

    These are denominators of convergents of 2t and 4t, t = theta / 2 pi.
    """
    cases = {
        (denominator, i)
        for i, theta in enumerate(true_theta(rule, rotary_dim))
        if theta > 0
        for quarters in (1, 2)
        for limit in (2**31, 2**53)
        for denominator in oracle.convergents(quarters * theta / oracle.pi, below=limit)
    }
    positions, pairs = zip(*sorted(cases), strict=True)
    assert judge(oracle, rule, rotary_dim, positions, pairs) <= INTEGER_ULPS

"""The class of a failure, and the formula named for it, on faults written for this file.

None of them is in the zoo: each is made here from exact cos and sin and one mistake.
"""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.faults import FAULTS
from rope_conformance.zoo import WRONG
from rope_ref import PowerLaw, RopeSpec

SPEC = RopeSpec(64, layout="half", frequencies=PowerLaw(5e5))
PARTIAL = RopeSpec(96, layout="half", rotary_dim=48)
ADJACENT = RopeSpec(48, layout="interleaved")


def theta(spec, base=None, width=None):
    """Frequencies in float64."""
    i = np.arange(spec.rotary_dim // 2)
    return float(base or spec.frequencies.base) ** (-2 * i / (width or spec.rotary_dim))


def turn(x, cos, sin, spec=SPEC):
    """Rotate the pairs of x by a table that ends (..., T, R/2)."""
    y = np.array(x, dtype=np.float64)
    half = spec.rotary_dim // 2
    if spec.layout == "half":
        u, v = y[..., :half].copy(), y[..., half : 2 * half].copy()
    else:
        u, v = y[..., 0 : 2 * half : 2].copy(), y[..., 1 : 2 * half : 2].copy()
    c, s = cos[..., None, :], sin[..., None, :]
    first, second = u * c - v * s, u * s + v * c
    if spec.layout == "half":
        y[..., :half], y[..., half : 2 * half] = first, second
    else:
        y[..., 0 : 2 * half : 2], y[..., 1 : 2 * half : 2] = first, second
    return y.astype(x.dtype)


def at(x, phase, spec=SPEC):
    """Rotate by given phases."""
    return turn(x, np.cos(phase), np.sin(phase), spec)


def right(x, p, spec=SPEC):
    """No mistake at all."""
    return at(x, p[..., None] * theta(spec), spec)


def shorter(values, bits):
    """Keep so many binary digits."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent)


def clamped(x, p):
    """A table of 1000 rows whose last stands for all beyond."""
    return right(x, np.minimum(p, 999))


def neighbours(x, p):
    """What lies behind a table of 3000 rows is taken for a part of it."""
    past = np.where(p >= 3000, 7.0 * p + 1, p)
    return right(x, past)


def even_tokens_only(x, p):
    """Two tokens at a time; the one that is left over stays as it is."""
    y = right(x, p)
    if x.shape[1] % 2:
        y[:, -1] = x[:, -1]
    return y


def first_row_only(x, p):
    """One token for several rows: only the first is written."""
    y = right(x, p)
    if x.shape[1] == 1:
        y[1:] = 0
    return y


def growing(x, p):
    """The base grows with the longest position of the call."""
    factor = max(1.0, (p.max() + 1) / 1024)
    return at(x, p[..., None] * theta(SPEC, base=5e5 * factor))


def one_half_precision_product(x, p):
    """The phase is made in 16 bits."""
    phase = p[:, None].astype(np.float16) * theta(SPEC).astype(np.float16)
    return at(x, phase.astype(np.float64))


def head_width_pairs(x, p):
    """Partners half a head apart, though half the head rotates."""
    y, pairs = np.array(x, dtype=np.float64), PARTIAL.rotary_dim // 2
    half = PARTIAL.head_dim // 2
    phase = (p[:, None] * theta(PARTIAL))[:, None, :]
    u, v = y[..., :pairs].copy(), y[..., half : half + pairs].copy()
    y[..., :pairs] = u * np.cos(phase) - v * np.sin(phase)
    y[..., half : half + pairs] = u * np.sin(phase) + v * np.cos(phase)
    return y.astype(x.dtype)


def repeated_for_halves(x, p):
    """A table for adjacent pairs meets split halves."""
    phase = np.repeat(p[:, None] * theta(SPEC), 2, axis=-1)[:, None, :]
    swapped = np.concatenate([-x[..., 32:], x[..., :32]], axis=-1)
    return (x * np.cos(phase) + swapped * np.sin(phase)).astype(x.dtype)


def other_pairs(x, p):
    """Adjacent pairs where halves are claimed."""
    return right(x, p, RopeSpec(64, layout="interleaved", frequencies=PowerLaw(5e5)))


FAULTS_HERE = {
    "layout: other pairs": (SPEC, other_pairs, "pairs are interleaved"),
    "layout: repeated": (SPEC, repeated_for_halves, "turn by different angles"),
    "sign: conjugate": (SPEC, lambda x, p: right(x, -p), "the wrong way"),
    "frequency: one exponent": (
        SPEC,
        lambda x, p: at(x, p[:, None] * np.ones(32)),
        "integer division",
    ),
    "frequency: R - 2": (SPEC, lambda x, p: at(x, p[:, None] * theta(SPEC, width=62)), "2i/(R-2)"),
    "frequency: twice": (
        SPEC,
        lambda x, p: turn(x, *_twice(p[:, None] * theta(SPEC))),
        "applied twice",
    ),
    "config: base": (
        SPEC,
        lambda x, p: at(x, p[:, None] * theta(SPEC, base=1e4)),
        "the base is 10000, claimed 500000",
    ),
    "angle-precision: bfloat16 positions": (
        SPEC,
        lambda x, p: right(x, shorter(p, 8)),
        "positions are rounded to bfloat16",
    ),
    "angle-precision: TF32 product": (
        SPEC,
        lambda x, p: at(x, shorter(p, 11)[:, None] * shorter(theta(SPEC), 11)),
        "TF32",
    ),
    "angle-precision: half phase": (SPEC, one_half_precision_product, "float16"),
    "angle-precision: unreduced": (
        SPEC,
        lambda x, p: at(x, p[:, None] * theta(SPEC) * (1 + 2**-18)),
        None,
    ),
    "position: one too far": (SPEC, lambda x, p: right(x, p + 1), "off by one"),
    "position: int16": (
        SPEC,
        lambda x, p: right(x, p.astype(np.int16).astype(np.int64)),
        "int16",
    ),
    "position: five late": (SPEC, lambda x, p: right(x, p - 5), "-5 positions later"),
    "cache: clamped": (SPEC, clamped, "right below"),
    "cache: wraps": (SPEC, lambda x, p: right(x, p % 8192), "wrap around at 8192"),
    "cache: neighbours": (SPEC, neighbours, "right below"),
    "partial: over the head": (
        PARTIAL,
        lambda x, p: at(x, p[:, None] * theta(PARTIAL, width=96), PARTIAL),
        "2i/D",
    ),
    "partial: half a head apart": (PARTIAL, head_width_pairs, "not left alone"),
    "partial: twice the fraction": (
        ADJACENT,
        lambda x, p: right(x, p, RopeSpec(48, layout="interleaved", rotary_dim=24)),
        "24 channels rotate, claimed 48",
    ),
    "scaling: amplitude": (
        SPEC,
        lambda x, p: (1.1386 * right(x, p)).astype(x.dtype),
        "1.1386 times too large",
    ),
    "scaling: linear": (SPEC, lambda x, p: right(x, p / 8), "0.125 times too large"),
    "scaling: grows": (SPEC, growing, "short one"),
    "broadcast: heads": (
        SPEC,
        lambda x, p: np.swapaxes(right(np.swapaxes(x, 1, 2), np.arange(x.shape[2])), 1, 2),
        "head axis",
    ),
    "broadcast: head added": (
        SPEC,
        lambda x, p: np.concatenate(
            [right(x[:, :, [h]], p + h) for h in range(x.shape[2])], axis=2
        ),
        "head's number is added",
    ),
    "kernel-shape: odd tokens": (SPEC, even_tokens_only, "one row with one head"),
    "kernel-shape: one token": (SPEC, first_row_only, "right for one row"),
    "dtype: clipped": (
        SPEC,
        lambda x, p: right(np.clip(x, -60000, 60000), p),
        "clipped",
    ),
}


def _twice(phase):
    return np.cos(np.cos(phase)), np.sin(np.sin(phase))


@pytest.mark.parametrize("name", FAULTS_HERE)
def test_a_fault_is_told_by_its_class_and_formula(name):
    """The report names the class, and one failure at least the formula with what speaks for it."""
    spec, rope, formula = FAULTS_HERE[name]
    report = rc.check(rope, spec=spec, effort="quick")
    assert report.fault == name.partition(":")[0], [
        (r.clause, r.failure.fault, r.failure.cause, r.failure.message) for r in report.findings
    ]
    told = [r.failure for r in report.findings if r.failure.fault == report.fault]
    if formula is not None:
        said = [f.cause or f.message for f in told]
        assert any(formula in text for text in said), said
    assert any(f.evidence for f in told)


@pytest.mark.parametrize("axes", ["td", "thd", "btd", "dht"])
def test_a_width_that_is_wrong_is_told_with_any_axes(axes):
    """What is tried beside the failing input is cut to the axes there are."""

    class PowersOfTwoOnly:
        claim = rc.Claim(axes=axes)

        def __init__(self, spec):
            self.spec = spec

        def apply_rope(self, x, positions):
            width = 1 << (self.spec.rotary_dim - 1).bit_length()
            names = [letter for letter in "bthd" if letter in axes]
            given = x.transpose([axes.index(letter) for letter in names])
            full = given.reshape(
                *(given.shape[names.index(c)] if c in names else 1 for c in "bthd")
            )
            phase = positions[:, None] * theta(self.spec, width=width)
            y = at(full, phase, self.spec).reshape(given.shape)
            return np.ascontiguousarray(y.transpose([names.index(letter) for letter in axes]))

    report = rc.check(PowersOfTwoOnly, spec=SPEC, effort="quick", only=["frequency.widths"])
    assert report.results[0].verdict == "failed", report.results[0].reason
    assert report.fault == "kernel-shape"


def test_right_code_has_no_fault():
    """A passing report names none."""
    report = rc.check(right, spec=SPEC, effort="quick")
    assert report.passed
    assert report.fault is None


def test_every_failure_has_a_class():
    """Also where no cause is found: a random result has the classes of the clauses it breaks."""

    def noise(x, p):
        return np.random.default_rng(0).standard_normal(x.shape).astype(x.dtype)

    report = rc.check(noise, spec=SPEC, effort="quick")
    assert report.findings
    assert {r.failure.fault for r in report.findings} <= set(FAULTS)


def test_the_classes_of_the_zoo_are_words_of_trackers():
    """Every wrong implementation has one."""
    assert {entry.fault for entry in WRONG.values()} <= set(FAULTS)

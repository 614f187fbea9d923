"""Bad input: one exception type per way to be wrong, and a message that helps."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import ExplicitFrequencies, errors
from rope_ref.extensions import (
    apply_channel_ropes,
    apply_channel_tables,
    channel_order,
    crossed_ropes,
    pair_determinants,
)
from rope_ref.scaling import LongRoPE, YaRN

SPEC = rr.RopeSpec(4, layout="half")
TWO_AXES = rr.RopeSpec(4, layout="half", pair_axes=(0, 1))
X = np.ones((2, 3, 4))
TABLE = np.ones((3, 2))


def spec(head_dim=8, **options):
    return rr.RopeSpec(head_dim, **{"layout": "half", **options})


def amplified(amplitude, factor):
    """A rule with an amplitude, over another with one."""
    return LongRoPE(
        ExplicitFrequencies([1.0], amplitude=amplitude), short_factors=[1], long_factors=[1],
        original_length=10, factor=2, attention_factor=factor,
    )  # fmt: skip


def apply(x=X, positions=(0, 1, 2), axes="btd", spec=SPEC):
    return rr.apply_rope(x, positions, spec, axes=axes)


def apply_table(x=X, cos=TABLE, sin=TABLE, layout="half", axes="btd", **options):
    return rr.apply_cos_sin(x, cos, sin, layout=layout, axes=axes, **options)


def logits(q=X, k=X, q_positions=(0, 1, 2), k_positions=(0, 1, 2), axes="btd", spec=SPEC):
    return rr.attention_logits(q, k, q_positions, k_positions, spec, axes=axes)


def refused(call, error, builtin, *words):
    """A case: what is called, what it raises, and what the message must contain."""
    return pytest.param(call, error, builtin, words, id=f"{error.__name__}-{'-'.join(words[:2])}")


SPECS = [
    refused(lambda: spec(rotary_dim=5), errors.OddRotaryDimError, ValueError,
            "RopeSpec(8", "rotary_dim=5", "odd", "rotary_dim such as 4"),
    refused(lambda: spec(7), errors.OddRotaryDimError, ValueError,
            "RopeSpec(7", "rotary_dim=7", "such as 6"),
    refused(lambda: spec(rotary_dim=10), errors.RotaryDimRangeError, ValueError,
            "RopeSpec(8", "rotary_dim=10", "between 0 and", "= 8"),
    refused(lambda: spec(rotary_dim=6, rotary_start=4), errors.RotaryDimRangeError, ValueError,
            "rotary_start=4", "rotary_dim=6", "= 4"),
    refused(lambda: spec(rotary_dim=-2), errors.RotaryDimRangeError, ValueError, "rotary_dim=-2"),
    refused(lambda: spec(rotary_dim=2, rotary_start=-2), errors.RotaryDimRangeError, ValueError,
            "rotary_start=-2"),
    refused(lambda: spec(0), errors.HeadDimError, ValueError, "RopeSpec(0", "head_dim", "128"),
    refused(lambda: spec(-4), errors.HeadDimError, ValueError, "RopeSpec(-4", "head_dim"),
    refused(lambda: spec(8.0), errors.SpecError, TypeError, "RopeSpec(8.0", "head_dim", "integer"),
    refused(lambda: spec(True), errors.SpecError, TypeError, "RopeSpec(True", "head_dim"),
    refused(lambda: spec("8"), errors.SpecError, TypeError, "RopeSpec('8'", "head_dim"),
    refused(lambda: spec(rotary_dim=4.0), errors.SpecError, TypeError, "rotary_dim", "4.0"),
    refused(lambda: spec(rotary_start=None), errors.SpecError, TypeError, "rotary_start", "None"),
    refused(lambda: spec(layout="neox"), errors.LayoutError, ValueError,
            "layout='neox'", "interleaved", "half"),
    refused(lambda: spec(layout=None), errors.LayoutError, ValueError, "layout=None", "half"),
    refused(lambda: spec(output_layout="Half"), errors.LayoutError, ValueError,
            "output_layout='Half'", "interleaved"),
    *(
        refused(lambda d=d: spec(direction=d), errors.LayoutError, ValueError,
                f"direction={d!r}", "counter-clockwise")
        for d in (0, 2, -1.5, None, "left", np.array([1, 1]))
    ),
    refused(lambda: spec(layout=np.array(["half", "x"])), errors.LayoutError, ValueError,
            "layout=array(['half'"),
    refused(lambda: spec(np.array([8])), errors.SpecError, TypeError, "head_dim", "array([8])"),
    refused(lambda: spec(-(10**5000)), errors.HeadDimError, ValueError, "an integer of 16610 bits"),
    refused(lambda: spec(rotary_dim=10**5000), errors.RotaryDimRangeError, ValueError,
            "rotary_dim=an integer of 16610 bits", "= 8"),
    refused(lambda: spec(rotary_dim=1 + 10**5000), errors.OddRotaryDimError, ValueError, "bits"),
    refused(lambda: spec(frequencies=10000.0), errors.SpecError, TypeError,
            "frequencies", "PowerLaw(10000)", "got 10000.0"),
    refused(lambda: spec(frequencies=rr.PowerLaw), errors.SpecError, TypeError, "frequencies"),
    refused(lambda: spec(frequencies=None), errors.SpecError, TypeError, "frequencies"),
    refused(lambda: spec(pair_axes=(0, 1)), errors.PairAxesError, ValueError,
            "pair_axes", "4 pairs", "got (0, 1)"),
    refused(lambda: spec(pair_axes=(0, 0, -1, 0)), errors.PairAxesError, ValueError, "pair_axes"),
    refused(lambda: spec(rotary_dim=0, pair_axes=()), errors.PairAxesError, ValueError,
            "pair_axes"),
    refused(lambda: spec(pair_axes=(0, 0, 1.0, 0)), errors.SpecError, TypeError, "pair_axes[2]"),
    refused(lambda: spec(pair_axes="0011"), errors.SpecError, TypeError, "pair_axes[0]"),
    refused(lambda: spec(pair_axes=np.array(2)), errors.SpecError, TypeError, "array(2)"),
    refused(lambda: spec(pair_axes=2), errors.SpecError, TypeError, "pair_axes", "sequence"),
    refused(lambda: spec(frequencies=ExplicitFrequencies([1.0])),
            errors.FrequencyCountError, ValueError,
            "rotary_dim=8", "1 given", "4 pairs", "rotary_dim=2"),
    *(
        refused(lambda f=f: spec(2, frequencies=f), errors.FrequencyValueError, ValueError,
                "RopeSpec(2, layout='half'", f"the amplitude is {why} float64", "nearer to 1")
        for f, why in (
            (amplified(1e308, 1e10), "beyond the largest"),
            (amplified(1e-308, 1e-30), "not 0, but below the smallest"),
            (YaRN(rr.PowerLaw(), factor=4, original_length=1000, coefficient=1e308,
                     mscale=1e308, mscale_all_dim=0, amplitude_rule="given"), "beyond the largest"),
        )
    ),
    refused(lambda: spec(frequencies=ExplicitFrequencies(turns=[1, 2, 3, 4, 5])),
            errors.FrequencyCountError, ValueError, "5 given", "rotary_dim=10"),
]  # fmt: skip

FREQUENCIES = [
    *(
        refused(lambda b=b: rr.PowerLaw(b), errors.FrequencyValueError, ValueError,
                f"PowerLaw(base={b!r})", "base must be", why)
        for b, why in (
            (0, "positive"), (-1, "positive"), (-0.0, "positive"), (Decimal("1e401"), "1e400"),
            (Decimal("1e-99999999"), "1e-400"), (Decimal("-1e99999999"), "1e400"),
            (float("nan"), "finite"), (float("inf"), "finite"), ("10000", "finite real number"),
            (True, "finite real number"), (None, "finite real number"), (1j, "real number"),
            (10**400, "finite"), (np.bool_(True), "real number"), ([1.0], "real number"),
        )
    ),
    refused(lambda: rr.PowerLaw(-(10**5000)), errors.FrequencyValueError, ValueError,
            "PowerLaw(base=an integer of 16610 bits): base must be"),
    refused(lambda: ExplicitFrequencies(np.array(1.0)),
            errors.FrequencyValueError, ValueError, "sequence"),
    refused(lambda: ExplicitFrequencies([1.0], amplitude=10**5000),
            errors.FrequencyValueError, ValueError,
            "amplitude=an integer of 16610 bits"),
    refused(lambda: ExplicitFrequencies(), errors.FrequencyValueError, ValueError,
            "ExplicitFrequencies(", "exactly one", "values", "turns"),
    refused(lambda: ExplicitFrequencies([1.0], turns=[1]), errors.FrequencyValueError, ValueError,
            "ExplicitFrequencies(", "exactly one"),
    refused(lambda: ExplicitFrequencies(1.0), errors.FrequencyValueError, ValueError,
            "ExplicitFrequencies(values", "sequence"),
    refused(lambda: ExplicitFrequencies([1.0, float("nan")]),
            errors.FrequencyValueError, ValueError,
            "ExplicitFrequencies(values", "values[1]", "nan"),
    refused(lambda: ExplicitFrequencies(turns=[float("inf")]),
            errors.FrequencyValueError, ValueError,
            "ExplicitFrequencies(turns", "turns[0]", "inf"),
    refused(lambda: ExplicitFrequencies("12"),
            errors.FrequencyValueError, ValueError, "values[0]", "'1'"),
    *(
        refused(lambda a=a: ExplicitFrequencies([1.0], amplitude=a),
            errors.FrequencyValueError, ValueError,
                f"amplitude={a!r}", "amplitude must be", why)
        for a, why in (
            (0, "positive"), (-1.5, "positive"), (float("nan"), "finite"), ("1", "finite"),
            (Fraction(-1, 3), "positive"),
        )
    ),
    # theta itself can be beyond float64.
    refused(lambda: spec(frequencies=rr.PowerLaw(Fraction(1, 10**500))),
            errors.FrequencyValueError, ValueError, "pair 3", "largest float64", "base"),
    refused(lambda: spec(2, frequencies=ExplicitFrequencies(turns=[1.7e308])),
            errors.FrequencyValueError, ValueError, "pair 0", "largest float64", "turns"),
]  # fmt: skip

POSITIONS = [
    *(
        refused(lambda p=p: rr.cos_sin(p, SPEC), errors.PositionRangeError, builtin,
                "cos_sin(positions, RopeSpec(head_dim=4", "below 2**53", str(got))
        for builtin in (OverflowError, ValueError)
        for p, got in (
            (2**53, 2**53), (-(2**53), -(2**53)), ([0, 2**53], 2**53), (2.0**53, 2.0**53),
            (np.uint64(2**64 - 1), 2**64 - 1), (2**63, 2**63), (10**100, 10**100),
            ([5, -(10**99)], -(10**99)), (np.float32(2.0**60), 2.0**60),
            (np.int64(-(2**63)), -(2**63)), ([10**5000], "an integer of 16610 bits"),
        )
    ),
    *(
        refused(lambda p=p: rr.cos_sin(p, SPEC), errors.NonFinitePositionError, ValueError,
                "cos_sin(positions", "positions must be finite", str(p[1]), "padding")
        for p in ([0.0, np.nan], [1, np.inf], [2, -np.inf])
    ),
    *(
        refused(lambda p=p: rr.cos_sin(p, SPEC), errors.PositionDtypeError, TypeError,
                "cos_sin(positions", "integers or real numbers", name, "numpy.arange(T)")
        for p, name in (
            (True, "bool"), ([True, False], "bool"), (1j, "complex128"), ("3", "<U1"),
            (b"3", "S1"), (None, "object"), ([1, None], "object"), ([Fraction(1, 2)], "object"),
            (np.datetime64("2026-01-01"), "datetime64"), (np.zeros(2, "V8"), "V8"),
            (np.zeros(1, [("p", "i4")]), "'p'"),
        )
    ),
    refused(lambda: rr.cos_sin([[1], [1, 2]], SPEC), errors.PositionDtypeError, TypeError,
            "cos_sin(positions", "in rows of one length", "inhomogeneous"),
    refused(lambda: rr.rotation_matrix([[1], [1, 2]], SPEC), errors.PositionDtypeError, TypeError,
            "rotation_matrix(position", "in rows of one length"),
    refused(lambda: apply(positions=[[1], [1, 2]]), errors.PositionDtypeError, TypeError,
            "apply_rope(x", "in rows of one length"),
    refused(lambda: rr.cos_sin([0, 1, 2], TWO_AXES), errors.PositionShapeError, ValueError,
            "cos_sin(positions", "pair_axes", "leading axis of 2", "(3,)"),
    refused(lambda: rr.cos_sin(0, TWO_AXES), errors.PositionShapeError, ValueError,
            "pair_axes", "()"),
    refused(lambda: rr.rotation_matrix([1, 2], SPEC), errors.PositionShapeError, ValueError,
            "rotation_matrix(position", "single position", "(2,)"),
    refused(lambda: rr.rotation_matrix(1, TWO_AXES), errors.PositionShapeError, ValueError,
            "rotation_matrix(position", "()"),
    refused(lambda: apply(positions=[0, 1]), errors.PositionShapeError, ValueError,
            "apply_rope(x", "positions of shape (2,)", "(2, 3, 4)", "(3,) or (2, 3)", "scalar"),
    refused(lambda: apply(positions=np.zeros((3, 2), int)), errors.PositionShapeError, ValueError,
            "(3, 2)", "(3,) or (2, 3)"),
    refused(lambda: apply(positions=np.zeros((1, 3), int)), errors.PositionShapeError, ValueError,
            "(1, 3)", "(2, 3)"),
    refused(lambda: apply(X[0], np.zeros((1, 3), int), "td"),
            errors.PositionShapeError, ValueError, "(1, 3)", "expected (3,)"),
    refused(lambda: apply(positions=np.zeros((2, 3, 1), int)), errors.PositionShapeError,
            ValueError, "(2, 3, 1)"),
    refused(lambda: apply(spec=TWO_AXES), errors.PositionShapeError, ValueError,
            "positions of shape (3,)", "(2, 3) or (2, 2, 3)"),
    refused(lambda: apply(positions=[0, 1, np.nan]), errors.NonFinitePositionError, ValueError,
            "apply_rope(x", "positions must be finite", "nan"),
]  # fmt: skip

ARRAYS = [
    *(
        refused(lambda a=a: apply(axes=a), errors.AxesError, ValueError, "apply_rope(x",
                f"axes={a!r}", "'bthd'")
        for a in ("bsd", "bbtd", "bhd", "bth", "", "BTD", None, 3, ("b", "t", "d"))
    ),
    refused(lambda: apply(axes="td"), errors.AxesError, ValueError,
            "2 letters", "3 axes", "(2, 3, 4)", "one letter per axis"),
    refused(lambda: apply(axes="bthd"), errors.AxesError, ValueError, "4 letters", "3 axes"),
    refused(lambda: apply(1.0, 0), errors.AxesError, ValueError, "3 letters", "0 axes"),
    refused(lambda: apply(axes="bdt", positions=range(4)), errors.ShapeError, ValueError,
            "apply_rope(x", "axis 'd' of x has length 3", "head_dim is 4", "check axes"),
    *(
        refused(lambda x=x: apply(x), errors.DtypeError, TypeError, "apply_rope(x", "x must hold",
                name, "astype('float64')")
        for x, name in (
            (X > 0, "bool"), (X * 1j, "complex128"), (X.astype(str), "<U"),
            (X.astype(object), "object"), (X.astype("V8"), "V8"), (None, "object"),
        )
    ),
    *(
        refused(lambda f=f: f(X, [0, 1], SPEC, axes="btd"), errors.PositionShapeError, ValueError,
                f"{f.__name__}(x", "(2,)")
        for f in (rr.apply_rope, rr.apply_rope_complex, rr.apply_rope_parts, rr.invert_rope,
                  rr.transpose_rope)
    ),
    refused(lambda: apply([[1], [1, 2]], axes="td"), errors.DtypeError, TypeError,
            "apply_rope(x", "x must be", "in rows of one length"),
    *(
        refused(lambda f=f: f(X, [0, 1, 2], "S", axes="btd"), errors.SpecError, TypeError,
                f"{f.__name__}(x", "the spec must be a RopeSpec", "got 'S'")
        for f in (rr.apply_rope, rr.apply_rope_complex, rr.apply_rope_parts, rr.invert_rope,
                  rr.transpose_rope)
    ),
    *(
        refused(call, errors.SpecError, TypeError, name, "the spec must be a RopeSpec", "got None")
        for name, call in (
            ("cos_sin(", lambda: rr.cos_sin([0], None)),
            ("rotation_matrix(", lambda: rr.rotation_matrix(0, None)),
            ("pair_channels(", lambda: rr.pair_channels(None)),
            ("channel_order(", lambda: channel_order(None, "half")),
            ("crossed_ropes(", lambda: crossed_ropes(None)),
            ("relative_logit(", lambda: rr.relative_logit([1.0], [1.0], 0, None)),
            ("apply_channel_ropes(", lambda: apply_channel_ropes(X, 0, SPEC, None, axes="btd")),
        )
    ),
    refused(lambda: apply_channel_ropes(X, [[1], [1, 2]], SPEC, SPEC, axes="btd"),
            errors.PositionDtypeError, TypeError, "apply_channel_ropes(x", "in rows of one length"),
    refused(lambda: apply_channel_tables([[1], [1, 2]], TABLE, TABLE, layout="half", axes="td"),
            errors.DtypeError, TypeError, "apply_channel_tables(x", "in rows of one length"),
    refused(lambda: pair_determinants(TABLE, TABLE, layout=np.array(["half", "x"])),
            errors.LayoutError, ValueError, "pair_determinants(", "layout=array("),
    refused(lambda: apply_table(cos=[[1], [1, 2]]), errors.DtypeError, TypeError,
            "cos must be", "in rows of one length"),
    refused(lambda: apply_table(layout=np.array(["half", "x"])), errors.LayoutError, ValueError,
            "layout=array("),
    refused(lambda: apply_table(rotary_start=0.5), errors.SpecError, TypeError,
            "apply_cos_sin(x", "rotary_start must be an integer", "0.5"),
    refused(lambda: apply_table(cos=np.ones((3, 4)), sin=np.ones((3, 4))),
            errors.RotaryDimRangeError, ValueError, "apply_cos_sin(x", "4 pairs", "x has 4",
            "one entry per pair", "not one per channel"),
    refused(lambda: apply_table(np.ones((3, 5)), np.ones((3, 3)), np.ones((3, 3)), axes="td"),
            errors.RotaryDimRangeError, ValueError, "3 pairs", "6 channels", "x has 5"),
    refused(lambda: apply_table(rotary_start=1), errors.RotaryDimRangeError, ValueError,
            "rotary_start=1", "x has 4"),
    refused(lambda: apply_table(rotary_start=-1), errors.RotaryDimRangeError, ValueError,
            "rotary_start=-1"),
    refused(lambda: apply_table(sin=np.ones((3, 1))), errors.TableShapeError, ValueError,
            "apply_cos_sin(x", "(3, 2) and (3, 1)"),
    refused(lambda: apply_table(cos=np.ones(2), sin=np.ones(2)), errors.TableShapeError,
            ValueError, "(T, R/2) or (B, T, R/2)", "(2,)"),
    refused(lambda: apply_table(cos=np.ones((5, 2)), sin=np.ones((5, 2))), errors.TableShapeError,
            ValueError, "(5, 2) do not fit", "(2, 3, 4)", "(3, "),
    refused(lambda: apply_table(cos=np.ones((1, 3, 2)), sin=np.ones((1, 3, 2))),
            errors.TableShapeError, ValueError, "(1, 3, 2)", "(2, 3, "),
    refused(lambda: apply_table(X[0], np.ones((1, 3, 2)), np.ones((1, 3, 2)), axes="td"),
            errors.TableShapeError, ValueError, "(1, 3, 2)", "(T, R/2)"),
    refused(lambda: apply_table(layout="neox"), errors.LayoutError, ValueError,
            "layout='neox'", "interleaved", "half"),
    refused(lambda: apply_table(output_layout="neox"), errors.LayoutError, ValueError,
            "output_layout='neox'", "half"),
    refused(lambda: apply_table(cos=TABLE * 1j), errors.DtypeError, TypeError,
            "cos must hold", "cos.astype"),
    refused(lambda: apply_table(sin=TABLE > 0), errors.DtypeError, TypeError, "sin must hold"),
    refused(lambda: apply_table(axes="bd"), errors.AxesError, ValueError, "apply_cos_sin(x"),
]  # fmt: skip

ATTENTION = [
    refused(lambda: logits(np.ones((3, 3, 4)), np.ones((3, 2, 4)), axes="thd"),
            errors.HeadGroupError, ValueError, "attention_logits(q", "3 heads", "has 2",
            "multiple"),
    refused(lambda: logits(k=np.ones((3, 0, 4)), q=np.ones((3, 2, 4)), axes="thd"),
            errors.HeadGroupError, ValueError, "has 0"),
    refused(lambda: logits(k=X[:1]), errors.ShapeError, ValueError,
            "attention_logits(q", "2 batch rows", "k has 1", "equal"),
    refused(lambda: logits(q=X[..., :2]), errors.ShapeError, ValueError,
            "attention_logits(q", ": q: ", "length 2", "head_dim is 4"),
    refused(lambda: logits(k_positions=[0]), errors.PositionShapeError, ValueError,
            "attention_logits(q", ": k: ", "positions of shape (1,)"),
    refused(lambda: logits(q_positions=[0, 1, 2**53]), errors.PositionRangeError, OverflowError,
            "attention_logits(q", ": q: ", "2**53"),
    refused(lambda: logits(k=X > 0), errors.DtypeError, TypeError, ": k: ", "bool"),
    refused(lambda: logits(axes="bsd"), errors.AxesError, ValueError, "axes='bsd'"),
    refused(lambda: rr.relative_logit(np.ones(3), np.ones(4), 1, SPEC), errors.ShapeError,
            ValueError, "relative_logit(q", "q must be one vector", "head_dim=4", "(3,)"),
    refused(lambda: rr.relative_logit(np.ones(4), np.ones((1, 4)), 1, SPEC), errors.ShapeError,
            ValueError, "k must be one vector", "(1, 4)"),
    refused(lambda: rr.relative_logit(np.ones(4), np.ones(4), [1, 2], SPEC),
            errors.PositionShapeError, ValueError, "single position"),
    refused(lambda: rr.relative_logit(np.ones(4), np.ones(4), [[1], [1, 2]], SPEC),
            errors.PositionDtypeError, TypeError, "relative_logit(q", "distance must be"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "builtin", "words"),
    [*SPECS, *FREQUENCIES, *POSITIONS, *ARRAYS, *ATTENTION],
)
def test_bad_input_is_refused(call, error, builtin, words):
    """Each kind of bad input has its exception, a builtin's subclass, and says what to try."""
    with pytest.raises(builtin) as caught:
        call()
    assert type(caught.value) is error
    assert isinstance(caught.value, rr.RopeError)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message


def test_wider_floats_are_refused():
    """long double, where it is wider than float64, is no position and no x: it would be rounded."""
    wide = np.longdouble
    if np.can_cast(wide, np.float64):  # the same type under another name
        np.testing.assert_array_equal(apply(X.astype(wide)), apply(X))
        return
    with pytest.raises(errors.PositionDtypeError, match="float64 represents"):
        rr.cos_sin(wide(1), SPEC)
    with pytest.raises(errors.DtypeError, match="float64 represents"):
        apply(X.astype(wide))


def test_layout_must_be_said():
    """There is no default layout: leaving it out is a TypeError that names it."""
    with pytest.raises(TypeError, match="layout"):
        rr.RopeSpec(128)


def test_the_last_position_is_taken():
    """2**53 - 1 is a position; the bound excludes nothing below it."""
    for position in (2**53 - 1, 1 - 2**53, float(2**53 - 1)):
        assert rr.cos_sin(position, SPEC)[0].shape == (2,)

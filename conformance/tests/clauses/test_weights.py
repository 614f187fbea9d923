"""The surface `weights`: what is handed over, what may come back, what is said of wrong orders."""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.inputs.weights import Weights
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.frameworks import data_type
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import WRONG
from rope_conformance.zoo.parts.conversion import Converter
from rope_ref import RopeSpec
from rope_ref.extensions import convert_weights

SPEC = RopeSpec(64, layout="half")
CHECKS = {c.name: c for c in all_checks() if c.name.startswith("weights.")}
DTYPES = ("float64", "float32", "float16", "bfloat16")


def context(target, spec=SPEC, dtype="float32", **claim):
    claim = rc.Claim(dtypes=(dtype,), **claim)
    return CheckContext(Implementation(target, spec, claim), dtype)


def verdicts(target, **options):
    return {
        name: run_check(check, context(target, **options), effort="quick").verdict
        for name, check in CHECKS.items()
    }


class Reference(Converter):
    """What rope_ref does."""

    def convert(self, array, n_heads, n_kv_heads, which, to):
        heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads}
        return convert_weights(array, self.spec, to, which=which, **heads)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_the_reference_passes(dtype, layout):
    """In every type, from either layout, where some channels pass through."""
    spec = RopeSpec(20, layout=layout, rotary_dim=12, rotary_start=4)
    assert set(verdicts(Reference, spec=spec, dtype=dtype).values()) == {"passed"}


@pytest.mark.parametrize("which", ["q", "k", "q_bias", "k_bias", "q_norm", "k_norm"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_arrays_are_as_promised(which, shared):
    """One row for each channel of each head; the numbers differ; the repr rebuilds the input."""
    case = Weights(which, "half", 6, 2, columns=4, shared=shared and "norm" in which)
    assert rebuild(repr(case)) == case
    heads = 1 if case.shared else 6 if which[0] == "q" else 2
    for dtype in DTYPES:
        array = case.array(10, dtype)
        assert array.shape == ((heads * 10, 4) if which in "qk" else (heads * 10,))
        assert array.dtype == data_type(dtype)
    assert np.unique(case.array(10, "float32")).size == case.array(10, "float32").size


def test_key_heads_differ_from_query_heads():
    """In most inputs, or cutting one into the other would not show."""
    for name in ("weights.projections", "weights.biases"):
        cases = CHECKS[name].fixed(context(Reference))
        assert sum(case.n_heads != case.n_kv_heads for case in cases) * 2 > len(cases)


def test_with_one_pair_there_is_nothing_to_convert():
    """Both layouts are the same: not claimed, rather than passed by everything."""
    results = verdicts(Reference, spec=RopeSpec(6, layout="half", rotary_dim=2))
    assert {results[name] for name in ("weights.projections", "weights.norms")} == {"not claimed"}


def test_a_plain_object_is_not_made_at_other_widths():
    """And is judged at its own."""
    results = verdicts(Reference(SPEC))
    assert results.pop("weights.widths") == "not claimed"
    assert set(results.values()) == {"passed"}


def test_a_width_that_is_not_supported_is_noted():
    """A factory may do powers of two only, if it says so."""

    class Powers(Reference):
        def __init__(self, spec):
            if spec.head_dim & (spec.head_dim - 1) or spec.rotary_dim < spec.head_dim:
                raise rc.Unsupported("powers of two only")
            super().__init__(spec)

    result = run_check(CHECKS["weights.widths"], context(Powers))
    assert result.verdict == "passed"
    assert "head_dim=6, rotary_dim=6 unsupported: powers of two only" in result.notes


@pytest.mark.parametrize(
    ("convert", "words"),
    [
        (lambda array: None, "returned builtins.NoneType, no array of numpy"),
        (lambda array: array.tolist(), "returned builtins.list, no array of numpy"),
        (lambda array: array[:-1], "returned the shape"),
        (lambda array: array.T.copy(), "returned the shape"),
        (lambda array: array.astype(np.float64), "returned the dtype float64, must be float32"),
        (lambda array: array, "nothing was moved"),
        (lambda array: array * np.float32(1.5), "holds numbers that no row had"),
        (lambda array: np.full_like(array, np.nan), "holds numbers that no row had"),
    ],
)
def test_what_is_said_of_a_wrong_result(convert, words):
    """Type, shape and dtype come before numbers."""

    class Wrong(Converter):
        def convert(self, array, n_heads, n_kv_heads, which, to):
            return convert(array)

    result = run_check(CHECKS["weights.projections"], context(Wrong), effort="quick")
    assert result.verdict == "failed"
    assert words in result.failure.message


def test_in_place_may_be_claimed():
    """Then the array handed over may be the result."""
    factory = WRONG["converts_in_place"].factory
    assert verdicts(factory)["weights.projections"] == "failed"
    assert set(verdicts(factory, in_place=True).values()) == {"passed"}


TOLD = {
    "keys_cut_into_query_heads": "the rows are cut into query heads, not key heads",
    "key_biases_cut_into_query_heads": "the rows are cut into query heads, not key heads",
    "all_rows_as_one_head": "all rows are taken for one head",
    "gains_of_first_head_only": "only the first head was moved",
    "inverse_order": "the order is the inverse",
    "order_applied_twice": "the order was applied twice",
    "nothing_moved": "nothing was moved",
    "biases_left_alone": "nothing was moved",
    "norms_left_alone": "nothing was moved",
    "moves_whatever_is_asked": "the layout asked for is the one there is, but rows moved",
    "columns_for_rows": "columns are permuted, not rows",
    "head_dim_for_rotary_dim": "all channels of a head are moved",
    "start_not_counted": "the rotating channels are taken to start at 0",
    "through_float16": "the numbers are rounded to float16",
    "upcasts_weights": "returned the dtype float64",
    "converts_in_place": "wrote into the array it was given",
    "rows_kept_by_length": "a new object converts them rightly",
    "padded_to_power_of_two": "must hold row",
}


@pytest.mark.parametrize("name", TOLD)
def test_the_order_of_a_fault_is_told(name):
    """The message names what was done instead, and the class of the fault."""
    check = next(check for id_, check in CHECKS.items() if id_ in WRONG[name].clauses)
    factory = WRONG[name].factory
    made = context(factory, spec=factory.spec, dtype=factory.claim.dtypes[0])
    result = run_check(check, made, effort="quick")
    assert TOLD[name] in result.failure.message
    assert result.failure.fault == WRONG[name].fault

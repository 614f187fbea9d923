"""Where the tests of public code do not look, the fixed inputs do."""

import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.clauses.frequency import _WIDTHS
from rope_conformance.inputs.cases import Case, fixed_cases
from rope_conformance.judging import questions
from rope_conformance.judging.context import CheckContext, undisturbed
from rope_conformance.judging.probes import far_fixed, oracle
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.kills import kills
from rope_ref import RopeSpec

CHECKS = {check.name: check for check in all_checks()}

# What anybody would try first: two rows, four heads, the first eleven positions.
FIRST_TRY = Case(2, 11, 4, range(11))


def context_of(factory):
    """An implementation of the zoo as a run would judge it by itself."""
    implementation = Implementation(factory, factory.spec, factory.claim)
    return CheckContext(implementation, factory.claim.dtypes[0])


def rotates_numpy(name):
    """Whether a wrong implementation is a rotation of NumPy arrays and nothing else."""
    factory = WRONG[name].factory
    if factory.claim.namespace != "numpy" or "t" not in factory.claim.position_forms:
        return False
    made = factory(factory.spec)
    return callable(made)


ROTATIONS = [name for name in WRONG if rotates_numpy(name)]


def passes(context, body, case):
    """Whether a body finds nothing wrong with an implementation on one input."""
    with undisturbed():
        return questions.passes(lambda: body(context, case))


@pytest.fixture(scope="module")
def invisible():
    """Wrong rotations that are right on the first try."""

    def first_try(context, case):
        oracle(context, case, "wrong")

    return {
        name for name in ROTATIONS if passes(context_of(WRONG[name].factory), first_try, FIRST_TRY)
    }


def test_the_first_eleven_positions_hide_much(invisible):
    """More than a third of the wrong rotations pass a comparison with the truth there."""
    assert len(ROTATIONS) >= 100
    assert 3 * len(invisible) > len(ROTATIONS)
    # A number type, a table, a kernel's grid, a memo, a width, a base: one of each.
    assert {
        "positions_int16",
        "positions_bfloat16",
        "stops_at_8192",
        "at_most_4096_tokens",
        "memo_by_shape",
        "pads_to_power_of_two",
        "base_in_thousandths_wraps",
        "single_token_first_row_only",
        "square_batch_transposed",
        "counts_calls",
    } <= invisible


def test_fixed_inputs_find_all_that_is_hidden(invisible):
    """Each is caught by a check that names it without a single generated input."""
    found = set()
    for check in CHECKS.values():
        for name in invisible & {member.name for member in kills()[check.name]} - found:
            context = context_of(WRONG[name].factory)
            if not all(passes(context, check.body, case) for case in check.fixed_inputs(context)):
                found.add(name)
    assert found == invisible


# What the fixed inputs hold


def honest_trial(spec=None):
    """A context of an honest rotation that claims what a bare callable does."""
    factory = CONTROLS["float32_power"].factory
    return CheckContext(Implementation(factory, spec or factory.spec), "float32")


@pytest.mark.parametrize("length", [512, 2048, 4096, 8192, 32768, 131072])
def test_positions_around_trained_lengths(length):
    """The last position of a trained length, the first behind it, and the next."""
    context = honest_trial()
    met = {p for case in fixed_cases(context.claim) for p in case.flat()}
    assert {length - 1, length, length + 1} <= met


def test_single_tokens_stand_elsewhere_than_at_0():
    """In several rows, as a step of decoding does; at position 0 nothing would turn."""
    cases = fixed_cases(honest_trial().claim)
    assert any(c.tokens == 1 and c.batch > 1 and 0 not in c.flat() for c in cases)


def test_axes_of_one_length():
    """B = T, T = H and B = H; and tokens as many as pairs, rotating channels and channels."""
    context = honest_trial(RopeSpec(64, layout="half", rotary_dim=32))
    cases = far_fixed(context)
    assert any(c.batch == c.tokens > 1 for c in cases)
    assert any(c.tokens == c.heads > 1 for c in cases)
    assert any(c.batch == c.heads > 1 != c.tokens for c in cases)
    assert {16, 32, 64} <= {c.tokens for c in cases}


def test_more_than_a_kernel_does_at_a_time():
    """More than 4096 tokens, 128 rows and 64 heads, none of them a multiple of two."""
    cases = far_fixed(honest_trial())
    assert any(c.tokens > 4096 and c.tokens % 2 for c in cases)
    assert any(c.batch > 128 and c.batch % 2 for c in cases)
    assert any(c.heads > 64 and c.heads % 2 for c in cases)


def test_calls_that_a_memo_may_confuse():
    """As many tokens, the same ends and the same sum, in another order."""
    cases = [c for c in fixed_cases(honest_trial().claim) if c.positions]
    assert any(
        sorted(one.flat()) == sorted(other.flat())
        and one.flat()[0] == other.flat()[0]
        and one.flat()[-1] == other.flat()[-1]
        and one.flat() != other.flat()
        for one in cases
        for other in cases
    )


def test_an_object_is_called_more_than_once():
    """Three calls of one shape, then the very first of the run."""
    check = CHECKS["data.determinism"]
    context = honest_trial()
    check.body(context, check.fixed_inputs(context)[0])
    assert context.implementation.calls == 4


def test_queries_have_more_heads_than_keys():
    """Grouped heads, and a single head of keys; the parameter of an input is how many."""
    factory = WRONG["one_head_count"].factory
    named = [CHECKS[clause] for clause in WRONG["one_head_count"].clauses]
    cases = [case for c in named for case in c.fixed_inputs(context_of(factory))]
    assert any(1 < case.parameter < case.heads for case in cases)
    assert any(case.parameter == 1 < case.heads for case in cases)


def test_widths_that_are_no_powers_of_two():
    """Alone and as part of a head, of which less than half rotates."""
    alone = {rotary for head, rotary in _WIDTHS if head == rotary}
    assert {6, 48, 80, 96, 100, 192} <= alone
    assert any(2 * rotary < head for head, rotary in _WIDTHS)

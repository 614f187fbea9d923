"""The surface `positions`: what is asked, what may be answered, what is said of wrong answers."""

import numpy as np
import pytest
from hypothesis import given, settings

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.inputs.memoization_traps import memoization_traps
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.inputs.requests import (
    Asked,
    PositionRequest,
    drawn_requests,
    fixed_requests,
    right_positions,
)
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.parts.plans import Planner
from rope_ref import RopeSpec

SPEC = RopeSpec(64, layout="half")
KINDS = ("padded", "packed", "decoding", "context parallel")
CHECKS = {
    check.name.partition(".")[2].replace("_", " "): check
    for check in all_checks()
    if check.name.startswith("positions.")
}
PADDED = PositionRequest("padded", mask=((0, 0, 1), (1, 1, 1)))
PACKED = PositionRequest("packed", lengths=(3, 0, 2))
DECODING = PositionRequest("decoding", cached=(7, 0), tokens=2)
SPREAD = PositionRequest("context parallel", lengths=(4, 4), ranks=2, order="zigzag")


def context(target, **claim):
    return CheckContext(Implementation(target, SPEC, rc.Claim(**claim)), "float32")


def answering(answer):
    """An honest RoPE that answers every request by a function of the right positions."""

    class Answering(Planner):
        def positions(self, request):
            return answer(right_positions(request))

    return Answering


def verdict(target, kind, **claim):
    return run_check(CHECKS[kind], context(target, **claim), effort="quick")


# What is asked


def test_what_must_be_answered():
    """Shapes and numbers by hand; of padding nothing is asked."""
    assert right_positions(PADDED).tolist() == [[-1, -1, 0], [0, 1, 2]]
    assert right_positions(PACKED).tolist() == [0, 1, 2, 0, 1]
    assert right_positions(DECODING).tolist() == [[7, 8], [0, 1]]
    assert right_positions(SPREAD).tolist() == [0, 3, 0, 3]


@pytest.mark.parametrize("request_", [PADDED, PACKED, DECODING, SPREAD], ids=repr)
def test_the_repr_rebuilds_what_was_asked(request_):
    """A failure shows the requests as text."""
    asked = Asked((request_, PACKED))
    assert rebuild(repr(asked)) == asked


@pytest.mark.parametrize("kind", KINDS)
def test_the_repr_of_a_request_is_short(kind):
    """Only what was said, and a long row by its runs."""
    for case in fixed_requests(rc.Claim(), kind):
        assert rebuild(repr(case)) == case
        assert all(len(repr(request)) < 120 for request in case.requests)
    assert repr(PADDED) == "PositionRequest('padded', mask=((0, 0, 1), (1, 1, 1),))"
    row = PositionRequest("padded", mask=((0,) * 2 + (1,) * 300,))
    assert repr(row) == "PositionRequest('padded', mask=((0,) * 2 + (1,) * 300,))"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("high", [3, 300, 2**20, 2**31 - 1])
def test_requests_stay_inside_the_claim(kind, high):
    """No position beyond the claimed range, and no kind that is not claimed."""
    claim = rc.Claim(position_range=(0, high))

    @settings(max_examples=30, deadline=None, database=None)
    @given(drawn_requests(claim, kind))
    def drawn(case):
        assert case.inside(claim)
        assert {request.kind for request in case.requests} == {kind}
        assert max(right_positions(request).max() for request in case.requests) <= high

    drawn()
    inside = [case for case in fixed_requests(claim, kind) if case.inside(claim)]
    assert len(inside) >= CHECKS[kind].minimum
    others = rc.Claim(requests=tuple(other for other in KINDS if other != kind))
    assert not any(case.inside(others) for case in inside)


@pytest.mark.parametrize("kind", KINDS)
def test_a_neighbour_has_another_answer(kind):
    """What is kept of the first request is wrong for the second."""
    for pair in memoization_traps(kind):
        first, other = (PositionRequest(**{"kind": kind, **one}) for one in pair)
        assert not np.array_equal(right_positions(first), right_positions(other))


def test_no_answer_is_empty_unless_that_is_claimed():
    """An array without tokens is a claim of its own; an empty document among others is not."""
    nothing = Asked((PositionRequest("packed", lengths=(0, 0)),))
    assert not nothing.inside(rc.Claim())
    assert nothing.inside(rc.Claim(empty=True))
    assert Asked((PACKED,)).inside(rc.Claim())


@pytest.mark.parametrize("kind", KINDS)
def test_the_fixed_requests_meet_what_hides_mistakes(kind):
    """Rows that differ, batches as large as long, documents of no token and of one, all ranks."""
    asked = [r for case in fixed_requests(rc.Claim(), kind) for r in case.requests]
    shapes = {right_positions(request).shape for request in asked}
    if kind in ("padded", "decoding"):
        assert {(1, 1), (2, 1), (3, 1)} & shapes
        assert any(len(shape) == 2 and shape[0] == shape[1] > 2 for shape in shapes)
    if kind == "decoding":
        assert {n for request in asked for n in request.cached} > {0, 1, 32766, 32767, 65535}
    if kind in ("packed", "context parallel"):
        assert any(0 in request.lengths for request in asked)
        assert any(len(set(request.lengths)) > 1 for request in asked)
    if kind == "packed":
        assert any(1 in request.lengths for request in asked)
    if kind == "context parallel":
        for ranks in (1, 2, 4):
            seen = {(r.order, r.rank) for r in asked if r.ranks == ranks}
            assert seen == {(o, n) for o in ("contiguous", "zigzag") for n in range(ranks)}


# What may be answered


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        lambda p: p.clip(min=0).tolist(),
        lambda p: np.where(p < 0, 10**6, p),
        lambda p: p.astype(np.int32),
        lambda p: p.clip(min=0).astype(np.uint64),
        lambda p: tuple(map(tuple, p.tolist())) if p.ndim == 2 else tuple(p.tolist()),
    ],
    ids=["lists", "padding anything", "int32", "uint64", "tuples"],
)
def test_any_integers_will_do(kind, answer):
    """Lists, tuples and arrays of any integer type; padding is not looked at."""
    assert verdict(answering(answer), kind).verdict == "passed"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda p: p.astype(float), "float64, must be integers"),
        (lambda p: None, "NoneType of object, must be integers"),
        (lambda p: p > 0, "bool, must be integers"),
        (lambda p: p[None], "returned shape"),
        (lambda p: p[..., 1:], "returned shape"),
        (lambda p: [[0], [0, 1]], "of which no array can be made"),
        (lambda p: p + 1, "every position is off by 1"),
        (lambda p: 0 * p - 1, "is at position -1, must be at 0"),
    ],
)
def test_what_is_said_of_a_wrong_answer(kind, answer, words):
    """Type and shape come before numbers; the message says what was expected."""
    result = verdict(answering(answer), kind)
    assert result.verdict == "failed"
    assert words in result.failure.message


def test_an_error_is_an_error():
    """What is raised is told with its line."""

    class Raises(Planner):
        def padded(self, mask):
            raise KeyError("attention_mask")

    result = verdict(Raises, "padded")
    assert result.verdict == "error"
    assert "KeyError" in result.failure.message


def test_each_kind_is_claimed_by_itself():
    """What is left out of the claim is not asked."""

    class OnlyPacks(Planner):
        def positions(self, request):
            assert request.kind == "packed"
            return self.packed(request.lengths)

    verdicts = {kind: verdict(OnlyPacks, kind, requests=("packed",)) for kind in KINDS}
    assert verdicts.pop("packed").verdict == "passed"
    for kind, result in verdicts.items():
        assert result.verdict == "not claimed"
        assert result.reason == f"requests of the kind {kind!r} are not claimed"
    beyond = verdict(Planner, "packed", position_range=(5, 100))
    assert (beyond.verdict, beyond.reason) == (
        "not claimed",
        "position 0 is not in the claimed range",
    )


def test_an_object_without_the_surface_is_not_asked():
    """A plain RoPE makes no positions."""
    result = verdict(lambda x, positions: x, "padded")
    assert (result.verdict, result.calls) == ("not claimed", 0)


# What is said of the zoo

TOLD = {
    "counts_padding": "padding is counted",
    "flat_token_index": "row b starts at b T",
    "mask_of_first_row": "every row has the positions of row 0",
    "counts_down_the_batch": "tokens are counted along the batch",
    "padding_on_the_left_only": "all padding is taken to lie on the left",
    "holes_counted": "padding between tokens is counted",
    "positions_start_at_one": "every position is off by 1",
    "runs_through_the_pack": "positions run on from document to document",
    "restarts_by_first_length": "every document is taken to be as long as the first",
    "pack_in_bfloat16": "rounded to bfloat16",
    "plan_kept_by_length": "the same request alone is answered rightly",
    "packs_share_a_buffer": "they share memory",
    "one_past_the_cache": "every position is off by 1",
    "cache_not_counted": "the cache is not counted",
    "cache_of_first_row": "every row has the cache of row 0",
    "new_tokens_at_one_position": "all new tokens are at one position",
    "sixteen_bit_positions": "wrap around in 16 bits",
    "decoding_frozen_by_shape": "the same request alone is answered rightly",
    "masks_kept_by_row_sums": "the same request alone is answered rightly",
    "decoding_kept_by_first_row": "the same request alone is answered rightly",
    "parts_kept_without_order": "the same request alone is answered rightly",
    "rank_counts_from_zero": "each rank counts from 0",
    "rows_without_document_start": "read at a token's place in its document",
    "pack_cut_as_one_document": "the pack is cut as one document",
    "zigzag_taken_for_contiguous": "chunks are those of the order 'contiguous'",
}


@pytest.mark.parametrize("name", TOLD)
def test_the_formula_of_a_fault_is_told(name):
    """The message names what was done instead, and the class of the fault."""
    kind = WRONG[name].clauses[0].partition(".")[2].replace("_", " ")
    check = CHECKS[kind]
    factory = WRONG[name].factory
    made = Implementation(factory, factory.spec, factory.claim)
    result = run_check(check, CheckContext(made, "float32"), effort="quick")
    assert TOLD[name] in result.failure.message
    assert result.failure.fault == WRONG[name].fault
    given_ = rebuild(result.failure.case)
    with pytest.raises(CheckFailure):
        check.body(CheckContext(made.remade(factory.spec), "float32"), given_)


def test_a_plain_object_is_told_too():
    """What is no factory is one object for all requests, so its state is not undone."""
    result = verdict(WRONG["runs_through_the_pack"].factory(SPEC), "packed")
    assert "run on from document to document" in result.failure.message
    assert verdict(CONTROLS["planner"].factory(SPEC), "packed").verdict == "passed"


@pytest.mark.parametrize("high", [0, 3, 260])
def test_a_short_claim_is_judged_too(high):
    """Where the telling request is not claimed, the failing one itself is explained."""
    claim = {"position_range": (0, high), "empty": True}
    for kind in KINDS:
        assert verdict(Planner, kind, **claim).verdict == "passed"
        result = verdict(answering(lambda p: p + 1), kind, **claim)
        assert "every position is off by 1" in result.failure.message

"""Which position each token has: padded, packed, cached, and spread over several ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._alike import alike
from rope_conformance.clauses._other_specs import new_object
from rope_conformance.faults import Fault
from rope_conformance.inputs.requests import (
    Asked,
    Integers,
    PositionRequest,
    drawn_requests,
    fixed_requests,
    pieces,
    right_positions,
)
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.target.claim import RequestKind
from rope_conformance.target.frameworks import data_type
from rope_ref.positions import context_parallel_tokens
from rope_ref.positions.sequences import ORDERS


def _asks_for(kind: RequestKind) -> Callable[[CheckContext], str | None]:
    def opened(context: CheckContext) -> str | None:
        if kind not in context.claim.requests:
            return f"requests of the kind {kind!r} are not claimed"
        low, high = context.claim.position_range
        return None if low <= 0 <= high else "position 0 is not in the claimed range"

    return opened


def _judge(context: CheckContext, case: Asked) -> None:
    """Put the requests to one object and compare every position of a token.

    A factory makes a new object, so that no earlier request plays a part.
    """
    asked = new_object(context) or context
    answers: list[tuple[Any, Integers]] = []
    try:
        for n, request in enumerate(case.requests):
            try:
                result, got = _answer(asked, request)
            except CheckFailure as failure:
                if n and _answered_rightly(context, request):
                    raise CheckFailure(f"{failure}; {_ALONE}", fault="cache") from None
                raise
            answers.append((result, got))
            bad = _wrong_tokens(request, got)
            if bad.any():
                earlier = f"request {n + 1} of {len(case.requests)}, " if n else ""
                _fail(context, request, case.requests[:n], got, bad, earlier)
        for n, (result, got) in enumerate(answers, 1):
            if (asked.arrays.host(result) != got).any():
                raise CheckFailure(
                    f"the answer to request {n} of {len(answers)} changed when the next was made: "
                    "they share memory",
                    fault="aliasing",
                )
    finally:
        context.arrays.outputs |= asked.arrays.outputs
        if asked is not context:
            context.implementation.calls += asked.implementation.calls


_ALONE = "the same request alone is answered rightly"


def _answered_rightly(context: CheckContext, request: PositionRequest) -> bool:
    """Whether a new object, asked nothing else, answers a request rightly."""
    try:
        _, got = _answer(new_object(context) or context, request)
    except (CheckFailure, TargetRaised):
        return False
    return not _wrong_tokens(request, got).any()


def _wrong_tokens(request: PositionRequest, got: Integers) -> npt.NDArray[np.bool_]:
    want = right_positions(request)
    return np.asarray((got != want) & (want >= 0))


def _fail(
    context: CheckContext,
    request: PositionRequest,
    before: tuple[PositionRequest, ...],
    got: Integers,
    bad: npt.NDArray[np.bool_],
    earlier: str,
) -> NoReturn:
    want = right_positions(request)
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    names = ("row", "token")[-len(place) :]
    where = ", ".join(f"{name} {i}" for name, i in zip(names, place, strict=True))
    words, fault = _likely(context, request, before, got)
    words = words and f": {words}"
    raise CheckFailure(
        f"{request.kind}: {earlier}{where} is at position {got[place]}, must be at {want[place]}"
        f"{words} (answered {_shown(got)}, right is {_shown(want)})",
        fault=fault or _class_of(request),
    )


def _answer(context: CheckContext, request: PositionRequest) -> tuple[Any, Integers]:
    """What was answered, and the same as int64, once it is integers in the right shape."""
    want = right_positions(request)
    result = context.arrays.call("positions", request)
    call = f"positions(request) of kind {request.kind!r}"
    try:
        host = context.arrays.host(result)
    except Exception as error:  # whatever the framework of the result raises
        raise CheckFailure(
            f"{call} returned {type(result).__name__}, of which no array can be made: {error}",
            fault="dtype",
        ) from None
    if host.dtype.kind not in "iu" and (host.size or want.size):
        raise CheckFailure(
            f"{call} returned {type(result).__name__} of {host.dtype}, must be integers",
            fault="dtype",
        )
    if host.shape != want.shape:
        raise CheckFailure(
            f"{call} returned shape {host.shape}, must be {want.shape}",
            fault=_class_of(request),
        )
    context.arrays.outputs.add(hash(host.tobytes()))
    return result, host.astype(np.int64)


def _shown(positions: Integers) -> str:
    return " ".join(np.array2string(positions, threshold=24).split())


def _class_of(request: PositionRequest) -> Fault:
    return "distributed" if request.kind == "context parallel" else "position"


_Guess = tuple[str, Integers, Fault | None]


def _likely(
    context: CheckContext,
    request: PositionRequest,
    before: tuple[PositionRequest, ...],
    got: Integers,
) -> tuple[str, Fault | None]:
    """The wrong formula that explains an answer, in words, and the class of such a fault."""
    if before and _answered_rightly(context, request):
        stale = any(np.array_equal(right_positions(one).clip(min=0), got) for one in before)
        # Decoding is about the cache, so there a wrong number need not be a stale one.
        return _ALONE, "cache" if stale or request.kind != "decoding" else None
    # Many formulas explain a small input, so a larger one is tried first.
    telling = _telling(request, context)
    answer = _tried(context, telling)
    if not _wrong_tokens(telling, answer).any():
        telling, answer = request, got
    tokens = right_positions(telling) >= 0
    for words, guess, fault in _guesses(telling, answer):
        if (guess == answer)[tokens].all():
            return words, fault
    return "", None


def _tried(context: CheckContext, request: PositionRequest) -> Integers:
    """What a new object answers; the right positions if it cannot, which explain nothing."""
    try:
        return _answer(new_object(context) or context, request)[1]
    except (CheckFailure, TargetRaised):
        return right_positions(request)


def _telling(request: PositionRequest, context: CheckContext) -> PositionRequest:
    """A request of the same kind on which formulas differ; the same one if that is not claimed."""
    last = context.claim.position_range[1]
    if request.kind == "padded":
        rows = ((0, 0, 1, 1, 1), (1, 1, 1, 1, 1), (1, 1, 1, 1, 0), (0, 1, 0, 1, 1))
        telling = replace(request, mask=rows)
    elif request.kind == "packed":
        telling = replace(request, lengths=(3, 1, 0, min(33000, last + 1)))
    elif request.kind == "decoding":
        telling = replace(request, cached=(300, 5, max(min(40000, last - 2), 0)), tokens=3)
    else:
        telling = replace(request, lengths=(8, 16, 8), rank=1, ranks=2)
    return telling if Asked((telling,)).inside(context.claim) else request


def _guesses(request: PositionRequest, got: Integers) -> Iterator[_Guess]:
    """Answers of wrong formulas that public trackers report."""
    want = right_positions(request)
    counted = np.broadcast_to(np.arange(want.shape[-1]), want.shape)
    for shift in (1, -1):
        yield f"every position is off by {shift}", want + shift, None
    if request.kind == "padded":
        yield from _wrongly_padded(np.array(request.mask), counted)
        if len(got) > 1:
            yield "every row has the positions of row 0", got[:1] + 0 * got, "broadcast"
    elif request.kind == "packed":
        yield "positions run on from document to document", counted, None
        first = counted % max(request.lengths[0], 1)
        yield "every document is taken to be as long as the first", first, None
    elif request.kind == "decoding":
        yield from _wrongly_cached(np.array(request.cached)[:, None], counted)
    else:
        yield "each rank counts from 0", counted, None
        yield from _of_other_parts(request)
    yield from _rounded(want)


def _wrongly_padded(mask: Integers, counted: Integers) -> Iterator[_Guess]:
    batch, length = mask.shape
    left = (counted - (length - mask.sum(axis=1, keepdims=True))).clip(min=0)
    flat = np.arange(mask.size).reshape(mask.shape)
    earlier = np.where(mask == 1, mask.cumsum(axis=1) - 1, 0) + length * np.arange(batch)[:, None]
    yield "padding is counted", counted, None
    yield "all padding is taken to lie on the left", left, None
    yield "padding between tokens is counted", counted - mask.argmax(axis=1)[:, None], None
    yield "row b starts at b T, as in a flat index", flat, None
    yield "row b starts at b T, as in a flat index", earlier, None
    yield "tokens are counted along the batch", mask.cumsum(axis=0) - 1, "broadcast"


def _wrongly_cached(cached: Integers, counted: Integers) -> Iterator[_Guess]:
    yield "the cache is not counted", counted, None
    yield "every row has the cache of row 0", cached[0] + counted, "broadcast"
    yield "every row has the longest cache", cached.max() + counted, "broadcast"
    yield "all new tokens are at one position", cached + 0 * counted, None
    yield "the new tokens are counted as cached", cached + counted.shape[1] + counted, None
    yield "the cache is counted twice", 2 * cached + counted, None


def _of_other_parts(request: PositionRequest) -> Iterator[_Guess]:
    """What another rank holds, or this one in another order, or of a pack cut as a whole."""
    whole = right_positions(replace(request, kind="packed"))
    read = whole[right_positions(request)]
    yield "the table of the pack is read at a token's place in its document", read, None
    for cut, order, rank in itertools.product((False, True), ORDERS, range(request.ranks)):
        lengths = (whole.size,) if cut else request.lengths
        if any(n % pieces(order, request.ranks) for n in lengths):
            continue
        words = ["the pack is cut as one document"] if cut else []
        words += [f"chunks are those of the order {order!r}"] if order != request.order else []
        words += ["chunks are those of another rank"] if rank != request.rank else []
        tokens = context_parallel_tokens(lengths, rank=rank, ranks=request.ranks, order=order)
        yield " and ".join(words), whole[tokens], None


def _rounded(want: Integers) -> Iterator[_Guess]:
    for short in ("bfloat16", "float16", "float32"):
        # Beyond its range float16 has infinity, which has no integer.
        with np.errstate(over="ignore"):
            near = np.nan_to_num(want.astype(data_type(short)).astype(np.float64), posinf=-1)
        yield f"positions are rounded to {short}", near.astype(np.int64), "angle-precision"
    for kind, bits in itertools.product(("int", "uint"), (8, 16, 32)):
        wrapped = want.astype(f"{kind}{bits}").astype(np.int64)
        yield f"positions wrap around in {bits} bits", wrapped, None


_request_clause = alike(_judge, __name__, surface="positions", minimum=5)

_request_clause(
    id="positions.padded",
    sentence=(
        "In a padded batch the tokens of each row stand at 0, 1, 2, ..., wherever its padding lies."
    ),
    formula=r"p_{b,t} = \sum_{s<t} m_{b,s} \quad \text{where } m_{b,t} = 1",
    how="Ask for batches padded on the left, on the right, in between, and not at all.",
    reference="rope_ref.positions.sequences:padded_positions",
    fault="position",
    opened_by=_asks_for("padded"),
    fixed=lambda context: fixed_requests(context.claim, "padded"),
    generated=lambda context: drawn_requests(context.claim, "padded"),
)

_request_clause(
    id="positions.packed",
    sentence=(
        "In a pack each document starts again at 0; so does each row of a batch that is laid flat."
    ),
    formula=r"p_t = t - \textstyle\sum_{d' < d(t)} n_{d'}",
    how="Ask for packs of equal and unequal documents, some of one token or of none.",
    reference="rope_ref.positions.sequences:packed_positions",
    fault="position",
    opened_by=_asks_for("packed"),
    fixed=lambda context: fixed_requests(context.claim, "packed"),
    generated=lambda context: drawn_requests(context.claim, "packed"),
)

_request_clause(
    id="positions.decoding",
    sentence=(
        "The first new token of a row stands at the number of its tokens in the cache, the others "
        "follow one by one."
    ),
    formula=r"p_{b,t} = n_b + t",
    how="Ask for one and several new tokens after caches of equal and unequal length.",
    reference="rope_ref.positions.sequences:decoding_positions",
    fault="position",
    opened_by=_asks_for("decoding"),
    fixed=lambda context: fixed_requests(context.claim, "decoding"),
    generated=lambda context: drawn_requests(context.claim, "decoding"),
)

_request_clause(
    id="positions.context_parallel",
    sentence=(
        "A token has the same position on whichever rank it lies: rank c of n holds chunk c of n "
        "of each document (contiguous), or chunks c and 2n-1-c of 2n (zigzag)."
    ),
    formula=(
        r"c \in \{0, \dots, n-1\} \text{ holds } (c) \text{ of } n, \text{ or } "
        r"(c,\, 2n-1-c) \text{ of } 2n"
    ),
    how="Ask one object for the parts of all ranks, in both orders.",
    reference="rope_ref.positions.sequences:context_parallel_tokens",
    fault="distributed",
    opened_by=_asks_for("context parallel"),
    fixed=lambda context: fixed_requests(context.claim, "context parallel"),
    generated=lambda context: drawn_requests(context.claim, "context parallel"),
)

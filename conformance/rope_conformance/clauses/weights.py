"""Projection weights between the two layouts: a permutation of rows, head by head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._alike import alike
from rope_conformance.clauses._openers import factory_only
from rope_conformance.faults import Fault
from rope_conformance.inputs.weights import Weights
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.frameworks import Array, data_type
from rope_conformance.target.implementation import Unsupported
from rope_ref import RopeSpec
from rope_ref.extensions import channel_order, convert_weights
from rope_ref.spec import LAYOUTS

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Rows = npt.NDArray[np.int64]


def _layouts_differ(context: CheckContext) -> str | None:
    return None if context.spec.rotary_dim >= 4 else "with one pair both layouts are the same"


_HEADS = ((4, 2), (8, 1), (3, 3), (1, 1), (6, 2), (2, 2), (8, 2))
_SIZES = ((6, 6), (8, 8), (48, 48), (80, 20), (96, 32), (10, 6), (258, 258))


def _every(context: CheckContext, *which: Any, **rest: Any) -> list[Weights]:
    """All kinds, layouts and numbers of heads; fewer where each shape costs time."""
    numbers = _HEADS[:2] if context.namespace.fixed_shapes else _HEADS
    return [
        Weights(one, to, heads, kv_heads, **rest)
        for to in LAYOUTS
        for heads, kv_heads in numbers
        for one in which
    ]


def _large(context: CheckContext, *which: Any, columns: int = 3) -> list[Weights]:
    """More heads than a kernel does at a time, odd numbers of them and of columns."""
    if context.namespace.fixed_shapes:
        which = which[:1]
    other = LAYOUTS[LAYOUTS[0] == context.spec.layout]
    return [Weights(one, other, 195, 65, columns=columns) for one in which]


def _judge(context: CheckContext, case: Weights) -> None:
    """Convert, and compare every bit; what was handed over must stay what it was."""
    spec = case.spec(context.spec)
    try:
        made = context if spec == context.spec else context.anew(spec)
    except Unsupported as reason:
        words = f"head_dim={spec.head_dim}, rotary_dim={spec.rotary_dim}"
        context.evidence.notes.append(f"{words} unsupported: {reason}")
        return
    given = case.array(spec.head_dim, context.dtype)
    want = _right(given, case, spec)
    call = (
        f"convert(array, {case.n_heads}, {case.n_kv_heads}, {case.which!r}, {case.to!r}) at "
        f"head_dim={spec.head_dim}, rotary_dim={spec.rotary_dim}, rotary_start={spec.rotary_start} "
        f"and the layout {spec.layout!r}"
    )
    got, left = _converted(context, made, case, given, call)
    if _bits(got) != _bits(want):
        words, fault = _likely(given, got, want, case, spec)
        if context.implementation.is_factory:
            new, _ = _converted(context, context.anew(spec), case, given, call)
            if _bits(new) == _bits(want):
                words, fault = f"{words}; a new object converts them rightly", "cache"
        raise CheckFailure(f"{call}: {words}", fault=fault)
    if not context.claim.in_place and _bits(left) != _bits(given):
        raise CheckFailure(f"{call} wrote into the array it was given", fault="aliasing")


def _converted(
    context: CheckContext, made: CheckContext, case: Weights, given: Array, call: str
) -> tuple[Array, Array]:
    """What came back, and what is left in the array that was handed over."""
    native = context.namespace.array(given, context.device)
    try:
        result = made.arrays.call(
            "weights", native, case.n_heads, case.n_kv_heads, case.which, case.to
        )
    finally:
        if made is not context:
            context.implementation.calls += made.implementation.calls
    return _checked(context, native, result, call), context.namespace.host(native)


def _right(given: Array, case: Weights, spec: RopeSpec) -> Array:
    return convert_weights(
        given,
        spec,
        case.to,
        n_heads=case.n_heads,
        n_kv_heads=case.n_kv_heads,
        which=case.which,
    )


def _checked(context: CheckContext, native: Any, result: Any, call: str) -> Array:
    """The result as a NumPy array, once type, dtype, shape and device are right."""
    own = context.namespace
    if result is None and context.claim.in_place:
        result = native
    if not own.owns(result):
        kind = f"{type(result).__module__}.{type(result).__name__}"
        raise CheckFailure(f"{call} returned {kind}, no array of {own.name}", fault="dtype")
    for what, of, fault in _DEMANDS:
        seen, wanted = of(own, result), of(own, native)
        if seen != wanted:
            raise CheckFailure(f"{call} returned the {what} {seen}, must be {wanted}", fault=fault)
    host = own.host(result)
    context.arrays.outputs.add(hash(host.tobytes()))
    return host


_DEMANDS: tuple[tuple[str, Any, Fault], ...] = (
    ("shape", lambda own, array: tuple(array.shape), "layout"),
    ("dtype", lambda own, array: own.dtype(array), "dtype"),
    ("device", lambda own, array: own.device(array), "other"),
)


def _bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _likely(
    given: Array, got: Array, want: Array, case: Weights, spec: RopeSpec
) -> tuple[str, Fault]:
    """What was done instead, in words, and the class of such a fault."""
    own: Fault
    fault: Fault
    for words, rows, fault in _guesses(given, case, spec):
        if _bits(given[rows]) == _bits(got):
            return words, fault
    for short in ("float32", "float16", "bfloat16"):
        if _bits(want.astype(data_type(short)).astype(want.dtype)) == _bits(got):
            return f"the numbers are rounded to {short}", "dtype"
    if given.ndim == 2 and np.array_equal(np.sort(got, axis=1), np.sort(given, axis=1)):
        return "columns are permuted, not rows", "layout"
    differs = (got != want).reshape(len(got), -1).any(axis=1)
    row = int(np.flatnonzero(differs)[0]) if differs.any() else 0
    source = np.flatnonzero((given == got[row]).reshape(len(given), -1).all(axis=1))
    right = np.flatnonzero((given == want[row]).reshape(len(given), -1).all(axis=1))
    held = f"row {source[0]}" if source.size else "numbers that no row had"
    where = f"row {row} (head {row // spec.head_dim}, channel {row % spec.head_dim})"
    own = "layout" if case.head_dim is None else "kernel-shape"
    if row >= spec.head_dim or given.ndim == 2 and _bits(got[:, 0]) == _bits(want[:, 0]):
        own = "kernel-shape"  # the order is right, but not in all heads or columns
    fault = "partial" if row % spec.head_dim in _passing(spec) else own
    return f"{where} holds {held}, must hold row {right[0]}", fault


def _passing(spec: RopeSpec) -> set[int]:
    """The channels that do not rotate."""
    rotating = range(spec.rotary_start, spec.rotary_start + spec.rotary_dim)
    return set(range(spec.head_dim)) - set(rotating)


def _guesses(given: Array, case: Weights, spec: RopeSpec) -> Iterator[tuple[str, Rows, Fault]]:
    """Rows in the order of mistakes that public trackers report."""
    rows, order = np.arange(len(given)), channel_order(spec, case.to)
    by_head = rows.reshape(-1, spec.head_dim)
    heads = len(by_head)
    if case.to == spec.layout:
        other = channel_order(spec, LAYOUTS[LAYOUTS[0] == case.to])
        yield (
            "the layout asked for is the one there is, but rows moved",
            by_head[:, other],
            "layout",
        )
    yield "nothing was moved", rows, "layout"
    yield "the order is the inverse", by_head[:, np.argsort(order)], "layout"
    yield "the order was applied twice", by_head[:, order[order]], "layout"
    first = np.vstack([by_head[:1, order], by_head[1:]])
    yield "only the first head was moved", first, "broadcast"
    for words, cut in (
        ("all rows are taken for one head", 1),
        ("the rows are cut into query heads, not key heads", case.n_heads),
        ("the rows are cut into key heads, not query heads", case.n_kv_heads),
    ):
        if cut != heads and len(rows) % (2 * cut) == 0:
            wide = RopeSpec(len(rows) // cut, layout=spec.layout)
            yield words, rows.reshape(cut, -1)[:, channel_order(wide, case.to)], "layout"
    if spec.head_dim % 2 == 0 and spec.rotary_dim < spec.head_dim:
        whole = RopeSpec(spec.head_dim, layout=spec.layout)
        words = "all channels of a head are moved, not the rotating ones alone"
        yield words, by_head[:, channel_order(whole, case.to)], "partial"
    if spec.rotary_start:
        start = RopeSpec(spec.head_dim, layout=spec.layout, rotary_dim=spec.rotary_dim)
        words = "the rotating channels are taken to start at 0"
        yield words, by_head[:, channel_order(start, case.to)], "partial"


def _square(case: Weights, context: CheckContext) -> Weights:
    """As many columns as rows, so that the shape does not tell the axes apart."""
    heads = case.n_heads if case.which == "q" else case.n_kv_heads
    return replace(case, columns=heads * context.spec.head_dim)


def _drawn(context: CheckContext, *which: Any) -> SearchStrategy[Weights]:
    """Few shapes where each shape costs time."""
    from hypothesis import strategies as st

    if context.namespace.fixed_shapes:
        return st.sampled_from(_every(context, *which))
    return st.builds(
        lambda one, to, kv_heads, group, columns, shared: Weights(
            one, to, kv_heads * group, kv_heads, columns, shared and one.endswith("norm")
        ),
        st.sampled_from(which),
        st.sampled_from(LAYOUTS),
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(1, 5),
        st.booleans(),
    )


_conversion_clause = alike(
    _judge, __name__, surface="weights", reference="rope_ref.extensions.weights:convert_weights"
)

_conversion_clause(
    id="weights.projections",
    sentence=(
        "A query or key projection in another layout has the same rows, those of each head in the "
        "other order; key heads are counted by the number of key heads."
    ),
    formula=r"W'_{hD + j} = W_{hD + \pi(j)}",
    how="Convert projections of one head and several, with fewer key heads than query heads.",
    fault="layout",
    opened_by=_layouts_differ,
    fixed=lambda context: [
        *_every(context, "q", "k"),
        *(_square(one, context) for one in _every(context, "q", "k")[:2]),
        *(replace(one, columns=1) for one in _every(context, "q", "k")[:2]),
        *_large(context, "q", "k", columns=131),
    ],
    generated=lambda context: _drawn(context, "q", "k"),
    minimum=10,
)

_conversion_clause(
    id="weights.biases",
    sentence="The bias of a query or key projection is permuted like its rows.",
    formula=r"b'_{hD + j} = b_{hD + \pi(j)}",
    how="Convert biases.",
    fault="layout",
    opened_by=_layouts_differ,
    fixed=lambda context: [
        *_every(context, "q_bias", "k_bias"),
        *_large(context, "q_bias", "k_bias"),
    ],
    generated=lambda context: _drawn(context, "q_bias", "k_bias"),
    minimum=5,
)

_conversion_clause(
    id="weights.norms",
    sentence=(
        "The gains of a norm between projection and rotation are permuted like the rows, whether "
        "each head has its own or all share them."
    ),
    formula=r"g'_{hD + j} = g_{hD + \pi(j)}, \qquad g'_j = g_{\pi(j)}",
    how="Convert gains of each head, and gains that all heads share.",
    fault="layout",
    opened_by=_layouts_differ,
    fixed=lambda context: [
        *_every(context, "q_norm", "k_norm"),
        *_every(context, "q_norm", "k_norm", shared=True),
        *_large(context, "q_norm", "k_norm"),
    ],
    generated=lambda context: _drawn(context, "q_norm", "k_norm"),
    minimum=10,
)

_conversion_clause(
    id="weights.widths",
    sentence=(
        "At other widths too, only the rotating channels of a head move, and they by rotary_dim."
    ),
    formula=r"\pi(j) = j \quad \text{where } j \ge R",
    how="Make the implementation anew at other widths, of which some rotate in part.",
    reference="rope_ref.extensions.weights:channel_order",
    fault="partial",
    opened_by=factory_only,
    fixed=lambda context: [
        Weights(which, to, 4, 2, head_dim=head_dim, rotary_dim=rotary_dim)
        for head_dim, rotary_dim in (_SIZES[::3] if context.namespace.fixed_shapes else _SIZES)
        for to in LAYOUTS
        for which in ("q", "k")
    ],
    minimum=5,
)

"""The three arrays of an attention layer: q and k are rotated, each by itself, v is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._layer import (
    call_layer,
    demand_positions,
    key_heads,
    large_layers,
    layer_data,
    odd_numbers,
    placed,
    received,
    sent,
)
from rope_conformance.clauses._layer_hints import demand_layer
from rope_conformance.clauses._openers import claims_rows
from rope_conformance.clauses._other_specs import new_object
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.questions import passes
from rope_conformance.target.frameworks import Array

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


# (batch, tokens, heads of q, heads of k, first position). Mostly different lengths: equal ones
# hide that one axis is taken for another.
_LAYERS = (
    (2, 5, 4, 2, 3), (3, 1, 4, 1, 7), (2, 3, 3, 3, 0), (4, 4, 4, 2, 0), (1, 2, 32, 8, 100),
    (2, 2, 8, 2, 0), (1, 7, 6, 3, 2040), (5, 1, 8, 8, 1), (2, 3, 8, 1, 0), (1, 1, 2, 1, 0),
)  # fmt: skip


def _layers(context: CheckContext) -> list[Case]:
    """Inputs with grouped heads; some tokens far apart, and rows of their own, if claimed."""
    claim = context.claim
    shapes = _LAYERS[:4] if context.namespace.fixed_shapes else _LAYERS
    result = [
        Case(b, t, h, placed(claim, start, t), parameter=g, seed=n)
        for n, (b, t, h, g, start) in enumerate(shapes)
    ]
    low, high = claim.position_range
    if {"t", "bt"} & set(claim.position_forms):
        apart = tuple(min(max(p, low), high) for p in (9, 0, 511, 64, 3))
        result.append(Case(2, 5, 4, apart, parameter=2))
    if "bt" in claim.position_forms:
        rows = tuple(tuple(placed(claim, start, 5)) for start in (40, 3))
        result.append(Case(2, 5, 4, rows, parameter=2))
    return list(dict.fromkeys(_whole(context.cut(case)) for case in result))


def _whole(case: Case) -> Case:
    return replace(case, parameter=key_heads(case))


def _generated(context: CheckContext) -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = [cases(context.claim)]
    if claims_rows(context.claim):
        drawn.append(cases(context.claim, rows=True))

    def grouped(case: Case, shared: int) -> Case:
        return context.cut(replace(case, heads=case.heads * shared, parameter=case.heads))

    return st.builds(grouped, st.one_of(drawn), st.sampled_from((1, 2, 4))).map(_whole)


@clause(
    id="attention.kept",
    sentence="The arrays q, k and v come back with the type, dtype and shape that they had.",
    formula=r"\mathrm{dtype}(q') = \mathrm{dtype}(q),\quad \mathrm{dtype}(k') = \mathrm{dtype}(k)",
    reference="rope_ref.rotation:apply_rope",
    fault="dtype",
    surface="attention",
    fixed=_layers,
    minimum=2,
)
def kept(context: CheckContext, case: Case) -> None:
    """`call_layer` looks at type, shape and dtype of each result, here and everywhere."""
    call_layer(context, layer_data(context, case), context.positions(case))


@clause(
    id="attention.crossed",
    sentence="What q becomes depends on q alone, what k becomes on k alone, and v on v alone.",
    formula=r"q' = f(q),\quad k' = f(k),\quad v' = v",
    reference="rope_ref.rotation:apply_rope",
    fault="aliasing",
    surface="attention",
    fixed=_layers,
    minimum=2,
)
def crossed(context: CheckContext, case: Case) -> None:
    """Replace one of the three, by other numbers, zeros and NaN: the other two keep every bit."""
    arrays, positions = layer_data(context, case), context.positions(case)
    others = layer_data(context, replace(case, seed=case.seed + 77))
    before = call_layer(context, arrays, positions)
    for n, name in enumerate("qkv"):
        strange = {
            "other numbers": others[n],
            "zeros": np.zeros_like(arrays[n]),
            "NaN and infinities": odd_numbers(arrays[n]),
        }
        for what, replaced in strange.items():
            given = [*arrays[:n], replaced, *arrays[n + 1 :]]
            after = call_layer(context, given, positions)
            for m, other in enumerate("qkv"):
                if m != n and not same_numbers(before[m], after[m]).all():
                    raise CheckFailure(
                        f"{other} came out otherwise when {name} was replaced by {what}: each of "
                        "the three must be made from itself alone"
                    )
            if what == "zeros" and (after[n] != 0).any():
                raise CheckFailure(f"{name} = 0 did not come out as 0: something else is in it")


@clause(
    id="attention.heads",
    sentence=(
        "k may have fewer heads than q; every head of both is rotated by the phases of its token."
    ),
    formula=r"q'_{b,t,h} = f(q_{b,t,h},\, p_{b,t}),\quad k'_{b,t,g} = f(k_{b,t,g},\, p_{b,t})",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface="attention",
    fixed=lambda context: list(dict.fromkeys([*_layers(context), *large_layers(context)])),
    generated=_generated,
    minimum=50,
    numeric=True,
)
def heads(context: CheckContext, case: Case) -> None:
    """Compare q and k, head by head, with the reference."""
    arrays = layer_data(context, case)
    demand_layer(context, case, arrays, call_layer(context, arrays, context.positions(case)))


def _judge_layer(
    context: CheckContext, case: Case, arrays: tuple[Array, Array, Array], natives: Any = None
) -> None:
    """Judge a call in other circumstances: what is wrong in any has the class of `heads`."""
    positions = context.positions(case)
    try:
        demand_layer(context, case, arrays, call_layer(context, arrays, positions, natives))
    except CheckFailure as failure:
        if failure.fault is None and _wrong_alone(context, case, arrays):
            failure.fault = heads.clause.fault
        raise


def _wrong_alone(context: CheckContext, case: Case, arrays: tuple[Array, Array, Array]) -> bool:
    """Whether a new object, where one can be made, is wrong on plain copies of the arrays."""
    new = new_object(context) or context
    positions = context.positions(case)
    return not passes(lambda: demand_layer(new, case, arrays, call_layer(new, arrays, positions)))


def _in_memory(context: CheckContext) -> list[Case]:
    packed = (False, True) if context.claim.strided and context.namespace.views else (False,)
    return [replace(case, strided=strided) for strided in packed for case in _layers(context)]


@clause(
    id="attention.memory",
    sentence=(
        "q, k and v may lie in one buffer. Nothing is written into them or beside them; where "
        "working in place is claimed, q and k are overwritten with the results and nothing else is."
    ),
    formula=r"\text{memory after} = \text{memory before}",
    reference="rope_ref.rotation:apply_rope",
    fault="aliasing",
    surface="attention",
    fixed=_in_memory,
    minimum=2,
)
def memory(context: CheckContext, case: Case) -> None:
    """Put guard values around the data: in one buffer for all three if views are claimed."""
    arrays = layer_data(context, case)
    buffers, views, places = (_packed if case.strided else _guarded)(context, arrays)
    before = [context.namespace.host(buffer) for buffer in buffers]
    _judge_layer(context, case, arrays, views)
    assert context.arrays.last_call is not None
    given = context.arrays.last_call[len(views) :]
    demand_positions(context, context.positions(case), arrays[0].shape, given, memory.clause.fault)
    in_place = context.claim.in_place
    for n, (buffer, was) in enumerate(zip(buffers, before, strict=True)):
        now = context.namespace.host(buffer)
        inside = {name: place for name, (home, place) in places.items() if home == n}
        for name in "qk" if in_place else "":  # what belongs there is judged below
            if name in inside:
                was[inside[name]] = now[inside[name]]
        _demand_untouched(context, now, was, inside)
    if in_place:
        own = [
            context.arrays.from_claimed_axes(context.namespace.host(view), x.shape)
            for view, x in zip(views, arrays, strict=True)
        ]
        demand_layer(context, case, arrays, own, " in its own memory (in_place is claimed)")
    elif case.heads == key_heads(case):
        # One array as all three, as in a layer without projections.
        same = context.arrays.native(arrays[0])
        _judge_layer(context, case, (arrays[0],) * 3, (same,) * 3)


# Where an array lies: in which buffer, and where in it.
Place = tuple[int, tuple[slice, ...]]
Laid = tuple[list[Any], list[Any], dict[str, Place]]

_GUARD = 7.0


def _demand_untouched(
    context: CheckContext, now: Array, was: Array, inside: dict[str, tuple[slice, ...]]
) -> None:
    bad = ~same_numbers(now, was)
    if not bad.any():
        return
    for name, place in inside.items():
        if bad[place].any():
            raise CheckFailure(
                f"{name} was overwritten in the caller's memory"
                + ("" if context.claim.in_place else "; copy it first, or claim in_place")
            )
    raise CheckFailure(
        f"{int(bad.sum())} numbers beside q, k and v were overwritten: more heads, rows or "
        "channels are written than the array has",
        fault="kernel-shape",
    )


def _guarded(context: CheckContext, arrays: Sequence[Array]) -> Laid:
    """Each array, contiguous, in a buffer of its own between two rows of guard values."""
    buffers: list[Any] = []
    places: dict[str, Place] = {}
    for name, x in zip("qkv", arrays, strict=True):
        host = context.arrays.to_claimed_axes(x)
        room = np.full((host.shape[0] + 2, *host.shape[1:]), _GUARD, dtype=host.dtype)
        place = (slice(1, -1), *(slice(None) for _ in host.shape[1:]))
        room[place] = host
        places[name] = (len(buffers), place)
        buffers.append(context.namespace.array(room, context.device))
    return buffers, [buffers[n][place] for n, place in places.values()], places


def _packed(context: CheckContext, arrays: Sequence[Array]) -> Laid:
    """All three in one buffer, one after another along the heads, guard values at both ends."""
    hosts = [context.arrays.to_claimed_axes(x) for x in arrays]
    along = context.claim.axes.index("h" if "h" in context.claim.axes else "d")
    guard = np.full_like(hosts[2], _GUARD)
    buffer = context.namespace.array(
        np.concatenate([guard, *hosts, guard], axis=along), context.device
    )
    places: dict[str, Place] = {}
    start = guard.shape[along]
    for name, host in zip("qkv", hosts, strict=True):
        stop = start + host.shape[along]
        rest = (slice(None),) * host.ndim
        places[name] = (0, (*rest[:along], slice(start, stop), *rest[along + 1 :]))
        start = stop
    return [buffer], [buffer[place] for _, place in places.values()], places


@clause(
    id="attention.calls",
    sentence="A call does not depend on earlier ones, whatever heads and tokens these had.",
    formula=r"\mathrm{qkv}(q, k, v, p) \text{ does not depend on earlier calls}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="attention",
    fixed=_layers,
    minimum=2,
)
def calls(context: CheckContext, case: Case) -> None:
    """Call; call with other heads and tokens; call with other data; call as at first."""
    arrays, positions = layer_data(context, case), context.positions(case)
    natives = [context.arrays.native(x) for x in arrays]
    results = sent(context, natives, positions, arrays[0].shape)
    first = received(context, results, natives, arrays)
    for other in _layers(context)[:4]:
        _judge_layer(context, other, layer_data(context, other))
    call_layer(context, [-x for x in arrays], positions)
    still, again = (
        received(context, results, natives, arrays),
        call_layer(context, arrays, positions),
    )
    for name, was, kept_, now in zip("qkv", first, still, again, strict=True):
        if not same_numbers(was, kept_).all():
            raise CheckFailure(
                f"the result for {name} changed when the next call was made: its memory is reused",
                fault="aliasing",
            )
        if not same_numbers(was, now).all():
            raise CheckFailure(f"the same call gave another {name} after other calls")

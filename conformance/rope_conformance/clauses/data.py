"""What goes in and comes out as an array: type, shape, memory."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._layer import demand_positions
from rope_conformance.clauses._openers import claims_rows, factory_only
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.claimed_positions import free_positions
from rope_conformance.inputs.rows import row_cases
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import numeric_cases, numeric_fixed, oracle
from rope_conformance.judging.questions import is_right
from rope_conformance.target.frameworks import Array
from rope_conformance.target.process_state import changes, remember, settings_restored
from rope_conformance.target.views import View
from rope_ref import cos_sin

_MANY = 40  # calls: more than the threads of a pool that grows by one a call


@clause(
    id="data.kept",
    sentence="The result is an array of the type, dtype and shape that came in.",
    formula=r"\mathrm{dtype}(y) = \mathrm{dtype}(x),\quad \mathrm{shape}(y) = \mathrm{shape}(x)",
    reference="rope_ref.rotation:apply_rope",
    fault="dtype",
    surface=EITHER,
    any_map=True,
    fixed=numeric_fixed,
    minimum=3,
)
def kept(context: CheckContext, case: Case) -> None:
    """`ArrayAdapter.apply` looks at type, shape and dtype of every result, here and everywhere."""
    context.arrays.apply(context.x(case), context.positions(case))


def _also_rows(context: CheckContext) -> list[Case]:
    """The fixed inputs, and one where rows have positions of their own, if that is claimed."""
    rows = claims_rows(context.claim)
    return [*numeric_fixed(context), *(row_cases(context.claim)[:1] if rows else [])]


@clause(
    id="data.mutation",
    sentence=(
        "Neither x nor the positions, nor a table that is given, are changed; where working in "
        "place is claimed, x holds the result and nothing else is changed."
    ),
    formula=r"x,\, p,\, c,\, s \text{ after} = x,\, p,\, c,\, s \text{ before}",
    reference="rope_ref.rotation:apply_rope",
    fault="aliasing",
    surface=EITHER,
    any_map=True,
    fixed=_also_rows,
    minimum=3,
)
def mutation(context: CheckContext, case: Case) -> None:
    """Look at the arguments after a call, and at x again after another call.

    Then call the other surfaces, and look at the positions that they were given.
    """
    x, positions = context.x(case), context.positions(case)
    y = context.arrays.apply(x, positions)
    assert context.arrays.last_call is not None
    given, *rest = context.arrays.last_call
    context.arrays.apply(-x, positions)
    host = context.namespace.host
    in_place = context.claim.in_place
    if not same_numbers(host(given), context.arrays.to_claimed_axes(y if in_place else x)).all():
        raise CheckFailure(
            "x does not hold the result, though working in place is claimed"
            if in_place
            else "x was changed by the call; copy it first, or claim in_place"
        )
    if context.implementation.has("apply"):
        demand_positions(context, positions, x.shape, rest, mutation.clause.fault)
    else:
        for before, after in zip(cos_sin(positions, context.spec), rest, strict=True):
            if not np.array_equal(host(context.arrays.table(before)), host(after)):
                raise CheckFailure("the given tables were changed by the call")
    where = host(context.arrays.native_positions(positions))
    for surface, arguments in _other_surfaces(context, x, positions).items():
        for after in arguments:
            if tuple(after.shape) == where.shape and not np.array_equal(where, host(after)):
                raise CheckFailure(f"the positions were changed by a call of {surface}")


_VIEWS: dict[View, str] = {
    True: "a view of every second element is rotated wrongly",
    "backwards": "a view that runs backwards through memory is rotated wrongly",
    "expanded": "a view whose heads, or rows, share one memory (stride 0) is rotated wrongly",
    "positions": "positions that are a view of every second element are misread",
}


@clause(
    id="data.strides",
    sentence="A view is rotated like a copy of it, however it lies in memory.",
    formula=r"f(\mathrm{view}(x)) = f(\mathrm{copy}(x))",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=lambda context: (
        "arrays of this namespace are never views"
        if not context.namespace.views
        else None
        if context.claim.strided
        else "strided views are not claimed"
    ),
    any_map=True,
    fixed=lambda context: _views(context),
    generated=lambda context: numeric_cases(context).map(_strided),
    minimum=50,
    numeric=True,
)
def strides(context: CheckContext, case: Case) -> None:
    """Views of every second element, running backwards, with stride 0; then positions as a view."""
    try:
        oracle(context, case, _VIEWS[case.strided])
    except TargetRaised as error:
        if case.strided != "backwards":  # which few can take, torch for one cannot
            raise
        context.evidence.facts["views that run backwards"] = f"not taken: raises {error}"
    except CheckFailure as failure:
        # Right unless the positions are a view: then others are read.
        if case.strided == "positions" and is_right(context, replace(case, strided=False)):
            failure.fault = "kernel-shape"
        raise


@clause(
    id="data.empty",
    sentence="An array without tokens comes back as it is.",
    formula=r"T = 0 \;\Rightarrow\; y = x",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=lambda context: None if context.claim.empty else "empty input is not claimed",
    any_map=True,
    fixed=lambda context: [context.cut(Case(2, 0, 3, range(0))), Case(1, 0, 1, range(0))],
)
def empty(context: CheckContext, case: Case) -> None:
    """No tokens at all."""
    context.arrays.apply(context.x(case), context.positions(case))


@clause(
    id="data.determinism",
    sentence="The same call gives the same bits, and leaves earlier results alone.",
    formula=r"f(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    any_map=True,
    fixed=numeric_fixed,
    minimum=3,
)
def determinism(context: CheckContext, case: Case) -> None:
    """Call, call with other data, call again; again once the other surfaces have been called.

    Then repeat the very first call of the run.
    """
    x, positions = context.x(case), context.positions(case)
    first = context.arrays.apply(x, positions)
    kept_result = context.arrays.last_result
    context.arrays.apply(-x, positions)
    kept_result = context.arrays.from_claimed_axes(context.namespace.host(kept_result), x.shape)
    if not same_numbers(first, kept_result).all():
        raise CheckFailure(
            "a result changed when the next call was made: its memory is reused", fault="aliasing"
        )
    again = context.arrays.apply(x, positions)
    if not same_numbers(first, again).all():
        raise CheckFailure("the same call gave other numbers the third time")
    if others := _other_surfaces(context, -x, positions[..., ::-1]):
        again = context.arrays.apply(x, positions)
        if not same_numbers(first, again).all():
            raise CheckFailure(
                f"the same call gave other numbers once {', '.join(others)} had been called, for "
                "other positions"
            )
    assert context.implementation.first_call is not None
    arguments, was = context.implementation.first_call
    surface = "apply" if context.implementation.has("apply") else "rotate"
    arguments = copy.deepcopy(arguments)
    now = context.arrays.call(surface, *arguments)
    now = arguments[0] if now is None else now  # worked in place
    before, after = context.namespace.host(was), context.namespace.host(now)
    if not same_numbers(before, after).all():
        raise CheckFailure("the first call of the run, repeated, gave other numbers")


@clause(
    id="data.types",
    sentence="What was rotated before, in whatever type of data, changes nothing in a call.",
    formula=r"f(x, p) \text{ does not depend on earlier calls}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=lambda context: (
        factory_only(context)
        or (None if len(context.claim.dtypes) > 1 else "a single type of data is claimed")
    ),
    any_map=True,
    fixed=lambda context: [_long(context)],
    minimum=50,
    numeric=True,
)
def types(context: CheckContext, case: Case) -> None:
    """Make it anew, rotate in every other type, then judge this one."""
    after = context.anew()
    try:
        for other in context.claim.dtypes:
            if other != context.dtype:
                before = CheckContext(after.implementation, other, device=context.device)
                before.arrays.apply(before.x(case), before.positions(case))
        oracle(after, case, "wrong once other types of data were rotated")
    finally:
        context.absorb(after)


@clause(
    id="data.process",
    sentence="A call leaves the process as it found it: random states, NumPy's functions, threads.",
    formula=r"\text{process after} = \text{process before}",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    any_map=True,
    fixed=lambda context: [
        *numeric_fixed(context),
        *(replace(case, parameter=_MANY) for case in numeric_fixed(context)[:1]),
    ],
    minimum=3,
)
def process(context: CheckContext, case: Case) -> None:
    """Look at settings and random states around calls; at threads after many of them.

    NumPy's own settings are watched around every call since the target was loaded.
    """
    x, positions = context.x(case), context.positions(case)
    target = context.implementation.target
    changed: list[str] = []
    with settings_restored(changed):
        context.arrays.apply(x, positions)
        _other_surfaces(context, x, positions)
    remember(target, changed)
    if changed := changes(target):
        raise CheckFailure(f"changed by a call, and not put back: {', '.join(changed)}")
    if case.parameter:
        _threads(lambda: context.arrays.apply(x, positions), case.parameter)


def _other_surfaces(
    context: CheckContext, x: Array, positions: Array
) -> dict[str, tuple[Any, ...]]:
    """Call the other surfaces, and return the arguments of each by the name of its method.

    Errors are ignored: other clauses judge those surfaces.
    """

    def given(data: int, places: int) -> tuple[Any, ...]:
        arrays = (context.arrays.native(x) for _ in range(data))
        return (*arrays, *(context.arrays.native_positions(positions) for _ in range(places)))

    arguments = {
        ("theta", "theta"): given(0, 0),
        ("table", "cos_sin"): given(0, 1),
        ("attention", "qkv"): given(3, 1),
        ("logits", "logits"): given(2, 2),
    }
    called = {}
    for (surface, method), each in arguments.items():
        if context.implementation.has(surface):
            with contextlib.suppress(TargetRaised, CheckFailure):
                context.arrays.call(surface, *each)
            called[method] = each
    return called


def _threads(call: Callable[[], object], calls: int) -> None:
    """Fail if most calls leave a thread behind. A pool that is made once is allowed."""
    leaving = 0
    for number in range(calls):
        before = set(threading.enumerate())
        call()
        left = set(threading.enumerate()) - before
        leaving += bool(left)
        if number == calls // 4 and not leaving:
            return
    for thread in left:
        thread.join(timeout=0.05)  # one that is about to end does not count
    if leaving > calls // 2 and any(thread.is_alive() for thread in left):
        raise CheckFailure(f"{leaving} of {calls} calls left a thread behind")


def _long(context: CheckContext) -> Case:
    """More tokens than bfloat16 has integers in a row."""
    low, high = context.claim.position_range
    start = low if high < 0 else max(low, 0)
    # Where each new shape is a compilation, as many as in the longest of `far_cases`.
    tokens = min(1025 if context.namespace.fixed_shapes else 600, high - start + 1)
    return Case(1, tokens, 1, range(start, start + tokens))


def _views(context: CheckContext) -> list[Case]:
    """Every second element of all fixed inputs; a few inputs in other memory layouts."""
    fixed, claim = numeric_fixed(context), context.claim
    others: list[View] = ["backwards"] if context.namespace.backwards else []
    # Elements that share memory cannot be overwritten.
    others += [] if claim.in_place else ["expanded"]
    found = [_strided(case) for case in fixed]
    found += [replace(case, strided=view) for view in others for case in fixed[:4]]
    if context.implementation.has("apply") and free_positions(claim):
        rows = _also_rows(context)[len(fixed) :]
        found += [replace(case, strided="positions") for case in (*fixed[:4], *rows)]
    alone = [c for c in found if c.strided == "expanded" and max(c.batch, c.heads) == 1]
    return [case for case in found if case not in alone]


def _strided(case: Case) -> Case:
    return replace(case, strided=True)

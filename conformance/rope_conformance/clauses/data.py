"""What goes in and comes out as an array: type, shape, memory."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.bystanders import changes, remember, settings_left_alone
from rope_conformance.clauses._common import factory_only, numeric_cases, numeric_fixed, oracle
from rope_conformance.clauses._layer import demand_positions
from rope_conformance.clauses._rows import row_cases
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.inputs import Case, free_positions
from rope_conformance.registry import EITHER, Clause
from rope_conformance.shape_causes import is_right
from rope_conformance.trial import CheckFailure, TargetRaised, Trial
from rope_conformance.views import View
from rope_ref import cos_sin

Array = npt.NDArray[Any]

KEPT = Clause(
    id="data.kept",
    sentence="The result is an array of the type, dtype and shape that came in.",
    formula=r"\mathrm{dtype}(y) = \mathrm{dtype}(x),\quad \mathrm{shape}(y) = \mathrm{shape}(x)",
    reference="rope_ref.rotation:apply_rope",
    fault="dtype",
    surface=EITHER,
    any_map=True,
)

MUTATION = Clause(
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
)

STRIDES = Clause(
    id="data.strides",
    sentence="A view is rotated like a copy of it, however it lies in memory.",
    formula=r"f(\mathrm{view}(x)) = f(\mathrm{copy}(x))",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=lambda trial: (
        "arrays of this namespace are never views"
        if not trial.namespace.views
        else None
        if trial.claim.strided
        else "strided views are not claimed"
    ),
    any_map=True,
)

EMPTY = Clause(
    id="data.empty",
    sentence="An array without tokens comes back as it is.",
    formula=r"T = 0 \;\Rightarrow\; y = x",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=lambda trial: None if trial.claim.empty else "empty input is not claimed",
    any_map=True,
)

DETERMINISM = Clause(
    id="data.determinism",
    sentence="The same call gives the same bits, and leaves earlier results alone.",
    formula=r"f(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    any_map=True,
)


TYPES = Clause(
    id="data.types",
    sentence="What was rotated before, in whatever type of data, changes nothing in a call.",
    formula=r"f(x, p) \text{ does not depend on earlier calls}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=lambda trial: (
        factory_only(trial)
        or (None if len(trial.claim.dtypes) > 1 else "a single type of data is claimed")
    ),
    any_map=True,
)


PROCESS = Clause(
    id="data.process",
    sentence="A call leaves the process as it found it: random states, NumPy's functions, threads.",
    formula=r"\text{process after} = \text{process before}",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    any_map=True,
)

_MANY = 40  # calls, more than a pool that is made bit by bit has threads


@KEPT.check(
    fixed=numeric_fixed,
    kills=[
        "upcasts_result",
        "drops_axis_of_one",
        "returns_list",
        "promotes_to_table_type",
        "returns_half_precision",
    ],
    minimum=3,
)
def kept(trial: Trial, case: Case) -> None:
    """`Trial.apply` looks at type, shape and dtype of every result, here and everywhere."""
    trial.apply(trial.x(case), trial.positions(case))


def _also_rows(trial: Trial) -> list[Case]:
    """The fixed inputs, and one where rows have positions of their own, if that is claimed."""
    rows = "bt" in trial.claim.position_forms and "b" in trial.claim.axes
    return [*numeric_fixed(trial), *(row_cases(trial)[:1] if rows else [])]


@MUTATION.check(
    fixed=_also_rows,
    kills=[
        "writes_into_x",
        "in_place_in_name_only",
        "consumer_negates_sine",
        "table_moves_positions",
    ],
    minimum=3,
)
def mutation(trial: Trial, case: Case) -> None:
    """Look at the arguments after the call, and at x once more after another.

    Of what else is offered, look at the positions that it was given.
    """
    x, positions = trial.x(case), trial.positions(case)
    y = trial.apply(x, positions)
    assert trial.last_call is not None
    given, *rest = trial.last_call
    trial.apply(-x, positions)
    host = trial.namespace.host
    in_place = trial.claim.in_place
    if not same_numbers(host(given), trial.to_claimed_axes(y if in_place else x)).all():
        raise CheckFailure(
            "x does not hold the result, though working in place is claimed"
            if in_place
            else "x was changed by the call; copy it first, or claim in_place"
        )
    if trial.implementation.has("apply"):
        demand_positions(trial, positions, x.shape, rest, MUTATION.fault)
    else:
        for before, after in zip(cos_sin(positions, trial.spec), rest, strict=True):
            if not np.array_equal(host(trial.table(before)), host(after)):
                raise CheckFailure("the given tables were changed by the call")
    where = host(trial.native_positions(positions))
    for surface, arguments in _other_surfaces(trial, x, positions).items():
        for after in arguments:
            if tuple(after.shape) == where.shape and not np.array_equal(where, host(after)):
                raise CheckFailure(f"the positions were changed by a call of {surface}")


_VIEWS: dict[View, str] = {
    True: "a view of every second element is rotated wrongly",
    "backwards": "a view that runs backwards through memory is rotated wrongly",
    "expanded": "a view whose heads, or rows, share one memory (stride 0) is rotated wrongly",
    "positions": "positions that are a view of every second element are misread",
}


@STRIDES.check(
    fixed=lambda trial: _views(trial),
    generated=lambda trial: numeric_cases(trial).map(_strided),
    kills=[
        "reads_memory_in_order",
        "token_stride_assumed",
        "reads_backwards_views_forwards",
        "expanded_heads_are_one",
        "reads_positions_in_order",
    ],
    minimum=50,
    numeric=True,
)
def strides(trial: Trial, case: Case) -> None:
    """Every second element along each axis, backwards, one head for all; then the positions."""
    try:
        oracle(trial, case, _VIEWS[case.strided])
    except TargetRaised as error:
        if case.strided != "backwards":  # which few can take, torch for one cannot
            raise
        trial.facts["views that run backwards"] = f"not taken: raises {error}"
    except CheckFailure as failure:
        # Rotated by others' positions, but only where these are a view.
        if case.strided == "positions" and is_right(trial, replace(case, strided=False)):
            failure.fault = "kernel-shape"
        raise


@EMPTY.check(
    fixed=lambda trial: [trial.cut(Case(2, 0, 3, range(0))), Case(1, 0, 1, range(0))],
    kills=["needs_a_token"],
)
def empty(trial: Trial, case: Case) -> None:
    """No tokens at all."""
    trial.apply(trial.x(case), trial.positions(case))


@DETERMINISM.check(
    fixed=numeric_fixed,
    kills=["counts_calls", "reuses_buffer", "base_stays_grown", "rotates_by_table_asked_for"],
    minimum=3,
)
def determinism(trial: Trial, case: Case) -> None:
    """Call, call with other data, call again; so once all else that is offered was called.

    Then repeat the very first call of the run.
    """
    x, positions = trial.x(case), trial.positions(case)
    first = trial.apply(x, positions)
    kept_result = trial.last_result
    trial.apply(-x, positions)
    kept_result = trial.from_claimed_axes(trial.namespace.host(kept_result), x.shape)
    if not same_numbers(first, kept_result).all():
        raise CheckFailure(
            "a result changed when the next call was made: its memory is reused", fault="aliasing"
        )
    again = trial.apply(x, positions)
    if not same_numbers(first, again).all():
        raise CheckFailure("the same call gave other numbers the third time")
    if others := _other_surfaces(trial, -x, positions[..., ::-1]):
        again = trial.apply(x, positions)
        if not same_numbers(first, again).all():
            raise CheckFailure(
                f"the same call gave other numbers once {', '.join(others)} had been called, for "
                "other positions"
            )
    assert trial.implementation.first_call is not None
    arguments, was = trial.implementation.first_call
    surface = "apply" if trial.implementation.has("apply") else "rotate"
    arguments = copy.deepcopy(arguments)
    now = trial.call(surface, *arguments)
    now = arguments[0] if now is None else now  # worked in place
    before, after = trial.namespace.host(was), trial.namespace.host(now)
    if not same_numbers(before, after).all():
        raise CheckFailure("the first call of the run, repeated, gave other numbers")


@TYPES.check(
    fixed=lambda trial: [_long(trial)],
    kills=["table_kept_in_first_type"],
    minimum=50,
    numeric=True,
)
def types(trial: Trial, case: Case) -> None:
    """Make it anew, rotate in every other type, then judge this one."""
    after = trial.anew()
    try:
        for other in trial.claim.dtypes:
            if other != trial.dtype:
                before = Trial(after.implementation, other, device=trial.device)
                before.apply(before.x(case), before.positions(case))
        oracle(after, case, "wrong once other types of data were rotated")
    finally:
        trial.absorb(after)


@PROCESS.check(
    fixed=lambda trial: [
        *numeric_fixed(trial),
        *(replace(case, parameter=_MANY) for case in numeric_fixed(trial)[:1]),
    ],
    kills=["seeds_numpy", "patches_numpy", "leaves_threads"],
    minimum=3,
)
def process(trial: Trial, case: Case) -> None:
    """Look at settings and random states around calls; at threads after many of them.

    What concerns NumPy was watched around every call since the target was loaded.
    """
    x, positions = trial.x(case), trial.positions(case)
    target = trial.implementation.target
    changed: list[str] = []
    with settings_left_alone(changed):
        trial.apply(x, positions)
        _other_surfaces(trial, x, positions)
    remember(target, changed)
    if changed := changes(target):
        raise CheckFailure(f"changed by a call, and not put back: {', '.join(changed)}")
    if case.parameter:
        _threads(lambda: trial.apply(x, positions), case.parameter)


def _other_surfaces(trial: Trial, x: Array, positions: Array) -> dict[str, tuple[Any, ...]]:
    """Call what else is offered, and return what each was given, by the name of its method.

    What it raises is the affair of other clauses.
    """

    def given(data: int, places: int) -> tuple[Any, ...]:
        arrays = (trial.native(x) for _ in range(data))
        return (*arrays, *(trial.native_positions(positions) for _ in range(places)))

    arguments = {
        ("theta", "theta"): given(0, 0),
        ("table", "cos_sin"): given(0, 1),
        ("attention", "qkv"): given(3, 1),
        ("logits", "logits"): given(2, 2),
    }
    called = {}
    for (surface, method), each in arguments.items():
        if trial.implementation.has(surface):
            with contextlib.suppress(TargetRaised, CheckFailure):
                trial.call(surface, *each)
            called[method] = each
    return called


def _threads(call: Callable[[], object], calls: int) -> None:
    """Fail if most calls leave a thread behind; a pool that is made once is none of them."""
    leaving = 0
    for number in range(calls):
        before = set(threading.enumerate())
        call()
        left = set(threading.enumerate()) - before
        leaving += bool(left)
        if number == calls // 4 and not leaving:
            return
    for thread in left:
        thread.join(timeout=0.05)  # one that is about to end is not left behind
    if leaving > calls // 2 and any(thread.is_alive() for thread in left):
        raise CheckFailure(f"{leaving} of {calls} calls left a thread behind")


def _long(trial: Trial) -> Case:
    """More tokens than bfloat16 can number."""
    low, high = trial.claim.position_range
    start = low if high < 0 else max(low, 0)
    # Where each new shape is a compilation, as many as in the longest of `far_cases`.
    tokens = min(1025 if trial.namespace.fixed_shapes else 600, high - start + 1)
    return Case(1, tokens, 1, range(start, start + tokens))


def _views(trial: Trial) -> list[Case]:
    """Every second element of all fixed inputs; of a few, the other ways to lie in memory."""
    fixed, claim = numeric_fixed(trial), trial.claim
    others: list[View] = ["backwards"] if trial.namespace.backwards else []
    # Several numbers in one place cannot be overwritten.
    others += [] if claim.in_place else ["expanded"]
    found = [_strided(case) for case in fixed]
    found += [replace(case, strided=view) for view in others for case in fixed[:4]]
    if trial.implementation.has("apply") and free_positions(claim):
        rows = _also_rows(trial)[len(fixed) :]
        found += [replace(case, strided="positions") for case in (*fixed[:4], *rows)]
    alone = [c for c in found if c.strided == "expanded" and max(c.batch, c.heads) == 1]
    return [case for case in found if case not in alone]


def _strided(case: Case) -> Case:
    return replace(case, strided=True)

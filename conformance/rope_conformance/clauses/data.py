"""What goes in and comes out as an array: type, shape, memory."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from rope_conformance.clauses._common import factory_only, numeric_cases, numeric_fixed, oracle
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.inputs import Case
from rope_conformance.registry import EITHER, Clause
from rope_conformance.trial import CheckFailure, Trial

KEPT = Clause(
    id="data.kept",
    sentence="The result is an array of the type, dtype and shape that came in.",
    formula=r"\mathrm{dtype}(y) = \mathrm{dtype}(x),\quad \mathrm{shape}(y) = \mathrm{shape}(x)",
    reference="rope_ref.rotation:apply_rope",
    fault="dtype",
    surface=EITHER,
)

MUTATION = Clause(
    id="data.mutation",
    sentence="Neither x nor the positions are changed, unless working in place is claimed.",
    formula=r"x,\, p \text{ after} = x,\, p \text{ before}",
    reference="rope_ref.rotation:apply_rope",
    fault="aliasing",
    surface=EITHER,
)

STRIDES = Clause(
    id="data.strides",
    sentence="A view of a larger array is rotated like a copy of it.",
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
)

EMPTY = Clause(
    id="data.empty",
    sentence="An array without tokens comes back as it is.",
    formula=r"T = 0 \;\Rightarrow\; y = x",
    reference="rope_ref.rotation:apply_rope",
    fault="kernel-shape",
    surface=EITHER,
    opened_by=lambda trial: None if trial.claim.empty else "empty input is not claimed",
)

DETERMINISM = Clause(
    id="data.determinism",
    sentence="The same call gives the same bits, and leaves earlier results alone.",
    formula=r"f(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
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
)


@KEPT.check(
    fixed=numeric_fixed,
    kills=["upcasts_result", "drops_axis_of_one", "returns_list"],
    minimum=3,
)
def kept(trial: Trial, case: Case) -> None:
    """`Trial.apply` looks at type, shape and dtype of every result, here and everywhere."""
    trial.apply(trial.x(case), trial.positions(case))


@MUTATION.check(fixed=numeric_fixed, kills=["writes_into_x"], minimum=3)
def mutation(trial: Trial, case: Case) -> None:
    """Look at the arguments after the call, and at x once more after another."""
    x, positions = trial.x(case), trial.positions(case)
    trial.apply(x, positions)
    first_call = trial.last_call
    trial.apply(-x, positions)
    trial.last_call = first_call
    assert trial.last_call is not None
    given, *rest = trial.last_call
    host = trial.namespace.host
    if not trial.claim.in_place and not same_numbers(host(given), trial.to_claimed_axes(x)).all():
        raise CheckFailure("x was changed by the call; copy it first, or claim in_place")
    if not trial.implementation.has("apply"):
        return
    for before, after in zip(trial.position_arguments(positions, x.shape), rest, strict=True):
        if not isinstance(after, int) and not np.array_equal(host(before), host(after)):
            raise CheckFailure("the positions were changed by the call")


@STRIDES.check(
    fixed=lambda trial: [_strided(c) for c in numeric_fixed(trial)],
    generated=lambda trial: numeric_cases(trial).map(_strided),
    kills=["reads_memory_in_order"],
    minimum=50,
    numeric=True,
)
def strides(trial: Trial, case: Case) -> None:
    """Every second element of a larger array along each axis."""
    oracle(trial, case, "a view that is not contiguous is rotated wrongly")


@EMPTY.check(
    fixed=lambda trial: [trial.cut(Case(2, 0, 3, range(0))), Case(1, 0, 1, range(0))],
    kills=["needs_a_token"],
)
def empty(trial: Trial, case: Case) -> None:
    """No tokens at all."""
    trial.apply(trial.x(case), trial.positions(case))


@DETERMINISM.check(fixed=numeric_fixed, kills=["counts_calls", "reuses_buffer"], minimum=3)
def determinism(trial: Trial, case: Case) -> None:
    """Call, call with other data, call again; then repeat the very first call of the run."""
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
    assert trial.implementation.first_call is not None
    arguments, was = trial.implementation.first_call
    surface = "apply" if trial.implementation.has("apply") else "rotate"
    now = trial.call(surface, *copy.deepcopy(arguments))
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
    made = trial.implementation.remade(trial.spec)
    for other in trial.claim.dtypes:
        if other != trial.dtype:
            before = Trial(made, other, device=trial.device)
            before.apply(before.x(case), before.positions(case))
    after = Trial(made, trial.dtype, trial.profile, device=trial.device)
    try:
        oracle(after, case, "wrong once other types of data were rotated")
    finally:
        trial.implementation.calls += made.calls
        trial.samples += after.samples
        trial.decisive += after.decisive


def _long(trial: Trial) -> Case:
    """More tokens than bfloat16 can number."""
    low, high = trial.claim.position_range
    start = low if high < 0 else max(low, 0)
    return Case(1, min(600, high - start + 1), 1, range(start, min(start + 600, high + 1)))


def _strided(case: Case) -> Case:
    return replace(case, strided=True)

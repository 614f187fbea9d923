"""What goes in and comes out as an array: type, shape, memory."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from rope_conformance.clauses._common import numeric_cases, numeric_fixed, oracle
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.inputs import Case
from rope_conformance.registry import Clause
from rope_conformance.trial import CheckFailure, Trial

KEPT = Clause(
    id="data.kept",
    sentence="The result is an array of the type, dtype and shape that came in.",
    formula=r"\mathrm{dtype}(y) = \mathrm{dtype}(x),\quad \mathrm{shape}(y) = \mathrm{shape}(x)",
    reference="rope_ref.rotation:apply_rope",
)

MUTATION = Clause(
    id="data.mutation",
    sentence="Neither x nor the positions are changed, unless working in place is claimed.",
    formula=r"x,\, p \text{ after} = x,\, p \text{ before}",
    reference="rope_ref.rotation:apply_rope",
)

STRIDES = Clause(
    id="data.strides",
    sentence="A view of a larger array is rotated like a copy of it.",
    formula=r"f(\mathrm{view}(x)) = f(\mathrm{copy}(x))",
    reference="rope_ref.rotation:apply_rope",
    opened_by=lambda trial: None if trial.claim.strided else "strided views are not claimed",
)

EMPTY = Clause(
    id="data.empty",
    sentence="An array without tokens comes back as it is.",
    formula=r"T = 0 \;\Rightarrow\; y = x",
    reference="rope_ref.rotation:apply_rope",
    opened_by=lambda trial: None if trial.claim.empty else "empty input is not claimed",
)

DETERMINISM = Clause(
    id="data.determinism",
    sentence="The same call gives the same bits, and leaves earlier results alone.",
    formula=r"f(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
)


@KEPT.check(
    fixed=numeric_fixed,
    kills=["upcasts_result", "drops_axis_of_one", "returns_list"],
    minimum=3,
)
def kept(trial: Trial, case: Case) -> None:
    """`Trial.apply` looks at type, shape and dtype of every result, here and everywhere."""
    trial.apply(trial.x(case), case.position_array())


@MUTATION.check(fixed=numeric_fixed, kills=["writes_into_x"], minimum=3)
def mutation(trial: Trial, case: Case) -> None:
    """Look at the arguments after the call."""
    x, positions = trial.x(case), case.position_array()
    trial.apply(x, positions)
    given = trial.last_call
    assert given is not None
    if not trial.claim.in_place and not same_numbers(given[0], trial.to_claimed_axes(x)).all():
        raise CheckFailure("x was changed by the call; copy it first, or claim in_place")
    for before, after in zip(trial.position_arguments(positions, x.shape), given[1:], strict=True):
        if not np.array_equal(before, after):
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
    trial.apply(trial.x(case), case.position_array())


@DETERMINISM.check(fixed=numeric_fixed, kills=["counts_calls", "reuses_buffer"], minimum=3)
def determinism(trial: Trial, case: Case) -> None:
    """Call, call with other data, call again; then repeat the very first call of the run."""
    x, positions = trial.x(case), case.position_array()
    first = trial.apply(x, positions)
    kept_result = trial.last_result
    trial.apply(-x, positions)
    if not same_numbers(first, trial.from_claimed_axes(np.asarray(kept_result), x.shape)).all():
        raise CheckFailure("a result changed when the next call was made: its memory is reused")
    again = trial.apply(x, positions)
    if not same_numbers(first, again).all():
        raise CheckFailure("the same call gave other numbers the third time")
    assert trial.implementation.first_call is not None
    arguments, was = trial.implementation.first_call
    now = trial.call("apply", *copy.deepcopy(arguments))
    if type(now) is not type(was) or not same_numbers(np.asarray(was), np.asarray(now)).all():
        raise CheckFailure("the first call of the run, repeated, gave other numbers")


def _strided(case: Case) -> Case:
    return replace(case, strided=True)

"""The gradient: the transposed map, which rotates back and is times the amplitude too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._common import numeric_fixed
from rope_conformance.clauses._gradients import (
    NotDifferentiable,
    checked_gradient,
    demand_gradient,
    gradient,
    own_vjp,
    pullback,
    torch_gradient,
    torch_result,
)
from rope_conformance.clauses._layer import demand_positions, large_layers, placed
from rope_conformance.clauses._variants import (
    amplified,
    half_rotated,
    reason,
)
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.exchange import NamespaceError
from rope_conformance.inputs import Case, cases
from rope_conformance.registry import Clause
from rope_conformance.shapes import FEW_SHAPES, usual_shape
from rope_conformance.trial import CheckFailure, TargetRaised, Trial
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Array = npt.NDArray[Any]

_SHAPES = FEW_SHAPES[:3]  # where each new shape is a compilation, or two with its gradient


def _differentiable(trial: Trial) -> str | None:
    """Opens a clause for what claims a gradient, brings one, or turns out to have one."""
    if trial.claim.gradient is False:
        return "its claim says that it has no gradient"
    if trial.claim.gradient or own_vjp(trial):
        return None
    case = _cases(trial)[0]
    x = trial.x(case)
    try:
        gradient(trial, x, x, trial.positions(case))
    except NotDifferentiable as reason:
        return str(reason)
    except (CheckFailure, TargetRaised, NamespaceError):
        pass  # it has a gradient, and the check will say what is wrong with it
    return None


def _cases(trial: Trial) -> list[Case]:
    return [case for case in numeric_fixed(trial) if case.values == "normal"]


def _amplified(trial: Trial) -> str | None:
    return _differentiable(trial) or reason(amplified(trial))


def _partial(trial: Trial) -> str | None:
    return _differentiable(trial) or reason(half_rotated(trial))


def _graph(trial: Trial) -> str | None:
    if trial.claim.namespace != "torch" or own_vjp(trial):
        return "torch does not follow what it computes"
    if trial.claim.in_place:
        return "it works in place, by its claim"
    return _differentiable(trial)


VALUES = Clause(
    id="gradient.values",
    sentence=(
        "The gradient with respect to x is the transposed map of that with respect to y: each "
        "pair is rotated back by the same phase, times the amplitude."
    ),
    formula=r"\bar x = A\, R(-p\theta)\, \bar y",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
)

AMPLITUDE = Clause(
    id="gradient.amplitude",
    sentence=(
        "The gradient has the factor A that the rotation has; the inverse, which has 1/A, is the "
        "gradient at A = 1 only."
    ),
    formula=r"\bar x = A\, R(-p\theta)\, \bar y \ne A^{-1} R(-p\theta)\, \bar y",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_amplified,
)

PASSTHROUGH = Clause(
    id="gradient.passthrough",
    sentence="Of channels that do not rotate the gradient comes back bit for bit.",
    formula=r"\bar x_c = \bar y_c \quad\text{for } c \notin [\mathrm{start},\, \mathrm{start} + R)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_partial,
)

REPEATS = Clause(
    id="gradient.repeats",
    sentence="The same gradient, asked for again, has the same bits, and earlier ones stay.",
    formula=r"\bar x(\bar y, p) = \bar x(\bar y, p)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
)

CALLS = Clause(
    id="gradient.calls",
    sentence="The gradient of a call is that of its own positions, whatever was called since.",
    formula=r"\bar x_1 = A\, R(-p_1\theta)\, \bar y_1 \text{ after } f(x_2,\, p_2)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
)

MUTATION = Clause(
    id="gradient.mutation",
    sentence="The gradient that is given stays as it is, unless working in place is claimed.",
    formula=r"\bar y,\, p \text{ after} = \bar y,\, p \text{ before}",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
)

GRAPH = Clause(
    id="gradient.graph",
    sentence=(
        "x may be a leaf, a part of something larger, or in use elsewhere: the gradient comes "
        "back all the same."
    ),
    formula=r"\nabla_x \bigl(\langle \bar y, f(x)\rangle + g(x)\bigr) = \bar x + \nabla g(x)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_graph,
)


def _few(trial: Trial) -> list[Case]:
    """One token; a row for each token; as many rows as tokens; the usual."""
    return _cases(trial)[: 2 if trial.namespace.fixed_shapes else 4]


def _fixed(trial: Trial) -> list[Case]:
    """The fixed inputs, large ones, and rows with positions of their own."""
    usual = numeric_fixed(trial)
    if trial.namespace.fixed_shapes:  # each new shape is a compilation
        usual = [*usual[: len(_SHAPES)], *usual[-5:]]
    else:
        usual += [replace(case, parameter=0) for case in large_layers(trial)]
    if not _rows(trial):
        return usual
    batch, tokens, heads = usual_shape(trial.claim)
    rows = tuple(tuple(placed(trial.claim, start, tokens)) for start in (40, 3, 17, 8)[:batch])
    return [*usual, trial.cut(Case(batch, tokens, heads, rows))]


def _rows(trial: Trial) -> bool:
    return "bt" in trial.claim.position_forms and "b" in trial.claim.axes


def _drawn(trial: Trial) -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = [cases(trial.claim, few=_SHAPES)]
    if _rows(trial) and not trial.namespace.fixed_shapes:
        drawn.append(cases(trial.claim, rows=True))
    return st.one_of(drawn).map(trial.cut)


@VALUES.check(
    fixed=_fixed,
    generated=_drawn,
    kills=[
        "gradient_turns_forward",
        "gradient_of_another_base",
        "gradient_ignores_positions",
        "gradient_in_the_other_layout",
        "gradient_through_half",
        "gradient_comes_out_wider",
        "gradient_loses_axes",
        "gradient_of_one_row",
        "gradient_summed_over_heads",
        "gradient_rotates_by_head_dim",
        "torch_backward_turns_forward",
        "torch_backward_through_half",
        "torch_detaches",
        "torch_in_place_needs_what_it_overwrites",
        "gradient_beyond_a_block",
    ],
    minimum=50,
    numeric=True,
)
def values(trial: Trial, case: Case) -> None:
    """Compare the gradient with the reference's transposed map."""
    g, positions = trial.x(case), trial.positions(case)
    x = trial.x(replace(case, values="normal", seed=case.seed + 500))
    got = gradient(trial, x, g, positions)
    demand_gradient(
        trial, got, g, positions, "the gradient is not the rotation of g by minus the phase"
    )


@AMPLITUDE.check(
    fixed=_few,
    kills=["gradient_is_the_inverse", "gradient_without_amplitude"],
    minimum=50,
    numeric=True,
)
def amplitude(trial: Trial, case: Case) -> None:
    """The same with an amplitude of 5/4, where it is not another already."""
    with_it = amplified(trial)
    assert isinstance(with_it, Trial)
    g, positions = with_it.x(case), with_it.positions(case)
    try:
        got = gradient(with_it, g, g, positions)
        demand_gradient(
            with_it, got, g, positions, "with an amplitude the gradient is not the transpose"
        )
    finally:
        trial.absorb(with_it)


@PASSTHROUGH.check(
    fixed=_few,
    kills=[
        "gradient_drops_pass_through",
        "gradient_rotates_pass_through",
        "torch_backward_drops_pass_through",
        "torch_detaches_pass_through",
    ],
    minimum=2,
)
def passthrough(trial: Trial, case: Case) -> None:
    """Compare the other channels' bits; whole heads are rotated by half for this."""
    some = half_rotated(trial)
    assert isinstance(some, Trial)
    g, positions = some.x(case), some.positions(case)
    x = some.x(replace(case, seed=case.seed + 500))
    try:
        got = gradient(some, x, g, positions)
    finally:
        trial.absorb(some)
    rest = np.setdiff1d(np.arange(some.spec.head_dim), pair_channels(some.spec))
    bad = np.argwhere(~same_numbers(g[..., rest], got[..., rest]))
    if bad.size:
        row, token, head, n = (int(i) for i in bad[0])
        c = int(rest[n])
        raise CheckFailure(
            f"channel {c} does not rotate, so its gradient is {g[row, token, head, c]}, but "
            f"{got[row, token, head, c]} came back (row {row}, token {token}, head {head})"
        )
    demand_gradient(
        some, got, g, positions, "with pass-through channels the gradient is not the transpose"
    )


@REPEATS.check(
    fixed=lambda trial: list(dict.fromkeys([_many(trial), *_few(trial)[:2]])),
    kills=["gradient_overlaps_reads", "gradient_shares_memory"],
    minimum=2,
)
def repeats(trial: Trial, case: Case) -> None:
    """Ask eight times, from the same call and from new ones, with others in between."""
    g, positions = trial.x(case), trial.positions(case)
    pull = pullback(trial, g, positions, again=True)
    first = pull(trial.native(g))
    result = trial.last_result
    for n in range(8):
        again = pull(trial.native(g)) if n % 2 else gradient(trial, g, g, positions)
        if not same_numbers(first, again).all():
            raise CheckFailure(f"the same gradient had other bits when asked for again ({n + 2})")
        gradient(trial, -g, -g, positions)
    kept = trial.from_claimed_axes(trial.namespace.host(result), g.shape)
    if not same_numbers(first, kept).all():
        raise CheckFailure("a gradient changed when the next one was made: its memory is reused")


def _many(trial: Trial) -> Case:
    """More tokens than are done at a time."""
    low, high = trial.claim.position_range
    if trial.namespace.fixed_shapes:
        return _cases(trial)[0]
    tokens = min(131, high - low + 1)
    return trial.cut(Case(2, tokens, 3, placed(trial.claim, 5, tokens)))


@CALLS.check(
    fixed=_few,
    kills=["gradient_of_last_positions", "torch_table_of_last_call"],
    minimum=2,
)
def calls(trial: Trial, case: Case) -> None:
    """Rotate here and elsewhere, then ask for both gradients, the first one first."""
    g, here = trial.x(case), trial.positions(case)
    start = int(min(here.ravel(), default=0)) + 3
    there = trial.positions(replace(case, positions=placed(trial.claim, start, case.tokens)))
    pulls = [
        (pullback(trial, g, here), g, here),
        (pullback(trial, -g, there), -g, there),
    ]
    for n, (pull, own, positions) in enumerate(pulls):
        which = "first" if n == 0 else "second"
        got = pull(trial.native(own))
        demand_gradient(trial, got, own, positions, f"of two calls, the gradient of the {which}")


@MUTATION.check(
    fixed=_few,
    kills=["gradient_overwrites_what_it_is_given", "torch_backward_overwrites"],
    minimum=2,
)
def mutation(trial: Trial, case: Case) -> None:
    """Look at the arguments after the call."""
    g, positions = trial.x(case), trial.positions(case)
    given = trial.native(g)
    pullback(trial, g, positions)(given)
    if not (trial.claim.in_place and own_vjp(trial)):
        now = trial.from_claimed_axes(trial.namespace.host(given), g.shape)
        if not same_numbers(now, g).all():
            raise CheckFailure("the gradient that was given was overwritten; copy it first")
    if not own_vjp(trial):
        return
    assert trial.last_call is not None
    demand_positions(trial, positions, g.shape, trial.last_call[1:], MUTATION.fault)


@GRAPH.check(
    fixed=_few,
    kills=["torch_rotates_a_slice_in_place"],
    minimum=2,
)
def graph(trial: Trial, case: Case) -> None:
    """A leaf; a part of a projection of q, k and v; and numbers that are squared beside."""
    import torch

    g, positions = trial.x(case), trial.positions(case)
    trial.apply(g, positions)
    native = trial.native(g)

    def demand(what: str, result: Any) -> None:
        got = checked_gradient(trial, result, native, g.shape)
        demand_gradient(trial, got, g, positions, f"{what}: the gradient is wrong")

    leaf = trial.native(g).requires_grad_()
    result = torch_result(trial, leaf, positions, g.shape)
    demand("x is a leaf", torch_gradient(trial, result, leaf, native))

    three = torch.stack([native, native, native]).requires_grad_()
    part = (three * 1)[0]
    result = torch_result(trial, part, positions, g.shape)
    packed = torch_gradient(trial, result, three, native)
    demand("x is part of a projection", packed[0])
    if packed[1:].count_nonzero():
        raise CheckFailure("x is part of a projection: the other parts got a gradient")

    leaf = trial.native(g).requires_grad_()
    own = leaf * 1
    squares = own.square()
    result = torch_result(trial, own, positions, g.shape)
    beside = torch_gradient(trial, squares, leaf, torch.zeros_like(squares), again=True)
    if beside.count_nonzero():
        raise CheckFailure("x is in use elsewhere: that gradient is wrong")
    demand("x is in use elsewhere", torch_gradient(trial, result, leaf, native))

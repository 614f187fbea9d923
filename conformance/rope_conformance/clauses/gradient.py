"""The gradient: the transposed map, which rotates back, times the amplitude."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rope_conformance.clauses._arrays import passing_channels, same_numbers
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
from rope_conformance.clauses._openers import claims_rows
from rope_conformance.clauses._variants import (
    amplified,
    half_rotated,
    reason,
)
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.inputs.shapes import FEW_SHAPES, usual_shape
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import numeric_fixed
from rope_conformance.target.frameworks import NamespaceError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SHAPES = FEW_SHAPES[:3]  # where each new shape is a compilation, or two with its gradient


def _differentiable(context: CheckContext) -> str | None:
    """Opens a clause where a gradient is claimed, offered as `vjp`, or found by trying."""
    if context.claim.gradient is False:
        return "its claim says that it has no gradient"
    if context.claim.gradient or own_vjp(context):
        return None
    case = _cases(context)[0]
    x = context.x(case)
    try:
        gradient(context, x, x, context.positions(case))
    except NotDifferentiable as reason:
        return str(reason)
    except (CheckFailure, TargetRaised, NamespaceError):
        pass  # it has a gradient, and the check will say what is wrong with it
    return None


def _cases(context: CheckContext) -> list[Case]:
    return [case for case in numeric_fixed(context) if case.values == "normal"]


def _amplified(context: CheckContext) -> str | None:
    return _differentiable(context) or reason(amplified(context))


def _partial(context: CheckContext) -> str | None:
    return _differentiable(context) or reason(half_rotated(context))


def _graph(context: CheckContext) -> str | None:
    if context.claim.namespace != "torch" or own_vjp(context):
        return "torch does not follow what it computes"
    if context.claim.in_place:
        return "it works in place, by its claim"
    return _differentiable(context)


def _few(context: CheckContext) -> list[Case]:
    """One token; a row for each token; as many rows as tokens; the usual."""
    return _cases(context)[: 2 if context.namespace.fixed_shapes else 4]


def _fixed(context: CheckContext) -> list[Case]:
    """The fixed inputs, large ones, and rows with positions of their own."""
    usual = numeric_fixed(context)
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        usual = [*usual[: len(_SHAPES)], *usual[-5:]]
    else:
        usual += [replace(case, parameter=0) for case in large_layers(context)]
    if not claims_rows(context.claim):
        return usual
    batch, tokens, heads = usual_shape(context.claim)
    rows = tuple(tuple(placed(context.claim, start, tokens)) for start in (40, 3, 17, 8)[:batch])
    return [*usual, context.cut(Case(batch, tokens, heads, rows))]


def _drawn(context: CheckContext) -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = [cases(context.claim, few=_SHAPES)]
    if claims_rows(context.claim) and not context.namespace.fixed_shapes:
        drawn.append(cases(context.claim, rows=True))
    return st.one_of(drawn).map(context.cut)


@clause(
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
    fixed=_fixed,
    generated=_drawn,
    minimum=50,
    numeric=True,
)
def values(context: CheckContext, case: Case) -> None:
    """Compare the gradient with the reference's transposed map."""
    g, positions = context.x(case), context.positions(case)
    x = context.x(replace(case, values="normal", seed=case.seed + 500))
    got = gradient(context, x, g, positions)
    demand_gradient(
        context, got, g, positions, "the gradient is not the rotation of g by minus the phase"
    )


@clause(
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
    fixed=_few,
    minimum=50,
    numeric=True,
)
def amplitude(context: CheckContext, case: Case) -> None:
    """The same with an amplitude of 5/4, where it is not another already."""
    with_it = amplified(context)
    assert isinstance(with_it, CheckContext)
    g, positions = with_it.x(case), with_it.positions(case)
    try:
        got = gradient(with_it, g, g, positions)
        demand_gradient(
            with_it, got, g, positions, "with an amplitude the gradient is not the transpose"
        )
    finally:
        context.absorb(with_it)


@clause(
    id="gradient.passthrough",
    sentence="Of channels that do not rotate the gradient comes back bit for bit.",
    formula=r"\bar x_c = \bar y_c \quad\text{for } c \notin [\mathrm{start},\, \mathrm{start} + R)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_partial,
    fixed=_few,
    minimum=2,
)
def passthrough(context: CheckContext, case: Case) -> None:
    """Compare the other channels' bits; a spec without such channels is cut to half of them."""
    some = half_rotated(context)
    assert isinstance(some, CheckContext)
    g, positions = some.x(case), some.positions(case)
    x = some.x(replace(case, seed=case.seed + 500))
    try:
        got = gradient(some, x, g, positions)
    finally:
        context.absorb(some)
    rest = passing_channels(some.spec)
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


@clause(
    id="gradient.repeats",
    sentence="The same gradient, asked for again, has the same bits, and earlier ones stay.",
    formula=r"\bar x(\bar y, p) = \bar x(\bar y, p)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
    fixed=lambda context: list(dict.fromkeys([_many(context), *_few(context)[:2]])),
    minimum=2,
)
def repeats(context: CheckContext, case: Case) -> None:
    """Ask eight times, from the same call and from new ones, with others in between."""
    g, positions = context.x(case), context.positions(case)
    pull = pullback(context, g, positions, again=True)
    first = pull(context.arrays.native(g))
    result = context.arrays.last_result
    for n in range(8):
        again = pull(context.arrays.native(g)) if n % 2 else gradient(context, g, g, positions)
        if not same_numbers(first, again).all():
            raise CheckFailure(f"the same gradient had other bits when asked for again ({n + 2})")
        gradient(context, -g, -g, positions)
    kept = context.arrays.from_claimed_axes(context.namespace.host(result), g.shape)
    if not same_numbers(first, kept).all():
        raise CheckFailure("a gradient changed when the next one was made: its memory is reused")


def _many(context: CheckContext) -> Case:
    """More tokens than a kernel does at a time."""
    low, high = context.claim.position_range
    if context.namespace.fixed_shapes:
        return _cases(context)[0]
    tokens = min(131, high - low + 1)
    return context.cut(Case(2, tokens, 3, placed(context.claim, 5, tokens)))


@clause(
    id="gradient.calls",
    sentence="The gradient of a call is that of its own positions, whatever was called since.",
    formula=r"\bar x_1 = A\, R(-p_1\theta)\, \bar y_1 \text{ after } f(x_2,\, p_2)",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
    fixed=_few,
    minimum=2,
)
def calls(context: CheckContext, case: Case) -> None:
    """Rotate here and elsewhere, then ask for both gradients, the first one first."""
    g, here = context.x(case), context.positions(case)
    start = int(min(here.ravel(), default=0)) + 3
    there = context.positions(replace(case, positions=placed(context.claim, start, case.tokens)))
    pulls = [
        (pullback(context, g, here), g, here),
        (pullback(context, -g, there), -g, there),
    ]
    for n, (pull, own, positions) in enumerate(pulls):
        which = "first" if n == 0 else "second"
        got = pull(context.arrays.native(own))
        demand_gradient(context, got, own, positions, f"of two calls, the gradient of the {which}")


@clause(
    id="gradient.mutation",
    sentence="The gradient that is given stays as it is, unless working in place is claimed.",
    formula=r"\bar y,\, p \text{ after} = \bar y,\, p \text{ before}",
    reference="rope_ref.rotation:transpose_rope",
    fault="gradient",
    surface="gradient",
    opened_by=_differentiable,
    fixed=_few,
    minimum=2,
)
def mutation(context: CheckContext, case: Case) -> None:
    """Look at the arguments after the call."""
    g, positions = context.x(case), context.positions(case)
    given = context.arrays.native(g)
    pullback(context, g, positions)(given)
    if not (context.claim.in_place and own_vjp(context)):
        now = context.arrays.from_claimed_axes(context.namespace.host(given), g.shape)
        if not same_numbers(now, g).all():
            raise CheckFailure("the gradient that was given was overwritten; copy it first")
    if not own_vjp(context):
        return
    assert context.arrays.last_call is not None
    demand_positions(
        context, positions, g.shape, context.arrays.last_call[1:], mutation.clause.fault
    )


@clause(
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
    fixed=_few,
    minimum=2,
)
def graph(context: CheckContext, case: Case) -> None:
    """x is a leaf, a slice of one projection of q, k and v, or squared elsewhere in the graph."""
    import torch

    g, positions = context.x(case), context.positions(case)
    context.arrays.apply(g, positions)
    native = context.arrays.native(g)

    def demand(what: str, result: Any) -> None:
        got = checked_gradient(context, result, native, g.shape)
        demand_gradient(context, got, g, positions, f"{what}: the gradient is wrong")

    leaf = context.arrays.native(g).requires_grad_()
    result = torch_result(context, leaf, positions, g.shape)
    demand("x is a leaf", torch_gradient(context, result, leaf, native))

    three = torch.stack([native, native, native]).requires_grad_()
    part = (three * 1)[0]
    result = torch_result(context, part, positions, g.shape)
    packed = torch_gradient(context, result, three, native)
    demand("x is part of a projection", packed[0])
    if packed[1:].count_nonzero():
        raise CheckFailure("x is part of a projection: the other parts got a gradient")

    leaf = context.arrays.native(g).requires_grad_()
    own = leaf * 1
    squares = own.square()
    result = torch_result(context, own, positions, g.shape)
    beside = torch_gradient(context, squares, leaf, torch.zeros_like(squares), again=True)
    if beside.count_nonzero():
        raise CheckFailure("x is in use elsewhere: that gradient is wrong")
    demand("x is in use elsewhere", torch_gradient(context, result, leaf, native))

"""The gradient of an implementation: its own ``vjp``, or what its framework makes of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.profiles import Profile
from rope_conformance.accuracy.residual import Judgement, judge
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, cos_sin
from rope_ref.spec import Layout

Pull = Callable[[Any], Array]  # from a gradient in the framework's own type


class NotDifferentiable(CheckFailure):
    """The framework cannot differentiate it; the message says why."""


def own_vjp(context: CheckContext) -> bool:
    """Whether the object brings its own gradient."""
    return callable(getattr(context.implementation.made, "vjp", None))


def transposed(spec: RopeSpec) -> RopeSpec:
    """The gradient as a RoPE: the other direction, written where the rotation read."""
    return replace(
        spec,
        layout=spec.output_layout,
        output_layout=spec.layout,
        direction=-spec.direction,
    )


def collected(profile: Profile) -> Profile:
    """What a profile says of gradients.

    A framework adds up what comes back along each use of x in the type of x. The two
    products of a component are then rounded to it before their sum is: together by at most
    u_out r, once more than a rotation that is rounded at its end.
    """
    return replace(profile, output_roundings=max(2, profile.output_roundings), wide_products=False)


def judge_gradient(context: CheckContext, got: Array, g: Array, positions: Array) -> Judgement:
    """Compare a gradient with the transposed rotation of g."""
    spec = transposed(context.spec)
    return judge(got, g, positions, spec, context.dtype, collected(context.profile))


def demand_gradient(
    context: CheckContext, got: Array, g: Array, positions: Array, message: str
) -> None:
    """Fail where a gradient is not the transposed rotation of g, and say what it may be instead."""
    judgement = judge_gradient(context, got, g, positions)
    context.evidence.count(judgement)
    mirror = copy.copy(context)  # whose pairs are written where the gradient's are
    mirror.spec = transposed(context.spec)
    try:
        mirror.demand(judgement, message)
    except CheckFailure as failure:
        for words, spec, factor, p in _suspects(context.spec, positions):
            seen = np.asarray(got, np.float64) * factor
            found = judge(seen, g, p, spec, context.dtype, collected(context.profile))
            if (found.ratio <= 1).all():
                raise CheckFailure(f"{failure}; {words}", fault="gradient") from None
        raise CheckFailure(str(failure), fault="gradient") from None


def _suspects(spec: RopeSpec, positions: Array) -> Iterator[tuple[str, RopeSpec, float, Array]]:
    """What the gradient may be instead: words, the RoPE it is, times what, and where."""
    back, amplitude = transposed(spec), float(spec.frequencies.amplitude)
    forth = replace(back, direction=spec.direction)
    yield "it turns the way of the forward pass", forth, 1, positions
    if amplitude != 1:
        yield "it is the inverse, divided by the amplitude", back, amplitude**2, positions
        yield "it has no amplitude", back, amplitude, positions
    if spec.output_layout != spec.layout:
        swapped = replace(back, layout=spec.layout, output_layout=spec.output_layout)
        yield "it reads where the forward pass reads, not where it writes", swapped, 1, positions
    layout: Layout = "half" if spec.layout == "interleaved" else "interleaved"
    other = replace(back, layout=layout, output_layout=layout)
    yield f"its pairs are {layout}", other, 1, positions
    tokens = np.arange(positions.shape[-1]) + 0 * positions
    yield "it stands at the positions 0, 1, 2, ... whatever positions are given", back, 1, tokens
    yield "it is not rotated at all", back, 1, 0 * tokens


def pullback(context: CheckContext, x: Array, positions: Array, *, again: bool = False) -> Pull:
    """Rotate x, and return the function from the gradient of the result to that of x.

    What it is given is an array of the framework, what it returns one of NumPy, ``bthd``.

    Parameters
    ----------
    context
        The surface `gradient` must exist.
    x, positions
        As in `ArrayAdapter.apply`; the positions must be ones that one call can be given.
    again
        Whether the function will be called more than once.

    Raises
    ------
    NotDifferentiable
        If the framework cannot differentiate it.
    CheckFailure
        If result or gradient have the wrong type, dtype or shape.
    TargetRaised
        If something raised.
    """
    if own_vjp(context):
        context.arrays.apply(x, positions)
        return _own(context, x.shape, positions)
    if context.implementation.first_call is None:
        context.arrays.apply(x, positions)  # before anything is traced
    return {"torch": _torch, "jax": _jax}[context.claim.namespace](context, x, positions, again)


def gradient(context: CheckContext, x: Array, g: Array, positions: Array) -> Array:
    """The gradient of one call; see `pullback`."""
    return pullback(context, x, positions)(context.arrays.native(g))


def checked_gradient(
    context: CheckContext, result: Any, native: Any, shape: tuple[int, ...]
) -> Array:
    """A gradient as a NumPy array ``bthd``, once type, dtype and shape are right."""
    try:
        return context.arrays.from_claimed_axes(context.arrays.checked(result, native), shape)
    except CheckFailure as failure:
        raise CheckFailure(f"of the gradient: {failure}", fault="gradient") from None


def _own(context: CheckContext, shape: tuple[int, ...], positions: Array) -> Pull:
    arguments = context.arrays.position_arguments(positions, shape)

    def pull(g: Any) -> Array:
        return checked_gradient(context, context.arrays.call("gradient", g, *arguments), g, shape)

    return pull


def forward(context: CheckContext, native: Any, positions: Array, shape: tuple[int, ...]) -> Any:
    """The result in the framework's own type; what it raises is not caught."""
    surface = "apply" if context.implementation.has("apply") else "rotate"
    if surface == "apply":
        arguments = context.arrays.position_arguments(positions, shape)
    else:
        arguments = tuple(context.arrays.table(part) for part in cos_sin(positions, context.spec))
    result = context.implementation.call(surface, native, *arguments)
    return native if result is None and context.claim.in_place else result


def followed(context: CheckContext, function: Callable[..., Any], *arguments: Any) -> Any:
    """A forward pass that the framework follows; where it cannot, the reason."""
    try:
        return context.arrays.invoke(function, *arguments)
    except TargetRaised as error:
        raise NotDifferentiable(f"cannot be differentiated: raised {error}") from error


def backward(
    context: CheckContext, function: Callable[..., Any], *arguments: Any, **named: Any
) -> Any:
    """A backward pass; what is not implemented cannot be differentiated, all else is raised."""
    try:
        return context.arrays.invoke(function, *arguments, **named)
    except TargetRaised as raised:
        text = str(raised)
        missing = isinstance(raised.error, NotImplementedError)
        if missing or "not implemented" in text or "no autograd formula" in text:
            raise NotDifferentiable(f"cannot be differentiated: raised {text}") from raised
        raise


def torch_result(
    context: CheckContext, native: Any, positions: Array, shape: tuple[int, ...]
) -> Any:
    """The result for a tensor that torch follows."""
    import torch

    with torch.enable_grad():
        result = followed(context, forward, context, native, positions, shape)
    context.arrays.checked(result, native)
    if not result.requires_grad:
        raise NotDifferentiable("the result is cut off from x: torch keeps no graph of it")
    return result


def torch_gradient(
    context: CheckContext, result: Any, leaf: Any, g: Any, *, again: bool = False
) -> Any:
    """The gradient of a leaf."""
    import torch

    (gradient,) = backward(
        context, torch.autograd.grad, result, leaf, g, retain_graph=again, allow_unused=True
    )
    if gradient is None:
        raise NotDifferentiable("the result is cut off from x: no gradient reaches it")
    return gradient


def _torch(context: CheckContext, x: Array, positions: Array, again: bool) -> Pull:
    leaf = context.arrays.native(x).requires_grad_()
    # As in a layer: torch forbids writing into a leaf.
    result = torch_result(context, leaf.clone(), positions, x.shape)

    def pull(g: Any) -> Array:
        gradient = torch_gradient(context, result, leaf, g, again=again)
        return checked_gradient(context, gradient, g, x.shape)

    return pull


def _jax(context: CheckContext, x: Array, positions: Array, again: bool) -> Pull:
    import jax

    native = context.arrays.native(x)
    result, back = followed(
        context, jax.vjp, lambda x_: forward(context, x_, positions, x.shape), native
    )
    context.arrays.checked(result, native)

    def pull(g: Any) -> Array:
        (gradient,) = backward(context, back, g)
        got = checked_gradient(context, gradient, g, x.shape)
        if context.namespace.host(g).any() and not got.any():
            raise NotDifferentiable("the result is cut off from x: its gradient is 0 everywhere")
        return got

    return pull

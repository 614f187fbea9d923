"""torch functions whose gradients are wrong, cut off or in the way of others.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.member import PARTIAL, control, wrong
from rope_conformance.zoo.parts.plain import base_of
from rope_ref import RopeSpec


def _accepts(spec: RopeSpec) -> bool | str:
    """What `_turn` can do."""
    half = spec.layout == spec.output_layout == "half" and spec.rotary_start == 0
    return half or "halves of the first channels are pairs"


_TORCH: dict[str, Any] = {
    "namespace": "torch",
    "profile": "float32-power",
    "gradient": True,
    "accepts": _accepts,
}


def _table(spec: RopeSpec, positions: Any) -> tuple[Any, Any]:
    import torch

    exponent = torch.arange(0, spec.rotary_dim, 2, dtype=torch.float32) / spec.rotary_dim
    phase = positions.to(torch.float32)[..., None] * (1 / base_of(spec) ** exponent)
    return phase.cos()[..., None, :], phase.sin()[..., None, :]


def _turn(x: Any, cos: Any, sin: Any) -> Any:
    """Half layout; channels behind the rotating ones pass through."""
    import torch

    half = cos.shape[-1]
    u, v, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([u * cos - v * sin, u * sin + v * cos, rest], dim=-1)


def _function(back: Any) -> Any:
    """A function with a backward pass of its own, made by ``back(g, cos, sin)``."""
    import torch

    class Turn(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, cos: Any, sin: Any) -> Any:
            ctx.save_for_backward(cos, sin)
            return _turn(x, cos, sin)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return back(gradients[0], *ctx.saved_tensors), None, None

    return lambda spec: lambda x, positions: Turn.apply(x, *_table(spec, positions))


@control(PARTIAL, **_TORCH)
def torch_autograd(spec: RopeSpec) -> Any:
    """torch's own gradient of a rotation in torch."""
    return lambda x, positions: _turn(x, *_table(spec, positions))


@control(PARTIAL, **_TORCH)
def torch_own_backward(spec: RopeSpec) -> Any:
    """A torch function with a backward pass of its own."""
    return _function(lambda g, cos, sin: _turn(g, cos, -sin))(spec)


@control(**_TORCH, in_place=True)
def torch_in_place(spec: RopeSpec) -> Any:
    """Works in place by declaration, and can be differentiated all the same."""

    def rope(x: Any, positions: Any) -> Any:
        return x.copy_(_turn(x, *_table(spec, positions)))

    return rope


@control(**_TORCH | {"gradient": None})
def torch_no_gradient(spec: RopeSpec) -> Any:
    """Computes outside torch's graph, as kernels for inference do."""

    def rope(x: Any, positions: Any) -> Any:
        return _turn(x.detach(), *_table(spec, positions))

    return rope


@wrong(PARTIAL, fault="gradient", clause="gradient.values", **_TORCH)
def torch_backward_turns_forward(spec: RopeSpec) -> Any:
    """The backward pass keeps the sign of sin."""
    return _function(_turn)(spec)


@wrong(PARTIAL, fault="gradient", clause="gradient.passthrough", **_TORCH)
def torch_backward_drops_pass_through(spec: RopeSpec) -> Any:
    """The backward pass has zeros for the channels that do not rotate."""

    def back(g: Any, cos: Any, sin: Any) -> Any:
        x = _turn(g, cos, -sin)
        x[..., 2 * cos.shape[-1] :] = 0
        return x

    return _function(back)(spec)


@wrong(fault="gradient", clause="gradient.mutation", **_TORCH)
def torch_backward_overwrites(spec: RopeSpec) -> Any:
    """The backward pass writes over the gradient it is given."""
    return _function(lambda g, cos, sin: g.copy_(_turn(g, cos, -sin)))(spec)


@wrong(fault="gradient", clause="gradient.values", **_TORCH)
def torch_detaches(spec: RopeSpec) -> Any:
    """Goes through NumPy, and no gradient comes back."""
    import torch

    def rope(x: Any, positions: Any) -> Any:
        host = _turn(x.detach(), *_table(spec, positions)).numpy()
        return torch.from_numpy(host)

    return rope


@wrong(PARTIAL, fault="gradient", clause="gradient.passthrough", **_TORCH)
def torch_detaches_pass_through(spec: RopeSpec) -> Any:
    """The channels that do not rotate are copied outside the graph."""
    import torch

    def rope(x: Any, positions: Any) -> Any:
        y, width = _turn(x, *_table(spec, positions)), spec.rotary_dim
        return torch.cat([y[..., :width], x[..., width:].detach()], dim=-1)

    return rope


@wrong(fault="gradient", clause="gradient.calls", **_TORCH)
def torch_table_of_last_call(spec: RopeSpec) -> Any:
    """The backward pass finds its table on the module, where the last call has left it."""
    import torch

    kept: dict[str, Any] = {}

    class Turn(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return _turn(x, *kept["table"])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            cos, sin = kept["table"]
            return _turn(gradients[0], cos, -sin)

    def rope(x: Any, positions: Any) -> Any:
        kept["table"] = _table(spec, positions)
        return Turn.apply(x)

    return rope


@wrong(fault="gradient", clause="gradient.graph", **_TORCH)
def torch_rotates_a_slice_in_place(spec: RopeSpec) -> Any:
    """All tokens but the first are rotated in place, and x is put back for the caller."""

    def rope(x: Any, positions: Any) -> Any:
        import torch

        before = x.detach().clone()
        turned = _turn(x, *_table(spec, positions))
        if x.requires_grad:
            x[:, 1:] = turned[:, 1:]
            y = torch.cat([turned[:, :1], x[:, 1:]], dim=1)
            with torch.no_grad():
                x.copy_(before)
            return y
        return turned

    return rope


@wrong(fault="gradient", clause="gradient.values", **_TORCH, in_place=True)
def torch_in_place_needs_what_it_overwrites(spec: RopeSpec) -> Any:
    """In place by declaration, with a step that needs x itself for its gradient."""
    import torch

    scale = torch.ones(1, requires_grad=True)  # learned, as frequencies may be

    def rope(x: Any, positions: Any) -> Any:
        turned = _turn(x * scale, *_table(spec, positions))
        x[...] = turned
        return x

    return rope


@wrong(fault="gradient", clause="gradient.values", **_TORCH)
def torch_backward_through_half(spec: RopeSpec) -> Any:
    """The backward pass works in bfloat16."""
    return _function(lambda g, cos, sin: _turn(g.bfloat16(), cos, -sin).to(g.dtype))(spec)

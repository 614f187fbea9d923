"""torch functions whose gradients are wrong, cut off or in the way of others.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.torch_functions import TORCH, table, turn, with_backward
from rope_ref import RopeSpec


@wrong(PARTIAL, fault="gradient", clause="gradient.values", **TORCH)
def torch_backward_turns_forward(spec: RopeSpec) -> Any:
    """The backward pass keeps the sign of sin."""
    return with_backward(turn)(spec)


@wrong(PARTIAL, fault="gradient", clause="gradient.passthrough", **TORCH)
def torch_backward_drops_pass_through(spec: RopeSpec) -> Any:
    """The backward pass has zeros for the channels that do not rotate."""

    def back(g: Any, cos: Any, sin: Any) -> Any:
        x = turn(g, cos, -sin)
        x[..., 2 * cos.shape[-1] :] = 0
        return x

    return with_backward(back)(spec)


@wrong(fault="gradient", clause="gradient.mutation", **TORCH)
def torch_backward_overwrites(spec: RopeSpec) -> Any:
    """The backward pass writes over the gradient it is given."""
    return with_backward(lambda g, cos, sin: g.copy_(turn(g, cos, -sin)))(spec)


@wrong(fault="gradient", clause="gradient.values", **TORCH)
def torch_detaches(spec: RopeSpec) -> Any:
    """Goes through NumPy, and no gradient comes back."""
    import torch

    def rope(x: Any, positions: Any) -> Any:
        host = turn(x.detach(), *table(spec, positions)).numpy()
        return torch.from_numpy(host)

    return rope


@wrong(PARTIAL, fault="gradient", clause="gradient.passthrough", **TORCH)
def torch_detaches_pass_through(spec: RopeSpec) -> Any:
    """The channels that do not rotate are copied outside the graph."""
    import torch

    def rope(x: Any, positions: Any) -> Any:
        y, width = turn(x, *table(spec, positions)), spec.rotary_dim
        return torch.cat([y[..., :width], x[..., width:].detach()], dim=-1)

    return rope


@wrong(fault="gradient", clause="gradient.calls", **TORCH)
def torch_table_of_last_call(spec: RopeSpec) -> Any:
    """The backward pass finds its table on the module, where the last call has left it."""
    import torch

    kept: dict[str, Any] = {}

    class Turn(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return turn(x, *kept["table"])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            cos, sin = kept["table"]
            return turn(gradients[0], cos, -sin)

    def rope(x: Any, positions: Any) -> Any:
        kept["table"] = table(spec, positions)
        return Turn.apply(x)

    return rope


@wrong(fault="gradient", clause="gradient.graph", **TORCH)
def torch_rotates_a_slice_in_place(spec: RopeSpec) -> Any:
    """All tokens but the first are rotated in place, and x is put back for the caller."""

    def rope(x: Any, positions: Any) -> Any:
        import torch

        before = x.detach().clone()
        turned = turn(x, *table(spec, positions))
        if x.requires_grad:
            x[:, 1:] = turned[:, 1:]
            y = torch.cat([turned[:, :1], x[:, 1:]], dim=1)
            with torch.no_grad():
                x.copy_(before)
            return y
        return turned

    return rope


@wrong(fault="gradient", clause="gradient.values", **TORCH, in_place=True)
def torch_in_place_needs_what_it_overwrites(spec: RopeSpec) -> Any:
    """In place by declaration, with a step that needs x itself for its gradient."""
    import torch

    scale = torch.ones(1, requires_grad=True)  # learned, as frequencies may be

    def rope(x: Any, positions: Any) -> Any:
        turned = turn(x * scale, *table(spec, positions))
        x[...] = turned
        return x

    return rope


@wrong(fault="gradient", clause="gradient.values", **TORCH)
def torch_backward_through_half(spec: RopeSpec) -> Any:
    """The backward pass works in bfloat16."""
    return with_backward(lambda g, cos, sin: turn(g.bfloat16(), cos, -sin).to(g.dtype))(spec)

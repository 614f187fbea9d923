"""Rotations that are right, with gradients that are not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, PLAIN, wrong
from rope_conformance.zoo.parts.layers import Differentiable, Rope
from rope_conformance.zoo.parts.plain import frequencies, rotate, split
from rope_ref import PowerLaw, RopeSpec

INTERLEAVED = replace(PLAIN, layout="interleaved", output_layout="interleaved")
WRITES_HALF = replace(PLAIN, layout="interleaved", output_layout="half")


@wrong(fault="gradient", clause="gradient.values")
class gradient_turns_forward(Differentiable):  # noqa: N801
    """The gradient is rotated by plus the phase, like x."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return rotate(g, *self.table(positions), self.back)


@wrong(fault="gradient", clause="gradient.amplitude")
class gradient_is_the_inverse(Differentiable):  # noqa: N801
    """The gradient is the inverse: divided by the amplitude."""

    def vjp(self, g: Array, positions: Array) -> Array:
        cos, sin = (part / self.amplitude**2 for part in self.table(positions))
        return rotate(g, cos, -sin, self.back)


@wrong(fault="gradient", clause="gradient.amplitude")
class gradient_without_amplitude(Differentiable):  # noqa: N801
    """The gradient is rotated back, but not multiplied by the amplitude."""

    def vjp(self, g: Array, positions: Array) -> Array:
        cos, sin = (part / self.amplitude for part in self.table(positions))
        return rotate(g, cos, -sin, self.back)


@wrong(
    RopeSpec(64, layout="half", frequencies=PowerLaw(500000)),
    fault="gradient",
    clause="gradient.values",
)
class gradient_of_another_base(Differentiable):  # noqa: N801
    """The backward pass is built with base 10000, whatever the forward pass has."""

    def vjp(self, g: Array, positions: Array) -> Array:
        other = Rope(self.spec)
        other.theta = frequencies(self.spec, base=10000.0)
        cos, sin = other.table(positions)
        return rotate(g, cos, -sin, self.back)


@wrong(PARTIAL, fault="gradient", clause="gradient.values")
class gradient_rotates_by_head_dim(Differentiable):  # noqa: N801
    """The backward pass takes the exponent over D, the forward pass over R."""

    def vjp(self, g: Array, positions: Array) -> Array:
        other = Rope(self.spec)
        other.theta = frequencies(self.spec, width=self.spec.head_dim)
        cos, sin = other.table(positions)
        return rotate(g, cos, -sin, self.back)


@wrong(fault="gradient", clause="gradient.values")
class gradient_ignores_positions(Differentiable):  # noqa: N801
    """The backward pass counts positions from 0."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return super().vjp(g, np.arange(positions.shape[-1]))


@wrong(WRITES_HALF, fault="gradient", clause="gradient.values")
class gradient_in_the_other_layout(Differentiable):  # noqa: N801
    """The backward pass reads g where the forward pass reads x, not where it writes y."""

    @property
    def back(self) -> RopeSpec:
        return self.spec


@wrong(fault="gradient", clause="gradient.values")
class gradient_through_half(Differentiable):  # noqa: N801
    """The gradient is rounded to float16 on its way."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return super().vjp(g, positions).astype(np.float16).astype(g.dtype)


@wrong(fault="gradient", clause="gradient.values")
class gradient_comes_out_wider(Differentiable):  # noqa: N801
    """The gradient is float64 whatever came in."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return super().vjp(g, positions).astype(np.float64)


@wrong(fault="gradient", clause="gradient.values")
class gradient_loses_axes(Differentiable):  # noqa: N801
    """Rows and tokens of the gradient come back as one axis."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return super().vjp(g, positions).reshape(-1, *g.shape[2:])


@wrong(fault="gradient", clause="gradient.values")
class gradient_of_one_row(Differentiable):  # noqa: N801
    """With one token to a row only the first row gets a gradient."""

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        if g.shape[1] == 1:
            x[1:] = 0
        return x


@wrong(fault="gradient", clause="gradient.values")
class gradient_beyond_a_block(Differentiable):  # noqa: N801
    """Of the gradient 16 rows are rotated back; those beyond are handed on."""

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        x[16:] = g[16:]
        return x


@wrong(fault="gradient", clause="gradient.values")
class gradient_summed_over_heads(Differentiable):  # noqa: N801
    """Every head gets the mean of all heads' gradients, as a shared one would."""

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        return np.broadcast_to(x.mean(axis=2, keepdims=True), x.shape).copy()


@wrong(fault="gradient", clause="gradient.passthrough")
class gradient_drops_pass_through(Differentiable):  # noqa: N801
    """Channels that do not rotate get the gradient 0."""

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        x[..., self.spec.rotary_start + self.spec.rotary_dim :] = 0
        x[..., : self.spec.rotary_start] = 0
        return x


@wrong(fault="gradient", clause="gradient.passthrough")
class gradient_rotates_pass_through(Differentiable):  # noqa: N801
    """The gradient of channels that do not rotate is multiplied by the cos of pair 0."""

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        cos, _ = self.table(positions)
        x[..., self.spec.rotary_start + self.spec.rotary_dim :] *= cos[..., None, :1]
        return x


@wrong(INTERLEAVED, fault="gradient", clause="gradient.repeats")
class gradient_overlaps_reads(Differentiable):  # noqa: N801
    """Now and then the layout is changed in place, and pairs are read that are overwritten."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.calls = itertools.count(1)

    def vjp(self, g: Array, positions: Array) -> Array:
        x = super().vjp(g, positions)
        if next(self.calls) % 7 == 0:
            u, v = split(x, self.spec)
            x[..., : u.shape[-1]] = u
            x[..., 1 : 2 * v.shape[-1] : 2] = v[..., :1]
        return x


@wrong(fault="gradient", clause="gradient.repeats")
class gradient_shares_memory(Differentiable):  # noqa: N801
    """Gradients of the same shape are written into one piece of memory."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.buffers: dict[tuple[int, ...], Array] = {}

    def vjp(self, g: Array, positions: Array) -> Array:
        buffer = self.buffers.setdefault(g.shape, np.empty_like(g))
        buffer[...] = super().vjp(g, positions)
        return buffer


@wrong(fault="gradient", clause="gradient.calls")
class gradient_of_last_positions(Differentiable):  # noqa: N801
    """The backward pass takes the table of the last call, whichever it belongs to."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.last: Array | None = None

    def apply_rope(self, x: Array, positions: Array) -> Array:
        self.last = positions
        return super().apply_rope(x, positions)

    def vjp(self, g: Array, positions: Array) -> Array:
        fits = self.last is not None and self.last.shape == positions.shape
        return super().vjp(g, self.last if fits and self.last is not None else positions)


@wrong(fault="gradient", clause="gradient.mutation")
class gradient_overwrites_what_it_is_given(Differentiable):  # noqa: N801
    """The gradient is written over the one it is made from."""

    def vjp(self, g: Array, positions: Array) -> Array:
        g[...] = super().vjp(g, positions)
        return g

"""Honest attention layers, each computed another way: no check may fail on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, control
from rope_conformance.zoo.parts.layers import Differentiable, InPlaceLayer, Layer, Scoring
from rope_conformance.zoo.parts.plain import join, rotate, split
from rope_ref import ExplicitFrequencies, RopeSpec

_WIDE: dict[str, Any] = {
    "position_forms": ("t", "bt"),
    "position_range": (-(2**20), 2**20),
    "profile": "float32-power",
}
_AMPLIFIED = replace(
    PARTIAL,
    layout="interleaved",
    output_layout="half",
    frequencies=ExplicitFrequencies(PARTIAL.theta(), amplitude=0.75),
)

Three = tuple[Array, Array, Array]


@control(PARTIAL, **_WIDE, strided=True)
class attention_layer(Layer, Differentiable, Scoring):  # noqa: N801
    """q, k and v, the gradient and the scores, in float32."""


@control(_AMPLIFIED, position_forms=("t",), profile="float32-power")
class amplified_layer(Layer, Differentiable, Scoring):  # noqa: N801
    """With an amplitude, read interleaved and written half."""


@control(**_WIDE, dtypes=("bfloat16", "float16"))
class half_layer(Layer, Differentiable, Scoring):  # noqa: N801
    """In half precision, float32 inside and rounded once; the scores stay float32."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries.astype(np.float32), keys.astype(np.float32))


@control(**_WIDE, in_place=True, strided=True)
class layer_in_place(InPlaceLayer):  # noqa: N801
    """q and k are overwritten, by declaration."""


@control(PARTIAL, **_WIDE, logit_scale=0.125)
class scales_queries_first(Scoring):  # noqa: N801
    """The factor is on q before it is rotated, in float32."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q * np.float32(0.125), k, q_positions, k_positions)


@control(PARTIAL, **_WIDE)
class scales_scores(Scoring):  # noqa: N801
    """1/sqrt(D) is on the scores."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.scale = 1 / np.sqrt(np.float32(spec.head_dim))


@control(**_WIDE)
class scores_head_by_head(Scoring):  # noqa: N801
    """A matrix product for each query head, without repeating the keys."""

    def scores(self, queries: Array, keys: Array) -> Array:
        group = queries.shape[2] // keys.shape[2]
        heads = [
            queries[:, :, h] @ keys[:, :, h // group].swapaxes(1, 2)
            for h in range(queries.shape[2])
        ]
        return np.stack(heads, axis=1)


@control(**_WIDE)
class scores_by_distance(Scoring):  # noqa: N801
    """Only keys are rotated, by their distance to each query, in float64."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        keys = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
        distance = k_positions[..., None, :] - q_positions[..., :, None]
        phase = distance[..., None] * self.theta.astype(np.float64)
        phase = phase[:, None] if phase.ndim == 4 else phase
        wide = [
            [part.astype(np.float64).swapaxes(1, 2) for part in split(x, self.spec)]
            for x in (q, keys)
        ]
        (a, b), (u, v) = wide[0], (part[:, :, None] for part in wide[1])
        a, b, cos, sin = a[..., None, :], b[..., None, :], np.cos(phase), np.sin(phase)
        scores = (a * (u * cos - v * sin) + b * (u * sin + v * cos)).sum(axis=-1)
        start, stop = self.spec.rotary_start, self.spec.rotary_start + self.spec.rotary_dim
        rest = np.r_[0:start, stop : self.spec.head_dim]  # these do not turn
        untouched = np.einsum(
            "bihd,bjhd->bhij", q[..., rest].astype(np.float64), keys[..., rest].astype(np.float64)
        )
        return np.asarray(scores * self.amplitude**2 + untouched, dtype=np.float32)


@control(**_WIDE)
class gradient_by_negative_positions(Differentiable):  # noqa: N801
    """The gradient is the rotation by the negative positions."""

    def vjp(self, g: Array, positions: Array) -> Array:
        return rotate(g, *self.table(-positions), self.back)


@control(PARTIAL, **_WIDE)
class gradient_with_factor_outside(Differentiable):  # noqa: N801
    """The amplitude is on the gradient at the end, not on the table."""

    def vjp(self, g: Array, positions: Array) -> Array:
        cos, sin = (part[..., None, :] / self.amplitude for part in self.table(positions))
        u, v = split(g, self.back)
        first, second = u * cos + v * sin, v * cos - u * sin
        return join(g, self.amplitude * first, self.amplitude * second, self.back)

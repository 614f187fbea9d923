"""Wrong pairs, wrong axes, wrong channels."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.plain import Rope, angles, frequencies, honest, join, rotate, split
from rope_ref import RopeSpec

INTERLEAVED = RopeSpec(64, layout="interleaved")


def _other(spec: RopeSpec) -> Literal["interleaved", "half"]:
    return "half" if spec.layout == "interleaved" else "interleaved"


@wrong(fault="layout", clause=("pairing.layout", "pairing.output_layout"))
def layout_swapped(spec: RopeSpec) -> Rope:
    """Pairs are taken and written in the other layout."""
    other = replace(spec, layout=_other(spec), output_layout=_other(spec))
    return lambda x, positions: honest(x, positions, other)


@wrong(INTERLEAVED, fault="layout", clause="pairing.output_layout")
def writes_half(spec: RopeSpec) -> Rope:
    """Pairs are read interleaved, as claimed, but written half-split."""
    other = replace(spec, output_layout="half")
    return lambda x, positions: honest(x, positions, other)


@wrong(PARTIAL, fault="partial", clause="pairing.layout")
def head_split_not_rotary_split(spec: RopeSpec) -> Rope:
    """The partner of channel i is i + D/2, although only R channels rotate."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))[..., None, :]
        pairs, half = spec.rotary_dim // 2, spec.head_dim // 2
        u, v = x[..., :pairs], x[..., half : half + pairs]
        y = x.copy()
        y[..., :pairs] = u * np.cos(phase) - v * np.sin(phase)
        y[..., half : half + pairs] = u * np.sin(phase) + v * np.cos(phase)
        return y

    return rope


@wrong(INTERLEAVED, fault="layout", clause="table.circle")
def tiled_table_for_adjacent_pairs(spec: RopeSpec) -> Rope:
    """The table is tiled (c0 c1 .. c0 c1 ..) but the pairs are adjacent."""

    def rope(x: Array, positions: Array) -> Array:
        phase = np.tile(angles(positions, frequencies(spec)), 2)[..., None, :]
        turned = np.empty_like(x)
        turned[..., 0::2], turned[..., 1::2] = -x[..., 1::2], x[..., 0::2]
        return np.asarray(x * np.cos(phase) + turned * np.sin(phase))

    return rope


@wrong(PARTIAL, fault="partial", clause="passthrough.channels")
def rotates_pass_through(spec: RopeSpec) -> Rope:
    """The channels that should pass through are rotated too."""
    rest = RopeSpec(
        spec.head_dim,
        layout=spec.layout,
        rotary_start=spec.rotary_dim,
        frequencies=spec.frequencies,
    )
    return lambda x, positions: honest(honest(x, positions, spec), positions, rest)


@wrong(fault="aliasing", clause="passthrough.values")
class rotates_v:  # noqa: N801
    """v is rotated along with q and k."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)

    def qkv(self, q: Array, k: Array, v: Array, positions: Array) -> tuple[Array, Array, Array]:
        turned = [self.apply_rope(a, positions) for a in (q, k, v)]
        return turned[0], turned[1], turned[2]


@wrong(fault="broadcast", clause="frequency.phase")
def heads_for_tokens(spec: RopeSpec) -> Rope:
    """The head axis is taken for the token axis wherever it is long enough."""

    def rope(x: Array, positions: Array) -> Array:
        if not 1 < x.shape[2] <= positions.shape[-1]:
            return honest(x, positions, spec)
        turned = honest(x.swapaxes(1, 2), positions[..., : x.shape[2]], spec)
        return np.ascontiguousarray(turned.swapaxes(1, 2))

    return rope


@wrong(fault="kernel-shape", clause="frequency.phase")
def eight_heads_at_a_time(spec: RopeSpec) -> Rope:
    """Heads are rotated eight at a time, and those that are left over are not."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        whole = x.shape[2] - x.shape[2] % 8
        if whole:
            y[:, :, whole:] = x[:, :, whole:]
        return y

    return rope


@wrong(fault="broadcast", clause="frequency.rows", position_forms=("t", "bt"))
def batch_row_zero(spec: RopeSpec) -> Rope:
    """Every batch row gets the positions of row 0."""

    def rope(x: Array, positions: Array) -> Array:
        return honest(x, positions[0] if positions.ndim == 2 else positions, spec)

    return rope


@wrong(fault="broadcast", clause="independence.rows")
def row_zero_data_for_all(spec: RopeSpec) -> Rope:
    """Every batch row gets the data of row 0."""
    return lambda x, positions: honest(np.broadcast_to(x[:1], x.shape).copy(), positions, spec)


@wrong(fault="broadcast", clause="independence.heads")
def head_zero_for_all(spec: RopeSpec) -> Rope:
    """Every head gets the data of head 0."""
    return lambda x, positions: honest(
        np.broadcast_to(x[:, :, :1], x.shape).copy(), positions, spec
    )


@wrong(fault="kernel-shape", clause="independence.tokens")
def cross_token_leak(spec: RopeSpec) -> Rope:
    """A millionth of each token's result leaks into the next token."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        y[:, 1:] += np.float32(1e-6) * y[:, :-1]
        return y

    return rope


@wrong(fault="kernel-shape", clause="independence.nan")
def nan_spreads(spec: RopeSpec) -> Rope:
    """All tokens are rotated by one large matrix product: 0 x NaN is NaN everywhere."""

    def rope(x: Array, positions: Array) -> Array:
        y = honest(x, positions, spec)
        every = np.eye(x.shape[1], dtype=np.float32)
        return np.asarray(np.einsum("st,bthd->bshd", every, y, optimize=False))

    return rope


@wrong(fault="kernel-shape", clause="rotation.norm")
def sum_forgets_a_term(spec: RopeSpec) -> Rope:
    """The second component misses the v cos term of the last pair."""

    def rope(x: Array, positions: Array) -> Array:
        phase = angles(positions, frequencies(spec))[..., None, :]
        u, v = split(x, spec)
        first = u * np.cos(phase) - v * np.sin(phase)
        second = u * np.sin(phase) + v * np.cos(phase)
        second[..., -1] = (u * np.sin(phase))[..., -1]
        return join(x, first, second, spec)

    return rope


@wrong(fault="dtype", clause="rotation.linear")
def clips_at_two(spec: RopeSpec) -> Rope:
    """The data is clipped to [-2, 2] first, as a narrow type would."""
    return lambda x, positions: honest(np.clip(x, -2, 2), positions, spec)


class _Consumer:
    """A table consumer; its tables are (T, R/2) or (B, T, R/2)."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec


@wrong(fault="frequency", clause="tables.true", position_forms=("t", "bt"))
class cosine_of_cosine(_Consumer):  # noqa: N801  # named like its neighbours
    """The table is taken for angles: cos and sin are applied to it once more."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, np.cos(cos), np.sin(sin), self.spec)


@wrong(fault="angle-precision", clause="tables.hostile", position_forms=("t", "bt"))
class sin_from_cos(_Consumer):  # noqa: N801
    """sin is made from cos, as the square root of 1 - cos**2 with the sign of sin."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        length = np.sqrt(np.maximum(1 - cos.astype(np.float64) ** 2, 0))
        return rotate(x, cos, (np.sign(sin) * length).astype(cos.dtype), self.spec)


@wrong(fault="broadcast", clause=("tables.true", "tables.hostile"), position_forms=("t", "bt"))
class first_row_of_table(_Consumer):  # noqa: N801
    """Every token gets the first row of the table."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, cos[..., :1, :], sin[..., :1, :], self.spec)


@wrong(fault="broadcast", clause="tables.rows", position_forms=("t", "bt"))
class first_table_for_all_rows(_Consumer):  # noqa: N801
    """Every batch row gets the table of row 0."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        shape = cos.shape[-2:]
        return rotate(x, cos.reshape(-1, *shape)[0], sin.reshape(-1, *shape)[0], self.spec)

"""Wrong consumers of tables that are given, and wrong `theta()` and `cos_sin()`."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.plain import angles, frequencies, honest, rotate
from rope_conformance.zoo.wrong.kernels import padded_rows
from rope_ref import RopeSpec

# Named like their neighbours, which are functions: hence the N801.


class _Consumer:
    """Rotates by tables (T, R/2) or (B, T, R/2) that the caller gives."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec


class _Rope:
    """An honest rotation, beside which a surface is wrong."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return honest(x, positions, self.spec)


# Consumers


@wrong(fault="kernel-shape", clause="frequency.widths")
class consumer_pads_sin_block(_Consumer):  # noqa: N801
    """In a row of all cos and then all sin, sin is looked for behind a power of two."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, *padded_rows(cos, sin), self.spec)


@wrong(fault="frequency", clause=("table.identity", "tables.true"), position_forms=("t", "bt"))
class consumer_exchanges_tables(_Consumer):  # noqa: N801
    """The table of cos is taken for that of sin, and the other way round."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, sin, cos, self.spec)


@wrong(fault="sign", clause=("pairing.direction", "tables.true"), position_forms=("t", "bt"))
class consumer_turns_back(_Consumer):  # noqa: N801
    """sin is subtracted where it should be added: the pairs turn clockwise."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, cos, -sin, self.spec)


@wrong(fault="layout", clause=("tables.hostile", "tables.rows"), position_forms=("t", "bt"))
class consumer_repeats_for_halves(_Consumer):  # noqa: N801
    """The table is spread as for adjacent pairs, each entry twice, and then cut in halves."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        pairs = cos.shape[-1]
        cos, sin = (np.repeat(part, 2, axis=-1)[..., :pairs] for part in (cos, sin))
        return rotate(x, cos, sin, self.spec)


@wrong(fault="angle-precision", clause="tables.hostile", position_forms=("t", "bt"))
class consumer_rounds_table(_Consumer):  # noqa: N801
    """The table is cast to bfloat16 first, although it and the data are float32."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        cos, sin = (part.astype(ml_dtypes.bfloat16).astype(np.float32) for part in (cos, sin))
        return rotate(x, cos, sin, self.spec)


@wrong(fault="position", clause="tables.true", position_forms=("t", "bt"))
class consumer_one_row_late(_Consumer):  # noqa: N801
    """Each token gets the row after its own; the last keeps its own."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        rows = np.minimum(np.arange(1, cos.shape[-2] + 1), cos.shape[-2] - 1)
        return rotate(x, cos[..., rows, :], sin[..., rows, :], self.spec)


@wrong(fault="broadcast", clause="tables.true")
class consumer_transposes_square_table(_Consumer):  # noqa: N801
    """A table with as many rows as pairs is taken for its transpose."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        square = cos.shape[-1] == cos.shape[-2]
        return rotate(x, cos.T, sin.T, self.spec) if square else rotate(x, cos, sin, self.spec)


@wrong(fault="kernel-shape", clause="tables.true")
class consumer_steps_by_full_rows(_Consumer):  # noqa: N801
    """Rows of the table are taken to be R numbers long: only every second one is met."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        rows = 2 * np.arange(cos.shape[-2]) % cos.shape[-2]
        return rotate(x, cos[..., rows, :], sin[..., rows, :], self.spec)


@wrong(fault="kernel-shape", clause="tables.true")
class consumer_single_token_first_row(_Consumer):  # noqa: N801
    """With one token per row only the first row is rotated, the others are copied."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        y = rotate(x, cos, sin, self.spec)
        if x.shape[1] == 1:
            y[1:] = x[1:]
        return y


@wrong(fault="cache", clause="tables.true")
class consumer_keeps_table_by_shape(_Consumer):  # noqa: N801
    """A table of a shape that was seen before is taken for the one seen then."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: dict[tuple[int, ...], tuple[Array, Array]] = {}

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        return rotate(x, *self.kept.setdefault(cos.shape, (cos, sin)), self.spec)


@wrong(fault="aliasing", clause="data.mutation")
class consumer_negates_sine(_Consumer):  # noqa: N801
    """The caller's table of sin is negated in place, and not put back."""

    def apply_cos_sin(self, x: Array, cos: Array, sin: Array) -> Array:
        y = rotate(x, cos, sin, self.spec)
        np.negative(sin, out=sin)
        return y


# theta()


@wrong(PARTIAL, fault="partial", clause="frequency.theta")
class theta_over_head_dim(_Rope):  # noqa: N801
    """theta() divides by the width of the head; the rotation does not use it."""

    def theta(self) -> Array:
        return frequencies(self.spec, width=self.spec.head_dim)


@wrong(fault="config", clause="frequency.theta")
class theta_of_base_10000(_Rope):  # noqa: N801
    """theta() is that of base 10000 whatever the base; the rotation does not use it."""

    def theta(self) -> Array:
        return frequencies(self.spec, base=10_000)


@wrong(fault="kernel-shape", clause="frequency.theta")
class theta_pads_to_power_of_two(_Rope):  # noqa: N801
    """theta() divides by the next power of two; the rotation does not use it."""

    def theta(self) -> Array:
        return frequencies(self.spec, width=1 << (self.spec.rotary_dim - 1).bit_length())


@wrong(fault="angle-precision", clause="frequency.theta")
class theta_in_bfloat16(_Rope):  # noqa: N801
    """theta() is rounded to bfloat16; the rotation does not use it."""

    def theta(self) -> Array:
        return frequencies(self.spec).astype(ml_dtypes.bfloat16).astype(np.float32)


@wrong(fault="layout", clause="frequency.theta")
class theta_for_each_channel(_Rope):  # noqa: N801
    """theta() has each entry twice, one per channel."""

    def theta(self) -> Array:
        return np.repeat(frequencies(self.spec), 2)


# cos_sin()


class _Table(_Rope):
    """An honest rotation, and an honest table to make mistakes with."""

    def table(self, positions: Array) -> tuple[Array, Array]:
        phase = angles(positions, frequencies(self.spec))
        return np.cos(phase), np.sin(phase)


@wrong(fault="frequency", clause="table.values")
class table_exchanged(_Table):  # noqa: N801
    """cos_sin() returns sin first."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        return self.table(positions)[::-1]


@wrong(fault="position", clause="table.values")
class table_counts_from_zero(_Table):  # noqa: N801
    """cos_sin() looks at the number of positions only."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        return self.table(np.broadcast_to(np.arange(positions.shape[-1]), positions.shape))


@wrong(fault="cache", clause="table.values")
class table_ends_at_8192(_Table):  # noqa: N801
    """cos_sin() has 8192 rows, and gives the last to every position behind its end."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        return self.table(np.minimum(positions, 8191))


@wrong(fault="kernel-shape", clause="table.values")
class table_of_1024_entries(_Table):  # noqa: N801
    """One call of cos_sin() fills 1024 entries; those beyond stay 0."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        cos, sin = self.table(positions)
        cos[..., 1024:, :] = sin[..., 1024:, :] = 0
        return cos, sin


@wrong(fault="cache", clause="table.values")
class table_kept_by_length(_Table):  # noqa: N801
    """cos_sin() keeps what it returned for a number of positions, whatever these are."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: dict[int, tuple[Array, Array]] = {}

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        return self.kept.setdefault(positions.size, self.table(positions))


@wrong(fault="broadcast", clause="table.values", position_forms=("t", "bt"))
class table_of_row_zero(_Table):  # noqa: N801
    """cos_sin() gives each batch row the positions of row 0."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        if positions.ndim == 2:
            positions = np.broadcast_to(positions[:1], positions.shape)
        return self.table(positions)


@wrong(fault="scaling", clause="table.values")
class table_one_percent_larger(_Table):  # noqa: N801
    """cos_sin() returns cos and sin 1 % too large; the rotation does not use them."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        cos, sin = self.table(positions)
        return cos * np.float32(1.01), sin * np.float32(1.01)


@wrong(fault="kernel-shape", clause="table.values")
class table_over_padded_width(_Table):  # noqa: N801
    """cos_sin() divides the exponent by the next power of two."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        width = 1 << (self.spec.rotary_dim - 1).bit_length()
        phase = angles(positions, frequencies(self.spec, width=width))
        return np.cos(phase), np.sin(phase)


@wrong(fault="aliasing", clause="table.values")
class table_in_one_buffer(_Table):  # noqa: N801
    """cos_sin() returns views of one buffer, which the next call fills anew."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.buffer = np.zeros((2, 4096, spec.rotary_dim // 2), np.float32)

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        tables = self.table(positions)
        if positions.ndim > 1 or len(positions) > self.buffer.shape[1]:
            return tables
        self.buffer[:, : len(positions)] = tables
        cos, sin = self.buffer[:, : len(positions)]
        return cos, sin


@wrong(fault="aliasing", clause="data.mutation")
class table_moves_positions(_Table):  # noqa: N801
    """cos_sin() counts the positions that it was given on by one."""

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        tables = self.table(positions)
        positions += 1
        return tables


@wrong(fault="cache", clause="data.determinism")
class rotates_by_table_asked_for(_Table):  # noqa: N801
    """The table that cos_sin() returned last rotates as many tokens, wherever they stand."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: tuple[Array, Array] | None = None

    def cos_sin(self, positions: Array) -> tuple[Array, Array]:
        self.kept = self.table(positions)
        return self.kept

    def apply_rope(self, x: Array, positions: Array) -> Array:
        if self.kept is None or self.kept[0].shape[:-1] != positions.shape:
            return super().apply_rope(x, positions)
        return rotate(x, *self.kept, self.spec)

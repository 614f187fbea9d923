"""Requests that outgrow the original length, served by the wrong frequencies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.growing import DYNAMIC, LONGROPE, Resetting, Served
from rope_conformance.zoo.parts.plain import angles, rotate


@wrong(LONGROPE, fault="scaling", clause=("growth.length", "growth.chunks"))
class decode_always_short(Served):  # noqa: N801  # named like its neighbours
    """The short factors serve every request, however long it becomes."""

    def read(self, length: int, tokens: int) -> int:
        return 0


@wrong(LONGROPE, fault="scaling", clause=("growth.length", "growth.chunks"))
class decode_factors_by_chunk(Served):  # noqa: N801
    """The number of tokens in the call chooses the factors: a step is always short."""

    def read(self, length: int, tokens: int) -> int:
        return tokens


@wrong(LONGROPE, fault="scaling", clause="growth.length")
class decode_long_one_late(Served):  # noqa: N801
    """Positions above the original length, not lengths, choose the long factors."""

    def read(self, length: int, tokens: int) -> int:
        return length - 1


@wrong(DYNAMIC, fault="scaling", clause=("growth.length", "growth.chunks"))
class decode_length_before_the_call(Served):  # noqa: N801
    """The base follows the length that the cache had before the call."""

    def read(self, length: int, tokens: int) -> int:
        return length - tokens


@wrong(DYNAMIC, fault="scaling", clause="growth.length")
class decode_steps_by_plain_table(Served):  # noqa: N801
    """Prompts are rotated by the base for their length, single tokens by the original one."""

    def read(self, length: int, tokens: int) -> int:
        return length if tokens > 1 else 0


@wrong(DYNAMIC, fault="cache", clause="growth.requests", length_rule="resets")
class decode_base_never_resets(Served):  # noqa: N801
    """After a long request the larger base stays, though it should reset for a short one."""

    def read(self, length: int, tokens: int) -> int:
        return max(length, self.length)


@wrong(LONGROPE, fault="cache", clause="growth.keys", cached_keys="renewed")
class decode_keys_outlive_their_factors(Served):  # noqa: N801
    """Cached keys stay rotated by the short factors when the long ones begin."""


@wrong(LONGROPE, fault="scaling", clause="growth.length")
class decode_padding_counts(Served):  # noqa: N801
    """The width of a padded batch is taken for the length of its longest row."""

    width = 0

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        self.width = int(np.max(self.next)) + x.shape[1]
        return super().prefill(x, lengths)

    def read(self, length: int, tokens: int) -> int:
        return self.width


@wrong(DYNAMIC, fault="scaling", clause="growth.length")
class decode_length_rounded_up(Served):  # noqa: N801
    """The base is made for the next multiple of 32 tokens, as tables are."""

    def read(self, length: int, tokens: int) -> int:
        return -(-length // 32) * 32


@wrong(DYNAMIC, fault="cache", clause="growth.requests")
class decode_apply_sets_base(Served):  # noqa: N801
    """A request goes on by the frequencies of what `apply_rope` has been given in between."""

    def start(self) -> Any:
        super().start()
        self.between = 0

    def apply_rope(self, x: Array, positions: Array) -> Array:
        self.between = int(np.max(positions, initial=-1)) + 1
        return super().apply_rope(x, positions)

    def read(self, length: int, tokens: int) -> int:
        return self.between or length


@wrong(LONGROPE, fault="scaling", clause="growth.shift")
class decode_shift_multiplies_again(Served):  # noqa: N801
    """A shift rotates cached keys with the amplitude, which they have already."""

    def turned(self, y: Array, delta: Any) -> Array:
        written = replace(self.spec, layout=self.spec.output_layout)
        phase = np.float32(delta) * self.thetas
        return rotate(y, self.amplitude * np.cos(phase), self.amplitude * np.sin(phase), written)


@wrong(DYNAMIC, fault="cache", clause="growth.shift")
class decode_shift_by_newest_base(Resetting):  # noqa: N801
    """A shift rotates all cached keys by the frequencies of the last call."""

    def turned(self, y: Array, delta: Any) -> Array:
        written = replace(self.spec, layout=self.spec.output_layout)
        phase = angles(np.broadcast_to(delta, y.shape[1]), self.theta)
        return rotate(y, np.cos(phase), np.sin(phase), written)

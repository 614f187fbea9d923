"""Scores from rotations that are right, put together wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.layers import Scoring
from rope_ref import ExplicitFrequencies, RopeSpec

AMPLIFIED = replace(PARTIAL, frequencies=ExplicitFrequencies(PARTIAL.theta(), amplitude=1.25))
EIGHTH = 0.125  # 1/sqrt(64)


# Which key head a query head meets


@wrong(fault="broadcast", clause="logits.groups")
class groups_interleaved(Scoring):  # noqa: N801
    """Query head h meets key head h % Hk instead of h // (Hq / Hk)."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, np.tile(keys, (queries.shape[2] // keys.shape[2], 1)))


@wrong(fault="broadcast", clause="logits.groups")
class first_key_head_scores_all(Scoring):  # noqa: N801
    """Every query head meets the first key head."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys[:, :, :1])


@wrong(fault="broadcast", clause="logits.groups")
class key_heads_counted_backwards(Scoring):  # noqa: N801
    """The last group of query heads meets the first key head."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys[:, :, ::-1])


# The factor


@wrong(PARTIAL, fault="scaling", clause="logits.scale", logit_scale=EIGHTH)
class scale_on_rotated_part_only(Scoring):  # noqa: N801
    """The factor is on the channels that rotate, not on those that pass through."""

    def scores(self, queries: Array, keys: Array) -> Array:
        queries = queries.copy()
        start = self.spec.rotary_start
        queries[..., start : start + self.spec.rotary_dim] *= np.float32(EIGHTH)
        return super().scores(queries, keys)


@wrong(fault="scaling", clause="logits.scale", logit_scale=EIGHTH)
class scale_twice(Scoring):  # noqa: N801
    """The factor is on q, and on the scores again."""

    scale = np.float32(EIGHTH**2)


@wrong(fault="scaling", clause="logits.scale")
class scale_grows_with_keys(Scoring):  # noqa: N801
    """With more than 64 keys the factor grows like the logarithm of their number."""

    def scores(self, queries: Array, keys: Array) -> Array:
        more = max(1.0, np.log(keys.shape[1]) / np.log(64))
        return super().scores(queries, keys) * np.float32(more)


@wrong(fault="scaling", clause="logits.scale", logit_scale=EIGHTH)
class scale_in_first_heads_only(Scoring):  # noqa: N801
    """The factor is on as many heads as k has; the other query heads have none."""

    def scores(self, queries: Array, keys: Array) -> Array:
        scores = super().scores(queries, keys)
        scores[:, : keys.shape[2]] *= np.float32(EIGHTH)
        return scores


@wrong(PARTIAL, fault="scaling", clause="logits.scale")
class scale_over_rotary_dim(Scoring):  # noqa: N801
    """The factor is 1/sqrt(R) instead of 1/sqrt(D)."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys) / np.float32(np.sqrt(self.spec.rotary_dim))


@wrong(fault="dtype", clause="logits.values", logit_scale=EIGHTH / 3)
class scale_before_rotation_in_half(Scoring):  # noqa: N801
    """The factor is on q before it is rotated, in float16."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        scaled = q.astype(np.float16) * np.float16(EIGHTH / 3)
        return super().logits(scaled.astype(q.dtype), k, q_positions, k_positions)


# The amplitude


@wrong(fault="scaling", clause="logits.amplitude")
class amplitude_once(Scoring):  # noqa: N801
    """The amplitude is on q alone, so the scores have A instead of its square."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys) / self.amplitude


@wrong(fault="scaling", clause="logits.amplitude")
class amplitude_four_times(Scoring):  # noqa: N801
    """The square of the amplitude is on the scores, beside that on q and k."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys) * self.amplitude**2


@wrong(AMPLIFIED, fault="scaling", clause="logits.scale")
class amplitude_on_pass_through(Scoring):  # noqa: N801
    """The square of the amplitude is a factor on whole scores, pass-through channels included."""

    def scores(self, queries: Array, keys: Array) -> Array:
        rest = np.ones(self.spec.head_dim, np.float32)
        rest[self.spec.rotary_start + self.spec.rotary_dim :] = self.amplitude
        return super().scores(queries * rest, keys * rest)


# Who stands where


@wrong(fault="position", clause="logits.values")
class keys_at_query_positions(Scoring):  # noqa: N801
    """Keys are rotated by the positions of queries, over and over."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q, k, q_positions, np.resize(q_positions, k_positions.shape))


@wrong(fault="position", clause="logits.values")
class query_positions_ignored(Scoring):  # noqa: N801
    """Queries stand at 0, 1, 2, ...: the offset is never read."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q, k, np.arange(q.shape[1]), k_positions)


@wrong(fault="position", clause="logits.values")
class key_positions_counted_from_zero(Scoring):  # noqa: N801
    """Keys stand at 0, 1, 2, ..., wherever they are."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q, k, q_positions, np.arange(k.shape[1]))


@wrong(fault="position", clause="logits.values")
class queries_aligned_to_the_start(Scoring):  # noqa: N801
    """The first query stands where the first key does."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        start = k_positions[..., :1] + np.arange(q.shape[1])
        return super().logits(q, k, start, k_positions)


@wrong(fault="position", clause="logits.values")
class queries_aligned_to_the_end(Scoring):  # noqa: N801
    """The last query stands at the number of keys, as in decoding, whatever its position."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        tokens = q.shape[1]
        return super().logits(q, k, np.arange(tokens) + k.shape[1] - tokens, k_positions)


@wrong(fault="position", clause="logits.values")
class queries_one_position_late(Scoring):  # noqa: N801
    """Queries stand one position after their own, as if the new key were counted already."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q, k, q_positions + 1, k_positions)


@wrong(fault="position", clause="logits.values")
class only_queries_rotated(Scoring):  # noqa: N801
    """Keys are not rotated."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return self.scores(self.apply_rope(q, q_positions), k)


@wrong(fault="sign", clause="logits.values")
class distance_sign_flipped(Scoring):  # noqa: N801
    """Scores are those of the distance with the other sign."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        return super().logits(q, k, -q_positions, -k_positions)


@wrong(fault="scaling", clause="logits.relative")
class scores_fade_with_position(Scoring):  # noqa: N801
    """Scores shrink with the position of the key instead of with the distance."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        fade = np.exp(-0.02 * k_positions.astype(np.float32))
        fade = fade[:, None, None] if fade.ndim == 2 else fade
        return np.asarray(super().logits(q, k, q_positions, k_positions) * fade)


# Which scores


@wrong(fault="broadcast", clause="logits.values")
class scores_turned_over(Scoring):  # noqa: N801
    """With as many queries as keys they are exchanged in the scores."""

    def scores(self, queries: Array, keys: Array) -> Array:
        scores = super().scores(queries, keys)
        return scores.swapaxes(2, 3) if scores.shape[2] == scores.shape[3] else scores


@wrong(fault="position", clause="logits.values", position_range=(0, 2**20))
class only_query_behind_all_keys(Scoring):  # noqa: N801
    """A single query is taken for the token that follows the last key."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        if q.shape[1] == 1 < k.shape[1]:
            q_positions = k_positions.max(axis=-1, keepdims=True) + 1
        return super().logits(q, k, q_positions, k_positions)


@wrong(fault="broadcast", clause="logits.values")
class keys_of_first_row(Scoring):  # noqa: N801
    """The keys of row 0 stand for those of all rows."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, np.broadcast_to(keys[:1], keys.shape))


@wrong(PARTIAL, fault="partial", clause="logits.values")
class scores_of_rotated_channels_only(Scoring):  # noqa: N801
    """Channels that pass through are left out of the scores."""

    def scores(self, queries: Array, keys: Array) -> Array:
        width = self.spec.rotary_dim
        return super().scores(queries[..., :width], keys[..., :width])


@wrong(fault="kernel-shape", clause="logits.values")
class keys_beyond_a_block_as_they_are(Scoring):  # noqa: N801
    """The first 128 keys are rotated; those beyond are not."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        keys = self.apply_rope(k, k_positions)
        keys[:, 128:] = k[:, 128:]
        return self.scores(self.apply_rope(q, q_positions), keys)


# Rounding and memory


@wrong(fault="dtype", clause="logits.values")
class scores_rounded_to_half(Scoring):  # noqa: N801
    """Scores are rounded to float16 and back."""

    def scores(self, queries: Array, keys: Array) -> Array:
        return super().scores(queries, keys).astype(np.float16).astype(np.float32)


@wrong(fault="dtype", clause="logits.values")
class scores_summed_in_half(Scoring):  # noqa: N801
    """Products are added up in float16."""

    def scores(self, queries: Array, keys: Array) -> Array:
        narrow = super().scores(queries.astype(np.float16), keys.astype(np.float16))
        return narrow.astype(np.float32)


@wrong(fault="cache", clause="logits.calls")
class keys_of_first_call(Scoring):  # noqa: N801
    """Rotated keys are kept, and found again by shape and positions alone."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: dict[object, Array] = {}

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        key = (k.shape, k_positions.tobytes())
        keys = self.kept.setdefault(key, self.apply_rope(k, k_positions))
        return self.scores(self.apply_rope(q, q_positions), keys)


@wrong(fault="aliasing", clause="logits.calls")
class logits_overwrite_queries(Scoring):  # noqa: N801
    """q is rotated where it lies."""

    def logits(self, q: Array, k: Array, q_positions: Array, k_positions: Array) -> Array:
        q[...] = self.apply_rope(q, q_positions)
        return self.scores(q, self.apply_rope(k, k_positions))


@wrong(fault="aliasing", clause="logits.calls")
class scores_share_memory(Scoring):  # noqa: N801
    """Scores of the same shape are written into one piece of memory."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.buffers: dict[tuple[int, ...], Array] = {}

    def scores(self, queries: Array, keys: Array) -> Array:
        scores = super().scores(queries, keys)
        buffer = self.buffers.setdefault(scores.shape, np.empty_like(scores))
        buffer[...] = scores
        return buffer

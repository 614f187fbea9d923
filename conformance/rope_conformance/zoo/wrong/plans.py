"""Wrong positions: padding counted, packs run on, caches forgotten, ranks that start at 0."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from rope_conformance.inputs.requests import PositionRequest
from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plans import Planner
from rope_ref import RopeSpec

_FAR: dict[str, Any] = {"position_range": (0, 2**20)}


class Keeping(Planner):
    """Keeps what it has answered."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.kept: dict[object, Array] = {}


# Padded batches


@wrong(fault="position", clause="positions.padded", **_FAR)
class counts_padding(Planner):  # noqa: N801
    """Tokens stand at 0, 1, 2, ... from the left edge, padding counted."""

    def padded(self, mask: Array) -> Any:
        return np.broadcast_to(np.arange(mask.shape[1]), mask.shape)


@wrong(fault="position", clause="positions.padded", **_FAR)
class flat_token_index(Planner):  # noqa: N801
    """Row b starts where a flat index would, at b T."""

    def padded(self, mask: Array) -> Any:
        return super().padded(mask) + mask.shape[1] * np.arange(len(mask))[:, None]


@wrong(fault="broadcast", clause="positions.padded", **_FAR)
class mask_of_first_row(Planner):  # noqa: N801
    """All rows get the positions of row 0."""

    def padded(self, mask: Array) -> Any:
        return np.broadcast_to(super().padded(mask)[:1], mask.shape)


@wrong(fault="broadcast", clause="positions.padded", **_FAR)
class counts_down_the_batch(Planner):  # noqa: N801
    """Tokens are counted along the batch axis."""

    def padded(self, mask: Array) -> Any:
        return (mask.cumsum(axis=0) - 1).clip(min=0)


@wrong(fault="position", clause="positions.padded", **_FAR)
class padding_on_the_left_only(Planner):  # noqa: N801
    """The number of padded places is taken from every index, wherever they lie."""

    def padded(self, mask: Array) -> Any:
        padding = mask.shape[1] - mask.sum(axis=1, keepdims=True)
        return (np.arange(mask.shape[1]) - padding).clip(min=0)


@wrong(fault="position", clause="positions.padded", **_FAR)
class holes_counted(Planner):  # noqa: N801
    """Counting starts at the first token of a row, and then counts padding too."""

    def padded(self, mask: Array) -> Any:
        first = mask.argmax(axis=1)[:, None]
        return (np.arange(mask.shape[1]) - first).clip(min=0)


@wrong(fault="position", clause="positions.padded", **_FAR)
class positions_start_at_one(Planner):  # noqa: N801
    """The first token of a padded row is at 1: the one taken off the running count is missing."""

    def padded(self, mask: Array) -> Any:
        return mask.cumsum(axis=1)


@wrong(fault="dtype", clause="positions.padded", **_FAR)
class positions_as_floats(Planner):  # noqa: N801
    """Positions of padded batches are float32."""

    def padded(self, mask: Array) -> Any:
        return super().padded(mask).astype(np.float32)


@wrong(fault="cache", clause="positions.padded", **_FAR)
class masks_kept_by_row_sums(Keeping):  # noqa: N801
    """Positions are kept under the shape and the number of tokens of each row."""

    def padded(self, mask: Array) -> Any:
        return self.kept.setdefault((mask.shape, *mask.sum(axis=1)), super().padded(mask))


# Packs


@wrong(fault="position", clause="positions.packed", **_FAR)
class runs_through_the_pack(Planner):  # noqa: N801
    """Positions run on from one document to the next."""

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return np.arange(np.sum(lengths))


@wrong(fault="position", clause="positions.packed", **_FAR)
class restarts_by_first_length(Planner):  # noqa: N801
    """Every document is taken to be as long as the first."""

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return np.arange(np.sum(lengths)) % max(lengths[0], 1)


@wrong(fault="position", clause="positions.packed", **_FAR)
class empty_document_hides_a_boundary(Planner):  # noqa: N801
    """Steps back are set at each boundary, where that of an empty document replaces another."""

    def packed(self, lengths: tuple[int, ...]) -> Any:
        total = int(np.sum(lengths))
        steps = np.ones(total + 1, dtype=np.int64)
        steps[0] = 0
        ends = np.cumsum(lengths)
        for end, length in zip(ends[:-1], lengths[:-1], strict=True):
            if end > 0:
                steps[end] = 1 - length
        return steps.cumsum()[:total]


@wrong(fault="angle-precision", clause="positions.packed", **_FAR)
class pack_in_bfloat16(Planner):  # noqa: N801
    """The positions of a pack are made in bfloat16."""

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return super().packed(lengths).astype(ml_dtypes.bfloat16).astype(np.int64)


@wrong(fault="cache", clause="positions.packed", **_FAR)
class plan_kept_by_length(Keeping):  # noqa: N801
    """The positions of a pack are kept under its length, whatever its documents."""

    def packed(self, lengths: tuple[int, ...]) -> Any:
        return self.kept.setdefault(int(np.sum(lengths)), super().packed(lengths))


@wrong(fault="aliasing", clause="positions.packed", **_FAR)
class packs_share_a_buffer(Planner):  # noqa: N801
    """The positions of all packs are written into one array."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.buffer = np.zeros(2**17, dtype=np.int64)

    def packed(self, lengths: tuple[int, ...]) -> Any:
        part = self.buffer[: np.sum(lengths)]
        part[...] = super().packed(lengths)
        return part


# Decoding


@wrong(fault="position", clause="positions.decoding", **_FAR)
class one_past_the_cache(Planner):  # noqa: N801
    """The first new token stands one past the number of cached tokens."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return super().decoding(cached + 1, tokens)


@wrong(fault="position", clause="positions.decoding", **_FAR)
class prompt_counted_again(Planner):  # noqa: N801
    """The first single token after a prompt finds the prompt's length added twice."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.last = 0

    def decoding(self, cached: Array, tokens: int) -> Any:
        prompt = self.last if tokens == 1 and self.last > 1 else 0
        self.last = tokens
        return super().decoding(cached + prompt, tokens)


@wrong(fault="position", clause="positions.decoding", **_FAR)
class cache_not_counted(Planner):  # noqa: N801
    """New tokens start at 0, whatever is in the cache."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return super().decoding(0 * cached, tokens)


@wrong(fault="broadcast", clause="positions.decoding", **_FAR)
class cache_of_first_row(Planner):  # noqa: N801
    """All rows are taken to have as much in the cache as row 0."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return super().decoding(np.full_like(cached, cached[0]), tokens)


@wrong(fault="position", clause="positions.decoding", **_FAR)
class new_tokens_at_one_position(Planner):  # noqa: N801
    """All new tokens stand where the first does."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return np.repeat(cached[:, None], tokens, axis=1)


@wrong(fault="position", clause="positions.decoding", **_FAR)
class sixteen_bit_positions(Planner):  # noqa: N801
    """The positions of new tokens are kept in 16 bits."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return super().decoding(cached, tokens).astype(np.int16)


@wrong(fault="cache", clause="positions.decoding", **_FAR)
class decoding_frozen_by_shape(Keeping):  # noqa: N801
    """The positions of the first call of a shape serve all later ones."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        return self.kept.setdefault((cached.size, tokens), super().decoding(cached, tokens))


@wrong(fault="cache", clause="positions.decoding", **_FAR)
class decoding_kept_by_first_row(Keeping):  # noqa: N801
    """Positions are kept under the first row's cache and the numbers of rows and new tokens."""

    def decoding(self, cached: Array, tokens: int) -> Any:
        key = (cached.size, cached[0], tokens)
        return self.kept.setdefault(key, super().decoding(cached, tokens))


# Context parallel


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class rank_counts_from_zero(Planner):  # noqa: N801
    """Every rank counts its own tokens from 0."""

    def spread(self, request: PositionRequest) -> Any:
        return np.arange(len(super().spread(request)))


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class rows_without_document_start(Planner):  # noqa: N801
    """The table of the pack is read at a token's index in its document."""

    def spread(self, request: PositionRequest) -> Any:
        return self.packed(request.lengths)[super().spread(request)]


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class pack_cut_as_one_document(Planner):  # noqa: N801
    """The pack is cut as a whole, across its documents."""

    def spread(self, request: PositionRequest) -> Any:
        chunks = self.packed(request.lengths).reshape(self.pieces(request), -1)
        return np.concatenate([chunks[chunk] for chunk in self.chunks(request)])


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class zigzag_taken_for_contiguous(Planner):  # noqa: N801
    """A zigzag rank is given two neighbouring chunks."""

    def chunks(self, request: PositionRequest) -> tuple[int, ...]:
        if request.order == "contiguous":
            return (request.rank,)
        return 2 * request.rank, 2 * request.rank + 1


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class late_chunk_first(Planner):  # noqa: N801
    """A zigzag rank holds its late chunk before its early one."""

    def chunks(self, request: PositionRequest) -> tuple[int, ...]:
        return super().chunks(request)[::-1]


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class late_chunk_one_off(Planner):  # noqa: N801
    """The late chunk is counted from one past the end, and wraps to the first on rank 0."""

    def chunks(self, request: PositionRequest) -> tuple[int, ...]:
        early, *late = super().chunks(request)
        return early, *((chunk + 1) % (2 * request.ranks) for chunk in late)


@wrong(fault="distributed", clause="positions.context_parallel", **_FAR)
class every_nth_token(Planner):  # noqa: N801
    """A contiguous rank is dealt every n-th token."""

    def spread(self, request: PositionRequest) -> Any:
        if request.order == "zigzag":
            return super().spread(request)
        held = [np.arange(n)[request.rank :: request.ranks] for n in request.lengths]
        return np.concatenate(held)


@wrong(fault="cache", clause="positions.context_parallel", **_FAR)
class parts_kept_without_order(Keeping):  # noqa: N801
    """The part of a rank is kept under lengths, rank and ranks, whatever the order."""

    def spread(self, request: PositionRequest) -> Any:
        key = (request.lengths, request.rank, request.ranks)
        return self.kept.setdefault(key, super().spread(request))

"""Wrong caches: the keys that are kept, what is taken out and what is moved; sessions."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import PARTIAL, wrong
from rope_conformance.zoo.parts.cached import Closing, Request


@wrong(fault="cache", clause="decode.keys")
class decode_keys_not_rotated(Request):  # noqa: N801  # named like its neighbours
    """The cache holds the keys as they came."""

    def keep(self, x: Array, y: Array) -> None:
        self.kept.append(x.copy())


@wrong(fault="cache", clause="decode.keys")
class decode_keys_lack_newest(Request):  # noqa: N801
    """The newest key is written over by the one before it."""

    def keys(self) -> Array:
        keys = super().keys()
        if keys.shape[1] > 1:
            keys[:, -1] = keys[:, -2]
        return keys


@wrong(fault="cache", clause="decode.keys")
class decode_keys_of_former_request(Request):  # noqa: N801
    """The cache is written from its beginning, and read to the length of the former request."""

    former = 0

    def start(self) -> Any:
        self.buffer = getattr(self, "buffer", [])
        self.buffer = [*getattr(self, "kept", []), *self.buffer][:1]
        super().start()

    def keys(self) -> Array:
        keys = super().keys()
        for old in self.buffer:
            rows, tokens = min(len(old), len(keys)), min(old.shape[1], keys.shape[1])
            if old.shape[2:] == keys.shape[2:]:
                keys[:rows, :tokens] = old[:rows, :tokens]
        return keys


@wrong(fault="cache", clause="decode.evict")
class decode_evict_leaves_newest(Closing):  # noqa: N801
    """The newest key keeps its old position when the gap is closed."""

    def evict(self, start: int, stop: int) -> None:
        newest = self.keys()[:, -1].copy()
        super().evict(start, stop)
        self.kept[0][:, -1] = newest


@wrong(fault="cache", clause="decode.evict")
class decode_evict_without_rotation(Request):  # noqa: N801
    """The keys keep their positions, but the next token stands at the number of keys left."""

    def evict(self, start: int, stop: int) -> None:
        super().evict(start, stop)
        self.next = self.next - (stop - start)


@wrong(fault="cache", clause="decode.evict")
class decode_evict_forgets_next(Closing):  # noqa: N801
    """The gap is closed, but the next position goes on as if nothing were lost."""

    def evict(self, start: int, stop: int) -> None:
        ahead = self.next
        super().evict(start, stop)
        self.next = ahead


@wrong(fault="cache", clause="decode.evict")
class decode_evict_rotates_the_wrong_way(Closing):  # noqa: N801
    """Keys behind a gap are rotated on instead of back."""

    def turned(self, y: Array, delta: Any) -> Array:
        return super().turned(y, -delta if delta < 0 else delta)


@wrong(fault="scaling", clause="decode.evict")
class decode_evict_adds_amplitude(Closing):  # noqa: N801
    """Keys that are rotated again to close a gap get the amplitude again."""

    def turned(self, y: Array, delta: Any) -> Array:
        scale = self.amplitude if delta < 0 else np.float32(1)
        return super().turned(y, delta) * scale


@wrong(fault="cache", clause="decode.evict")
class decode_evict_takes_one_more(Closing):  # noqa: N801
    """Keys behind a gap are moved by one slot too many."""

    def turned(self, y: Array, delta: Any) -> Array:
        return super().turned(y, delta - 1 if delta < 0 else delta)


@wrong(fault="scaling", clause="decode.shift")
class decode_shift_adds_amplitude(Request):  # noqa: N801
    """Every shift multiplies all keys by the amplitude again."""

    def turned(self, y: Array, delta: Any) -> Array:
        return super().turned(y, delta) * self.amplitude


@wrong(PARTIAL, fault="cache", clause="decode.shift")
class decode_shift_over_head_dim(Request):  # noqa: N801
    """A shift computes its frequencies from the whole width of the head."""

    def turned(self, y: Array, delta: Any) -> Array:
        own = self.theta
        self.theta = own ** np.float32(self.spec.rotary_dim / self.spec.head_dim)
        y = super().turned(y, delta)
        self.theta = own
        return y


@wrong(fault="cache", clause="decode.shift")
class decode_shift_forgets_next(Request):  # noqa: N801
    """A shift moves the keys, and not the next position."""

    def shift(self, delta: int) -> None:
        ahead = self.next
        super().shift(delta)
        self.next = ahead


@wrong(fault="cache", clause="decode.shift")
class decode_shift_forgets_keys(Request):  # noqa: N801
    """A shift moves the next position, and not the keys."""

    def shift(self, delta: int) -> None:
        self.next = self.next + delta


@wrong(fault="cache", clause="decode.shift")
class decode_shift_leaves_newest(Request):  # noqa: N801
    """A shift moves all keys but the newest."""

    def shift(self, delta: int) -> None:
        newest = self.keys()[:, -1].copy()
        super().shift(delta)
        self.kept[0][:, -1] = newest


class _Model(Request):
    """What several sessions have in common."""

    session: type[Request]

    def start(self) -> Any:
        session = self.session(self.spec)
        session.model = self  # type: ignore[attr-defined]
        self.last = session
        return session


class _OfTheLast(Request):
    """A session that reads its position from the one that was last written to."""

    def prefill(self, x: Array, lengths: Array | None = None) -> Array:
        if x.shape[1] > 1:
            self.model.last = self  # type: ignore[attr-defined]
        return super().prefill(x, lengths)

    def step(self, x: Array) -> Array:
        last = self.model.last  # type: ignore[attr-defined]
        y = self.rotated(x, last.next.max() + np.arange(1))
        self.keep(x, y)
        self.go_on(x, None)
        return y


class _OneCache(Request):
    """A session whose keys are written into the slots of whichever was last written to."""

    def keep(self, x: Array, y: Array) -> None:
        super().keep(x, y)
        self.model.slots = self.kept  # type: ignore[attr-defined]

    def keys(self) -> Array:
        return np.concatenate(self.model.slots, axis=1)  # type: ignore[attr-defined]


@wrong(fault="cache", clause="decode.sessions")
class decode_sessions_share_counter(_Model):  # noqa: N801
    """A step takes its position from the session that was prefilled last."""

    session = _OfTheLast


@wrong(fault="cache", clause="decode.sessions")
class decode_sessions_share_keys(_Model):  # noqa: N801
    """All sessions have one cache, the last writer's."""

    session = _OneCache

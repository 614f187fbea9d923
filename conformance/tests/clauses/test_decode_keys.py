"""Keys that are rotated again: how exact they must be."""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import _playing
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.evidence import Evidence
from rope_conformance.zoo import CONTROLS
from rope_conformance.zoo.parts.cached import Closing
from rope_ref import PowerLaw, RopeSpec


def by_table(keys, old, new, theta):
    """The table of the difference, made of the tables at the old and the new position."""
    a, b = (np.multiply.outer(np.float32(p), theta) for p in (old, new))
    cos = np.cos(a) * np.cos(b) + np.sin(a) * np.sin(b)
    sin = np.cos(a) * np.sin(b) - np.sin(a) * np.cos(b)
    return cos, sin


class ByTable(CONTROLS["decodes_in_sessions"].factory.__mro__[1]):
    """Closes gaps by the sum of two angles, in float32."""

    def start(self):
        super().start()
        self.slots = np.zeros(0, dtype=np.int64)

    def keep(self, x, y):
        super().keep(x, y)
        self.slots = np.concatenate([self.slots, self.places(x)[0]])

    def evict(self, start, stop):
        super().evict(start, stop)
        self.slots = np.delete(self.slots, np.s_[start:stop])
        self.move(np.arange(self.slots.size))
        self.next = np.full_like(self.next, self.slots.size)

    def shift(self, delta):
        self.move(self.slots + delta)
        self.next = self.next + delta

    def move(self, slots):
        cos, sin = by_table(None, self.slots, slots, self.theta)
        keys = self.keys()
        half = self.spec.rotary_dim // 2
        u, v = (part.astype(np.float32) for part in (keys[..., :half], keys[..., half:]))
        c, s = cos[:, None], sin[:, None]
        turned = np.concatenate([u * c - v * s, u * s + v * c], axis=-1)
        self.kept, self.slots = [turned.astype(keys.dtype)], slots


WAYS = {
    "by the difference": Closing,
    "back to 0 and from there": CONTROLS["decodes_in_sessions"].factory,
    "by a table of two": ByTable,
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("way", WAYS)
def test_keys_that_moved_stay_within_the_bound_and_come_near_it(
    way, dtype, monkeypatch, context_of
):
    """The sum of the bounds holds for each way to move a key, at odd widths and bases."""
    largest = 0.0

    def count(self, judgement):
        nonlocal largest
        largest = max(largest, float(judgement.ratio.max(initial=0)))
        counted(self, judgement)

    counted = Evidence.count
    monkeypatch.setattr(Evidence, "count", count)
    claim = rc.Claim(dtypes=(dtype,), profile="float32-power")
    moves = (("evict", 1, 30), ("keys",), ("evict", 3, 5), ("keys",))
    shifts = (("shift", 900), ("keys",), ("shift", -890), ("keys",))
    for seed, (width, base) in enumerate([(6, 1e4), (48, 1e7), (96, 5e5), (100, 1e6), (192, 1e4)]):
        spec = RopeSpec(width, layout="half", frequencies=PowerLaw(base))
        for operations in (moves, shifts):
            session = Session(1, 8, (("prefill", 100), *operations), seed=seed)
            _playing.play(context_of(WAYS[way], spec, claim), session)
    assert 0.3 <= largest <= 1


def test_an_error_of_two_bounds_too_much_is_seen(decode_verdicts):
    """The sum is not so wide that a key moved by a rounded angle would pass."""

    class Rounded(Closing):
        def turned(self, y, delta):
            return super().turned(y, np.float32(delta) * np.float32(1 + 2**-10))

    assert decode_verdicts(Rounded, "shift").verdict == "failed"
    assert decode_verdicts(Rounded, "evict").verdict == "failed"

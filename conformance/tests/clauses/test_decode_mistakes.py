"""Mistakes of the kinds that are reported, in other places than the zoo has them, are caught."""

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.running.verdict import run_check
from rope_conformance.zoo.parts.cached import Closing, Request

CHECKS = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}


def overriding(method, body, base=Request):
    """An honest object with one method replaced."""
    return type("Mistaken", (base,), {method: body})


def moved(by, when):
    """Steps or chunks rotated `by` away from where they stand."""

    def places(self, x):
        own = Request.places(self, x)
        return own + by if self.kept and when(x.shape[1], own) else own

    return overriding("places", places)


MISTAKES = {
    "a step one short": moved(-1, lambda tokens, own: tokens == 1),
    "a chunk one past": moved(1, lambda tokens, own: tokens > 1),
    "steps off by one from position 1000 on": moved(1, lambda tokens, own: own.max() >= 1000),
    "steps off by one from 8192 on": moved(-1, lambda tokens, own: own.max() >= 8192),
    "the last row off": overriding(
        "places",
        lambda self, x: np.broadcast_to(Request.places(self, x), x.shape[:2])
        + (np.arange(x.shape[0]) == x.shape[0] - 1)[:, None] * (len(self.kept) > 0),
    ),
    "lengths less one": overriding(
        "go_on",
        lambda self, x, lengths: Request.go_on(
            self, x, None if lengths is None else np.maximum(lengths - 1, 0)
        ),
    ),
    "lengths in reverse": overriding(
        "go_on",
        lambda self, x, lengths: Request.go_on(self, x, None if lengths is None else lengths[::-1]),
    ),
    "steps with half the frequencies": overriding(
        "step",
        lambda self, x: self.rotated(x, (Request.places(self, x), Request.prefill(self, x))[0] / 2),
    ),
    "steps turned backwards": overriding(
        "step",
        lambda self, x: self.rotated(x, -(Request.places(self, x), Request.prefill(self, x))[0]),
    ),
    "a step that loses its head": overriding(
        "step", lambda self, x: np.repeat(Request.prefill(self, x)[:, :, :1], x.shape[2], axis=2)
    ),
    "a step that returns x": overriding("step", lambda self, x: (Request.prefill(self, x), x)[1]),
    "keys in reverse": overriding("keys", lambda self: Request.keys(self)[:, ::-1]),
    "keys of the last call only": overriding("keys", lambda self: self.kept[-1]),
    "keys rotated twice": overriding("keep", lambda self, x, y: self.kept.append(
        self.turned(y, self.places(x)[0]))),
    "the last token evicted too": overriding(
        "evict", lambda self, start, stop: Request.evict(self, start, stop + 1)
    ),
    "an eviction one slot early": overriding(
        "evict", lambda self, start, stop: Request.evict(self, max(start - 1, 0), stop - 1)
    ),
    "an eviction that does nothing": overriding("evict", lambda self, start, stop: None),
    "keys before the gap moved too": overriding(
        "evict",
        lambda self, start, stop: (
            Closing.evict(self, start, stop),
            setattr(self, "kept", [self.turned(self.keys(), -1)]),
        ),
        Closing,
    ),
    "a gap closed in the first row only": overriding(
        "turned",
        lambda self, y, delta: np.concatenate([Request.turned(self, y[:1], delta), y[1:]]),
        Closing,
    ),
    "the next position falls back by one only": overriding(
        "evict",
        lambda self, start, stop: (
            Closing.evict(self, start, stop),
            setattr(self, "next", self.next + (stop - start) - 1),
        ),
        Closing,
    ),
    "a shift that goes the other way": overriding(
        "shift", lambda self, delta: Request.shift(self, -delta)
    ),
    "a shift without a sign": overriding(
        "shift", lambda self, delta: Request.shift(self, abs(delta))
    ),
    "a second shift that replaces the first": overriding(
        "shift",
        lambda self, delta: (
            Request.shift(self, delta - getattr(self, "shifted", 0)),
            setattr(self, "shifted", delta),
        ),
    ),
    "a shift of every second slot": overriding(
        "turned",
        lambda self, y, delta: Request.turned(self, y, delta * (np.arange(y.shape[1]) % 2)),
    ),
    "x changed by a step": overriding(
        "step", lambda self, x: (Request.prefill(self, x), np.negative(x, out=x))[0]
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_elsewhere_are_caught(mistake, context_of):
    """None passes all clauses."""
    contexts = (
        context_of(MISTAKES[mistake], claim=rc.Claim(profile="float32-power")) for _ in CHECKS
    )
    assert any(
        run_check(check, context, effort="quick", shrink=False).verdict in ("failed", "error")
        for check, context in zip(CHECKS.values(), contexts, strict=True)
    )


def test_a_session_that_reads_its_model_is_caught(decode_verdicts):
    """The cache is the session's own, the position is not."""

    class Model(Request):
        def start(self):
            model = self
            model.next = np.zeros(1, dtype=np.int64)
            model.kept = []

            class Session_(Request):
                def places(self, x):
                    return model.next.max() + np.arange(x.shape[1])[None]

                def go_on(self, x, lengths):
                    model.next = model.next + x.shape[1]

            return Session_(self.spec)

    assert decode_verdicts(Model, "sessions").verdict == "failed"

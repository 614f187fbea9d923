"""Plays a `Session` on an object, and judges all that comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rope_conformance.accuracy.residual import Judgement
from rope_conformance.clauses._arrays import passing_channels, same_numbers
from rope_conformance.clauses._caches import begin, context_on
from rope_conformance.clauses._hints import instead
from rope_conformance.clauses._judging import judged_by_tables, looked_at, real_tokens
from rope_conformance.clauses._lengths import (
    LengthHypothesis,
    Served,
    follows_length,
    length_facts,
    of_spec,
    other_length,
    readings,
)
from rope_conformance.faults import Fault
from rope_conformance.inputs.cache_positions import CONVENTIONS, CachePositions, Convention
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, Spot, TargetRaised
from rope_conformance.target.frameworks import Array, data_type

__all__ = ["play"]

_IF = {"kept": "the others keep their positions", "closed": "the gap is closed"}

_FACTS = {
    "kept": "the others keep their positions",
    "closed": "the others are rotated again: slot j stands at position j",
}


def play(context: CheckContext, session: Session) -> None:
    """Make the calls of a session, judge each result, and keep the evidence."""
    made = context_on(context, session.on)
    if made is None or (
        made is context and follows_length(context)
    ):  # what it has served before is unknown
        return
    player = _Player(made, session)
    try:
        for name, *rest in session.operations:
            player.calls[name](*rest)
    finally:
        if made is not context:
            context.absorb(made)
    for what, words in player.facts().items():
        if context.evidence.facts.setdefault(what, words) != words:
            raise CheckFailure(
                f"{what}: {words}; but in another session: {context.evidence.facts[what]}"
            )


@dataclass
class _Request:
    """One request: the object that serves it, what it was given, and where that stands."""

    target: Any
    places: dict[Convention, CachePositions]
    tables: dict[LengthHypothesis, Array]
    x: list[Array] = field(default_factory=list)
    calls: list[tuple[str, int, Array]] = field(default_factory=list)
    last: tuple[Any, Array] | None = None
    changed: str = ""

    @property
    def tokens(self) -> int:
        return sum(part.shape[1] for part in self.x)


class _Player:
    """A session under way.

    Until something is evicted each token has one position; afterwards two, by the two conventions.
    Where frequencies depend on the length, there are several readings of which length. A reading
    that contradicts an output is dropped for good.
    """

    def __init__(self, context: CheckContext, session: Session) -> None:
        self.context = context
        self.session = session
        self.rng = np.random.default_rng(session.seed)
        self.readings = readings(context)
        self.served = Served(context.spec)
        self.scaled = follows_length(context)
        self.evicted = False
        self.between = ""
        self.applied: list[int] = []
        self.requests: dict[int, _Request] = {}
        self.number = 0
        self.calls: dict[str, Callable[..., None]] = {
            name: getattr(self, name)
            for name in (
                "start", "use", "prefill", "step", "keys", "evict", "shift", "apply", "other",
                "broken",
            )
        }  # fmt: skip

    @property
    def request(self) -> _Request:
        """The request in use; begun if it has not."""
        if self.number not in self.requests:
            rows = self.session.batch
            places = {name: CachePositions(rows, name) for name in CONVENTIONS}
            tables = dict.fromkeys(self.readings, np.zeros((rows, 0), dtype=np.int64))
            self.requests[self.number] = _Request(begin(self.context), places, tables)
        return self.requests[self.number]

    def use(self, number: int) -> None:
        """Go on in another request."""
        self.number = number

    def start(self) -> None:
        """Forget the request in use, and begin another."""
        self.requests.pop(self.number, None)
        self.between, self.applied = "", []
        assert self.request

    def prefill(self, tokens: int, lengths: tuple[int, ...] | None = None) -> None:
        """Hand several tokens over."""
        x = self._data(tokens)
        named: dict[str, Any] = {}
        what = f"prefill of {tokens} tokens"
        if lengths is not None:
            named["lengths"] = self.context.arrays.native_positions(
                np.array(lengths, dtype=np.int64)
            )
            what += f", of which the rows have {lengths}"
        y = self._ask("prefill", x, **named)
        self._grown("prefill", what, x, y, lengths)

    def step(self, count: int) -> None:
        """Hand one token after another over; judged together."""
        x = self._data(count)
        parts = [self._ask("step", x[:, [n]]) for n in range(count)]
        self._grown("step", "a step", x, np.concatenate(parts, axis=1), None)

    def keys(self) -> None:
        """Ask for the cache."""
        request = self.request
        x = np.concatenate(request.x, axis=1)
        result = self._invoke("keys")
        got, expected = getattr(result, "shape", None), self.context.arrays.to_claimed_axes(x).shape
        if got is not None and tuple(got) != expected:
            raise CheckFailure(
                f"keys() has shape {tuple(got)}, expected {expected}: the cache holds "
                f"{x.shape[1]} tokens",
                fault="cache",
            )
        y = self.context.arrays.checked(result, self.context.arrays.native(x))
        y = self.context.arrays.from_claimed_axes(y, x.shape)
        self._demand("keys()", x, y, None, slice(0, None))

    def evict(self, start: int, stop: int) -> None:
        """Take cached tokens out."""
        request = self.request
        self._invoke("evict", start, stop)
        kept = np.delete(np.concatenate(request.x, axis=1), np.s_[start:stop], axis=1)
        request.x = [kept]
        for places in request.places.values():
            places.evict(start, stop)
        for reading, tables in request.tables.items():
            request.tables[reading] = np.delete(tables, np.s_[start:stop], axis=1)
        request.changed = f" after evict({start}, {stop})"
        self.evicted = True

    def shift(self, delta: int) -> None:
        """Move all that is cached."""
        request = self.request
        self._invoke("shift", delta)
        for places in request.places.values():
            places.shift(delta)
        request.changed += f" after shift({delta})"

    def apply(self, first: int = 0) -> None:
        """Rotate something that has nothing to do with the request."""
        case = Case(self.session.batch, 3, self.session.heads, range(first, first + 3))
        self.context.arrays.apply(self.context.x(case), case.position_array())
        self.applied.append(first + 3)
        self.between = f", and apply_rope at {first} to {first + 2},"

    def other(self) -> None:
        """Let another object of the same make serve a request."""
        context = self.context
        if context.implementation.is_factory:
            other = context.arrays.invoke(context.anew)
            request = begin(other)
            for method, tokens in ((request.prefill, 9), (request.step, 1)):
                other.arrays.invoke(method, other.arrays.native(self._data(tokens)))

    def broken(self) -> None:
        """A call with nothing in it, which may raise."""
        with contextlib.suppress(TargetRaised, CheckFailure):
            self._invoke("prefill", None)

    def _data(self, tokens: int) -> Array:
        shape = (self.session.batch, tokens, self.session.heads, self.context.spec.head_dim)
        x = self.rng.standard_normal(shape, dtype=np.float32)
        return x.astype(data_type(self.context.dtype))

    def _invoke(self, method: str, *arguments: Any, **named: Any) -> Any:
        target = self.request.target
        return self.context.arrays.invoke(lambda: getattr(target, method)(*arguments, **named))

    def _ask(self, method: str, x: Array, **named: Any) -> Array:
        """Call prefill or step, and see that nothing else has changed by it."""
        context, request = self.context, self.request
        native = context.arrays.native(x)
        result = self._invoke(method, native, **named)
        y = context.arrays.checked(result, native)
        given = context.namespace.host(native)
        if (
            not context.claim.in_place
            and not same_numbers(given, context.arrays.to_claimed_axes(x)).all()
        ):
            raise CheckFailure(f"{method}(x) changed x", fault="aliasing")
        if request.last is not None:
            before, copied = request.last
            if not same_numbers(context.namespace.host(before), copied).all():
                raise CheckFailure(
                    f"{method}(x) changed what the call before it had returned", fault="aliasing"
                )
        request.last = (context.arrays.last_result, y.copy())
        return context.arrays.from_claimed_axes(y, x.shape)

    def _grown(
        self, method: str, what: str, x: Array, y: Array, lengths: tuple[int, ...] | None
    ) -> None:
        """Judge what prefill or steps returned."""
        request = self.request
        before = request.tokens
        request.x.append(x)
        real = real_tokens(x, lengths)
        grown = {name: p.grow(x.shape[1], lengths) for name, p in request.places.items()}
        calls = {
            (r.convention, r.length_rule): self.served.call(
                r, grown[r.convention], real, each=method == "step"
            )
            for r in dict.fromkeys(replace(r, cached_keys="kept") for r in self.readings)
        }
        for r in self.readings:
            new = calls[r.convention, r.length_rule]
            request.tables[r] = np.concatenate([request.tables[r], new], axis=1)
        positions = grown["closed"]
        what = f"{what} after {before} tokens"
        self._demand(what, x, y, lengths, slice(before, None), method)
        for first in positions.T if method == "step" else positions.T[:1]:
            request.calls.append((method, x.shape[1] if method == "prefill" else 1, first))

    def _demand(
        self,
        what: str,
        x: Array,
        y: Array,
        lengths: tuple[int, ...] | None,
        slots: slice,
        method: str = "",
    ) -> None:
        """Judge the tokens in some slots: one of the readings must fit."""
        tokens = looked_at(x.shape[1])
        real = real_tokens(x, lengths)[:, tokens]
        x, y = x[:, tokens], y[:, tokens]
        what += self.request.changed + self.between
        self._demand_untouched(what, x, y, real)
        verdicts: list[tuple[list[LengthHypothesis], Judgement]] = []
        for alike in self._told_apart(slots, method):
            places, tables = self._stand(alike[0], slots, method)
            turns = [turn[:, slots][:, tokens] for turn in places.turns]
            positions = places.slots[:, slots][:, tokens]
            judged = judged_by_tables(
                self.context, self.served, x, y, positions, tables[:, tokens], turns, real
            )
            verdicts.append((alike, judged))
        fitting = [v for v in verdicts if (v[1].ratio <= 1).all()]
        alike, judgement = (fitting or verdicts)[0]
        self.context.evidence.count(judgement)
        # Profiles are of one rotation, by one table.
        if len(self.request.places[alike[0].convention].turns) == 1 and not self.scaled:
            self.context.evidence.meter.add(judgement, self.context.spec)
        if not fitting:
            self._fail(what, x, y, tokens, verdicts, slots, method)
        self.readings = tuple(reading for alike, _ in fitting for reading in alike)

    def _stand(
        self, reading: LengthHypothesis, slots: slice, method: str
    ) -> tuple[CachePositions, Array]:
        """Where tokens are, and the indices of the specs they are rotated by, in one reading."""
        tables = self.request.tables[reading]
        if not method and reading.cached_keys == "renewed":
            tables = np.broadcast_to(tables[:, -1:], tables.shape)
        return self.request.places[reading.convention], tables[:, slots]

    def _told_apart(self, slots: slice, method: str) -> list[list[LengthHypothesis]]:
        """The readings, in groups that expect the same output."""
        groups: dict[Any, list[LengthHypothesis]] = {}
        for reading in self.readings:
            convention = reading.convention if self.evicted else None
            tables = self._stand(reading, slots, method)[1]
            groups.setdefault((convention, tables.tobytes()), []).append(reading)
        return list(groups.values())

    def _demand_untouched(self, what: str, x: Array, y: Array, real: Array) -> None:
        """Channels that do not rotate are as they were."""
        rest = passing_channels(self.context.spec)
        same = same_numbers(x[..., rest], y[..., rest]) | ~real[..., None, None]
        if not same.all():
            row, token, head, n = (int(i) for i in np.argwhere(~same)[0])
            raise CheckFailure(
                f"{what}: channel {rest[n]} does not rotate but changed "
                f"(row {row}, token {token}, head {head})",
                fault="partial",
            )

    def _fail(
        self,
        what: str,
        x: Array,
        y: Array,
        tokens: Array,
        verdicts: list[tuple[list[LengthHypothesis], Judgement]],
        slots: slice,
        method: str,
    ) -> None:
        """Say what came out instead. `tokens` are the numbers of those in x and y."""
        found: list[CheckFailure] = []
        conventions = {alike[0].convention for alike, _ in verdicts} if self.evicted else set()
        for alike, judgement in verdicts:
            try:
                self.context.demand(judgement, what)
            except CheckFailure as failure:
                spot = failure.spot
                assert spot is not None
                place = np.s_[spot.row, spot.token]
                number = self._stand(alike[0], slots, method)[1][:, tokens][place]
                spot = replace(spot, token=int(tokens[spot.token]))
                lengths = self._lengths(alike[0], slots, spot, method)
                words, fault = self._instead(
                    x[place], y[place], spot, method, x.shape[1], int(number), lengths
                )
                if len(conventions) > 1:
                    words += f", if {_IF[alike[0].convention]}; "
                    words += "the other convention does not fit either"
                elif self.evicted:
                    words += f" ({_IF[alike[0].convention]}, as was seen before)"
                found.append(CheckFailure(f"{what} {words}", spot, fault=fault))
        raise next((failure for failure in found if "wrong," not in str(failure)), found[0])

    def _lengths(
        self, reading: LengthHypothesis, slots: slice, spot: Spot, method: str
    ) -> list[int]:
        """Lengths that a bad token may have been rotated for, the right one first."""
        places = self.request.places[reading.convention]
        own = places.slots[:, slots] + 1
        ends = own[:, spot.token] if method == "step" else places.next
        first = ends[spot.row] if reading.length_rule == "row" else ends.max()
        call = 1 if method == "step" else own.shape[1]
        position = int(spot.position)
        others = (*ends, *own[:, -1], call, position + 1, position, self.request.tokens)
        return [int(n) for n in (first, *others, *self.applied)]

    def _instead(
        self,
        x: Array,
        y: Array,
        spot: Spot,
        method: str,
        tokens: int,
        number: int,
        lengths: list[int],
    ) -> tuple[str, Fault | None]:
        """In words what became of the first bad token, and its class: a hint, no verdict."""
        if self.scaled:
            position = int(spot.position)
            other = other_length(self.context, self.served, number, x, y, position, lengths)
            if other is not None:
                return other[0], other[1] if method and not self.between else "cache"
        found = instead(of_spec(self.context, self.served.specs[number]), x, y, int(spot.position))
        if found.fault == "cache" and spot.row > 0 and tokens == 1:
            return found.words, "kernel-shape"
        if found.position is None or found.fault is not None:
            return found.words, found.fault
        start = found.position - (spot.token if method == "prefill" else 0)
        same = (method, tokens if method == "prefill" else 1)
        for name, length, first in self.request.calls:
            if (name, length) == same and first[spot.row] == start:
                return f"{found.words}, like one of the same length before", "cache"
        if method == "step" and spot.token and found.position == int(spot.position) - 1:
            return f"{found.words}, like the step before", "cache"
        return found.words, None

    def facts(self) -> dict[str, str]:
        """What the claim does not say and all remaining readings agree on."""
        found = {}
        if self.evicted and len({r.convention for r in self.readings}) == 1:
            found["when cached tokens go"] = _FACTS[self.readings[0].convention]
        if self.scaled:
            found |= length_facts(self.readings, self.context.claim)
        return found

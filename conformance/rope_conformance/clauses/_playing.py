"""Carries a `Session` out on an object, and judges all that comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import Judgement, bound, judge, pair_norm
from rope_conformance.clauses._caches import begin, trial_on
from rope_conformance.clauses._hints import instead
from rope_conformance.clauses.passthrough import same_numbers
from rope_conformance.faults import Fault
from rope_conformance.inputs import Case, data_type
from rope_conformance.sessions import CONVENTIONS, Convention, Places, Session
from rope_conformance.trial import CheckFailure, Spot, TargetRaised, Trial
from rope_ref import pair_channels

__all__ = ["play"]

Array = npt.NDArray[Any]

# Second-order terms: what is rotated again is itself off by its bound.
_SECOND_ORDER = 1 + 2**-5
# Of longer results some tokens are looked at: the ends, and where tables end.
_LOOK_AT_ALL = 1200

_IF = {"kept": "the others keep their positions", "closed": "the gap is closed"}

_FACTS = {
    "kept": "the others keep their positions",
    "closed": "the others are rotated again: slot j stands at position j",
}


def play(trial: Trial, session: Session) -> None:
    """Make the calls of a session, judge each result, and keep the evidence."""
    made = trial_on(trial, session.on)
    if made is None:
        return
    player = _Player(made, session)
    try:
        for name, *rest in session.operations:
            player.calls[name](*rest)
    finally:
        if made is not trial:
            trial.absorb(made)
    if player.evicted and len(player.conventions) == 1:
        trial.facts["when cached tokens go"] = _FACTS[player.conventions[0]]


@dataclass
class _Request:
    """One request: the object that serves it, what it was given, and where that stands."""

    target: Any
    places: dict[Convention, Places]
    x: list[Array] = field(default_factory=list)
    calls: list[tuple[str, int, Array]] = field(default_factory=list)
    last: tuple[Any, Array] | None = None
    changed: str = ""

    @property
    def tokens(self) -> int:
        return sum(part.shape[1] for part in self.x)


class _Player:
    """A session under way.

    Until something is evicted there is one place for each token; afterwards there are two
    conventions, and whichever does not fit an output is dropped, for good.
    """

    def __init__(self, trial: Trial, session: Session) -> None:
        self.trial = trial
        self.session = session
        self.rng = np.random.default_rng(session.seed)
        self.conventions: tuple[Convention, ...] = CONVENTIONS
        self.evicted = False
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
            places = {name: Places(rows, name) for name in CONVENTIONS}
            self.requests[self.number] = _Request(begin(self.trial), places)
        return self.requests[self.number]

    def use(self, number: int) -> None:
        """Go on in another request."""
        self.number = number

    def start(self) -> None:
        """Forget the request in use, and begin another."""
        self.requests.pop(self.number, None)
        assert self.request

    def prefill(self, tokens: int, lengths: tuple[int, ...] | None = None) -> None:
        """Hand several tokens over."""
        x = self._data(tokens)
        named: dict[str, Any] = {}
        what = f"prefill of {tokens} tokens"
        if lengths is not None:
            named["lengths"] = self.trial.native_positions(np.array(lengths, dtype=np.int64))
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
        got, expected = getattr(result, "shape", None), self.trial.to_claimed_axes(x).shape
        if got is not None and tuple(got) != expected:
            raise CheckFailure(
                f"keys() has shape {tuple(got)}, expected {expected}: the cache holds "
                f"{x.shape[1]} tokens",
                fault="cache",
            )
        y = self.trial.checked(result, self.trial.native(x))
        y = self.trial.from_claimed_axes(y, x.shape)
        self._demand("keys()", x, y, None, slice(0, None))

    def evict(self, start: int, stop: int) -> None:
        """Take cached tokens out."""
        request = self.request
        self._invoke("evict", start, stop)
        kept = np.delete(np.concatenate(request.x, axis=1), np.s_[start:stop], axis=1)
        request.x = [kept]
        for places in request.places.values():
            places.evict(start, stop)
        request.changed = f" after evict({start}, {stop})"
        self.evicted = True

    def shift(self, delta: int) -> None:
        """Move all that is cached."""
        request = self.request
        self._invoke("shift", delta)
        for places in request.places.values():
            places.shift(delta)
        request.changed += f" after shift({delta})"

    def apply(self) -> None:
        """Rotate something that has nothing to do with the request."""
        case = Case(self.session.batch, 3, self.session.heads, range(3))
        self.trial.apply(self.trial.x(case), case.position_array())

    def other(self) -> None:
        """Let another object of the same make serve a request."""
        trial = self.trial
        if trial.implementation.is_factory:
            other = trial.invoke(trial.anew)
            request = begin(other)
            for method, tokens in ((request.prefill, 9), (request.step, 1)):
                other.invoke(method, other.native(self._data(tokens)))

    def broken(self) -> None:
        """Fail, or not."""
        with contextlib.suppress(TargetRaised, CheckFailure):
            self._invoke("prefill", None)

    def _data(self, tokens: int) -> Array:
        shape = (self.session.batch, tokens, self.session.heads, self.trial.spec.head_dim)
        x = self.rng.standard_normal(shape, dtype=np.float32)
        return x.astype(data_type(self.trial.dtype))

    def _invoke(self, method: str, *arguments: Any, **named: Any) -> Any:
        target = self.request.target
        return self.trial.invoke(lambda: getattr(target, method)(*arguments, **named))

    def _ask(self, method: str, x: Array, **named: Any) -> Array:
        """Call prefill or step, and see that nothing else has changed by it."""
        trial, request = self.trial, self.request
        native = trial.native(x)
        result = self._invoke(method, native, **named)
        y = trial.checked(result, native)
        given = trial.namespace.host(native)
        if not trial.claim.in_place and not same_numbers(given, trial.to_claimed_axes(x)).all():
            raise CheckFailure(f"{method}(x) changed x", fault="aliasing")
        if request.last is not None:
            before, copied = request.last
            if not same_numbers(trial.namespace.host(before), copied).all():
                raise CheckFailure(
                    f"{method}(x) changed what the call before it had returned", fault="aliasing"
                )
        request.last = (trial.last_result, y.copy())
        return trial.from_claimed_axes(y, x.shape)

    def _grown(
        self, method: str, what: str, x: Array, y: Array, lengths: tuple[int, ...] | None
    ) -> None:
        """Judge what prefill or steps returned."""
        request = self.request
        before = request.tokens
        request.x.append(x)
        for places in request.places.values():
            positions = places.grow(x.shape[1], lengths)
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
        """Judge tokens that stand in some slots; under two conventions one must fit."""
        tokens = _looked_at(x.shape[1])
        real = tokens < np.array(lengths or (x.shape[1],) * x.shape[0])[:, None]
        x, y = x[:, tokens], y[:, tokens]
        what += self.request.changed
        self._demand_untouched(what, x, y, real)
        verdicts: list[tuple[Convention, Judgement]] = []
        for convention in self.conventions if self.evicted else CONVENTIONS[:1]:
            places = self.request.places[convention]
            turns = [turn[:, slots][:, tokens] for turn in places.turns]
            positions = places.slots[:, slots][:, tokens]
            verdicts.append((convention, self._judged(x, y, positions, turns, real)))
        fitting = tuple(c for c, judgement in verdicts if (judgement.ratio <= 1).all())
        first = fitting[0] if fitting else verdicts[0][0]
        judgement = dict(verdicts)[first]
        self.trial.count(judgement)
        if len(self.request.places[first].turns) == 1:  # profiles are of one rotation
            self.trial.meter.add(judgement, self.trial.spec)
        if not fitting:
            self._fail(what, x, y, tokens, dict(verdicts), method)
        if self.evicted:
            self.conventions = fitting

    def _judged(
        self, x: Array, y: Array, positions: Array, turns: list[Array], real: Array
    ) -> Judgement:
        """The judgement of tokens at positions; what is no token is right."""
        trial = self.trial
        judgement = judge(y, x, positions, trial.spec, trial.dtype, trial.profile)
        again = np.asarray(np.isfinite([0 * positions + np.nan, *turns[1:]]).any(axis=0))
        if again.any():
            judgement = self._loosened(judgement, x, turns, again)
        padding = ~real[..., None, None]
        return replace(
            judgement,
            error=np.where(padding, 0, judgement.error),
            residual=np.where(padding, 0, judgement.residual),
            bound=np.where(padding, np.inf, judgement.bound),
        )

    def _loosened(
        self, judgement: Judgement, x: Array, turns: list[Array], again: Array
    ) -> Judgement:
        """A judgement of tokens rotated several times: the bounds of the rotations add up."""
        trial = self.trial
        # Turned back in between, a pair is as long as at first: then more of it is lost.
        r = pair_norm(x, trial.spec) * min(1.0, 1 / float(trial.spec.frequencies.amplitude))
        total = np.zeros_like(r)
        for turn in turns:
            done = np.isfinite(turn)[..., None]
            p = np.where(done, turn[..., None], 0)
            own = bound(trial.profile, trial.spec, p, trial.dtype, r, norm=True)
            total = total + np.where(done[..., None], _SECOND_ORDER * own, 0)
        return replace(judgement, bound=np.where(again[..., None, None], total, judgement.bound))

    def _demand_untouched(self, what: str, x: Array, y: Array, real: Array) -> None:
        """Channels that do not rotate are as they were."""
        rest = np.setdiff1d(np.arange(x.shape[-1]), pair_channels(self.trial.spec))
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
        verdicts: dict[Convention, Judgement],
        method: str,
    ) -> None:
        """Say what came out instead. `tokens` are the numbers of those in x and y."""
        found: list[CheckFailure] = []
        for convention, judgement in verdicts.items():
            try:
                self.trial.demand(judgement, what)
            except CheckFailure as failure:
                spot = failure.spot
                assert spot is not None
                place = np.s_[spot.row, spot.token]
                spot = replace(spot, token=int(tokens[spot.token]))
                words, fault = self._instead(x[place], y[place], spot, method, x.shape[1])
                if len(verdicts) > 1:
                    words += f", if {_IF[convention]}; the other convention does not fit either"
                elif self.evicted:
                    words += f" ({_IF[convention]}, as was seen before)"
                found.append(CheckFailure(f"{what} {words}", spot, fault=fault))
        raise next((failure for failure in found if "wrong," not in str(failure)), found[0])

    def _instead(
        self, x: Array, y: Array, spot: Spot, method: str, tokens: int
    ) -> tuple[str, Fault | None]:
        """In words what became of the first bad token, and its class: a hint, no verdict."""
        found = instead(self.trial, x, y, int(spot.position))
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


def _looked_at(tokens: int) -> Array:
    """Which tokens of a result are judged: all, or of a long one the telling ones."""
    if tokens <= _LOOK_AT_ALL:
        return np.arange(tokens)
    powers = [2**k + d for k in range(tokens.bit_length()) for d in (-1, 0, 1)]
    spread = range(0, tokens, max(tokens // 61, 1))
    chosen = {*powers, *spread, *range(8), *range(tokens - 8, tokens)}
    return np.array(sorted(n for n in chosen if 0 <= n < tokens))

"""Objects that keep a cache: honest ones pass, and mistakes in them are caught and named."""

from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import _caches, _playing, all_checks
from rope_conformance.clauses._caches import offers
from rope_conformance.inputs.cases import data_type
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.evidence import Evidence
from rope_conformance.running.checking import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.kills import kills
from rope_conformance.zoo.parts.cached import Closing, Request
from rope_ref import PowerLaw, RopeSpec, apply_rope

CHECKS = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}
SPEC = RopeSpec(64, layout="half")
WIDE = rc.Claim(position_range=(-(2**20), 2**20), empty=True)
ALL = {"evict", "shift", "keys", "lengths", "sessions"}


def context_of(target, spec=SPEC, claim=None):
    """A context of an object, with what it says of itself unless told otherwise."""
    implementation = Implementation(target, getattr(target, "spec", spec), claim)
    return CheckContext(implementation, implementation.claim.dtypes[0])


def verdicts(target, *clauses, claim=None, spec=SPEC, effort="quick"):
    """What some of the decode clauses say, all of them if none is named."""
    names = clauses or tuple(CHECKS)
    results = {
        n: run_check(CHECKS[n], context_of(target, spec, claim), effort=effort) for n in names
    }
    return results[clauses[0]] if len(clauses) == 1 else results


class Exact:
    """Raw keys and a list of positions, rotated by the reference when they are read."""

    axes, closes = "bthd", True

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        rows = x.shape[self.axes.index("b")] if "b" in self.axes else 1
        if np.ndim(positions) == 2 and len(positions) == 1 != rows:
            positions = positions[0]
        return apply_rope(x, positions, self.spec, axes=self.axes).astype(x.dtype)

    def start(self):
        self.raw, self.next, self.slots = None, 0, []

    def prefill(self, x, lengths=None):
        axis = self.axes.index("t")
        tokens = x.shape[axis]
        first = np.asarray(self.next)
        positions = first[..., None] + np.arange(tokens)
        self.raw = x if self.raw is None else np.concatenate([self.raw, x], axis=axis)
        self.slots = [*self.slots, *np.atleast_2d(positions)[0].tolist()]
        self.next = first + (tokens if lengths is None else lengths)
        return self.apply_rope(x, positions)

    def step(self, x):
        return self.prefill(x)

    def keys(self):
        return self.apply_rope(self.raw, np.array(self.slots))

    def evict(self, start, stop):
        self.raw = np.delete(self.raw, np.s_[start:stop], axis=self.axes.index("t"))
        del self.slots[start:stop]
        if self.closes:
            self.slots = list(range(len(self.slots)))
            self.next = np.array(len(self.slots))

    def shift(self, delta):
        self.slots = [p + delta for p in self.slots]
        self.next = self.next + delta


class ExactInSessions:
    """The same, in sessions."""

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        return Exact(self.spec).apply_rope(x, positions)

    def start(self):
        session = Exact(self.spec)
        session.start()
        return session


# Honest objects


@pytest.mark.parametrize("name", [n for n in CHECKS if CHECKS[n].fixed])
def test_every_fixed_session_is_inside_a_wide_claim(name):
    """None is dropped unseen because it breaks the contract."""
    for target in (Exact, ExactInSessions):
        context = context_of(target, claim=WIDE)
        if CHECKS[name].clause.opened_by(context) is None:
            made = CHECKS[name].fixed(context)
            assert made == CHECKS[name].fixed_inputs(context)
            assert len(set(made)) == len(made) >= 5


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("closes", [False, True])
def test_the_reference_serves_requests_as_exactly_as_can_be(dtype, closes):
    """With either convention, in every type, by the tightest profile."""
    target = type("Exact", (Exact,), {"closes": closes})
    claim = rc.Claim(dtypes=(dtype,), profile="exact", position_forms=("t", "bt"), empty=True)
    results = verdicts(target, claim=claim)
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == {"sessions"}
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


@pytest.mark.parametrize("axes", ["bhtd", "tbhd", "thd", "htd", "td"])
def test_the_reference_serves_requests_in_any_order_of_axes(axes):
    """Without a batch axis there are no rows to have lengths of their own."""
    target = type("Exact", (Exact,), {"axes": axes})
    results = verdicts(target, claim=rc.Claim(axes=axes, position_forms=("t", "bt")))
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == ({"sessions"} if "b" in axes else {"sessions", "rows"})
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


def test_the_reference_serves_several_requests_at_once():
    """Every clause is open to an object that returns sessions and offers all else."""
    results = verdicts(ExactInSessions)
    assert {result.verdict for result in results.values()} == {"passed"}, results


@pytest.mark.parametrize("high", [40, 66, 130, 2047])
def test_a_short_range_of_positions_leaves_enough_to_look_at(high):
    """Nothing is left without evidence, and no position outside is met."""

    class Short(Request):
        def rotated(self, x, positions):
            assert positions.size == 0 or 0 <= positions.min() <= positions.max() <= high
            return super().rotated(x, positions)

    for width in (2, 64):
        spec = RopeSpec(width, layout="interleaved")
        results = verdicts(Short, spec=spec, claim=rc.Claim(position_range=(0, high)))
        closed = {name for name, result in results.items() if result.verdict == "not claimed"}
        assert closed == {"sessions"} | ({"long"} if high < 66 else set())
        assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


@pytest.mark.parametrize("span", [(1, 100), (0, 39), (-50, 20)])
def test_a_request_needs_positions_from_zero(span):
    """Otherwise the clauses are not claimed, in words."""
    for result in verdicts(Request, claim=rc.Claim(position_range=span)).values():
        assert (result.verdict, result.reason) == ("not claimed", "needs positions from 0 to 40")


def test_an_object_that_writes_into_x_may_keep_it_as_its_cache():
    """If it claims to work in place."""

    class InPlace(Request):
        def prefill(self, x, lengths=None):
            x[...] = super().prefill(x, lengths)

        def step(self, x):
            self.prefill(x)

        def apply_rope(self, x, positions):
            x[...] = self.rotated(x, positions)

    results = verdicts(InPlace, claim=rc.Claim(in_place=True))
    assert {r.verdict for r in results.values()} == {"passed", "not claimed"}, results
    unclaimed = verdicts(InPlace, "prefill", claim=rc.Claim())
    assert unclaimed.verdict == "failed"


def test_torch_objects_are_judged():
    """Tensors go in, lengths included, and come out."""
    torch = pytest.importorskip("torch")

    class Torch(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            self.spec = spec
            self.register_buffer("theta", torch.tensor(spec.theta(), dtype=torch.float32))

        def forward(self, x, positions):
            phase = (positions[..., None] * self.theta)[..., None, :, :]
            cos, sin = phase.cos().to(x.dtype), phase.sin().to(x.dtype)
            u, v = x.chunk(2, dim=-1)
            return torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)

        def start(self):
            self.next, self.cache = torch.zeros(1, dtype=torch.int64), []

        def prefill(self, x, lengths=None):
            y = self(x, self.next[:, None] + torch.arange(x.shape[2]))
            self.cache.append(y)
            self.next = self.next + (x.shape[2] if lengths is None else lengths)
            return y

        def step(self, x):
            return self.prefill(x)

        def keys(self):
            return torch.cat(self.cache, dim=2)

        def evict(self, start, stop):
            keys = self.keys()
            self.cache = [torch.cat([keys[:, :, :start], keys[:, :, stop:]], dim=2)]

    claim = rc.Claim(axes="bhtd", namespace="torch", accepts=lambda s: s == SPEC or "one width")
    results = verdicts(Torch, claim=claim)
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == {"sessions", "shift"}
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results
    assert any("one width" in note for note in results["prefill"].notes)


# How exact a key must be that was rotated again


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
def test_keys_that_moved_stay_within_the_bound_and_come_near_it(way, dtype, monkeypatch):
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


def test_an_error_of_two_bounds_too_much_is_seen():
    """The sum is not so wide that a key moved by a rounded angle would pass."""

    class Rounded(Closing):
        def turned(self, y, delta):
            return super().turned(y, np.float32(delta) * np.float32(1 + 2**-10))

    assert verdicts(Rounded, "shift").verdict == "failed"
    assert verdicts(Rounded, "evict").verdict == "failed"


# What is said


NAMED = [(member.name, check) for check in CHECKS for member in kills()[CHECKS[check].name]]


@pytest.mark.parametrize(("wrong", "check"), NAMED)
def test_a_failure_names_the_class_of_what_is_wrong(wrong, check):
    """By the first of the clauses that name it."""
    entry = WRONG[wrong]
    result = run_check(CHECKS[check], context_of(entry.factory), effort="quick", shrink=False)
    assert result.verdict in ("failed", "error")
    if check == next(c for w, c in NAMED if w == wrong):
        assert result.failure.fault == entry.fault, result.failure.message


@pytest.mark.parametrize(
    ("wrong", "check", "words"),
    [
        ("decode_offset_lost", "prefill", r"a step after 1 tokens comes out as at position 0, n"),
        ("decode_position_frozen", "prefill", "as at position 1, not 2, like the step before"),
        ("decode_table_slice_swapped", "prefill", "comes out as zeros"),
        ("decode_table_by_length", "chunks", "like one of the same length before"),
        ("decode_wraps_at_table_end", "long", "comes out as at position 0, not 2048"),
        ("decode_table_regrown_rounded", "long", "off by less than 1 %, as if something was r"),
        ("decode_positions_bfloat16", "long", "position 256, not 257, its bfloat16"),
        ("decode_evict_leaves_newest", "evict", "the other convention does not fit either"),
        ("decode_evict_without_rotation", "evict", "keep their positions, as was seen before"),
        ("decode_shift_adds_amplitude", "shift", r"comes out 1\.139 times as long"),
        ("decode_sessions_share_keys", "sessions", r"keys\(\) has shape .*, expected "),
    ],
)
def test_a_failure_says_what_came_out_instead(wrong, check, words):
    """In words that lead to the place in the code."""
    result = verdicts(WRONG[wrong].factory, check)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(result.failure.message)


@pytest.mark.parametrize(("target", "fact"), [(Request, "keep their"), (Closing, "rotated again")])
def test_which_convention_an_object_follows_is_a_fact(target, fact):
    """It counts for nothing."""
    report = rc.check(target, spec=SPEC, only=["decode.evict"], effort="quick")
    assert report.passed
    assert [f.text for f in report.facts if fact in f.text] and not report.findings


def test_an_object_that_follows_now_one_now_the_other_convention_is_wrong():
    """Within a session it must be one of them."""

    class Both(Closing):
        number = 0

        def evict(self, start, stop):
            self.number += 1
            (Closing if self.number % 2 else Request).evict(self, start, stop)

    assert verdicts(Both, "evict").verdict == "failed"


# Mistakes of the kinds that are reported, in other places than the zoo has them


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
def test_mistakes_elsewhere_are_caught(mistake):
    """None passes all clauses."""
    contexts = (
        context_of(MISTAKES[mistake], claim=rc.Claim(profile="float32-power")) for _ in CHECKS
    )
    assert any(
        run_check(check, context, effort="quick", shrink=False).verdict in ("failed", "error")
        for check, context in zip(CHECKS.values(), contexts, strict=True)
    )


def test_a_session_that_reads_its_model_is_caught():
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

    assert verdicts(Model, "sessions").verdict == "failed"


# What an object offers


def test_what_is_offered_is_found_on_the_object_or_on_its_session():
    """A start that returns the object itself returns no session."""

    class Itself(Request):
        def start(self):
            super().start()
            return self

    assert offers(context_of(Request)) == {"keys", "evict", "shift", "lengths"}
    assert offers(context_of(Itself)) == {"keys", "evict", "shift", "lengths"}
    assert offers(context_of(ExactInSessions)) == ALL
    table = CONTROLS["decodes_from_a_growing_table"].factory
    assert offers(context_of(table)) == set()


def test_without_a_start_nothing_is_judged():
    """A bare callable keeps no cache."""
    report = rc.check(lambda x, positions: x, spec=SPEC, only=["decode.prefill"], effort="quick")
    assert [r.verdict for r in report.results] == ["not claimed"]


def test_a_start_that_returns_something_else_is_told_so():
    """The number of a request, say."""
    result = verdicts(overriding("start", lambda self: (Request.start(self), 7)[1]), "prefill")
    assert result.verdict == "failed"
    assert "start() returned an object of type int without prefill()" in result.failure.message


def test_what_a_method_raises_is_an_error():
    """Wherever it raises, the run goes on."""

    def fail(self, *arguments):
        raise RuntimeError("out of pages")

    for method, check in (("step", "prefill"), ("evict", "evict"), ("shift", "shift")):
        result = verdicts(overriding(method, fail), check)
        assert (result.verdict, "out of pages" in result.failure.message) == ("error", True)
    results = verdicts(overriding("start", fail, Exact), "prefill", "keys")
    assert results["prefill"].verdict == "error"
    assert results["keys"].verdict == "not claimed"  # what it offers could not be seen


def test_one_object_is_judged_as_it_is():
    """What is no factory has one object, which serves all requests."""
    results = verdicts(Request(SPEC), claim=rc.Claim(profile="float32-power"))
    assert {r.verdict for r in results.values()} == {"passed", "not claimed"}
    continues = WRONG["decode_request_continues"].factory(SPEC)
    assert verdicts(continues, "requests").verdict == "failed"


def test_what_is_not_made_for_other_specs_is_judged_for_its_own():
    """A refusal is noted; where rotating alone is wrong, no cache is judged."""

    class Refuses(Request):
        def __init__(self, spec):
            if not isinstance(spec.frequencies, PowerLaw):
                raise rc.Unsupported("bases only")
            super().__init__(spec)

    class Ignores(Request):
        def __init__(self, spec):
            super().__init__(spec)
            self.amplitude = np.float32(1)

    for target, words in ((Refuses, "bases only"), (Ignores, "apply_rope is not right there")):
        context = context_of(target)
        assert run_check(CHECKS["shift"], context, effort="quick").verdict == "passed"
        assert any(words in note for note in context.evidence.notes)


def test_amplified_and_narrow_objects_are_made():
    """They differ from the claimed spec in one thing each."""
    context = context_of(Request)
    loud = _caches.context_on(context, "amplified").spec
    narrow = _caches.context_on(context, "narrow").spec
    assert 1.1 < loud.frequencies.amplitude < 1.2
    np.testing.assert_array_equal(loud.theta(), SPEC.theta())
    assert replace(narrow, rotary_dim=64) == SPEC
    assert narrow.rotary_dim == 32
    two = context_of(Request, RopeSpec(2, layout="half"))
    assert _caches.context_on(two, "narrow") is None


def test_data_of_a_session_repeat():
    """The same session asks the same, in the type under test."""
    seen = []

    class Spy(Request):
        def prefill(self, x, lengths=None):
            seen.append(x.copy())
            return super().prefill(x, lengths)

    claim = rc.Claim(dtypes=("bfloat16",))
    for _ in range(2):
        _playing.play(context_of(Spy, claim=claim), Session(1, 2, (("prefill", 3), ("step", 1))))
    first, again = seen[:2], seen[2:]
    assert [x.shape for x in first] == [(1, 3, 2, 64), (1, 1, 2, 64)]
    assert {x.dtype for x in first} == {data_type("bfloat16")}
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)

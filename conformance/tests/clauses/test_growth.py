"""Requests that outgrow the original length: every reading is told, and no mistake passes."""

import re
from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import _lengths, _playing, all_checks
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.running.verdict import run_check
from rope_conformance.target.claim import ClaimError
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.kills import kills
from rope_conformance.zoo.parts.growing import DYNAMIC, LONGROPE
from rope_ref import PowerLaw, RopeSpec, apply_rope

ALL = {c.name: c for c in all_checks()}
CHECKS = {n.partition(".")[2]: c for n, c in ALL.items() if n.startswith("growth.")}
KILLS = [(member.name, check) for check in CHECKS for member in kills()[CHECKS[check].name]]
RULES = ("forward", "resets", "grows", "token")
WHICH = "which length sets the frequencies"
KEYS = "when the frequencies change, cached keys"


class Exact:
    """Raw keys, each with the length whose frequencies it has, rotated by the reference.

    The length is kept in two numbers: that of the longest call, and that of the last.
    """

    length_rule, renews = "forward", False

    def __init__(self, spec):
        self.spec, self.longest = spec, 0
        self.original = spec.frequencies.original_length

    def apply_rope(self, x, positions):
        return apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)

    def start(self):
        self.raw, self.slots, self.lengths, self.next = None, [], [], 0

    def counted(self, last):
        """The length that counts for a call that ends there, without `served_rule`."""
        self.longest = 0 if last < self.original and self.length_rule == "resets" else self.longest
        self.longest = max(self.longest, last)
        return last if self.length_rule == "forward" else self.longest

    def at(self, x, slots, lengths):
        """Tokens by the frequencies of lengths."""
        y = np.empty_like(x)
        for length in set(lengths):
            own = np.array([each == length for each in lengths])
            rule = self.spec.frequencies.at(length)
            spec = replace(self.spec, frequencies=rule)
            y[:, own] = apply_rope(x[:, own], np.array(slots)[own], spec, axes="bthd")
        return y

    def prefill(self, x):
        slots = list(range(self.next, self.next + x.shape[1]))
        self.next += x.shape[1]
        length = self.counted(self.next)
        if self.length_rule == "token":
            # All short ones are alike, and all long ones.
            lengths = [int(self.original) + 1 if p >= self.original else 1 for p in slots]
        else:
            lengths = [length] * len(slots)
        self.raw = x if self.raw is None else np.concatenate([self.raw, x], axis=1)
        self.slots, self.lengths = self.slots + slots, self.lengths + lengths
        return self.at(x, slots, lengths)

    def step(self, x):
        return self.prefill(x)

    def keys(self):
        renewed = self.lengths[-1:] * len(self.lengths)
        return self.at(self.raw, self.slots, renewed if self.renews else self.lengths)

    def evict(self, start, stop):
        self.raw = np.delete(self.raw, np.s_[start:stop], axis=1)
        del self.slots[start:stop], self.lengths[start:stop]

    def shift(self, delta):
        self.slots = [p + delta for p in self.slots]
        self.next += delta


def target(length_rule="forward", renews=False, **methods):
    """A class of its own, so that no two share anything."""
    return type("Target", (Exact,), {"length_rule": length_rule, "renews": renews, **methods})


def context_of(factory, spec=None, claim=None):
    """An object, with what it says of itself unless told otherwise."""
    implementation = Implementation(factory, spec or factory.spec, claim)
    return CheckContext(implementation, implementation.claim.dtypes[0])


def verdicts(factory, spec=None, claim=None, names=tuple(CHECKS)):
    """Verdict by check, and the facts that were found."""
    found, facts = {}, {}
    for name in names:
        context = context_of(factory, spec, claim)
        found[name] = run_check(CHECKS[name], context, effort="quick", shrink=False)
        facts |= context.evidence.facts
    return found, facts


EXACT = rc.Claim(dtypes=("float64",), profile="exact")


# Every reading


@pytest.mark.parametrize("spec", [DYNAMIC, LONGROPE], ids=["dynamic", "longrope"])
@pytest.mark.parametrize("renews", [False, True])
@pytest.mark.parametrize("length_rule", RULES)
def test_every_reading_is_served_exactly_and_told(spec, length_rule, renews):
    """Unclaimed it is a fact. No public system has a base for each token, and none is allowed."""
    if length_rule == "token" and (renews or spec is DYNAMIC):
        claim = replace(EXACT, length_rule="token")
        assert _lengths.readings(context_of(target(), spec, claim))[0].cached_keys == "kept"
        return
    found, facts = verdicts(target(length_rule, renews), spec, EXACT)
    assert {r.verdict for r in found.values()} == {"passed"}, found
    assert facts[WHICH] == _lengths.FACTS[length_rule]
    assert facts[KEYS] == _lengths.FACTS["renewed" if renews else "kept"] or length_rule == "token"


@pytest.mark.parametrize("claimed", RULES)
@pytest.mark.parametrize("length_rule", RULES)
def test_a_claimed_reading_is_a_verdict(length_rule, claimed):
    """Requests after a long one, or chunks, show each that is not the one claimed."""
    claim = replace(EXACT, length_rule=claimed)
    names = ("chunks",) if "token" in (length_rule, claimed) else ("requests",)
    found, facts = verdicts(target(length_rule), LONGROPE, claim, names)
    passed = all(result.verdict == "passed" for result in found.values())
    assert passed == (length_rule == claimed), found
    assert WHICH not in facts


@pytest.mark.parametrize("claimed", ["kept", "renewed"])
@pytest.mark.parametrize("renews", [False, True])
def test_what_becomes_of_cached_keys_may_be_claimed(renews, claimed):
    """Then the other way fails."""
    found, facts = verdicts(
        target(renews=renews), DYNAMIC, replace(EXACT, cached_keys=claimed), ("keys",)
    )
    assert (found["keys"].verdict == "passed") == (renews == (claimed == "renewed"))
    assert KEYS not in facts


def test_a_length_that_is_given_is_the_length():
    """A rule with a length is one RoPE: nothing is followed, and `decode` judges it as one."""
    for spec in (DYNAMIC, LONGROPE):
        given = replace(spec, frequencies=spec.frequencies.at(1000))
        assert not _lengths.follows_length(context_of(target(), given))
        claim = replace(EXACT, length_rule="forward")
        assert _lengths.follows_length(context_of(target(), given, claim))
        configured = replace(EXACT, length_rule="configured")
        assert not _lengths.follows_length(context_of(target(), spec, configured))


def test_readings_may_not_be_mixed():
    """One call by one, the next by another; or one object so and the next otherwise."""

    class Mixed(Exact):
        starts = 0

        def start(self):
            super().start()
            self.starts += 1
            self.length_rule = "grows" if self.starts == 3 else "forward"

    long = (("prefill", 200), ("start",))
    session = Session(1, 1, (*long, ("prefill", 150), ("start",), ("prefill", 3)))
    with pytest.raises(CheckFailure, match="by the frequencies of"):
        _playing.play(context_of(Mixed, DYNAMIC, EXACT), session)

    made = []

    class Other(Exact):
        def __init__(self, spec):
            super().__init__(spec)
            made.append(self)
            self.length_rule = "grows" if len(made) > 2 else "forward"

    context = context_of(Other, DYNAMIC, EXACT)
    session = Session(1, 1, (*long, ("prefill", 150), ("start",), ("prefill", 5)))
    _playing.play(context, session)
    assert context.evidence.facts[WHICH] == _lengths.FACTS["forward"]
    with pytest.raises(CheckFailure, match="longest call there has been; but in another session"):
        _playing.play(context, session)


def test_half_of_the_keys_is_neither():
    """Keys that partly keep their frequencies and partly take the new ones."""

    def keys(self):
        half = len(self.lengths) // 2
        return self.at(self.raw, self.slots, self.lengths[:half] + self.lengths[-1:] * half)

    found, _ = verdicts(target(keys=keys), DYNAMIC, EXACT, ("keys",))
    assert found["keys"].verdict in ("failed", "error")


# Rows of a batch


class Rows(Exact):
    """Every row by an object of its own, so that none can depend on another."""

    def start(self):
        self.rows = []

    def prefill(self, x, lengths=None):
        if not self.rows:
            self.rows = [target()(self.spec) for _ in x]
            for row in self.rows:
                row.start()
        lengths = [x.shape[1]] * len(x) if lengths is None else lengths
        y = np.zeros_like(x)
        for n, (row, length) in enumerate(zip(self.rows, lengths, strict=True)):
            y[n : n + 1, :length] = row.prefill(x[n : n + 1, :length])
        return y

    def keys(self):
        return np.concatenate([row.keys() for row in self.rows])

    def evict(self, start, stop):
        for row in self.rows:
            row.evict(start, stop)

    def shift(self, delta):
        for row in self.rows:
            row.shift(delta)


class Together(Exact):
    """The longest row decides for all; padding does not count."""

    def start(self):
        super().start()
        self.next = np.zeros(1, dtype=int)

    def prefill(self, x, lengths=None):
        first = np.broadcast_to(self.next, len(x))
        self.next = first + (x.shape[1] if lengths is None else lengths)
        spec = replace(self.spec, frequencies=self.spec.frequencies.at(int(self.next.max())))
        return apply_rope(x, first[:, None] + np.arange(x.shape[1]), spec, axes="bthd")


BY_ROWS = {Rows: "row", Together: "forward"}


@pytest.mark.parametrize("spec", [DYNAMIC, LONGROPE], ids=["dynamic", "longrope"])
@pytest.mark.parametrize("factory", BY_ROWS)
def test_whether_rows_decide_for_themselves_is_a_fact(factory, spec):
    """Told by rows on both sides of the original length, and by a text of just that length."""
    found, facts = verdicts(factory, spec, EXACT, ("requests",))
    assert found["requests"].verdict == "passed", found
    assert facts[WHICH] == _lengths.FACTS["forward"]
    assert facts["where rows differ in length"] == _lengths._ROWS[BY_ROWS[factory]]
    rows = run_check(ALL["decode.rows"], context_of(factory, spec, EXACT), effort="quick")
    assert rows.verdict == "passed", rows


@pytest.mark.parametrize("claimed", BY_ROWS.values())
@pytest.mark.parametrize("factory", BY_ROWS)
def test_whether_rows_decide_for_themselves_may_be_claimed(factory, claimed):
    """Then the other way fails."""
    claim = replace(EXACT, length_rule=claimed)
    found, facts = verdicts(factory, DYNAMIC, claim, ("requests",))
    assert (found["requests"].verdict == "passed") == (BY_ROWS[factory] == claimed), found
    assert not {WHICH, "where rows differ in length"} & set(facts)


@pytest.mark.parametrize("wrong", [3, -1, 1])
def test_a_length_is_told_where_another_clause_sees_it_first(wrong):
    """Positions are right there; rounded up to blocks, one less, and one more."""

    class Other(Exact):
        def counted(self, last):
            return -(-last // 32) * 32 if wrong == 3 else max(last + wrong, 1)

    result = run_check(ALL["decode.chunks"], context_of(Other, DYNAMIC, EXACT), effort="quick")
    length = {3: 96, -1: 74, 1: 76}[wrong]
    assert f"by the frequencies of {length} tokens, not of 75 tokens" in result.failure.message
    assert result.failure.fault == "scaling"


@pytest.mark.parametrize("first", [0, 128])
def test_what_apply_rope_is_given_in_between_changes_nothing(first):
    """Neither a text nearer than the request nor one farther away."""

    class Mixed(Exact):
        served = None

        def apply_rope(self, x, positions):
            self.served = int(np.max(positions)) + 1
            return super().apply_rope(x, positions)

        def counted(self, last):
            return self.served or last

    session = Session(1, 1, (("prefill", 70), ("apply", first), ("step", 1)))
    said = f"apply_rope at {first} to {first + 2}, comes out by the frequencies of"
    with pytest.raises(CheckFailure, match=said) as failed:
        _playing.play(context_of(Mixed, DYNAMIC, EXACT), session)
    assert failed.value.fault == "cache"
    assert not session.inside(rc.Claim(position_range=(0, first + 1 if first else 69)))


# When the clauses are open


@pytest.mark.parametrize(
    ("spec", "claim", "reason"),
    [
        (RopeSpec(32, layout="half"), EXACT, "do not depend on the length"),
        (DYNAMIC, replace(EXACT, position_range=(0, 191)), "needs positions from 0 to 192"),
        (DYNAMIC, replace(EXACT, position_range=(1, 2000)), "needs positions from 0 to 192"),
        (
            replace(DYNAMIC, frequencies=replace(DYNAMIC.frequencies, original_length=2**20)),
            EXACT,
            "needs an original length from 32 to 32768",
        ),
    ],
)
def test_the_clauses_are_closed_in_words(spec, claim, reason):
    """Where there is nothing to judge, or no room."""

    class Plain(Exact):
        def __init__(self, spec):
            self.spec = spec

    for result in verdicts(Plain, spec, claim)[0].values():
        assert result.verdict == "not claimed"
        assert reason in result.reason


def test_an_object_with_a_past_is_not_judged():
    """What it has served is unknown; a factory makes a new one for each session."""
    made = Exact(DYNAMIC)
    for name in ("length", "chunks"):
        result = verdicts(made, DYNAMIC, EXACT, (name,))[0][name]
        assert (result.verdict, "made anew" in result.reason) == ("not claimed", True)
    for name in ("decode.prefill", "decode.sequence"):
        result = run_check(ALL[name], context_of(made, DYNAMIC, EXACT), effort="quick")
        assert (result.verdict, "made anew" in result.reason) == ("not claimed", True)


def test_what_is_not_offered_is_not_judged():
    """Keys and shifts are optional."""

    class Bare:
        def __init__(self, spec):
            own = target()(spec)
            self.apply_rope, self.start = own.apply_rope, own.start
            self.prefill, self.step = own.prefill, own.step

    found, facts = verdicts(Bare, DYNAMIC, EXACT)
    assert {name for name, r in found.items() if r.verdict == "not claimed"} == {"keys", "shift"}
    assert found["keys"].reason == "keys() is not offered"
    assert set(facts) == {WHICH}


@pytest.mark.parametrize("name", CHECKS)
def test_every_fixed_session_is_inside_a_wide_claim(name):
    """None is dropped unseen because it breaks the contract."""
    context = context_of(target(), DYNAMIC, EXACT)
    assert CHECKS[name].fixed(context) == CHECKS[name].fixed_inputs(context)


def test_words_that_no_claim_can_mean_are_refused():
    """As all claims are."""
    with pytest.raises(ClaimError, match=r"length_rule='chunk'.*'forward', 'resets'"):
        rc.Claim(length_rule="chunk")
    with pytest.raises(ClaimError, match="cached_keys='lost'"):
        rc.Claim(cached_keys="lost")


# The zoo


@pytest.mark.parametrize(("wrong", "check"), KILLS)
def test_a_failure_names_the_class_of_what_is_wrong(wrong, check):
    """By the first of the clauses that name it."""
    entry = WRONG[wrong]
    result = run_check(CHECKS[check], context_of(entry.factory), effort="quick", shrink=False)
    assert result.verdict == "failed", result
    if check == next(c for w, c in KILLS if w == wrong):
        assert result.failure.fault == entry.fault, result.failure.message


@pytest.mark.parametrize(
    ("wrong", "check", "words"),
    [
        ("decode_always_short", "length", "of at most 64 tokens, not of a text longer than 64"),
        ("decode_long_one_late", "length", "a step after 62 tokens .* position 64"),
        ("decode_length_before_the_call", "chunks", "of at most 64 tokens, not of 65 tokens"),
        ("decode_base_never_resets", "requests", r"of \d+ tokens, not of at most 64 tokens"),
        ("decode_keys_outlive_their_factors", "keys", r"keys\(\) .*of at most 64 tokens, not of"),
        ("decode_length_rounded_up", "length", r"frequencies of 96 tokens, not of 6\d tokens"),
        ("decode_padding_counts", "length", "of a text longer than 64 tokens, not of"),
        ("decode_apply_sets_base", "requests", "a step after .*, and apply_rope at 0 to 2, comes"),
        ("decode_shift_multiplies_again", "shift", "1.155 times as long as it should"),
    ],
)
def test_what_a_failure_says(wrong, check, words):
    """By the frequencies of which length the token came out."""
    result = run_check(
        CHECKS[check], context_of(WRONG[wrong].factory), effort="quick", shrink=False
    )
    assert re.search(words, result.failure.message), result.failure.message


@pytest.mark.parametrize(
    "name",
    [
        "decodes_dynamic_ntk",
        "decodes_dynamic_ntk_by_rows",
        "decodes_longrope",
        "decodes_longrope_and_renews_keys",
    ],
)
def test_honest_objects_pass(name):
    """With frequencies and phases in float32, and with keys moved by their difference."""
    found, _ = verdicts(CONTROLS[name].factory)
    assert {r.verdict for r in found.values()} == {"passed"}, found


def test_a_text_of_real_length_is_outgrown():
    """4096 positions, as published: the other clauses of `decode` stay below."""
    rule = replace(DYNAMIC.frequencies, original_length=4096, rule=PowerLaw(1e4))
    spec = RopeSpec(8, layout="interleaved", frequencies=rule)
    found, facts = verdicts(target("resets"), spec, EXACT, ("requests",))
    assert found["requests"].verdict == "passed", found
    assert facts[WHICH] == _lengths.FACTS["resets"]

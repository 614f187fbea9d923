"""What an object that keeps a cache offers, and which objects are judged."""

from dataclasses import replace

import numpy as np

import rope_conformance as rc
from rope_conformance.clauses import _caches, _playing, all_checks
from rope_conformance.clauses._caches import offers
from rope_conformance.inputs.sessions import Session
from rope_conformance.running.verdict import run_check
from rope_conformance.target.frameworks import data_type
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.parts.cached import Request
from rope_ref import PowerLaw, RopeSpec

CHECKS = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}
SPEC = RopeSpec(64, layout="half")
ALL = {"evict", "shift", "keys", "lengths", "sessions"}


def test_what_is_offered_is_found_on_the_object_or_on_its_session(context_of, exact_sessions):
    """A start that returns the object itself returns no session."""

    class Itself(Request):
        def start(self):
            super().start()
            return self

    assert offers(context_of(Request)) == {"keys", "evict", "shift", "lengths"}
    assert offers(context_of(Itself)) == {"keys", "evict", "shift", "lengths"}
    assert offers(context_of(exact_sessions)) == ALL
    table = CONTROLS["decodes_from_a_growing_table"].factory
    assert offers(context_of(table)) == set()


def test_without_a_start_nothing_is_judged():
    """A bare callable keeps no cache."""
    report = rc.check(lambda x, positions: x, spec=SPEC, only=["decode.prefill"], effort="quick")
    assert [r.verdict for r in report.results] == ["not claimed"]


def test_a_start_that_returns_something_else_is_told_so(decode_verdicts):
    """The number of a request, say."""
    result = decode_verdicts(
        type("Seven", (Request,), {"start": lambda self: (Request.start(self), 7)[1]}), "prefill"
    )
    assert result.verdict == "failed"
    assert "start() returned an object of type int without prefill()" in result.failure.message


def test_what_a_method_raises_is_an_error(decode_verdicts, exact_request):
    """Wherever it raises, the run goes on."""

    def fail(self, *arguments):
        raise RuntimeError("out of pages")

    for method, check in (("step", "prefill"), ("evict", "evict"), ("shift", "shift")):
        result = decode_verdicts(type("Failing", (Request,), {method: fail}), check)
        assert (result.verdict, "out of pages" in result.failure.message) == ("error", True)
    results = decode_verdicts(type("Failing", (exact_request,), {"start": fail}), "prefill", "keys")
    assert results["prefill"].verdict == "error"
    assert results["keys"].verdict == "not claimed"  # what it offers could not be seen


def test_one_object_is_judged_as_it_is(decode_verdicts):
    """What is no factory has one object, which serves all requests."""
    results = decode_verdicts(Request(SPEC), claim=rc.Claim(profile="float32-power"))
    assert {r.verdict for r in results.values()} == {"passed", "not claimed"}
    continues = WRONG["decode_request_continues"].factory(SPEC)
    assert decode_verdicts(continues, "requests").verdict == "failed"


def test_what_is_not_made_for_other_specs_is_judged_for_its_own(context_of):
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


def test_amplified_and_narrow_objects_are_made(context_of):
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


def test_data_of_a_session_repeat(context_of):
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

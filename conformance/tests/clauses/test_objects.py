"""Objects live through copies, saving, casts and each other, or are caught."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.unclaimed import discover_facts
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_ref import PowerLaw, RopeSpec, apply_rope

SPEC = RopeSpec(48, layout="half", rotary_dim=24, frequencies=PowerLaw(5e5))
CHECKS = {c.name: c for c in all_checks() if c.name.startswith("objects.")}
OURS = [n for n, w in WRONG.items() if w.factory.__module__.endswith(".objects")]
NAMED = [(clause, name) for name in OURS if name in WRONG for clause in WRONG[name].clauses]
HALF = rc.Claim(dtypes=("bfloat16", "float32"), profile="exact")


class Honest:
    """An object that holds nothing but what it was made for."""

    def __init__(self, spec=SPEC):
        self.spec = spec

    def apply_rope(self, x, positions):
        return apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)


def judged(name, target, claim=None, dtype=None, spec=SPEC):
    """One clause on one target; the context comes along."""
    implementation = Implementation(target, spec, claim)
    context = CheckContext(implementation, dtype or implementation.claim.dtypes[0])
    return run_check(CHECKS[f"objects.{name}"], context, effort="quick"), context


def verdict(*arguments, **named):
    return judged(*arguments, **named)[0].verdict


# The zoo


@pytest.mark.parametrize(("check", "wrong"), NAMED)
def test_a_wrong_object_is_caught_as_what_it_is(check, wrong):
    """The failure is of the class of the wrong object, or of a class that its loss looks like."""
    factory = WRONG[wrong].factory
    result, _ = judged(check.partition(".")[2], factory, spec=factory.spec)
    assert result.verdict in ("failed", "error")
    alike = {"cache", "aliasing", "other"}
    fault = WRONG[wrong].fault
    assert result.failure.fault == fault or {result.failure.fault, fault} <= alike


@pytest.mark.parametrize("wrong", OURS)
def test_a_wrong_object_is_caught_at_another_width_and_base(wrong):
    """What is lost or shared shows at any spec."""
    named = [check for check, kill in NAMED if kill == wrong]
    report = rc.check(WRONG[wrong].factory, spec=SPEC, only=named, effort="quick")
    assert {r.clause for r in report.findings} == set(named)


@pytest.mark.parametrize("control", ["keeps_theta_through_casts", "table_made_when_needed"])
def test_honest_objects_pass(control):
    """Every clause about objects is passed or closed, in every type of data claimed."""
    report = rc.check(CONTROLS[control].factory, spec=SPEC, only=list(CHECKS), effort="quick")
    assert {r.verdict for r in report.results} <= {"passed", "not claimed"}, report.findings
    passed = {r.clause for r in report.results if r.verdict == "passed"}
    assert passed >= {"objects.copy", "objects.save", "objects.apart"}


# What opens the clauses


@pytest.mark.parametrize("name", ["copy", "save", "cast"])
def test_a_plain_function_is_no_object(name):
    """A function, bound method or builtin has no state of its own to look at."""
    result, _ = judged(name, lambda x, p: Honest().apply_rope(x, p), claim=HALF)
    assert (result.verdict, result.reason) == (
        "not claimed",
        "a plain function is no object with a state",
    )


@pytest.mark.parametrize("name", ["copy", "save", "cast"])
def test_what_is_not_claimed_is_not_judged(name):
    """A word that is left out of `survives` closes its clause."""
    result, _ = judged(name, Honest, claim=replace(HALF, survives=()))
    assert result.verdict == "not claimed"
    assert f"{name!r} is not among" in result.reason


@pytest.mark.parametrize("name", ["ambient", "meta", "compile"])
def test_what_only_a_framework_has_is_not_asked_of_numpy(name):
    """NumPy has no default type, no meta device and no compiler."""
    result, _ = judged(name, Honest, claim=replace(HALF, survives=("meta", "compile")))
    assert result.verdict == "not claimed"
    assert result.reason.startswith("only ")


def test_what_cannot_be_copied_or_pickled_is_not_claimed():
    """The reason is what Python said."""

    class Held(Honest):
        def __reduce_ex__(self, protocol):
            raise TypeError("holds a lock")

    for name, words in (("copy", "deep-copied"), ("save", "pickled")):
        result, _ = judged(name, Held)
        assert result.verdict == "not claimed"
        assert words in result.reason
        assert "TypeError: holds a lock" in result.reason


def test_a_cast_that_is_no_cast_is_not_claimed():
    """A method ``to`` may be about devices; half precision must be claimed as well."""

    class Moves(Honest):
        def to(self, device):
            if device != "cpu":
                raise ValueError(f"no device {device}")

    result, _ = judged("cast", Moves, claim=HALF)
    assert result.reason == "it cannot be cast to bfloat16 (ValueError: no device bfloat16)"
    assert "no method 'to'" in judged("cast", Honest, claim=HALF)[0].reason
    assert "half-precision" in judged("cast", Moves, claim=HALF, dtype="float32")[0].reason


def test_an_instance_is_an_object_too():
    """One that exists already is copied and saved; there is no other to set beside it."""
    made = Honest()
    assert verdict("copy", made) == verdict("save", made) == "passed"
    assert verdict("apart", made) == "not claimed"


# Kinds of losing and sharing beside those of the zoo


def test_what_can_no_longer_be_copied_once_used_fails():
    """A lock, a generator or a recorded graph that only use brings along."""

    class Grows(Honest):
        def apply_rope(self, x, positions):
            self.held = (n for n in range(3))
            return super().apply_rope(x, positions)

    result, _ = judged("copy", Grows)
    assert "a deep copy of the used object raised TypeError" in result.failure.message
    assert (result.verdict, result.failure.fault) == ("failed", "cache")


class PicklesOnce(Honest):
    """Can be pickled until it was used."""

    def apply_rope(self, x, positions):
        self.held = lambda: None
        return super().apply_rope(x, positions)


def test_what_can_no_longer_be_saved_once_used_fails():
    """A checkpoint is written after use, not before."""
    result, _ = judged("save", PicklesOnce)
    assert result.verdict == "failed"
    assert "saving after use by pickle" in result.failure.message


def test_a_result_that_a_copy_overwrites_is_seen():
    """An object writes into one of two buffers by turns, which its copies share."""

    class Rings(Honest):
        def __init__(self, spec=SPEC):
            super().__init__(spec)
            self.calls, self.buffers = 0, {}

        def __deepcopy__(self, memo):
            other = type(self)(self.spec)
            other.calls, other.buffers = self.calls + 1, self.buffers
            return other

        def apply_rope(self, x, positions):
            self.calls += 1
            buffer = self.buffers.setdefault((self.calls % 2, x.shape), np.empty_like(x))
            buffer[...] = super().apply_rope(x, positions)
            return buffer

    report = rc.check(Rings, spec=SPEC, only=["data.determinism"], effort="quick")
    assert report.passed

    result, _ = judged("copy", Rings)
    assert result.verdict == "failed"
    assert result.failure.fault == "aliasing"
    assert "overwritten by a deep copy" in result.failure.message


def test_what_is_wrong_at_once_is_left_to_other_clauses():
    """A wrong base is as wrong after a copy: nothing is said of copies."""

    class Wrong(Honest):
        def __init__(self, spec=SPEC):
            super().__init__(replace(spec, frequencies=PowerLaw(777)))

    assert verdict("copy", Wrong) == verdict("apart", Wrong) == "passed"


def test_no_number_agrees_with_no_number():
    """NaN far away comes out of copies as well."""

    class Overflows(Honest):
        def apply_rope(self, x, positions):
            y = super().apply_rope(x, positions)
            y[:, np.asarray(positions) > 60000] = np.nan
            return y

    assert verdict("copy", Overflows) == verdict("apart", Overflows) == "passed"


def test_a_partial_function_is_an_object():
    """It holds arguments, which a deep copy copies."""
    assert verdict("copy", functools.partial(Honest.apply_rope, Honest())) == "passed"


# Neighbours


@pytest.mark.parametrize("when", ["made", "called"])
def test_a_memo_by_id_is_caught(when):
    """Objects whose memory was freed leave entries for those that come after."""
    kept = {}

    class ById(Honest):
        def __init__(self, spec=SPEC):
            super().__init__(spec)
            if when == "made":
                kept.setdefault(id(self), spec)

        def apply_rope(self, x, positions):
            spec = kept.setdefault(id(self), self.spec)
            return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    result, _ = judged("apart", ById)
    assert (result.verdict, result.failure.fault) == ("failed", "cache")


def test_a_dynamic_length_of_the_class_is_caught():
    """The longest sequence that any object has seen changes the base of all."""

    class Dynamic(Honest):
        longest = 0

        def apply_rope(self, x, positions):
            seen = int(np.max(positions, initial=0))
            Dynamic.longest = max(seen, Dynamic.longest)
            base = SPEC.frequencies.base * (2 if Dynamic.longest > 2048 else 1)
            spec = replace(self.spec, frequencies=PowerLaw(base))
            return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    result, _ = judged("apart", Dynamic)
    assert result.verdict == "failed"
    assert "of the same spec was used" in result.failure.message


def test_a_factory_of_functions_is_judged_by_its_neighbours():
    """Closures share what their factory keeps."""
    kept = []

    def rope(spec):
        kept[:] = [spec]
        return lambda x, p: apply_rope(x, p, kept[0], axes="bthd").astype(x.dtype)

    result, _ = judged("apart", rope)
    assert "changed when an object of another base was made" in result.failure.message


def test_another_base_that_is_unsupported_is_noted():
    """Objects of the same spec are still set beside each other."""
    accepts = lambda spec: spec == SPEC or "one base only"  # noqa: E731
    result, _ = judged("apart", Honest, claim=rc.Claim(accepts=accepts))
    assert result.verdict == "passed"
    assert any("one base only" in note for note in result.notes)


# Casts


class Casts(Honest):
    """Rounds what it holds in `rounded` on its way through half precision."""

    scale = np.float32(1)

    def to(self, dtype):
        new = copy.copy(self)
        if dtype == "bfloat16":
            new.scale = np.float32(1 + 2**-12)
        return new

    def apply_rope(self, x, positions):
        y = super().apply_rope(x, positions)
        return (y * self.scale).astype(x.dtype)


def test_there_and_back_is_a_fact():
    """A cast to half precision and back that rounds is reported, and is no failure."""
    result, context = judged("cast", Casts, claim=replace(HALF, profile="float32"))
    assert result.verdict == "passed", result.failure
    assert context.evidence.facts["a cast to bfloat16 and back"].startswith("rounds what it holds")
    facts = discover_facts(context.implementation, context.evidence.facts, ())
    assert [f.warn for f in facts] == [True]


def test_a_cast_that_holds_everything_is_a_fact_too():
    """Nothing is rounded where everything is made from the spec."""

    class Notes(Honest):
        def to(self, dtype):
            self.dtype = dtype

    result, context = judged("cast", Notes, claim=HALF)
    assert result.verdict == "passed"
    assert context.evidence.facts == {"a cast to bfloat16 and back": "changes nothing"}


def test_a_cast_that_changes_later_objects_is_caught():
    """The type of the last cast is that of the objects made next."""

    class Defaults(Honest):
        default = "float32"

        def __init__(self, spec=SPEC):
            if Defaults.default == "bfloat16":
                spec = replace(spec, frequencies=PowerLaw(spec.frequencies.base * 1.01))
            Defaults.default = "float32"
            super().__init__(spec)

        def to(self, dtype):
            Defaults.default = dtype

    result, _ = judged("cast", Defaults, claim=HALF)
    assert (result.verdict, result.failure.fault) == ("failed", "angle-precision")


def test_what_is_used_counts():
    """Calls and evidence of the objects beside are those of the check."""
    result, context = judged("cast", CONTROLS["keeps_theta_through_casts"].factory)
    assert result.verdict == "passed"
    assert context.implementation.calls == result.calls > 20
    assert result.decisive >= 50


@pytest.mark.parametrize(
    ("form", "axes"),
    [("none", "bthd"), ("none", "td"), ("offset", "bthd"), ("offset", "td"), ("bt", "bthd")],
)
def test_every_form_of_positions_is_taken(form, axes):
    """Objects that number their tokens otherwise are judged as well."""

    class Own(Honest):
        def apply_rope(self, x, positions=0):
            tokens = np.arange(x.shape[axes.index("t")])
            p = positions if isinstance(positions, np.ndarray) else tokens + positions
            return apply_rope(x, p, self.spec, axes=axes).astype(x.dtype)

    claim = rc.Claim(axes=axes, position_forms=(form,), position_range=(0, 5000))
    for name in ("copy", "apart"):
        result, _ = judged(name, Own, claim=claim)
        assert result.verdict == "passed", result

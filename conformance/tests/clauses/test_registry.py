"""Every clause has a check and wrong members of the zoo that it must catch."""

import importlib
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance import clauses
from rope_conformance.clauses import all_checks, all_clauses
from rope_conformance.inputs.cases import Case
from rope_conformance.judging import clause
from rope_conformance.judging.clause import RegistryError
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.kills import kills
from rope_ref import RopeSpec

CHECKS = {check.name: check for check in all_checks()}
ONE_CASE = {"fixed": lambda context: [Case(1, 1, 1, (0,))]}


def entered(id_="test.one", *, inputs=ONE_CASE, **changed):
    """Enter a clause that nobody has registered."""
    parts = {
        "sentence": "A sentence.",
        "formula": "y = x",
        "reference": "rope_ref:apply_rope",
        "fault": "other",
    }
    return clause.clause(id=id_, **(parts | inputs | changed))(body)


def body(context, case):
    """Falsify nothing."""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """A registry that forgets what a test enters."""
    monkeypatch.setattr(clause, "_CHECKS", dict(clause._CHECKS))


def context_of(factory, dtype=None):
    """An implementation of the zoo as a run would judge it by itself."""
    implementation = Implementation(factory, factory.spec, factory.claim)
    return CheckContext(implementation, dtype or factory.claim.dtypes[0])


# What the registry refuses


def test_a_check_without_inputs_is_refused():
    """Neither fixed nor generated inputs: it could never fail."""
    with pytest.raises(RegistryError, match=r"'test\.one' has neither fixed nor generated inputs"):
        entered(inputs={})


def test_a_second_check_of_a_clause_is_refused():
    """An id is said once."""
    entered()
    with pytest.raises(RegistryError, match=r"'test\.one' has a check already"):
        entered()


def test_an_unknown_surface_is_refused():
    """A surface no implementation can have would never be judged."""
    with pytest.raises(RegistryError, match=r"'test\.one': there is no surface 'aply'"):
        entered(surface="aply")


def test_an_unknown_class_of_faults_is_refused():
    """The classes are the words of public bug reports, and no others."""
    with pytest.raises(RegistryError, match=r"'test\.one': there is no class of faults 'bad'"):
        entered(fault="bad")


def test_a_clause_that_kills_nothing_is_refused():
    """A check is worth what it kills."""
    entered("pairing.new")
    with pytest.raises(RegistryError, match=r"no wrong member of the zoo names: pairing\.new"):
        kills()


def test_a_member_that_names_no_clause_there_is_is_refused(monkeypatch):
    """A kill that nobody can repeat is no kill."""
    stray = replace(WRONG["base_wrong"], clauses=("pairing.nothing",))
    monkeypatch.setitem(WRONG, "base_wrong", stray)
    with pytest.raises(RegistryError, match=r"base_wrong.*no clause 'pairing\.nothing'"):
        kills()


def test_a_file_of_clauses_that_no_family_names_is_refused(monkeypatch):
    """A family forgotten in the list would never be run."""
    monkeypatch.setattr(clauses, "FAMILIES", clauses.FAMILIES[1:])
    with pytest.raises(RegistryError, match="differ"):
        all_checks()


def test_what_is_accepted_is_found_by_its_name():
    """The decorator gives back a check that knows its clause, and the registry has it."""
    check = entered("pairing.new")
    assert check.name == check.clause.id == "pairing.new"
    assert check in all_checks()


def test_the_zoo_and_the_clauses_name_each_other():
    """Said once, by the member, and held both ways."""
    said = {(member.name, id_) for member in WRONG.values() for id_ in member.clauses}
    held = {(member.name, id_) for id_, members in kills().items() for member in members}
    assert said == held
    assert {name for name, _ in said} == set(WRONG)


# What the clauses say


def test_ids_are_unique_and_name_their_family():
    """An id is ``family.name``, its family the file it stands in, in the order of a run."""
    ids = [each.id for each in all_clauses()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+\.[a-z_]+", id_) for id_ in ids)
    families = [id_.partition(".")[0] for id_ in ids]
    assert list(dict.fromkeys(families)) == list(clauses.FAMILIES)
    for each in all_checks():
        assert each.body.__module__.rpartition(".")[2] == each.name.partition(".")[0]


@pytest.mark.parametrize("name", CHECKS)
def test_a_clause_is_complete(name):
    """A whole sentence, a formula, a check that says what it does, a public name of rope_ref."""
    each = CHECKS[name].clause
    assert re.fullmatch(r"[A-Zcvta-z].*\.", each.sentence, re.DOTALL)
    assert each.formula.strip()
    assert each.formula.count("{") == each.formula.count("}")
    assert (CHECKS[name].body.__doc__ or "").strip()
    module, _, path = each.reference.partition(":")
    assert module.partition(".")[0] == "rope_ref"
    found = importlib.import_module(module)
    name, *inside = path.split(".")
    assert name in found.__all__
    assert not any(part.startswith("_") for part in inside)
    for part in (name, *inside):
        found = getattr(found, part)
    assert callable(found)


def test_every_member_of_the_zoo_has_a_sentence():
    """What can be run says what is wrong with it."""
    assert not set(WRONG) & set(CONTROLS)
    for entry in [*WRONG.values(), *CONTROLS.values()]:
        assert re.fullmatch(r"\S.*\.", entry.sentence, re.DOTALL), entry.name


# Nothing passes without having been looked at


def test_nothing_but_algebra_passes_on_a_constant():
    """An output that never changes passes no clause about values, and the run does not pass."""
    spec = RopeSpec(64, layout="half", rotary_dim=32)

    def constant(x, positions):
        return np.ones_like(x)

    report = rc.check(constant, spec=spec)
    assert not report.passed
    passed = {r.clause for r in report.results if r.verdict == "passed" and r.decisive}
    # These compare an implementation with itself alone: constants agree.
    assert passed == {"rotation.compose", "score.offset", "independence.chunks"}


def test_nothing_passes_on_the_identity():
    """x itself keeps length, linearity and every property of a group, and still does not pass."""
    report = rc.check(lambda x, positions: x.copy(), spec=RopeSpec(64, layout="half"))
    assert not report.passed
    failed = {r.clause for r in report.findings}
    assert {"pairing.direction", "frequency.ladder", "frequency.phase"} <= failed


def test_an_implementation_that_is_never_called_gets_no_verdict_passed():
    """Every check that passes on honest code has called it."""
    factory = CONTROLS["float32_power"].factory
    for name, check in CHECKS.items():
        context = context_of(factory)
        result = run_check(check, context, effort="quick")
        assert result.verdict == "not claimed" or context.implementation.calls > 0, name
        assert result.verdict == "not claimed" or result.inputs >= check.minimum or check.numeric


def test_the_surfaces_are_judged_when_they_are_offered():
    """theta(), cos_sin() and qkv() open clauses of their own, which honest ones pass."""
    from rope_ref import apply_rope, cos_sin

    class Rope:
        def __init__(self, spec):
            self.spec = spec

        def apply_rope(self, x, positions):
            return apply_rope(x, positions, self.spec, axes="bthd").astype(x.dtype)

        def theta(self):
            return self.spec.theta()

        def cos_sin(self, positions):
            return cos_sin(positions, self.spec)

        def qkv(self, q, k, v, positions):
            return self.apply_rope(q, positions), self.apply_rope(k, positions), v

    report = rc.check(Rope, spec=RopeSpec(64, layout="half"), effort="quick")
    verdicts = {r.clause: r.verdict for r in report.results}
    assert report.passed, report.findings
    assert {verdicts[c] for c in ("frequency.theta", "table.values", "passthrough.values")} == {
        "passed"
    }


# How much there is

# (passed, not claimed, fixed inputs, least generated inputs) of an honest run with default effort
EXPECTED = {
    "a bare callable": SimpleNamespace(passed=22, closed=82, fixed=187, generated=6 * 36),
    "everything claimed": SimpleNamespace(passed=31, closed=73, fixed=252, generated=10 * 36),
}


def test_how_many_checks_there_are():
    """A check that got lost would otherwise go unnoticed."""
    assert len(CHECKS) == 104
    assert len(WRONG) == 511
    assert len(CONTROLS) == 87


@pytest.mark.parametrize("claims", EXPECTED)
def test_how_much_is_looked_at_per_set_of_claims(claims):
    """Checks and fixed inputs exactly, generated ones at least."""
    control = CONTROLS["float32_power"].factory
    if claims == "a bare callable":
        report = rc.check(control(control.spec), spec=control.spec)
    else:
        report = rc.check(control)
    expected, counts = EXPECTED[claims], report.counts()
    assert report.passed
    assert (counts["passed"], counts["not claimed"]) == (expected.passed, expected.closed)
    ran = {r.clause for r in report.results if r.verdict == "passed"}
    context = context_of(control)
    context.claim = rc.Claim(**report.claim)
    fixed = {name: len(CHECKS[name].fixed(context)) for name in ran if CHECKS[name].fixed}
    assert sum(fixed.values()) == expected.fixed
    assert report.inputs - sum(fixed.values()) >= expected.generated

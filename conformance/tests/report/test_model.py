"""The report as data: what is counted, what is likeliest, and the way to plain data and back."""

import json
from dataclasses import asdict

import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.report.model import Fact, Failure, Report, ReportError, Result, cause_in_words
from rope_ref import RopeSpec

SPEC = RopeSpec(8, layout="half")
honest = zoo.CONTROLS["float32_power"].factory(SPEC)


@rc.claims(accepts=lambda spec: "only even more channels")
class _Refuses:
    def __init__(self, spec):
        raise AssertionError("not to be made")


def _report(target, **options) -> Report:
    return rc.check(target, **{"spec": SPEC, "effort": "quick", **options})


def test_parts_of_a_report_come_back_from_plain_data():
    """A result, with its failure, and a fact are equal to what their plain data gives again."""
    spot = dict.fromkeys(("row", "token", "head", "pair", "channel"), 1)
    spot |= {"position": 2.0, "got": 0.5, "want": -0.5, "ratio": 3.0}
    failure = Failure("message", "Case()", "sign", spot, "a cause", "so seen", "rope-ref check x")
    bare = Failure("message", "Case()", "other")
    for result in (
        Result("a.b", "A sentence.", "float32", "passed", "", 1, 2, 3, 4, ("a note",)),
        Result("a.b", "A sentence.", "float32", "failed", failure=failure, seconds=0.5),
        Result("a.b", "A sentence.", "float64", "waived", "known", failure=bare),
        Result("a.b", "A sentence.", "float32", "not run", "why"),
    ):
        assert Result.from_dict(json.loads(json.dumps(asdict(result)))) == result
    fact = Fact("what", "text", warn=True)
    assert Fact.from_dict(json.loads(json.dumps(asdict(fact)))) == fact


def test_a_cause_is_told_with_what_speaks_for_it():
    """The cause of a failure is followed by its evidence, where there is any."""
    failure = Failure("message", "Case()", "sign", cause="turned the other way")
    assert cause_in_words(failure) == "turned the other way"
    told = Failure("message", "Case()", "sign", None, "turned the other way", "all 9 angles")
    assert cause_in_words(told) == "turned the other way (all 9 angles)"
    assert cause_in_words(Failure("message", "Case()", "sign", evidence="alone")) == ""


@pytest.mark.parametrize(
    "break_it",
    [
        lambda d: d.update(schema="rope-ref-report-1"),
        lambda d: d.pop("schema"),
        lambda d: d.pop("results"),
        lambda d: d.update(largest_ratio="much"),
        lambda d: d["results"][0].update(why="so"),
        lambda d: d["facts"].append({"what": "half a fact"}),
    ],
)
def test_what_is_no_report_is_not_read(break_it):
    """Data of another version, or with other fields, is refused by one clear error."""
    data = _report(honest, only=["data.kept"]).to_dict()
    Report.from_dict(data)
    break_it(data)
    with pytest.raises(ReportError, match="^the data is "):
        Report.from_dict(data)


def test_what_was_executed_is_counted():
    """Checks, inputs, pairs and what was not decisive are the sums over the results."""
    results = [
        Result("a.a", "s", "float32", "passed", "", 3, 4, 100, 90),
        Result("a.b", "s", "float32", "failed", "", 2, 2, 10, 10, (), Failure("m", "c", "sign")),
        Result("a.c", "s", "float32", "error", failure=Failure("m", "c", "other")),
        Result("a.d", "s", "float32", "waived", "known", 1, failure=Failure("m", "c", "other")),
        Result("a.e", "s", "float32", "not run", "too little", 1, 1, 5, 0),
        Result("a.f", "s", "float32", "not claimed", "why"),
        Result("a.g", "s", "float32", "failed", "the waiver is no longer needed"),
    ]
    report = _report(honest, only=["data.kept"])
    report.results = results
    data = report.to_dict()
    assert (data["checks"], data["inputs"]) == (4, 7)
    assert (data["samples"], data["not_decisive"]) == (115, 15)
    assert data["counts"] == {
        "passed": 1,
        "failed": 2,
        "error": 1,
        "waived": 1,
        "not run": 1,
        "unsupported": 0,
        "not claimed": 1,
    }


def test_the_class_of_all_failures_is_that_of_the_surest():
    """A failure with a cause speaks first, then one without numbers; a waived one is silent."""

    def failed(clause, fault, verdict="failed", **rest):
        failure = Failure("message", "Case()", fault, **rest)
        return Result(clause, "s", "float32", verdict, "", failure=failure)

    report = _report(honest, only=["data.kept"])
    assert report.fault is report.to_dict()["fault"] is None
    report.results = [failed("a.a", "other", "waived")]
    assert report.fault is None
    report.results += [failed("a.b", "frequency", spot={"position": 1.0})]
    assert report.fault == "frequency"
    report.results += [failed("a.c", "aliasing")]
    assert report.fault == "aliasing"
    report.results += [failed("a.d", "layout", cause="half-split", spot={"position": 1.0})]
    assert report.fault == "layout"


def test_a_report_says_why_there_is_no_evidence():
    """What the implementation does not support is not conformant, and its reason is kept."""
    report = _report(_Refuses)
    assert not report.passed
    assert report.findings == []
    (doubt,) = report.doubts
    assert "only even more channels" in doubt

"""The report as data: its JSON Schema holds for every outcome and lets nothing else pass."""

import copy
import itertools
import json
import re
import typing
from dataclasses import asdict, fields
from datetime import date
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.accuracy.profiles import PROFILES
from rope_conformance.faults import FAULTS
from rope_conformance.report.model import SCHEMA as VERSION
from rope_conformance.report.model import (
    Fact,
    Failure,
    Report,
    ReportError,
    Result,
    Verdict,
    cause_in_words,
)
from rope_conformance.running.settings import EFFORTS
from rope_conformance.target.claim import DTYPES, RequestKind, Survival
from rope_ref import RopeSpec

SCHEMA = json.loads((files("rope_conformance.report") / "report.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SPEC = RopeSpec(8, layout="half")
honest = zoo.CONTROLS["float32_power"].factory(SPEC)


def _nan(x, positions):
    return np.full_like(x, np.nan)


def _raises(x, positions):
    raise RuntimeError("out of order")


def _interrupting():
    calls = itertools.count()

    def rope(x, positions):
        if next(calls) == 20:
            raise KeyboardInterrupt
        return honest(x, positions)

    return rope


@rc.claims(accepts=lambda spec: "only even more channels")
class _Refuses:
    def __init__(self, spec):
        raise AssertionError("not to be made")


def _report(target, **options) -> Report:
    return rc.check(target, **{"spec": SPEC, "effort": "quick", **options})


def _waiver(clause: str) -> rc.Waiver:
    return rc.Waiver(clause, "known", "https://example.org/1", date(9999, 1, 1))


WRONG_BASE = ["frequency.ladder", "frequency.phase", "frequency.rows"]


# name: report, verdict that it holds (None where it holds none)
REPORTS = {
    "passed": lambda: (_report(honest), "passed"),
    "failed": lambda: (_report(zoo.WRONG["base_wrong"].factory(SPEC)), "failed"),
    "waived": lambda: (
        _report(
            zoo.WRONG["base_wrong"].factory(SPEC),
            options=rc.RunOptions(waivers=[_waiver(clause) for clause in WRONG_BASE]),
            only=[*WRONG_BASE, "data.kept"],
        ),
        "waived",
    ),
    "waiver not needed": lambda: (
        _report(
            honest,
            options=rc.RunOptions(waivers=[_waiver("data.kept"), _waiver("frequency.theta")]),
        ),
        "failed",
    ),
    "nan": lambda: (_report(_nan), "failed"),
    "error": lambda: (_report(_raises), "error"),
    "interrupted": lambda: (_report(_interrupting()), None),
    "not run": lambda: (
        _report(honest, claim=rc.Claim(position_range=(2**30, 2**31))),
        "not run",
    ),
    "unsupported": lambda: (_report(_Refuses), "unsupported"),
    "several types": lambda: (
        _report(honest, claim=rc.Claim(dtypes=("float32", "bfloat16"))),
        "passed",
    ),
}


def _strict(text: str) -> object:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", REPORTS)
def test_every_outcome_is_a_report_by_the_schema(name):
    """Whatever the outcome of a run, its JSON is strict JSON and valid by the schema."""
    report, verdict = REPORTS[name]()
    assert verdict is None or verdict in {r.verdict for r in report.results}
    assert report.interrupted == (name == "interrupted")
    data = _strict(report.to_json())
    VALIDATOR.validate(data)
    assert Report.from_dict(data).to_dict() == report.to_dict()


def test_numbers_that_json_lacks_are_texts():
    """NaN and infinities in a failure come out as the texts that the schema allows."""
    spot = dict.fromkeys(("row", "token", "head", "pair", "channel"), 0)
    spot |= {"position": 1.0, "got": float("nan"), "want": float("-inf"), "ratio": float("inf")}
    report = _report(honest, only=["data.kept"])
    failure = Failure("message", "Case()", "layout", spot=spot)
    report.results.append(Result("a.b", "s", "float32", "failed", failure=failure))
    data = _strict(report.to_json())
    assert [data["results"][-1]["failure"]["spot"][k] for k in ("got", "want", "ratio")] == [
        "nan",
        "-inf",
        "inf",
    ]
    VALIDATOR.validate(data)
    again = Report.from_dict(data).results[-1].failure.spot
    assert (again["want"], again["ratio"]) == (float("-inf"), float("inf"))
    assert np.isnan(again["got"])


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


def _walk(data, *path):
    for key in path:
        data = data[key]
    return data


BROKEN = {
    "another version": lambda d: d.update(schema="rope-ref-report-1"),
    "an unknown key": lambda d: d.update(comment="hello"),
    "a missing key": lambda d: d.pop("claim"),
    "an unknown key in a result": lambda d: d["results"][0].update(why="so"),
    "an unknown verdict": lambda d: d["results"][0].update(verdict="skipped"),
    "a failure without its message": lambda d: _walk(d, "results", -1, "failure").pop("message"),
    "a failure without its class": lambda d: _walk(d, "results", -1, "failure").pop("fault"),
    "an unknown class": lambda d: _walk(d, "results", -1, "failure").update(fault="bad luck"),
    "an unknown class over all": lambda d: d.update(fault="bad luck"),
    "evidence that says nothing": lambda d: _walk(d, "results", -1, "failure").update(evidence=""),
    "a failed result without failure": lambda d: d["results"][-1].update(failure=None),
    "a failed result with failure and reason": lambda d: d["results"][-1].update(reason="so"),
    "waived without a reason": lambda d: d["results"][-1].update(verdict="waived"),
    "waived without a failure": lambda d: d["results"][-1].update(
        verdict="waived", reason="known", failure=None
    ),
    "a result without its calls": lambda d: d["results"][0].pop("calls"),
    "what is waived not counted": lambda d: d["counts"].pop("waived"),
    "a passed result with a failure": lambda d: d["results"][-1].update(verdict="passed"),
    "not run without a reason": lambda d: d["results"][-1].update(verdict="not run", failure=None),
    "a number as text": lambda d: d.update(calls="12"),
    "a negative count": lambda d: d["counts"].update(failed=-1),
    "an unknown verdict counted": lambda d: d["counts"].update(skipped=0),
    "an unknown layout": lambda d: d["spec"].update(layout="neox"),
    "an unknown type of data": lambda d: d["claim"].update(dtypes=["float8"]),
    "a horizon without a position": lambda d: d["horizon"].pop("position"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_schema_refuses_a_broken_report(name):
    """The schema is strict: it refuses what no report holds."""
    good = _report(zoo.WRONG["base_wrong"].factory(SPEC), only=["frequency.ladder"]).to_dict()
    VALIDATOR.validate(good)
    broken = copy.deepcopy(good)
    BROKEN[name](broken)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(broken)


def test_the_schema_is_a_schema():
    """The schema itself is valid by the draft that it names."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_names_what_the_code_names():
    """Version, verdicts, efforts and profiles in the schema are those of the code."""
    properties, parts = SCHEMA["properties"], SCHEMA["$defs"]
    assert properties["schema"]["const"] == VERSION
    assert properties["effort"]["enum"] == list(EFFORTS)
    assert parts["profile"]["enum"] == [profile.name for profile in PROFILES]
    verdicts = list(typing.get_args(Verdict))
    assert parts["result"]["properties"]["verdict"]["enum"] == verdicts
    assert sorted(properties["counts"]["required"]) == sorted(verdicts)
    assert parts["fault"]["enum"] == list(FAULTS)
    assert parts["dtype"]["enum"] == list(DTYPES)


def test_the_schema_has_the_fields_of_the_code():
    """Fields of report, result, failure, fact and claim in the schema are those of the code."""
    properties, parts = SCHEMA["properties"], SCHEMA["$defs"]
    derived = {"schema", "passed", "fault", "doubts", "counts"}
    derived |= {"checks", "inputs", "samples", "not_decisive"}
    for schema, names in (
        (SCHEMA, {each.name for each in fields(Report)} | derived),
        (parts["result"], {each.name for each in fields(Result)}),
        (parts["failure"], {each.name for each in fields(Failure)}),
        (properties["facts"]["items"], {each.name for each in fields(Fact)}),
        (properties["claim"], {each.name for each in fields(rc.Claim)} - {"accepts"}),
        (properties["spec"], {each.name for each in fields(RopeSpec)}),
    ):
        assert set(schema["properties"]) == set(schema["required"]) == names
        assert schema["additionalProperties"] is False
    claim = properties["claim"]["properties"]
    assert claim["requests"]["items"]["enum"] == list(typing.get_args(RequestKind))
    assert claim["survives"]["items"]["enum"] == list(typing.get_args(Survival))


def test_the_page_about_reports_names_every_field():
    """docs/reports.md has a row for each field of a report, result, failure and waiver."""
    page = Path(__file__).parents[3] / "docs/reports.md"
    tables = re.findall(r"^\| field \|.*\n\| ---.*\n((?:\|.*\n)+)", page.read_text("utf-8"), re.M)
    for table, part in zip(tables, (Report, Result, Failure), strict=False):
        rows = [row.split("|")[1] for row in table.splitlines()]
        named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
        schema = SCHEMA if part is Report else SCHEMA["$defs"][part.__name__.lower()]
        assert sorted(named) == sorted(schema["properties"])
    waiver = [name for row in tables[3].splitlines() for name in re.findall(r"^\| `(\w+)`", row)]
    assert waiver == [each.name for each in fields(rc.Waiver)]


def test_the_version_of_the_schema_is_in_its_name():
    """The schema's own address carries the number that its reports carry."""
    assert SCHEMA["$id"].rpartition(":")[2] == VERSION.rpartition("-")[2]


def test_a_report_says_why_there_is_no_evidence():
    """What the implementation does not support is not conformant, and its reason is kept."""
    report = _report(_Refuses)
    assert not report.passed
    assert report.findings == []
    (doubt,) = report.doubts
    assert "only even more channels" in doubt


def test_an_error_names_the_line_that_raised():
    """What the implementation raises is reported with its file and line."""
    (result,) = _report(_raises, only=["data.kept"]).results
    assert result.failure.message.startswith("raised RuntimeError: out of order (test_report.py, ")

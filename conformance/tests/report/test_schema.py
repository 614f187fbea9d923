"""The JSON Schema of reports: every outcome is valid by it, and nothing else."""

import copy
import itertools
import json
import re
import typing
from dataclasses import fields
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
    Result,
    Verdict,
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

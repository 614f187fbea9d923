"""The report as data: its JSON Schema holds for every outcome and lets nothing else pass."""

import copy
import itertools
import json
import typing
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance import wrong
from rope_conformance.accuracy import PROFILES
from rope_conformance.report import SCHEMA as VERSION
from rope_conformance.report import Failure, Report, Result, Verdict
from rope_conformance.runner import EFFORTS
from rope_ref import RopeSpec

SCHEMA = json.loads((files("rope_conformance") / "report.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SPEC = RopeSpec(8, layout="half")
honest = wrong.CONTROLS["float32_power"].factory(SPEC)


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


# name: report, verdict that it holds (None where it holds none)
REPORTS = {
    "passed": lambda: (_report(honest), "passed"),
    "failed": lambda: (_report(wrong.WRONG["base_wrong"].factory(SPEC)), "failed"),
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
    VALIDATOR.validate(_strict(report.to_json()))


def test_numbers_that_json_lacks_are_texts():
    """NaN and infinities in a failure come out as the texts that the schema allows."""
    spot = dict.fromkeys(("row", "token", "head", "pair", "channel"), 0)
    spot |= {"position": 1.0, "got": float("nan"), "want": float("-inf"), "ratio": float("inf")}
    report = _report(honest, only=["data.kept"])
    failure = Failure("message", "Case()", spot=spot)
    report.results.append(Result("a.b", "s", "float32", "failed", failure=failure))
    data = _strict(report.to_json())
    assert [data["results"][-1]["failure"]["spot"][k] for k in ("got", "want", "ratio")] == [
        "nan",
        "-inf",
        "inf",
    ]
    VALIDATOR.validate(data)


def _walk(data, *path):
    for key in path:
        data = data[key]
    return data


BROKEN = {
    "another version": lambda d: d.update(schema="rope-ref-report-2"),
    "an unknown key": lambda d: d.update(comment="hello"),
    "a missing key": lambda d: d.pop("claim"),
    "an unknown key in a result": lambda d: d["results"][0].update(why="so"),
    "an unknown verdict": lambda d: d["results"][0].update(verdict="skipped"),
    "a failure without its message": lambda d: _walk(d, "results", -1, "failure").pop("message"),
    "a failed result without failure": lambda d: d["results"][-1].update(failure=None),
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
    good = _report(wrong.WRONG["base_wrong"].factory(SPEC), only=["frequency.ladder"]).to_dict()
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

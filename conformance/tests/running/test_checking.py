"""The way in from a program: `rope_conformance.check`, and the names of the package."""

import json

import pytest

import rope_conformance as rc
from rope_conformance import zoo


def test_check_judges_from_a_program():
    """rope_conformance.check returns passed, findings and JSON."""
    target = zoo.WRONG["off_by_one"].factory
    report = rc.check(target, only=["frequency.ladder", "pairing.layout"], effort="quick")
    assert not report.passed
    assert [r.clause for r in report.findings] == ["frequency.ladder"]
    assert json.loads(report.to_json())["counts"]["failed"] == 1
    assert rc.check(zoo.CONTROLS["float32_power"].factory, effort="quick").passed


def test_the_names_of_the_package_are_those_it_promises():
    """Every public name of rope_conformance can be imported, and no other is listed."""
    assert dir(rc) == sorted(rc.__all__)
    assert all(getattr(rc, name).__name__ == name for name in rc.__all__)
    with pytest.raises(AttributeError, match="no attribute 'judge'"):
        _ = rc.judge

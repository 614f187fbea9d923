"""The part of the zoo that is made of torch: caught by what names it, and no honest one is."""

from __future__ import annotations

from typing import Any

import pytest

import rope_conformance as rc
from rope_conformance.zoo import CONTROLS, WRONG

TORCH = [n for n, each in WRONG.items() if each.factory.claim.namespace == "torch"]
HONEST = [n for n, each in CONTROLS.items() if each.factory.claim.namespace == "torch"]


@pytest.fixture(autouse=True)
def torch(usable: Any) -> Any:
    """Only where torch is."""
    return usable("torch")


@pytest.mark.parametrize("name", TORCH)
def test_it_is_caught_by_every_check_that_names_it(name):
    """And by at least one."""
    named = list(WRONG[name].clauses)
    assert named
    report = rc.check(WRONG[name].factory, only=named, effort="quick")
    assert {r.clause for r in report.findings} == set(named)


@pytest.mark.parametrize("name", TORCH)
def test_the_class_of_its_fault_is_found(name):
    """Over all clauses."""
    report = rc.check(WRONG[name].factory, effort="quick")
    assert report.fault == WRONG[name].fault


@pytest.mark.parametrize("name", HONEST)
def test_a_control_passes_every_clause_it_opens(name):
    """No false alarm."""
    report = rc.check(CONTROLS[name].factory, effort="quick", seed=7)
    assert report.passed, [(r.clause, r.failure.message) for r in report.findings]

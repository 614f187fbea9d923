"""Every bug of the public corpus has a wrong implementation of its kind, or a reason why not."""

import re

import pytest

from rope_conformance.faults import FAULTS
from rope_conformance.zoo import WRONG
from rope_conformance.zoo.corpus import corpus

REPORTS = {report.id: report for report in corpus()}

REASON = "not a function of inputs: "

# Filed under what was hit by the fault; their members bear the class of what is wrong.
ELSEWHERE = {
    "B103": "multi-axis",
    "B117": "config",
    "B178": "multi-axis",
    "B114": "position",
    "B171": "position",
}


def test_all_reports_are_there():
    """114 of them, each once, in the order of their ids."""
    ids = [report.id for report in corpus()]
    assert len(ids) == 114
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"B\d{3}", id_) for id_ in ids)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_a_report_is_complete(report):
    """Where it was reported, its class, a sentence, and members that exist or a reason."""
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#[1-9]\d*", report.source)
    assert report.fault in FAULTS
    assert re.fullmatch(r"\S.*\.", report.what)
    assert bool(report.members) != bool(report.why_not)
    assert len(set(report.members)) == len(report.members)
    assert set(report.members) <= set(WRONG)
    assert not report.why_not or report.why_not.startswith(REASON)


@pytest.mark.parametrize("report", [r for r in corpus() if r.members], ids=lambda r: r.id)
def test_a_member_has_the_class_of_its_report(report):
    """The closest member bears the word that the report is filed under."""
    assert WRONG[report.members[0]].fault == ELSEWHERE.get(report.id, report.fault)


def test_all_reports_have_a_member_but_those_that_no_call_can_show():
    """Five of them say why there is none."""
    without = {r.id for r in corpus() if r.why_not}
    assert without == {"B087", "B098", "B107", "B131", "B168"}


def test_no_bug_is_written_down_twice():
    """Two reports of one place are two bugs: their sentences differ."""
    sentences = [report.what for report in corpus()]
    assert len(sentences) == len(set(sentences))

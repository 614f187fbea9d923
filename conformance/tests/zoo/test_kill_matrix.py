"""The kill matrix in docs/kill-matrix.json is what the zoo and the checks give today."""

import json
from pathlib import Path

import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import EDITION
from rope_conformance.zoo import WRONG
from rope_conformance.zoo.matrix import row

FILE = Path(__file__).parents[3] / "docs" / "kill-matrix.json"
MATRIX = json.loads(FILE.read_text(encoding="utf-8"))
ROWS = MATRIX["wrong"]
NUMPY = [name for name, each in WRONG.items() if each.factory.claim.namespace == "numpy"]


def test_it_has_a_row_for_each_wrong_implementation():
    """A new one is entered by running tools/kill_matrix.py."""
    assert list(ROWS) == list(WRONG)
    assert MATRIX["edition"] == EDITION
    for name, entry in WRONG.items():
        assert ROWS[name]["fault"] == entry.fault, name


@pytest.mark.parametrize("name", NUMPY)
def test_a_row_is_found_again(name):
    """Judged anew with the fewest inputs, the same checks catch it and name the same class."""
    again = json.loads(json.dumps(row(WRONG[name])))
    kept = ("fault", "found", "caught_by", "smallest")
    assert {key: again[key] for key in kept} == {key: ROWS[name][key] for key in kept}


def test_none_survives():
    """Some check catches each, the ones that name it among them."""
    for name, each in ROWS.items():
        assert each["caught_by"], name
        assert WRONG[name].clauses, f"{name} names no clause"
        assert set(WRONG[name].clauses) <= set(each["caught_by"]), name


def test_every_check_kills_something():
    """A check that catches nothing would be of no use."""
    killers = {clause for each in ROWS.values() for clause in each["caught_by"]}
    assert killers == {check.name for check in all_checks()}


def test_the_class_is_right_for_nineteen_of_twenty():
    """The class that the report names is that of the fault."""
    right = [name for name, each in ROWS.items() if each["found"] == each["fault"]]
    assert len(right) >= 0.95 * len(ROWS)


def test_each_row_says_what_sufficed():
    """Position, shape and number of calls, or the input of another kind."""
    for name, each in ROWS.items():
        smallest = each["smallest"]
        assert smallest["calls"] >= 1, name
        assert smallest["clause"] in each["caught_by"], name
        assert ("position" in smallest and "shape" in smallest) or "input" in smallest, name

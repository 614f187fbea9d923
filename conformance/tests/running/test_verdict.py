"""What a verdict says where something raised: the target, what it returned, or the check itself."""

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import Check
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_ref import RopeSpec

SPEC = RopeSpec(8, layout="half")


def message_of(target):
    """What is said of the first clause that a target breaks."""
    report = rc.check(target, spec=SPEC, effort="quick", only=["frequency.ladder"])
    (result,) = report.results
    assert result.verdict == "error"
    return result.failure.message


def raises(x, positions):
    """Reached, and then it raises."""
    raise TypeError("no such operand")


def test_the_line_of_the_target_is_named():
    """The file and the line in which it raised."""
    line = raises.__code__.co_firstlineno + 2
    assert message_of(raises) == f"raised TypeError: no such operand (test_verdict.py, line {line})"


def test_no_line_of_ours_is_named():
    """A call that never reaches the target raised where it was made, which tells nobody much."""
    text = message_of(lambda: None)
    assert text.startswith("raised TypeError: ")
    assert text.endswith("takes 0 positional arguments but 2 were given")


def test_an_error_names_the_line_that_raised():
    """What the implementation raises is reported with its file and line."""

    def out_of_order(x, positions):
        raise RuntimeError("out of order")

    (result,) = rc.check(out_of_order, spec=SPEC, effort="quick", only=["data.kept"]).results
    assert result.failure.message.startswith("raised RuntimeError: out of order (test_verdict.py, ")


# Checks that raise what no check should


def surprised(body):
    """The result of a check that raises what no check should."""
    known = next(each for each in all_checks() if each.name == "data.kept")
    check = Check(known.clause, body, known.fixed, None, 1, False)
    factory = zoo.CONTROLS["float32_power"].factory
    return run_check(
        check, CheckContext(Implementation(factory, factory.spec, factory.claim), "float32")
    )


def test_an_error_of_ours_is_no_verdict_on_the_target():
    """What a check raises itself means that it was not run, which is not to pass."""
    result = surprised(lambda context, case: context.x(None))
    assert result.verdict == "not run"
    assert "the check itself raised AttributeError: " in result.reason
    assert "(context.py, line " in result.reason


def test_an_error_in_what_came_back_is_an_error_of_the_target():
    """What code from elsewhere raises outside of calls is no end of the run either."""

    def look(context, case):
        raise KeyError("shape")

    result = surprised(look)
    assert result.verdict == "error"
    message = "what came back raised KeyError: 'shape' (test_verdict.py, line "
    assert result.failure.message.startswith(message)

"""What a verdict says of a target that raised: the error, and the line where it was reached."""

import rope_conformance as rc
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

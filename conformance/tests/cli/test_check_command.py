"""`rope-ref check`: verdicts, exit statuses, and what repeats them."""

import json
import shlex
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD, BAD = (f"{EXAMPLES / name}:apply_rope" for name in ("my_rope.py", "my_rope_wrong.py"))


def test_the_example_is_conformant(run):
    """The newcomer's RoPE passes without any option: status 0."""
    result = run("check", GOOD)
    assert result.exit_code == 0, result.output
    assert "CONFORMANT" in result.output
    assert "NOT" not in result.output
    assert "layout: half-split (channels i and i+64)" in result.output


def test_the_wrong_twin_is_not_and_its_first_failure_is_told_in_full(run):
    """A failure shows clause, words, numbers, input, cause and a command to repeat it: status 1."""
    result = run("check", BAD)
    assert result.exit_code == 1
    assert result.output.rstrip().endswith(f"NOT CONFORMANT  {BAD}")
    shown = " ".join(result.output.split())
    for part in (
        "failed frequency.ladder",
        "found a pair turns at another speed",
        "where position 1, pair 1, channel ",
        "got 0.",
        "want 0.",
        "times the bound",
        "likely cause the exponent of the base is i/R, not 2i/R",
        "input Case(batch=1, ",
        f"again rope-ref check {shlex.quote(BAD)} --only frequency.ladder",
    ):
        assert part in shown, shown


def test_the_command_of_a_failure_repeats_it(run):
    """The command printed with a failure gives the same failure again."""
    target = "rope_conformance.zoo:wraps_at_4096"
    options = ["--seed=3", "--position-range=-9000:9000"]
    first = json.loads(run("check", target, *options, "--json").stdout)
    failure = next(r["failure"] for r in first["results"] if r["clause"] == "frequency.phase")
    words = shlex.split(failure["reproduce"])
    assert words[:3] == ["rope-ref", "check", target]
    assert set(options) <= set(words)
    again = run(*words[1:], "--json")
    assert again.exit_code == 1
    (result,) = json.loads(again.stdout)["results"]
    assert result["failure"] == failure


QUICK = ("--effort=quick", "--layout=half", "--head-dim=8")


VERDICTS = {
    "raises": "raised TypeError: no such operand (odd.py, line ",
    "returns_none": "returned None",
    "wrong_shape": "returned shape (1, 0, 1, 8) for x of shape (1, 1, 1, 8)",
    "wrong_dtype": "returned dtype float64 for x of dtype float32",
    "returns_list": "returned builtins.list",
    "exits": "raised SystemExit: 0",
    "takes_nothing": "takes 0 positional arguments but 2 were given",
    "constant": "the pairs are in no known layout",
    "not_a_number": "nan",
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_target_that_misbehaves_gets_a_verdict(run, odd, name):
    """Whatever a target does when called, the run ends with a verdict in words, and status 1."""
    result = run("check", f"{odd}:{name}", *QUICK)
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "NOT CONFORMANT" in result.output
    assert VERDICTS[name] in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_an_interrupted_run_keeps_what_was_found(run, odd):
    """An interrupt ends the run, not the report: not enough evidence, status 1."""
    result = run("check", f"{odd}:interrupts", *QUICK, "--no-isolation")
    assert result.exit_code == 1
    assert "NOT ENOUGH EVIDENCE" in result.output
    assert "the run was interrupted" in result.output


def test_a_target_that_declines_is_not_judged_wrong(run, odd):
    """Unsupported from a factory is no failure, but no evidence either: status 1 and the reason."""
    result = run("check", f"{odd}:Declines", "--quiet")
    assert result.exit_code == 1
    assert "NOT ENOUGH EVIDENCE" in result.output
    assert "half layout only" in result.output


def test_several_types_of_data_are_judged_apart(run):
    """Each type of data gets a verdict of its own on every clause."""
    result = run("check", GOOD, "--dtype=float32,bfloat16", "--only=data.kept", "--json")
    assert result.exit_code == 0
    assert [r["dtype"] for r in json.loads(result.stdout)["results"]] == ["float32", "bfloat16"]


def test_only_judges_those_clauses_and_does_not_call_it_conformance(run):
    """--only runs the clauses named, in their order, and says that this is not the whole."""
    result = run("check", GOOD, "--only=data.kept", "--only=pairing.layout", "--quiet")
    assert result.exit_code == 0
    assert "PASSED" in result.output
    assert "CONFORMANT" not in result.output
    data = json.loads(
        run("check", GOOD, "--only=data.kept", "--only=pairing.layout", "--json").stdout
    )
    assert [r["clause"] for r in data["results"]] == ["pairing.layout", "data.kept"]

"""A target that cannot be loaded, or a wrong call: status 2 and one clear message."""

from pathlib import Path

import pytest

from rope_conformance import cli

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD, BAD = (f"{EXAMPLES / name}:apply_rope" for name in ("my_rope.py", "my_rope_wrong.py"))

NO_VERDICT = {
    "no such file": (["{folder}/nothing.py:f"], "there is no such file"),
    "no such attribute": (["{odd}:goood"], "has no 'goood'; it has "),
    "no such module": (["rope_conformance.nothing:f"], "ModuleNotFoundError"),
    "no colon": (["numpy"], "expected package.module:object"),
    "raises on import": (["{folder}/broken.py:f"], "ZeroDivisionError: division by zero"),
    "exits on import": (["{folder}/leaves.py:f"], "SystemExit: 0"),
    "not callable": (["{odd}:number"], "neither callable"),
    "raises when made": (["{odd}:Raises"], "RuntimeError: no weights here"),
    "exits when made": (["{odd}:Exits"], "SystemExit: bye"),
    "odd rotary_dim": ([GOOD, "--rotary-dim=7"], "rotary_dim=7 is odd"),
    "rotary_dim beyond the head": ([GOOD, "--head-dim=8", "--rotary-dim=10"], "rotary_dim=10"),
    "negative base": ([GOOD, "--base=-1"], "base must be positive"),
    "head_dim of nothing": ([GOOD, "--head-dim=0"], "head_dim must be a positive integer"),
    "output layout alone": ([GOOD, "--output-layout=half"], "needs layout"),
    "unknown profile": ([GOOD, "--profile=float33"], "the profiles are 'exact'"),
    "unknown clause": ([GOOD, "--only=rotation.nrom"], "there is no clause 'rotation.nrom'"),
    "unknown dtype": ([GOOD, "--dtype=float33"], "dtype='float33' is not known"),
    "unknown axis": ([GOOD, "--axes=bshd"], "axes='bshd'"),
    "an axis twice": ([GOOD, "--axes=bttd"], "axes='bttd'"),
    "no token axis": ([GOOD, "--axes=bhd"], "axes='bhd'"),
    "unknown form of positions": ([GOOD, "--positions=t,b"], "'b' is no form"),
    "range of one number": ([GOOD, "--position-range=5"], "position_range='5'"),
    "range upside down": ([GOOD, "--position-range=5:4"], "position_range='5:4'"),
    "range beyond float64": ([GOOD, "--position-range=0:9007199254740992"], "2**53"),
    "unknown effort": ([GOOD, "--effort=some"], "'some' is not one of"),
    "no target": ([], "Missing argument 'TARGET'"),
}


@pytest.mark.parametrize("name", NO_VERDICT)
def test_no_verdict_is_status_2_and_one_clear_message(run, name, odd, tmp_path):
    """A target that cannot be loaded, or a wrong call: a message on stderr, status 2."""
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)", encoding="utf-8")
    arguments, message = NO_VERDICT[name]
    result = run("check", *(a.format(folder=tmp_path, odd=odd) for a in arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_fault_of_ours_is_not_held_against_the_target(run, monkeypatch):
    """An error inside the suite exits with 2 and asks for a report; status 1 would be a verdict."""

    def fails(*arguments, **options):
        raise RuntimeError("a fault")

    monkeypatch.setattr("rope_conformance.running.checking.judge_run", fails)
    result = run("check", GOOD)
    assert result.exit_code == 2
    assert "please report it" in result.stderr


def test_a_missing_extra_is_named(monkeypatch, capsys):
    """Without the packages of the extra `check` the script says what to install: status 2."""
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "pip install 'rope-ref[check]'" in capsys.readouterr().err

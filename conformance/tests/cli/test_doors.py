"""The command rope-ref: verdicts, exit statuses, and what is printed where."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import rope_conformance as rc
from rope_conformance import cli, zoo
from rope_conformance.accuracy.profiles import PROFILES
from rope_conformance.adapters import BUNDLED, installed
from rope_conformance.clauses import all_checks
from rope_conformance.cli import commands
from rope_conformance.report.model import Failure, Result
from rope_conformance.report.terminal import Screen
from rope_conformance.running.checking import EFFORTS
from rope_conformance.running.discovery import discover_facts
from rope_conformance.running.settling import OptionError, settle, spec_in_words
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation
from rope_ref import PowerLaw, RopeError, RopeSpec, apply_rope

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD, BAD = (f"{EXAMPLES / name}:apply_rope" for name in ("my_rope.py", "my_rope_wrong.py"))
SCHEMA = json.loads((files("rope_conformance.report") / "report.schema.json").read_text("utf-8"))

ODD = """
import itertools, os, sys
import numpy as np
from rope_conformance import Claim, Unsupported
from rope_conformance.zoo.honest.plain import float32_power
from rope_ref import RopeSpec

good = float32_power(RopeSpec(8, layout="half"))
good = lambda x, positions, rope=good: rope(x, positions)

def raises(x, positions): raise TypeError("no such operand")
def returns_none(x, positions): return None
def wrong_shape(x, positions): return good(x, positions)[:, :-1]
def wrong_dtype(x, positions): return good(x, positions).astype(np.float64)
def returns_list(x, positions): return list(good(x, positions))
def exits(x, positions): sys.exit(0)
def takes_nothing(): return None
def constant(x, positions): return np.zeros_like(x)
def not_a_number(x, positions): return np.full_like(x, np.nan)
def interrupts(x, positions, calls=itertools.count()):
    if next(calls) == 20: raise KeyboardInterrupt
    return good(x, positions)

def prints(x, positions):
    print("debug", x.shape)
    os.system("echo from a child")
    return good(x, positions)

number = 3

class Raises:
    def __init__(self, spec): raise RuntimeError("no weights here")

class Exits:
    def __init__(self, spec): sys.exit("bye")

class Declines:
    def __init__(self, spec): raise Unsupported("half layout only")
    def __call__(self, x, positions): return x
"""


def run(*arguments: str):
    """Run rope-ref in this process."""
    return CliRunner().invoke(commands.rope_ref, arguments, prog_name="rope-ref")


def command(*arguments: str) -> list[str]:
    """The command line of rope-ref in a process of its own."""
    # -P, as for an installed script: the current folder lends no module.
    start = "from rope_conformance.cli import main; main()"
    return [sys.executable, "-P", "-c", start, *arguments]


def spawn(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=120, **options
    )


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> str:
    """Path of a file of odd targets."""
    path = tmp_path_factory.mktemp("odd") / "odd.py"
    path.write_text(ODD, encoding="utf-8")
    return str(path)


# Verdicts


def test_the_example_is_conformant():
    """The newcomer's RoPE passes without any option: status 0."""
    result = run("check", GOOD)
    assert result.exit_code == 0, result.output
    assert "CONFORMANT" in result.output
    assert "NOT" not in result.output
    assert "layout: half-split (channels i and i+64)" in result.output


def test_the_wrong_twin_is_not_and_its_first_failure_is_told_in_full():
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


def test_the_command_of_a_failure_repeats_it():
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
def test_a_target_that_misbehaves_gets_a_verdict(odd, name):
    """Whatever a target does when called, the run ends with a verdict in words, and status 1."""
    result = run("check", f"{odd}:{name}", *QUICK)
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "NOT CONFORMANT" in result.output
    assert VERDICTS[name] in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_an_interrupted_run_keeps_what_was_found(odd):
    """An interrupt ends the run, not the report: not enough evidence, status 1."""
    result = run("check", f"{odd}:interrupts", *QUICK, "--no-isolation")
    assert result.exit_code == 1
    assert "NOT ENOUGH EVIDENCE" in result.output
    assert "the run was interrupted" in result.output


def test_a_target_that_declines_is_not_judged_wrong(odd):
    """Unsupported from a factory is no failure, but no evidence either: status 1 and the reason."""
    result = run("check", f"{odd}:Declines", "--quiet")
    assert result.exit_code == 1
    assert "NOT ENOUGH EVIDENCE" in result.output
    assert "half layout only" in result.output


# No verdict


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
def test_no_verdict_is_status_2_and_one_clear_message(name, odd, tmp_path):
    """A target that cannot be loaded, or a wrong call: a message on stderr, status 2."""
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)", encoding="utf-8")
    arguments, message = NO_VERDICT[name]
    result = run("check", *(a.format(folder=tmp_path, odd=odd) for a in arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_fault_of_ours_is_not_held_against_the_target(monkeypatch):
    """An error inside the suite exits with 2 and asks for a report; status 1 would be a verdict."""

    def fails(*arguments, **options):
        raise RuntimeError("a fault")

    monkeypatch.setattr("rope_conformance.running.checking.judged", fails)
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


# Options


def test_only_what_is_given_overrides_what_the_target_says():
    """A target's own spec and claim hold where no option says otherwise."""
    target = zoo.WRONG["exponent_over_head_dim"].factory
    settled = settle(target)
    assert (settled.spec, settled.claim) == (target.spec, target.claim)
    settled = settle(target, base=500.0, profile="exact", position_range="-5:5", real=True)
    assert settled.spec == RopeSpec(64, layout="half", rotary_dim=32, frequencies=PowerLaw(500))
    assert settled.claim == Claim(
        profile="exact", position_range=(-5, 5), position_kinds=("integer", "real")
    )


def test_parts_of_a_spec_that_follow_others_go_along():
    """A new width or layout takes the rotating width and the output layout with it."""
    target = zoo.WRONG["base_wrong"].factory
    spec = settle(target, head_dim=96, layout="interleaved").spec
    assert spec == RopeSpec(96, layout="interleaved")


def test_what_is_not_given_is_found_by_trying(odd):
    """Without options the layout, the width and positions per row are read from the target."""
    namespace: dict = {}
    exec("import numpy as np\n" + (EXAMPLES / "my_rope.py").read_text("utf-8"), namespace)
    rope = namespace["apply_rope"]

    def only_64(x, positions):
        assert x.shape[-1] == 64, "64 channels"
        return rope(x, positions)

    settled = settle(only_64)
    assert settled.spec == RopeSpec(64, layout="half")
    assert settled.claim.position_forms == ("t", "bt")
    assert [fact.what for fact in settled.facts] == ["head_dim", "layout"]
    assert settle(only_64, positions="t").claim.position_forms == ("t",)


def test_rows_that_are_refused_in_one_shape_are_not_judged():
    """A function of positions (T,) that takes some (B, T) and raises for others is right."""
    spec = RopeSpec(8, layout="half")

    def in_blocks(x, positions):
        parts = []
        for start in range(0, x.shape[1], 7):
            piece = slice(start, start + 7)
            parts.append(rotated(x[:, piece], positions[piece]))
        return np.concatenate(parts, axis=1)

    def rotated(x, positions):
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    assert settle(in_blocks, layout="half", head_dim=8).claim.position_forms == ("t",)
    report = rc.check(in_blocks, spec=spec, effort="quick", only=("frequency.rows",))
    assert [result.verdict for result in report.results] == ["not claimed"]
    rows = [each for each in all_checks() if each.name == "frequency.rows"]
    (fact,) = discover_facts(Implementation(in_blocks, spec, Claim()), {}, rows)
    assert fact.what == "positions (B, T)"
    assert fact.text.startswith("not taken: raises ")
    assert not fact.warn


def test_pairs_that_come_out_in_another_layout_are_told_with_a_warning():
    """Found by trying it is taken for meant, and said to be a fault if it is not."""
    spec = RopeSpec(8, layout="half", output_layout="interleaved")

    def mixed(x, positions):
        return apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    (fact,) = (f for f in settle(mixed, head_dim=8).facts if f.what == "layout")
    assert fact.warn
    assert "another layout than they went in" in fact.text


def test_options_that_cannot_be_are_refused():
    """What no option may be is an OptionError, and what no RoPE may be a RopeError."""
    with pytest.raises(OptionError):
        settle(lambda x, positions: x, profile="precise")
    with pytest.raises(RopeError):
        settle(lambda x, positions: x, layout="half", head_dim=8, rotary_dim=3)


def test_several_types_of_data_are_judged_apart():
    """Each type of data gets a verdict of its own on every clause."""
    result = run("check", GOOD, "--dtype=float32,bfloat16", "--only=data.kept", "--json")
    assert result.exit_code == 0
    assert [r["dtype"] for r in json.loads(result.stdout)["results"]] == ["float32", "bfloat16"]


def test_only_judges_those_clauses_and_does_not_call_it_conformance():
    """--only runs the clauses named, in their order, and says that this is not the whole."""
    result = run("check", GOOD, "--only=data.kept", "--only=pairing.layout", "--quiet")
    assert result.exit_code == 0
    assert "PASSED" in result.output
    assert "CONFORMANT" not in result.output
    data = json.loads(
        run("check", GOOD, "--only=data.kept", "--only=pairing.layout", "--json").stdout
    )
    assert [r["clause"] for r in data["results"]] == ["pairing.layout", "data.kept"]


def test_help_offers_what_there_is():
    """Efforts named in the options are those of the runner."""
    efforts = next(p for p in commands.check.params if p.name == "effort")
    assert list(efforts.type.choices) == list(EFFORTS)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("wrong", list(zoo.WRONG)),
        ("controls", list(zoo.CONTROLS)),
        ("clauses", [check.name for check in all_checks()]),
        ("profiles", [profile.name for profile in PROFILES]),
    ],
)
def test_list_shows_every_name_with_its_sentence(kind, names):
    """`rope-ref list` shows what is built in, one name and sentence after the other."""
    result = run("list", f"--{kind}")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines() if line[:1] != " "] == names


def test_list_alone_shows_every_public_library():
    """`rope-ref list` shows each bundled name, with its version or what to install."""
    shown = run("list")

    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    for name in BUNDLED:
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        version, _ = installed(name)
        words = line.removeprefix(name).strip()
        assert words.startswith(
            f"{BUNDLED[name].package} {version}" if version else "not installed"
        )


# What is printed, and where


def test_stdout_is_the_report_alone(odd, tmp_path):
    """With --json, what a target and its children print goes to stderr; stdout is one document."""
    result = spawn("check", f"{odd}:prints", *QUICK, "--json", "--no-isolation", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    jsonschema.validate(json.loads(result.stdout), SCHEMA)
    assert "debug (" in result.stderr
    assert "from a child" in result.stderr
    assert "CONFORMANT" in result.stderr


def test_stdout_holds_no_line_of_the_target(odd, tmp_path):
    """Without --json too, what a target prints goes to stderr."""
    only = ("--only=data.kept", "--no-isolation")
    result = spawn("check", f"{odd}:prints", *QUICK, *only, cwd=tmp_path)
    assert result.returncode == 0
    assert "PASSED" in result.stdout
    assert "debug" not in result.stdout
    assert "from a child" not in result.stdout
    assert "debug (" in result.stderr


def test_the_same_seed_gives_the_same_report(tmp_path):
    """Two runs differ in nothing but seconds, in one process or in two."""
    arguments = ("check", BAD, "--seed=5", "--effort=quick", "--json")

    def report(text: str) -> dict:
        data = json.loads(text)
        for part in (data, *data["results"]):
            del part["seconds"]
        return data

    first, second = (report(run(*arguments).stdout) for _ in range(2))
    assert first == second
    assert report(spawn(*arguments, cwd=tmp_path).stdout) == first


def test_nothing_is_written_into_the_callers_folder(tmp_path):
    """A run leaves the current folder, and that of the target, as they were."""
    (tmp_path / "neighbour.py").write_text("base = 10000.0\n", encoding="utf-8")
    source = (EXAMPLES / "my_rope.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        source.replace("import numpy", "import neighbour\nimport numpy"), encoding="utf-8"
    )
    before = sorted(tmp_path.rglob("*"))
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    result = spawn("check", "mine:apply_rope", "--effort=quick", cwd=tmp_path, env=clean)
    assert result.returncode == 0, result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_signal_ends_the_run_with_a_report(tmp_path):
    """Ctrl-C during a run gives the report on what was judged so far, and status 1."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import sys, time\ndef rope(x, positions):\n"
        "    print('called', file=sys.stderr, flush=True)\n    time.sleep(0.05)\n    return x\n",
        encoding="utf-8",
    )
    arguments = command("check", f"{slow}:rope", "--layout=half", "--head-dim=8", "--json")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        for line in process.stderr:
            if line.startswith("failed"):  # the run is under way
                process.send_signal(signal.SIGINT)
                break
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert json.loads(output)["interrupted"]


def test_help_loads_nothing_heavy():
    """`rope-ref --help` answers without NumPy, rich and Hypothesis."""
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from rope_conformance.cli import main\nsys.argv[1:] = ['check', '--help']\nmain()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0
    assert "TARGET is package.module:object" in result.stdout
    assert not {"numpy", "rich", "hypothesis", "rope_ref"} & set(result.stderr.split())


def test_a_failure_is_shown_the_moment_it_is_found():
    """The first failure is printed before the next clause is judged; a repeat is only named."""
    stream = io.StringIO()
    screen = Screen(stream)
    settled = settle(zoo.CONTROLS["float32_power"].factory)
    failure = Failure(
        "something is off", "Case()", "other", cause="a reason", reproduce="rope-ref check"
    )
    with screen.running("target", settled, ["a.first", "a.second"]):
        screen.show(Result("a.first", "A sentence.", "float32", "failed", failure=failure))
        first = stream.getvalue()
        screen.show(Result("a.second", "Another.", "float32", "failed", failure=failure))
    for part in ("a.first", "A sentence.", "something is off", "a reason", "rope-ref check"):
        assert part in first
    rest = stream.getvalue()[len(first) :]
    assert "class: other, the same as a.first" in rest
    assert "something is off" not in rest


def test_lines_fit_eighty_columns():
    """In a file no line has more than 80 columns, but for the command that is to be copied."""
    lines = run("check", BAD).output.splitlines()
    assert all(line.split()[0] == "again" for line in lines if len(line) > 80)
    assert lines == [line.rstrip() for line in lines]


def test_a_spec_is_told_in_words():
    """What is judged is shown in words: width, channels that rotate, layouts, base, direction."""
    spec = RopeSpec(
        16, layout="half", output_layout="interleaved", rotary_dim=8, rotary_start=4, direction=-1
    )
    assert spec_in_words(spec) == (
        "16 channels, of which 4 to 11 rotate, half-split (channels i and i+4), written "
        "interleaved (channels 2i and 2i+1), base 10000, clockwise"
    )


# The door from a program


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

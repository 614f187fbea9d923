"""Mutation testing: change the code a little, many times, and see whether its tests fail.

A *mutant* is a module with one small mistake: another operator, a comparison that includes or
excludes its limit, a number off by one, a condition negated, two arguments swapped, a statement
left out. A mutant is killed if its tests fail. One that survives is equivalent to the original,
or shows that a test is missing; `conformance/tests/MUTANTS.md` lists the survivors.

    python tools/mutants.py rope_ref/phase.py rope_ref/table.py --tests rope_ref/tests

The libraries for this do not fit. mutmut leaves out decorated functions and module level, here
frequencies, constants and profiles; cosmic-ray starts an interpreter for each mutant, which takes
longer than the tests that kill it.

Each mutant is tested in a process of its own, forked (not on Windows) before anything of ours is
imported, by the tests that run the changed line, the quickest first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a fork keeps no threads
PRELOADED = ("numpy", "pytest", "hypothesis", "hypothesis.strategies", "flint", "ml_dtypes")

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SYMMETRIC = {"max", "min", "maximum", "hypot", "multiply", "two_sum"}


class Mutant(NamedTuple):
    """One mistake: its lines, the code before and after, and a function that makes it."""

    lines: range
    before: str
    after: str
    make: Callable[[], None]


def mutants(tree: ast.Module) -> list[Mutant]:
    """Return all mutants of a module, always in the same order."""
    return [m for statement in _listed(tree, "body", set()) for m in statement]


def _listed(owner: ast.AST, field: str, known: set[str]) -> Iterator[list[Mutant]]:
    statements = getattr(owner, field)
    for place, statement in enumerate(statements):
        body = getattr(statement, "body", None)
        end = body[0].lineno - 1 if body else statement.end_lineno
        lines = range(statement.lineno, max(end, statement.lineno) + 1)

        found = list(_expressions(statement))
        if _can_go(statement, known):
            found.insert(0, (statement, ast.Pass(), partial(statements.__setitem__, place)))
        before, mutated = _header(statement), []
        for old, new, put_in in found:
            put_in(new)
            after = _header(statements[place])
            put_in(old)
            mutated.append(Mutant(lines, before, after, partial(put_in, new)))
        yield mutated
        inner = set(known)
        if isinstance(statement, ast.FunctionDef):
            args = statement.args
            inner = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(statement, name, None), list):
                yield from _listed(statement, name, inner)
        for handler in getattr(statement, "handlers", ()):
            yield from _listed(handler, "body", inner)
        known |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}


def _can_go(statement: ast.stmt, known: set[str]) -> bool:
    """Whether leaving a statement out is more than a NameError."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        names = [
            n.id
            for target in statement.targets
            for n in ast.walk(target)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        return set(names) <= known
    return isinstance(statement, ast.Raise | ast.AugAssign)


def _expressions(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, Callable[[ast.AST], None]]]:
    """The parts of a statement that can be replaced: old, new, and how to put one in."""
    skipped = {"body", "orelse", "finalbody", "handlers", "annotation", "returns", "decorator_list"}
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return  # the texts of messages are tested elsewhere
    for field, value in ast.iter_fields(node):
        if field in skipped and isinstance(node, ast.stmt | ast.arg):
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if not isinstance(child, ast.AST) or isinstance(child, ast.operator | ast.expr_context):
                continue

            if isinstance(value, list):
                put: Callable[[ast.AST], None] = partial(value.__setitem__, place)
            else:
                put = partial(setattr, node, field)
            for new in _instead(child, test=field == "test" or field == "ifs"):
                yield child, new, put
            yield from _expressions(child)


def _instead(node: ast.AST, test: bool) -> Iterator[ast.AST]:
    if test and not _one_way(node):
        yield ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield _with(node, op=OTHER[type(op)]())
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                new = [*ops[:place], OTHER[type(operator)](), *ops[place + 1 :]]
                yield _with(node, ops=new)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield _with(node, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield _with(node, value=value + 1)
            yield _with(node, value=value - 1)
        case ast.Call(args=[first, second, *others]) if not _starred(first, second):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in SYMMETRIC and ast.dump(first) != ast.dump(second):
                yield _with(node, args=[second, first, *others])


def _one_way(node: ast.AST) -> bool:
    """Whether replacing the operator of a comparison negates it already."""
    either = ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], either)


def _starred(*nodes: ast.AST) -> bool:
    return any(isinstance(node, ast.Starred) for node in nodes)


def _with(node: ast.AST, **changed: Any) -> ast.AST:
    new = copy.copy(node)
    for field, value in changed.items():
        setattr(new, field, value)
    return new


def _header(statement: ast.stmt) -> str:
    """A statement on one line, without its body and decorators."""
    text = ast.unparse(ast.fix_missing_locations(statement))
    return next(line for line in text.splitlines() if not line.startswith("@"))


def changed_code(path: Path, number: int) -> CodeType:
    """Return the code of a module with its mutant of this number."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    mutants(tree)[number].make()
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, with other code in it."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.path))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(self.code, module.__dict__)


class Recorder:
    """A pytest plugin that records how long each test takes, and which lines it runs."""

    def __init__(self, paths: list[Path]) -> None:
        self.files = {str(path) for path in paths}
        self.lines: set[tuple[str, int]] = set()
        self.tests: dict[str, Any] = {}
        self.always: set[tuple[str, int]] = set()
        sys.settrace(self.trace)

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    def pytest_collection_finish(self) -> None:
        self.always = self.lines  # run on import, so by every test

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        for module in list(sys.modules.values()):  # a cached call would run no line
            if module.__name__.startswith("rope_"):
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear"):
                        value.cache_clear()
        self.lines, self.start = set(), time.perf_counter()
        sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.tests[nodeid] = [time.perf_counter() - self.start, sorted(self.lines)]


class Chosen:
    """A pytest plugin that runs these tests only, the quickest first, and stops one that hangs."""

    def __init__(self, tests: dict[str, float]) -> None:
        self.tests = tests

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.tests),
            key=lambda item: self.tests[item.nodeid],
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        signal.alarm(10 + int(10 * self.tests[nodeid]))


def in_fork(work: Callable[[], int], *, quiet: bool) -> int | None:
    """Do some work in a fork, and return its exit status; None if a signal ended it."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
        if quiet:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        status = 99
        try:
            status = int(work())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def run_tests(arguments: list[str], plugin: object) -> int:
    """Run pytest here, up to the first failure, and return its exit status."""
    import pytest

    # What is preloaded was imported before pytest could rewrite its assertions.
    options = "-x -q -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning".split()
    return pytest.main([*options, *arguments], plugins=[plugin])


def baseline(paths: list[Path], tests: list[str]) -> dict[str, Any]:
    """Return how long each test takes and which lines it runs, with the code unchanged."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "baseline.json")

        def work() -> int:
            recorder = Recorder(paths)
            status = run_tests(tests, recorder)
            sys.settrace(None)
            seen = {"tests": recorder.tests, "always": sorted(recorder.always)}
            out.write_text(json.dumps(seen), encoding="utf-8")
            return status

        if in_fork(work, quiet=False) != 0:
            raise SystemExit("the tests must pass before anything is changed")
        return dict(json.loads(out.read_text(encoding="utf-8")))


def module_name(path: Path) -> str:
    """Return the name by which a file of this repository is imported."""
    place = path.relative_to(ROOT)
    parts = place.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] in ("backends", "conformance") else parts)


def main() -> None:
    """Count the mutants that the tests kill, and print those that survive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", required=True, metavar="PATH")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one mutant of N")
    parser.add_argument("--seed", type=int, default=0, help="which one of N")
    parser.add_argument("--longest", type=float, default=1e9, metavar="SECONDS", help="of a test")
    parser.add_argument("--only", nargs="*", metavar="MODULE:NUMBER", help="these mutants")
    args = parser.parse_args()
    os.chdir(ROOT)
    for name in PRELOADED:
        importlib.import_module(name)
    paths = [path.resolve() for path in args.modules]
    seen = baseline(paths, args.tests)
    always = {(file, line) for file, line in seen["always"]}
    runs = [
        Ran(nodeid, seconds, {(file, line) for file, line in lines} | always)
        for nodeid, (seconds, lines) in seen["tests"].items()
        if seconds <= args.longest
    ]
    for path in paths:
        total = len(mutants(ast.parse(path.read_text(encoding="utf-8"))))
        first = random.Random(f"{args.seed}{path.name}").randrange(args.every)
        labels = {number: f"{path.name}:{number}" for number in range(first, total, args.every)}
        if args.only:
            labels = {number: label for number, label in labels.items() if label in args.only}
        killed = killed_of(path, labels, runs)
        print(f"{path.name}: of {total} mutants {len(labels)} run, {killed} killed", flush=True)


class Ran(NamedTuple):
    """A test: how long it takes, and which lines of the modules it runs."""

    nodeid: str
    seconds: float
    lines: set[tuple[str, int]]


def killed_of(path: Path, labels: dict[int, str], runs: list[Ran]) -> int:
    """Test some mutants of a module, print those that survive, and count the others."""
    text = path.read_text(encoding="utf-8")
    found = mutants(ast.parse(text))
    unchanged = {ran.nodeid: ran.seconds for ran in runs[:50]}
    if tested(path, compile(text, str(path), "exec"), unchanged) != 0:
        raise SystemExit(f"{path.name}: unchanged, and yet its tests fail")
    killed = 0
    for number, label in labels.items():
        mutant = found[number]
        at = {(str(path), line) for line in mutant.lines}
        tests = {ran.nodeid: ran.seconds for ran in runs if at & ran.lines}
        if tests and tested(path, changed_code(path, number), tests) != 0:
            killed += 1
            continue
        print(
            f"{label}, line {mutant.lines[0]}, {len(tests)} tests\n"
            f"    - {mutant.before}\n    + {mutant.after}",
            flush=True,
        )
    return killed


def tested(path: Path, code: CodeType, tests: dict[str, float]) -> int | None:
    """Run some tests on a module with other code, and return the exit status of pytest."""

    def work() -> int:
        signal.alarm(60)
        sys.meta_path.insert(0, Replaced(module_name(path), path, code))
        importlib.import_module(module_name(path))  # before pytest's own finder can
        files = sorted({test.partition("::")[0] for test in tests})
        return run_tests(files, Chosen(tests))

    return in_fork(work, quiet=True)


if __name__ == "__main__":
    main()

"""The tests that ``pytest --rope-impl TARGET --pyargs rope_conformance`` runs: one per clause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.pytest_plugin import RUNS, WAIVERS, given_options
from rope_conformance.report.model import Result
from rope_conformance.running.checking import judge_run, start_run
from rope_conformance.running.isolation import IsolatedRun
from rope_conformance.running.run import Run
from rope_conformance.running.settings import RunOptions, TargetOptions, command_line
from rope_conformance.running.waivers import WaiverError, load_waivers
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError
from rope_conformance.testing import end_quietly, failure_text
from rope_ref import RopeError

# The properties of a test in JUnit XML: names and values, repeated for each dtype.
Properties = list[tuple[str, Any]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each target and clause. A target is loaded and settled once."""
    config = metafunc.config
    targets = list(dict.fromkeys(config.getoption("rope_impl", default=None) or ()))
    if not targets:
        metafunc.parametrize("judge", [_nothing_given], ids=["no --rope-impl"])
        return
    _start_runs(config, targets)
    metafunc.parametrize(
        "judge",
        [
            pytest.param(
                _judge(config, target, check.name),
                id=check.name if len(targets) == 1 else f"{target}-{check.name}",
            )
            for target in targets
            for check in all_checks()
        ],
    )


def test_clause(judge: Callable[[Properties], None], request: pytest.FixtureRequest) -> None:
    """One clause on one implementation."""
    # The list behind the fixture record_property, which itself warns with some kinds of JUnit XML.
    judge(request.node.user_properties)


def _start_runs(config: pytest.Config, targets: list[str]) -> None:
    runs = config.stash[RUNS] = {}
    try:
        config.stash[WAIVERS] = load_waivers(config.getoption("rope_waivers"))
    except WaiverError as error:
        raise pytest.Collector.CollectError(f"--rope-waivers {error}") from None
    for target in targets:
        try:
            runs[target] = _started(config, target)
        except (TargetError, NamespaceError, RopeError, ValueError) as error:
            raise pytest.Collector.CollectError(f"--rope-impl {target}: {error}") from None


def _started(config: pytest.Config, target: str) -> Run | IsolatedRun:
    """The run of a target, which ends with the session."""
    given = given_options(config)
    command = command_line(target, given)
    own = {name: given.pop(name) for name in ("effort", "seed") if name in given}
    options = RunOptions(
        command=command,
        isolate=config.getoption("rope_isolate"),
        timeout=config.getoption("rope_timeout"),
        **own,
    )
    run = start_run(target, TargetOptions(**given), options)
    config.add_cleanup(run.close)
    return run


def _judge(config: pytest.Config, target: str, clause: str) -> Callable[[Properties], None]:
    """The body of the test of one clause."""
    run = config.stash[RUNS][target]
    waivers = config.stash[WAIVERS]

    def judge(properties: Properties) -> None:
        report = judge_run(run, only=clause, waivers=waivers)
        for result in report.results:
            properties += _properties(result)
        failures = [text for text in map(failure_text, report.results) if text is not None]
        if failures:
            pytest.fail("\n\n".join(failures), pytrace=False)
        end_quietly(report)

    return judge


def _properties(result: Result) -> Properties:
    return [
        ("clause", result.clause),
        ("verdict", result.verdict),
        ("dtype", result.dtype),
        ("inputs", result.inputs),
        ("decisive", result.decisive),
        ("fault", result.failure.fault if result.failure else "none"),
    ]


def _nothing_given(properties: Properties) -> None:
    pytest.fail(
        "there is nothing to judge: give --rope-impl package.module:object or "
        "--rope-impl path/to/file.py:object",
        pytrace=False,
    )

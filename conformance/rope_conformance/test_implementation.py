"""What ``pytest --rope-impl TARGET --pyargs rope_conformance`` collects: a test for each clause."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from rope_conformance.pytest_plugin import READY, WAIVERS, asked

if TYPE_CHECKING:
    from rope_conformance.report.model import Result
    from rope_conformance.running.isolation import Isolated
    from rope_conformance.running.run import Run

# What JUnit XML tells of a test: names and values; for several types of data, once for each.
Properties = list[tuple[str, Any]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each target and clause; a target is loaded and tried once."""
    from rope_conformance.clauses import all_checks

    config = metafunc.config
    targets = dict.fromkeys(config.getoption("rope_impl", default=None) or ())
    if not targets:
        metafunc.parametrize("judge", [_nothing_given], ids=["no --rope-impl"])
        return
    _settle(config, list(targets))
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
    # What the fixture record_property adds to, which warns though no reader minds.
    judge(request.node.user_properties)


def _settle(config: pytest.Config, targets: list[str]) -> None:
    from rope_conformance.running.waivers import WaiverError, load_waivers
    from rope_conformance.target.frameworks import NamespaceError
    from rope_conformance.target.implementation import TargetError
    from rope_ref import RopeError

    ready = config.stash[READY] = {}
    try:
        config.stash[WAIVERS] = load_waivers(config.getoption("rope_waivers"))
    except WaiverError as error:
        raise pytest.Collector.CollectError(f"--rope-waivers {error}") from None
    for text in targets:
        try:
            ready[text] = _ready(config, text)
        except (TargetError, NamespaceError, RopeError, ValueError) as error:
            raise pytest.Collector.CollectError(f"--rope-impl {text}: {error}") from None


def _ready(config: pytest.Config, text: str) -> Run | Isolated:
    """A target ready to be judged, in this process or in one of its own."""
    from rope_conformance.running.checking import start
    from rope_conformance.running.settings import RunOptions, TargetOptions, command_line

    given = asked(config)
    defaults = {"effort": "default", "seed": 0}
    options = RunOptions(
        command=command_line(text, {k: v for k, v in given.items() if v != defaults.get(k)}),
        effort=given.pop("effort"),
        seed=given.pop("seed"),
        isolate=config.getoption("rope_isolate"),
        timeout=config.getoption("rope_timeout"),
    )
    run = start(text, TargetOptions(**given), options)
    config.add_cleanup(run.close)
    return run


def _judge(config: pytest.Config, text: str, clause: str) -> Callable[[Properties], None]:
    from rope_conformance.running.checking import judged
    from rope_conformance.testing import end_quietly, failure_text

    run = config.stash[READY][text]
    waivers = config.stash[WAIVERS]

    def judge(properties: Properties) -> None:
        report = judged(run, only=clause, waivers=waivers)
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

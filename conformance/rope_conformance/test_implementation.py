"""What ``pytest --rope-impl TARGET --pyargs rope_conformance`` collects: a test for each clause."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rope_conformance.pytest_plugin import SETTLED, asked


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each target and clause; a target is loaded and tried once."""
    from rope_conformance.registry import all_checks

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


def test_clause(judge: Callable[[], None]) -> None:
    """One clause on one implementation."""
    judge()


def _settle(config: pytest.Config, targets: list[str]) -> None:
    from rope_conformance.implementation import TargetError
    from rope_conformance.loading import load_target
    from rope_conformance.options import OptionError, settle
    from rope_ref import RopeError

    options = asked(config)
    del options["effort"], options["seed"]
    settled = config.stash[SETTLED] = {}
    for text in targets:
        try:
            target = load_target(text)
            settled[text] = (target, settle(target, name=text, **options))
        except (TargetError, OptionError, RopeError) as error:
            raise pytest.Collector.CollectError(f"--rope-impl {text}: {error}") from None


def _judge(config: pytest.Config, text: str, clause: str) -> Callable[[], None]:
    from rope_conformance.options import command_line
    from rope_conformance.runner import check
    from rope_conformance.testing import failure_text

    options = asked(config)
    target, settled = config.stash[SETTLED][text]
    defaults = {"effort": "default", "seed": 0}
    command = command_line(text, {k: v for k, v in options.items() if v != defaults.get(k)})

    def judge() -> None:
        report = check(
            target,
            spec=settled.spec,
            claim=settled.claim,
            effort=options["effort"],
            seed=options["seed"],
            name=text,
            only=[clause],
            command=command,
        )
        failures = [text for text in map(failure_text, report.results) if text is not None]
        if failures:
            pytest.fail("\n\n".join(failures), pytrace=False)
        if not any(result.verdict == "passed" for result in report.results):
            pytest.skip(f"{report.results[0].verdict}: {report.results[0].reason}")

    return judge


def _nothing_given() -> None:
    pytest.fail(
        "there is nothing to judge: give --rope-impl package.module:object or "
        "--rope-impl path/to/file.py:object",
        pytrace=False,
    )

"""Checks as tests of pytest: one of them, or all of them on several implementations."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import Check
from rope_conformance.report.model import Report, Result, cause_in_words
from rope_conformance.running import checking
from rope_conformance.target.implementation import target_name

__all__ = ["assert_check", "end_quietly", "failure_text", "parametrize_with_checks"]


def assert_check(check: Check, target: Any, **options: Any) -> None:
    """Judge a target by one check inside a test.

    The test is skipped if the clause is not claimed, and xfails if its failure is waived.

    Parameters
    ----------
    check
        The check.
    target, options
        As for `rope_conformance.check`.

    Raises
    ------
    AssertionError
        If the clause is broken, or the implementation raised.
    """
    __tracebackhide__ = True  # the message says it all
    report = checking.check(target, only=[check.name], **options)
    for result in report.results:
        if (text := failure_text(result)) is not None:
            raise AssertionError(text)
    end_quietly(report)


def end_quietly(report: Report) -> None:
    """End a test in which nothing failed: xfailed if a failure is waived, skipped if none passed.

    Raises
    ------
    KeyboardInterrupt
        If the run was interrupted.
    """
    __tracebackhide__ = True
    if report.interrupted:  # the run ended with a report; the tests still have to end
        raise KeyboardInterrupt
    for result in report.results:
        if result.verdict == "waived":
            pytest.xfail(f"waived: {result.reason}")
    if not any(result.verdict == "passed" for result in report.results):
        pytest.skip(f"{report.results[0].verdict}: {report.results[0].reason}")


def failure_text(result: Result) -> str | None:
    """Return what a test that fails shows; None for a result that is no failure."""
    if result.verdict == "not run":
        return f"{result.clause} was not run: {result.reason}"
    if result.verdict not in ("failed", "error"):
        return None
    failure = result.failure
    if failure is None:  # a waiver that is not needed
        return f"{result.clause}: {result.reason}"
    lines = [f"{result.clause}: {result.sentence}", failure.message]
    lines.append(f"class: {failure.fault}")
    if failure.cause:
        lines.append(f"likely cause: {cause_in_words(failure)}")
    lines.append(f"input: {failure.case}")
    if failure.reproduce:
        lines.append(f"again: {failure.reproduce}")
    return "\n".join(lines)


def parametrize_with_checks(targets: Iterable[Any], **options: Any) -> Any:
    """Decorate a test so that it runs once for each implementation and check.

    The test takes two arguments, and calls the second with the first.

    Parameters
    ----------
    targets
        Implementations, as for `rope_conformance.check`.
    options
        All other arguments of `rope_conformance.check`, but for ``only``.

    Returns
    -------
    decorator
        A mark of pytest.

    Examples
    --------
    ::

        @rope_conformance.parametrize_with_checks([MyRope, other_rope])
        def test_rope(implementation, check):
            check(implementation)
    """
    parameters = [
        pytest.param(
            target,
            functools.partial(assert_check, check, **options),
            id=f"{target_name(target)}-{check.name}",
        )
        for target in targets
        for check in all_checks()
    ]
    return pytest.mark.parametrize(("implementation", "check"), parameters)

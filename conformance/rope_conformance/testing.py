"""Checks as tests: one of them, or all of them on several implementations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rope_conformance.clauses import all_checks
from rope_conformance.judging.clause import Check
from rope_conformance.report.model import Report, Result, cause_in_words
from rope_conformance.running.checking import check

__all__ = ["assert_check", "end_quietly", "failure_text", "parametrize_with_checks"]


def assert_check(each: Check, target: Any, **options: Any) -> None:
    """Judge a target by one check inside a test.

    Raises
    ------
    AssertionError
        If the clause is broken, or the implementation raised.
    """
    __tracebackhide__ = True  # the message says all; how it was found is of no interest
    report = check(target, only=[each.name], **options)
    for result in report.results:
        if (text := failure_text(result)) is not None:
            raise AssertionError(text)
    end_quietly(report)


def end_quietly(report: Report) -> None:
    """End a test in which nothing failed: waived is xfailed, not claimed is skipped."""
    import pytest

    __tracebackhide__ = True
    if report.interrupted:  # the report kept what was found; the tests end here all the same
        raise KeyboardInterrupt
    for result in report.results:
        if result.verdict == "waived":
            pytest.xfail(f"waived: {result.reason}")
    if not any(result.verdict == "passed" for result in report.results):
        pytest.skip(f"{report.results[0].verdict}: {report.results[0].reason}")


def failure_text(result: Result) -> str | None:
    """What a test that fails should say; None where there is nothing to fail for."""
    if result.verdict == "not run":
        return f"{result.clause} was not run: {result.reason}"
    if result.verdict not in ("failed", "error"):
        return None
    failure = result.failure
    if failure is None:  # its waiver is wrong
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
    """Decorate a test so that it runs once per implementation and check.

    Parameters
    ----------
    targets
        Implementations, as for `check`.
    options
        Handed on to `check`: ``spec``, ``axes``, ``dtype``, ...

    Examples
    --------
    ::

        @rope_conformance.parametrize_with_checks([MyRope, other_rope])
        def test_rope(implementation, check):
            check(implementation)
    """
    import functools

    import pytest

    parameters = [
        pytest.param(
            target,
            functools.partial(assert_check, each, **options),
            id=f"{getattr(target, '__name__', type(target).__name__)}-{each.name}",
        )
        for target in targets
        for each in all_checks()
    ]
    return pytest.mark.parametrize(("implementation", "check"), parameters)

"""The options of pytest that judge an implementation without a test file.

::

    pytest --rope-impl my_package.my_module:apply_rope --pyargs rope_conformance

Where rope-ref is installed every run of pytest loads this module, so it imports pytest alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rope_conformance.running.isolation import IsolatedRun
    from rope_conformance.running.run import Run
    from rope_conformance.running.waivers import Waiver

__all__ = ["RUNS", "WAIVERS", "given_options"]

_OPTIONS: dict[str, dict[str, Any]] = {
    "layout": {"choices": ("half", "interleaved"), "help": "which channels form a pair"},
    "head-dim": {"type": int, "help": "width of a head"},
    "rotary-dim": {"type": int, "help": "how many channels rotate"},
    "base": {"type": float, "help": "theta_i = base**(-2i/R)"},
    "axes": {"help": "order of x's axes in letters, such as bthd"},
    "dtype": {"help": "type of the data, or several separated by commas"},
    "profile": {"help": "accuracy claimed, by name"},
    "effort": {
        "choices": ("quick", "default", "thorough"),
        "default": "default",
        "help": "how many inputs are generated",
    },
    "seed": {"type": int, "default": 0, "help": "of the generated inputs"},
}

# The runs of a session by their TARGET, and its waivers.
RUNS: pytest.StashKey[dict[str, Run | IsolatedRun]] = pytest.StashKey()
WAIVERS: pytest.StashKey[tuple[Waiver, ...]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which mean what those of `rope-ref check` mean."""
    group = parser.getgroup("rope-ref", "implementations of rotary position embedding")
    group.addoption(
        "--rope-impl",
        action="append",
        metavar="TARGET",
        help="judge this implementation, package.module:object or path/to/file.py:object; give "
        "`--pyargs rope_conformance` too. May be repeated",
    )
    group.addoption(
        "--rope-isolate",
        action="store_true",
        help="give each implementation a process of its own, so that the tests outlive it",
    )
    group.addoption(
        "--rope-timeout",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="with --rope-isolate: how long one call may take; 30",
    )
    group.addoption(
        "--rope-waivers",
        metavar="FILE",
        help="failures that are forgiven for a while, in TOML; they show as xfailed",
    )
    for name, settings in _OPTIONS.items():
        group.addoption(f"--rope-{name}", **settings)


def given_options(config: pytest.Config) -> dict[str, Any]:
    """Return the options that are not at their defaults, by their names in `rope-ref check`."""
    given = {}
    for option, settings in _OPTIONS.items():
        name = option.replace("-", "_")
        value = config.getoption(f"rope_{name}")
        if value != settings.get("default"):
            given[name] = value
    return given


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Show what each implementation is judged as, and what trying it showed."""
    runs = config.stash.get(RUNS, {})
    if not runs:
        return []
    from rope_conformance.report.words import claim_in_words

    lines = []
    for target, run in runs.items():
        judged_as = run.judged_as
        lines.append(f"rope-ref: {target} as {judged_as.words}")
        lines.append(f"rope-ref: it claims {claim_in_words(judged_as.claim)}")
        lines += [f"rope-ref: by trying: {fact.what} {fact.text}" for fact in judged_as.facts]
    return lines


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Refuse --rope-impl where no test that judges it was collected."""
    if config.getoption("rope_impl") and RUNS not in config.stash:
        raise pytest.UsageError(
            "--rope-impl was given, but nothing that judges it was collected: "
            "add `--pyargs rope_conformance`"
        )

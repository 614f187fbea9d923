"""rope_conformance: judges any implementation of rotary position embedding.

::

    report = rope_conformance.check(my_apply_rope, spec=spec, axes="bthd")
    report.passed, report.findings, report.to_json()

=========================  =================================================================
`check`                    judge one implementation
`parametrize_with_checks`  decorate a test, to judge several by pytest
`claims`, `Claim`          what an implementation says of itself
`Unsupported`              raised by an implementation for a spec that it does not do
`RunOptions`               how a run is done: waivers, isolation, limits, names
`Waiver`                   a known failure that is forgiven for a while
`Report`                   the outcome of a run
`TargetError`              there is nothing to judge: the target does not load
`WaiverError`              a waiver that cannot be understood
=========================  =================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rope_conformance.report.model import Report
    from rope_conformance.running.checking import check
    from rope_conformance.running.settings import RunOptions
    from rope_conformance.running.waivers import Waiver, WaiverError
    from rope_conformance.target.claim import Claim, claims
    from rope_conformance.target.implementation import TargetError, Unsupported
    from rope_conformance.testing import parametrize_with_checks

__all__ = [
    "Claim",
    "Report",
    "RunOptions",
    "TargetError",
    "Unsupported",
    "Waiver",
    "WaiverError",
    "check",
    "claims",
    "parametrize_with_checks",
]

# The module of each name.
_HOME = {
    "Claim": "target.claim",
    "Report": "report.model",
    "RunOptions": "running.settings",
    "TargetError": "target.implementation",
    "Unsupported": "target.implementation",
    "Waiver": "running.waivers",
    "WaiverError": "running.waivers",
    "check": "running.checking",
    "claims": "target.claim",
    "parametrize_with_checks": "testing",
}


def __getattr__(name: str) -> Any:
    # Names are loaded when first used: with the plugin, every run of pytest imports this package.
    if name not in _HOME:
        raise AttributeError(f"module 'rope_conformance' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rope_conformance.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

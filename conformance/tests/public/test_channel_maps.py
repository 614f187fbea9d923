"""Published maps that are no rotations keep the definition that is declared for them."""

from dataclasses import replace

import pytest

from rope_conformance import check
from rope_conformance.adapters import bundled

pytest.importorskip("transformers")


def test_v_jepa2_keeps_its_own_definition():
    """Frame, row and column with crossed tables: its three thirds of a head, and the rest."""
    report = check(bundled("transformers/vjepa2"), effort="quick")
    assert report.passed, report.findings
    passed = {r.clause for r in report.results if r.verdict == "passed"}
    assert {"channels.values", "passthrough.channels", "frequency.rows", "axes.order"} <= passed
    assert 0.3 <= report.largest_ratio <= 1


def test_hunyuan_vl_is_what_two_ropes_say():
    """One frequency for both channels of a pair, and an axis for each."""
    adapter = bundled("transformers/hunyuan-vl")
    first, second = (
        replace(adapter.spec, pair_axes=[axis] * 32 + [axis + 1] * 32) for axis in (0, 2)
    )
    claim = replace(adapter.claim, second_channels=second, accepts=None)
    made = adapter(adapter.spec)
    report = check(made.apply_rope, spec=first, claim=claim, effort="quick")
    assert report.passed, report.findings
    assert 0.3 <= report.largest_ratio <= 1
    exchanged = check(
        made.apply_rope,
        spec=second,
        claim=replace(claim, second_channels=first),
        only=["channels.values"],
        dtype="float32",
    )
    assert exchanged.fault == "multi-axis"
    assert "channels follow other axes" in exchanged.findings[0].failure.cause

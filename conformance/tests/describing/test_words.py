"""A RoPE in words."""

import numpy as np
import pytest

import rope_ref as rr
from rope_conformance.describing.description import pairs_of
from rope_conformance.describing.words import rule_in_words, spec_in_words
from rope_conformance.target.rule_parts import plain_rule

RULES = [
    rr.scaling.Linear(rr.PowerLaw(), factor=2),
    rr.scaling.NTK(rr.PowerLaw(), alpha=2),
    rr.scaling.FixedNTK(rr.PowerLaw(), factor=2, mixing=0.5),
    rr.scaling.DynamicNTK(rr.PowerLaw(), factor=2, original_length=4096, length=5000),
    rr.scaling.NTKByParts(rr.PowerLaw(), factor=2),
    rr.scaling.YaRN(rr.PowerLaw(), factor=2, original_length=4096),
    rr.scaling.LongRoPE(
        rr.PowerLaw(), short_factors=[1] * 8, long_factors=[2] * 8, original_length=4096, factor=2
    ),
    rr.scaling.Divided(rr.PowerLaw(), factors=[1] * 7 + [9]),
    rr.scaling.Llama3(rr.PowerLaw(), factor=2),
    rr.scaling.Proportional(rr.PowerLaw(), fraction=0.5, factor=2),
    rr.scaling.Axial(rr.scaling.NTK(rr.PowerLaw(), alpha=2), (8, 8)),
    rr.scaling.Reordered(rr.scaling.Linear(rr.PowerLaw(), factor=2), order=range(8)),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_each_rule_is_told_in_words(rule):
    """No rule is shown as the code that makes it, and its ratios are to the plain rule below."""
    words = rule_in_words(rule, 16)
    assert not any("(" + "rule=" in word or "PowerLaw" in word for word in words)
    spec = rr.RopeSpec(16, layout="half", frequencies=rule)
    assert spec_in_words(spec)
    below = np.array(plain_rule(rule).theta(16))
    ratios = [pair.ratio for pair in pairs_of(spec)]
    np.testing.assert_allclose(ratios, spec.theta() / below, rtol=1e-15)


def test_what_does_not_rotate_has_no_theta():
    """Its words are that, whatever the rule and its lists."""
    for rule in (rr.PowerLaw(), rr.scaling.Divided(rr.PowerLaw(), factors=())):
        spec = rr.RopeSpec(8, layout="half", rotary_dim=0, frequencies=rule)
        assert spec_in_words(spec) == rule_in_words(rule, 0) == ["no channel rotates"]

"""Which length sets the frequencies in transformers, read off its own rotary embedding.

The cache around it is three lines of ours: positions go on, and keys stay as they are.
"""

import pytest
import torch
from transformers.models.llama import modeling_llama as llama

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.clauses._lengths import FACTS
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo.parts.growing import DYNAMIC, LONGROPE
from rope_ref import ExplicitFrequencies
from rope_ref.scaling import DynamicNTK

WHICH = "which length sets the frequencies"
KEYS = "when the frequencies change, cached keys"
CLAIM = {
    "axes": "bhtd",
    "namespace": "torch",
    "position_forms": ("bt",),
    "profile": "float32-power",
}
CHECKS = [c for c in all_checks() if c.name.startswith("growth.")]


def parameters(rule):
    """A rule in the words of a config."""
    base = {"rope_theta": float(rule.rule.base), "factor": float(rule.factor)}
    if isinstance(rule, DynamicNTK):
        return base | {"rope_type": "dynamic"}
    return base | {
        "rope_type": "longrope",
        "short_factor": list(rule.short_factors),
        "long_factor": list(rule.long_factors),
        "original_max_position_embeddings": int(rule.original_length),
    }


class Served:
    """The rotary embedding of Llama, and a cache."""

    def __init__(self, spec):
        rule = spec.frequencies
        if isinstance(rule, ExplicitFrequencies):
            raise rc.Unsupported("made for remaps")
        config = llama.LlamaConfig(
            hidden_size=spec.head_dim,
            num_attention_heads=1,
            max_position_embeddings=int(rule.original_length),
            rope_parameters=parameters(rule),
        )
        # One for the requests and one beside: dynamic NTK remembers each call of its own.
        self.table, self.beside = (llama.LlamaRotaryEmbedding(config) for _ in range(2))
        self.start()

    def apply_rope(self, x, positions):
        return self.turned(x, positions, self.beside)

    def turned(self, x, positions, table):
        cos, sin = table(x, positions)
        return llama.apply_rotary_pos_emb(x, x, cos, sin)[0]

    def start(self):
        self.next, self.cache = 0, []

    def prefill(self, x):
        positions = torch.arange(self.next, self.next + x.shape[2]).expand(x.shape[0], -1)
        self.next += x.shape[2]
        self.cache.append(self.turned(x, positions, self.table))
        return self.cache[-1].clone()

    def step(self, x):
        return self.prefill(x)

    def keys(self):
        return torch.cat(self.cache, dim=2)


def judged(spec, **claim):
    """Verdict by clause, and the facts."""
    found, facts = {}, {}
    for check in CHECKS:
        context = CheckContext(Implementation(Served, spec, rc.Claim(**CLAIM, **claim)), "float32")
        found[check.name] = run_check(check, context, effort="quick", shrink=False).verdict
        facts |= context.evidence.facts
    return found, facts


@pytest.mark.parametrize(
    ("spec", "length_rule"),
    [(DYNAMIC, "resets"), (LONGROPE, "forward")],
    ids=["dynamic", "longrope"],
)
def test_its_length_rule_is_told(spec, length_rule):
    """Dynamic NTK remembers, LongRoPE does not; neither turns keys again."""
    found, facts = judged(spec)
    assert found.pop("growth.shift") == "not claimed"
    assert set(found.values()) == {"passed"}
    assert facts == {WHICH: FACTS[length_rule], KEYS: FACTS["kept"]}


def test_dynamic_ntk_does_not_only_grow():
    """A short request gets its frequencies back: whoever claims otherwise fails there."""
    found, _ = judged(DYNAMIC, length_rule="grows")
    assert found["growth.requests"] == "failed"

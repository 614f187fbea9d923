"""The zoo on torch's and JAX's arrays: what is caught on NumPy's is caught there too."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS, WRONG
from rope_conformance.zoo.through import _handed, through

FRAMEWORKS = ("torch", "jax")
CHECKS = {check.name: check for check in all_checks()}
NUMPY = {n: w for n, w in WRONG.items() if w.factory.claim.namespace == "numpy"}
NAMED = {name: [c for c in CHECKS if c in WRONG[name].clauses] for name in NUMPY}

# What is wrong with these cannot be said in JAX's arrays, or is not looked for there.
NOT_IN_JAX = {
    "without x64 there is no float64 to return or to take": (
        "upcasts_result",
        "upcasts_weights",
        "keys_come_out_wider",
        "gradient_comes_out_wider",
        "float64_data_float32_phases",
    ),
    "an array cannot be written into, so that nothing is overwritten": (
        "writes_into_x",
        "logits_overwrite_queries",
        "gradient_overwrites_what_it_is_given",
        "reuses_buffer",
        "decode_reuses_buffer",
        "gradient_shares_memory",
        "scores_share_memory",
        "packs_share_a_buffer",
        "overwrites_packed_queries",
        "results_share_memory",
        "in_place_clears_values",
        "in_place_on_a_copy_of_keys",
        "writes_past_the_key_heads",
        "in_place_in_name_only",
        "consumer_negates_sine",
        "table_in_one_buffer",
        "table_moves_positions",
        "layer_moves_positions",
    ),
    "an array is never a view of another with strides of its own": (
        "reads_memory_in_order",
        "token_stride_assumed",
        "reads_backwards_views_forwards",
        "expanded_heads_are_one",
        "reads_positions_in_order",
    ),
    "each new shape is compiled: none has so many tokens": (
        "at_most_4096_tokens",
        "keys_beyond_a_block",
        "keys_beyond_a_block_as_they_are",
        "gradient_beyond_a_block",
    ),
}
EXEMPT = [name for names in NOT_IN_JAX.values() for name in names]
# torch has no view that runs backwards through memory.
NOT_IN_TORCH = ("reads_backwards_views_forwards",)
LEFT_OUT = [("torch", n) for n in NOT_IN_TORCH] + [("jax", n) for n in EXEMPT]
PAIRS = [(f, n) for n in NUMPY for f in FRAMEWORKS if (f, n) not in LEFT_OUT]
# One member for each clause and framework at each change, all of them by ROPE_MEMBERS=all.
FIRST = {(f, clause): (f, n) for f, n in reversed(PAIRS) for clause in NUMPY[n].clauses}
CHOSEN = PAIRS if os.environ.get("ROPE_MEMBERS") == "all" else set(FIRST.values())

# Honest ones of several kinds of surface.
HONEST = (
    ("torch", "bfloat16_out"),
    ("torch", "in_place"),
    ("torch", "attention_layer"),
    ("jax", "float32_power"),
    ("jax", "table_consumer"),
    ("jax", "decodes"),
)


def caught_by(factory, names):
    """Which of the checks named fail on it, each with the fewest inputs, in any type of data."""
    found = []
    for name in names:
        for dtype in factory.claim.dtypes:
            context = CheckContext(Implementation(factory, factory.spec, factory.claim), dtype)
            result = run_check(CHECKS[name], context, effort="quick", shrink=False)
            if result.verdict in ("failed", "error"):
                found.append(name)
                break
    return found


@pytest.mark.parametrize(("framework", "name"), PAIRS)
def test_a_wrong_one_is_caught_on_the_arrays_of_a_framework(usable, framework, name):
    """The checks that name it catch it."""
    if (framework, name) not in CHOSEN:
        pytest.skip("another member stands for its clauses; ROPE_MEMBERS=all takes all of them")
    usable(framework)
    assert caught_by(through(NUMPY[name].factory, framework), NAMED[name]) == NAMED[name]


@pytest.mark.parametrize(("framework", "name"), LEFT_OUT)
def test_what_is_left_out_could_not_be_caught(usable, framework, name):
    """No member stands in the tables that the framework's arrays could show."""
    usable(framework)
    try:
        factory = through(NUMPY[name].factory, framework)
    except ValueError as error:
        assert re.match(r"JAX( without x64 has no float64|'s arrays cannot be written)", str(error))
    else:
        assert caught_by(factory, NAMED[name]) != NAMED[name]


@pytest.mark.parametrize(("framework", "name"), HONEST)
def test_an_honest_one_passes(usable, framework, name):
    """Nothing is put into an honest one by handing it other arrays."""
    usable(framework)
    control = through(CONTROLS[name].factory, framework)
    report = rc.check(control, spec=control.spec, effort="quick")
    assert report.passed, [(r.clause, r.failure.message) for r in report.findings]
    assert report.claim["namespace"] == framework


def test_a_view_stands_on_the_memory_of_a_tensor(usable):
    """What is written into the NumPy array is in the tensor, whatever its type and strides."""
    torch = usable("torch")._torch
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64):
        room = torch.zeros((4, 6), dtype=dtype)

        def rope(x, positions):
            x[0, 0] = 7
            return x

        tensor = room[1::2, 1::2]
        assert _handed(rope, "torch")(tensor, None) is tensor
        assert room[1, 1] == 7
        assert room.count_nonzero() == 1


def test_a_buffer_that_is_returned_twice_is_one_tensors_memory(usable):
    """A NumPy result shares its memory with the tensor that is handed back."""
    usable("torch")
    buffer = np.zeros(3, dtype=np.float32)
    first = _handed(lambda: buffer, "torch")()
    buffer[0] = 5
    assert first[0] == 5

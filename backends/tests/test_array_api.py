"""Every backend on every kind of input with concrete positions: tables from the reference."""

from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_ref as rr

YARN_LIKE = rr.ExplicitFrequencies([0.9, 0.05, 1e-4], amplitude=Fraction(5, 4))


class Case(NamedTuple):
    spec: rr.RopeSpec
    axes: str
    shape: tuple[int, ...]
    positions: Any


# Few shapes: JAX compiles each of them.
CASES = {
    "half": Case(
        rr.RopeSpec(128, layout="half"), "bthd", (2, 5, 3, 128), [0, 1, -7, 2**31 - 1, 1 - 2**31]
    ),
    "partial": Case(
        rr.RopeSpec(16, layout="interleaved", rotary_dim=6, rotary_start=4),
        "bhtd",
        (2, 3, 5, 16),
        np.array([[0, 1, 2, 3, 4], [-5, 2**20, 9, 2**24 + 1, -(2**30)]]),
    ),
    "rewritten": Case(
        rr.RopeSpec(8, layout="half", output_layout="interleaved"), "thd", (4, 2, 8), 4095
    ),
    "clockwise": Case(
        rr.RopeSpec(6, layout="interleaved", direction=-1, frequencies=YARN_LIKE),
        "td",
        (5, 6),
        np.arange(5, dtype=np.int32) + 100_000,
    ),
    "channels first": Case(
        rr.RopeSpec(6, layout="interleaved", output_layout="half"),
        "dtb",
        (6, 5, 2),
        np.array([[7, 0, 1, 2, 3], [2**31 - 1, 5, 5, 5, 5]]),
    ),
    "real": Case(
        rr.RopeSpec(8, layout="half"), "btd", (1, 4, 8), np.array([0.5, -1e6 - 0.25, 1 / 3, 7.0])
    ),
    "two axes": Case(
        rr.RopeSpec(8, layout="half", pair_axes=(0, 1, 1, 0)),
        "bthd",
        (2, 3, 1, 8),
        np.array([[[0, 1, 2], [3, 4, 5]], [[7, 7, -8], [2**20, 8, 9]]]),
    ),
    "nothing rotates": Case(
        rr.RopeSpec(8, layout="interleaved", rotary_dim=0), "td", (3, 8), [0, 1, 2]
    ),
    "no tokens": Case(rr.RopeSpec(8, layout="interleaved"), "bthd", (2, 0, 3, 8), []),
}
EACH_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def data(shape, dtype, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@EACH_CASE
def test_result_is_exact_and_of_the_kind_that_came_in(bench, dtype, case, ratio):
    x = data(case.shape, dtype)
    with bench.types(dtype):
        y = bench.rotated(
            x, lambda a: bench.backend.apply_rope(a, case.positions, case.spec, axes=case.axes)
        )
    assert ratio(y, x, case.positions, case.spec, case.axes, dtype) <= 1


def test_positions_in_every_form_are_one_position(bench):
    spec, x = rr.RopeSpec(8, layout="half"), data((4, 8), "float32")
    whole = [3, 0, 70_000, -2]
    forms = [whole, tuple(whole), np.array(whole), np.array(whole, dtype=np.float64)]
    forms += [bench.array(np.array(whole, dtype=np.int32)), np.array(whole, dtype=np.int32)]
    forms += [bench.array(np.array(whole, dtype=np.float32))]
    rotated = [
        bench.rotated(x, lambda a, p=p: bench.backend.apply_rope(a, p, spec, axes="td"))
        for p in forms
    ]
    for y in rotated[1:]:
        np.testing.assert_array_equal(y, rotated[0])


def test_positions_may_have_the_narrowest_type_of_the_framework(bench, ratio):
    if "bfloat16" not in bench.dtypes:
        pytest.skip(f"{bench.place} has no bfloat16")
    spec, x = rr.RopeSpec(8, layout="half"), data((4, 8), "float32")
    p = np.array([1.5, -3, 256, 0]).astype(ml_dtypes.bfloat16)
    y = bench.rotated(x, lambda a: bench.backend.apply_rope(a, bench.array(p), spec, axes="td"))
    assert ratio(y, x, p.astype(np.float64), spec, "td", "float32") <= 1


def test_positions_beyond_32_bits_do_not_wrap(bench, ratio):
    spec, x = rr.RopeSpec(8, layout="half"), data((4, 8), "float32")
    for p in (
        np.array([2**31, -(2**31) - 1, 2**40 + 1, 2**53 - 1]),
        np.array([2.0**40 + 0.5, 2.0**24 + 1, 2.0**31, 16777217.5]),
    ):
        y = bench.rotated(x, lambda a, p=p: bench.backend.apply_rope(a, p, spec, axes="td"))
        assert ratio(y, x, p, spec, "td", "float32", limit=2**53) <= 1


def test_channels_that_do_not_rotate_keep_their_bits(bench, dtype):
    spec = rr.RopeSpec(8, layout="half", rotary_dim=4, rotary_start=2)
    x = data((3, 8), dtype)
    x[0, 0], x[1, 1], x[2, 6], x[2, 7] = np.nan, -0.0, np.inf, 0.0
    bits = f"u{x.dtype.itemsize}"
    with bench.types(dtype):
        y = bench.rotated(x, lambda a: bench.backend.apply_rope(a, [5, 6, 7], spec, axes="td"))
    kept = [0, 1, 6, 7]
    # A NaN stays a NaN, but XLA does not keep which of them it is.
    number = ~np.isnan(x[:, kept])
    assert np.isnan(y[:, kept])[~number].all()
    np.testing.assert_array_equal(y.view(bits)[:, kept][number], x.view(bits)[:, kept][number])


def test_result_is_an_array_of_its_own(bench):
    x = bench.array(data((3, 8), "float32"))
    for width in (0, 8):
        y = bench.backend.apply_rope(
            x, 0, rr.RopeSpec(8, layout="interleaved", rotary_dim=width), axes="td"
        )
        if bench.backend.name == "numpy":
            assert not np.shares_memory(x, y)
        elif bench.backend.name == "torch":
            assert x.untyped_storage().data_ptr() != y.untyped_storage().data_ptr()
        else:
            assert y is not x


BAD = {
    "too many letters": ((2, 3, 8), [0, 1, 2], "bthd"),
    "unknown letter": ((3, 8), [0, 1, 2], "sd"),
    "wrong head_dim": ((3, 6), [0, 1, 2], "td"),
    "positions too long": ((3, 8), [0, 1, 2, 3], "td"),
    "rows without a batch": ((3, 8), [[0, 1, 2]], "td"),
    "one position for many": ((3, 8), [0], "td"),
    "boolean positions": ((3, 8), [True, False, True], "td"),
    "infinite position": ((3, 8), [0.0, np.inf, 1.0], "td"),
    "position too large": ((3, 8), [0, 2**53, 1], "td"),
}


@pytest.mark.parametrize("shape, positions, axes", BAD.values(), ids=BAD)
def test_refusals_are_the_references_own(bench, shape, positions, axes):
    spec, x = rr.RopeSpec(8, layout="half"), data(shape, "float32")
    with pytest.raises(rr.RopeError) as want:
        rr.apply_rope(x, positions, spec, axes=axes)
    with pytest.raises(rr.RopeError) as got:
        bench.backend.apply_rope(bench.array(x), positions, spec, axes=axes)
    assert (got.type, str(got.value)) == (want.type, str(want.value))


@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_any_spec_on_any_order_of_axes(bench, ratio, draw):
    if bench.backend.name == "jax":
        pytest.skip("JAX compiles each shape: it takes the fixed ones")
    letters = draw.draw(st.permutations("bthd"))
    axes = "".join(letter for letter in letters if letter in "td" or draw.draw(st.booleans()))
    pairs, start, rest = (draw.draw(st.integers(0, 3)) for _ in range(3))
    layouts = st.sampled_from(["interleaved", "half"])
    spec = rr.RopeSpec(
        max(1, 2 * pairs + start + rest),
        layout=draw.draw(layouts),
        output_layout=draw.draw(layouts),
        rotary_dim=2 * pairs,
        rotary_start=start,
        direction=draw.draw(st.sampled_from([1, -1])),
        frequencies=rr.PowerLaw(draw.draw(st.sampled_from([0.5, 100.0, 1e7]))),
    )
    lengths = {letter: draw.draw(st.integers(1, 3)) for letter in axes} | {"d": spec.head_dim}
    form = draw.draw(st.sampled_from(["", "t", "bt"] if "b" in axes else ["", "t"]))
    near = st.integers(1 - 2**31, 2**31 - 1)
    p = np.zeros([lengths[letter] for letter in form], dtype=np.int64)
    p.flat = [draw.draw(near) for _ in range(p.size)]
    x = data([lengths[letter] for letter in axes], "float32", seed=pairs)
    y = bench.rotated(x, lambda a: bench.backend.apply_rope(a, p, spec, axes=axes))
    assert ratio(y, x, p, spec, axes, "float32") <= 1

"""What a backend offers beside the rotation: its table, its dtypes and its devices."""

import copy
import pickle

import numpy as np
import pytest

import rope_ref as rr


def test_dtypes_are_those_expected(bench):
    with bench.types("float64"):
        assert set(bench.dtypes) <= set(bench.backend.dtypes)
    assert bench.device in bench.backend.devices()


def test_table_is_the_references_rounded_once(bench):
    spec = rr.RopeSpec(8, layout="half", frequencies=rr.PowerLaw(500))
    p = np.array([[0, 5], [-70_000, 2**40]])
    cos, sin = bench.backend.cos_sin(p, spec, dtype="float32", device=bench.device)
    for got, want in zip((cos, sin), rr.cos_sin(p, spec), strict=True):
        assert isinstance(got, bench.backend.array_type)
        assert bench.where(got) == bench.where(
            bench.backend.framework.place(np.float32([0]), bench.device)
        )
        np.testing.assert_array_equal(bench.host(got), want.astype(np.float32))
    own = bench.backend.dtypes["float32"]
    np.testing.assert_array_equal(
        bench.host(bench.backend.cos_sin(3, spec, dtype=own, device=bench.device)[0]),
        rr.cos_sin(3, spec)[0].astype(np.float32),
    )
    with pytest.raises(rr.errors.DtypeError, match="float32 or float64"):
        bench.backend.cos_sin(p, spec, dtype="bfloat16")


def test_a_backend_can_be_copied_and_pickled(bench):
    """It is part of models, which are copied, saved and sent to other processes."""
    spec = rr.RopeSpec(8, layout="half")
    x = bench.array(np.ones((1, 2, 1, 8), dtype=np.float32))
    want = bench.host(bench.backend.apply_rope(x, np.arange(2), spec, axes="bthd"))
    for again in (copy.deepcopy(bench.backend), pickle.loads(pickle.dumps(bench.backend))):
        assert again.name == bench.backend.name
        got = bench.host(again.apply_rope(x, np.arange(2), spec, axes="bthd"))
        np.testing.assert_array_equal(got, want)

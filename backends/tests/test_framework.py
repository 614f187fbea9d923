"""What the implementation asks of each framework."""

import numpy as np
import pytest

import rope_ref as rr
from rope_backends import ArrayTypeError

INTEGERS = np.array([[3, 0], [-7, 2**31 - 1]], dtype=np.int32)


def test_an_array_lies_where_it_is_placed_with_every_bit(bench):
    framework = bench.backend.framework
    host = np.array([1.5, -0.0, np.inf, 2.0**-140], dtype=np.float32)
    placed = framework.place(host, bench.device)
    assert isinstance(placed, framework.array_type)
    assert framework.dtype_name(placed) == "float32"
    assert bench.where(placed) == bench.where(framework.place(host[:1], bench.device))
    assert bench.host(placed).tobytes() == host.tobytes()


def test_concrete_positions_are_read(bench):
    framework = bench.backend.framework
    for positions in (INTEGERS, INTEGERS.tolist(), bench.array(INTEGERS)):
        host = framework.concrete(positions)
        assert isinstance(host, np.ndarray)
        np.testing.assert_array_equal(host, INTEGERS)


def test_rows_are_taken_by_an_index_of_any_shape(bench):
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    for index in (np.int32(4), np.array([5, 0, 5], np.int32), np.array([[1, 2], [3, 0]], np.int32)):
        rows = bench.backend.framework.take_rows(bench.array(table), bench.array(np.array(index)))
        np.testing.assert_array_equal(bench.host(rows), table[index])


def test_call_passes_on_what_it_is_given(bench):
    framework, spec = bench.backend.framework, rr.RopeSpec(2, layout="half")
    x = bench.array(np.zeros((1, 2), dtype=np.float32))

    def function(*given, **named):
        return given, named

    given, named = framework.call(function, x, [0], spec, "td")
    assert given[0] is x
    assert given[1:] == ([0], spec)
    assert named == {"axes": "td", "framework": framework}


def test_data_that_cannot_keep_its_type_is_refused(bench):
    spec = rr.RopeSpec(8, layout="half")
    x = bench.array(np.zeros((3, 8), dtype=np.int32))
    with pytest.raises(rr.errors.DtypeError, match="int32"):
        bench.backend.apply_rope(x, [0, 1, 2], spec, axes="td")


def test_an_array_of_another_framework_is_refused(bench):
    spec, x = rr.RopeSpec(8, layout="half"), np.zeros((3, 8), dtype=np.float32)
    other = x.tolist() if bench.backend.name == "numpy" else x
    with pytest.raises(ArrayTypeError, match="load the backend of its framework"):
        bench.backend.apply_rope(other, [0, 1, 2], spec, axes="td")

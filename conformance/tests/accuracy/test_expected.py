"""What the reference says of an input is remembered, and never mistaken for another's."""

import threading
from dataclasses import fields, replace

import ml_dtypes
import numpy as np
import pytest

from rope_conformance.accuracy import expected as room
from rope_conformance.accuracy.expected import Remembered
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_ref import ExplicitFrequencies, PowerLaw, RopeError, RopeSpec, apply_rope_parts

SPEC = RopeSpec(8, layout="half")
POSITIONS = np.array([3, 0, 70000])
LARGE = 2**20


def data(dtype="float32", shape=(1, 3, 2, 8)):
    numbers = np.random.default_rng(0).standard_normal(shape)
    return numbers.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def remembered():
    return Remembered(LARGE)


def test_an_equal_input_is_computed_once(remembered, monkeypatch):
    """The second answer is the first, whichever copies of the arrays it is asked with."""
    first = remembered(data(), POSITIONS, SPEC)
    monkeypatch.setattr(room, "apply_rope_parts", None)  # to call it would raise
    again = remembered(data(), POSITIONS.copy(), replace(SPEC))
    assert all(a is b for a, b in zip(first, again, strict=True))
    strided = np.zeros((1, 3, 2, 16), np.float32)[..., ::2]
    strided[...] = data()
    assert remembered(strided, POSITIONS, SPEC)[0] is first[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_equal_inputs_give_equal_judgements(dtype, monkeypatch):
    """Remembered or not, every field of a judgement has the same bits."""
    x = data(dtype)
    y = apply_rope_parts(x, POSITIONS, SPEC, axes="bthd")[0].astype(x.dtype)
    y[0, 1, 0, 2] *= 2
    profile = profile_named("float32")

    def judged():
        return judge(y, x.copy(), POSITIONS, SPEC, dtype, profile)

    computed, again = judged(), judged()
    monkeypatch.setattr(room, "_remembered", Remembered(0))
    for judgement in (again, judged()):
        for each in fields(judgement):
            a, b = (getattr(one, each.name) for one in (computed, judgement))
            assert a == b if isinstance(a, str) else same_bits(a, b), each.name
    assert computed.ratio.max() > 1


def signed_zeros(sign):
    x = data()
    x[0, 1, 1, 3] = np.copysign(0.0, sign)
    return x


def payload(bits):
    x = data()
    x.view(np.uint32)[0, 1, 1, 3] = bits
    assert np.isnan(x[0, 1, 1, 3])
    return x


CHANGED = {
    "one number": (data(), POSITIONS, SPEC, data() + np.float32(1e-6), POSITIONS, SPEC),
    "dtype of the data": (data(), POSITIONS, SPEC, data().astype(float), POSITIONS, SPEC),
    "dtype alone, equal bits": (
        np.zeros((1, 3, 2, 8), np.float16), POSITIONS, SPEC,
        np.zeros((1, 3, 2, 8), ml_dtypes.bfloat16), POSITIONS, SPEC,
    ),
    "byte order": (data(), POSITIONS, SPEC, data().view(">f4"), POSITIONS, SPEC),
    "shape, equal bits": (
        data(shape=(2, 3, 1, 8)), POSITIONS, SPEC, data(shape=(1, 3, 2, 8)), POSITIONS, SPEC,
    ),
    "sign of a zero": (signed_zeros(1), POSITIONS, SPEC, signed_zeros(-1), POSITIONS, SPEC),
    "payload of a NaN": (
        payload(0x7FC00000), POSITIONS, SPEC, payload(0x7FC00001), POSITIONS, SPEC,
    ),
    "one position": (data(), POSITIONS, SPEC, data(), POSITIONS + [0, 0, 1], SPEC),
    "order of positions": (data(), POSITIONS, SPEC, data(), POSITIONS[::-1], SPEC),
    "dtype of positions": (data(), POSITIONS, SPEC, data(), POSITIONS.astype(float), SPEC),
    "rows of positions": (data(), POSITIONS, SPEC, data(), POSITIONS[None], SPEC),
    "sign of position 0": (
        data(), np.array([3.0, 0.0, 7.0]), SPEC, data(), np.array([3.0, -0.0, 7.0]), SPEC,
    ),
    "base": (data(), POSITIONS, SPEC, data(), POSITIONS, replace(SPEC, frequencies=PowerLaw(5e5))),
    "layout": (data(), POSITIONS, SPEC, data(), POSITIONS, RopeSpec(8, layout="interleaved")),
    "layout written": (
        data(), POSITIONS, SPEC, data(), POSITIONS, replace(SPEC, output_layout="interleaved"),
    ),
    "direction": (data(), POSITIONS, SPEC, data(), POSITIONS, replace(SPEC, direction=-1)),
    "amplitude": (
        data(), POSITIONS, replace(SPEC, frequencies=ExplicitFrequencies([1.0, 0.1, 0.01, 0.001])),
        data(), POSITIONS,
        replace(SPEC, frequencies=ExplicitFrequencies([1.0, 0.1, 0.01, 0.001], amplitude=1.5)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_input_is_not_mistaken(what, remembered):
    """Each of two inputs that differ in one thing is answered as the reference answers it."""
    one, other = CHANGED[what][:3], CHANGED[what][3:]
    for x, positions, spec in (one, other, one):
        want = apply_rope_parts(x, positions, spec, axes="bthd")
        got = remembered(x, positions, spec)
        assert all(same_bits(a, b) for a, b in zip(got, want, strict=True))
    assert len(remembered) == 2


def test_an_array_that_is_written_over_is_another_input(remembered):
    """Arrays are known by what they hold, not by which they are."""
    x, positions = data(), POSITIONS.copy()
    before = remembered(x, positions, SPEC)[0].copy()
    x[0, 0, 0, 0] += 1
    want = apply_rope_parts(x, positions, SPEC, axes="bthd")
    assert same_bits(remembered(x, positions, SPEC)[0], want[0])
    positions[0] = 4
    want = apply_rope_parts(x, positions, SPEC, axes="bthd")
    assert same_bits(remembered(x, positions, SPEC)[0], want[0])
    assert same_bits(remembered(data(), POSITIONS, SPEC)[0], before)


def test_what_is_remembered_cannot_be_written_to(remembered):
    """Neither by who asks, nor through the input."""
    x = data("float64")
    for part in remembered(x, POSITIONS, SPEC):
        assert not np.shares_memory(part, x)
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 0


def test_what_was_used_last_is_kept_within_the_limit():
    """Two results fit here; the one that was not asked for again goes."""
    size = 2 * data().astype(float).nbytes
    remembered = Remembered(2 * size)
    first, second, third = (POSITIONS + n for n in range(3))
    kept = {n: remembered(data(), p, SPEC)[0] for n, p in enumerate((first, second))}
    assert remembered.size == 2 * size
    assert remembered(data(), first, SPEC)[0] is kept[0]
    remembered(data(), third, SPEC)
    assert (len(remembered), remembered.size) == (2, 2 * size)
    assert remembered(data(), first, SPEC)[0] is kept[0]
    assert remembered(data(), second, SPEC)[0] is not kept[1]


def test_a_result_larger_than_the_limit_does_not_drive_out_the_others(remembered):
    """It is answered and not kept."""
    kept = remembered(data(), POSITIONS, SPEC)[0]
    x = data(shape=(1, LARGE // 64, 1, 8))
    positions = np.arange(x.shape[1])
    want = apply_rope_parts(x, positions, SPEC, axes="bthd")[0]
    assert same_bits(remembered(x, positions, SPEC)[0], want)
    assert len(remembered) == 1
    assert remembered(data(), POSITIONS, SPEC)[0] is kept


def test_an_error_is_raised_each_time(remembered):
    """What the reference refuses is refused again."""
    for _ in range(2):
        with pytest.raises(RopeError):
            remembered(data(), POSITIONS[:2], SPEC)
    assert len(remembered) == 0


def test_threads_may_ask_for_the_same(remembered):
    """Every answer is right, and one is kept."""
    want = apply_rope_parts(data(), POSITIONS, SPEC, axes="bthd")[0]
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(remembered(data(), POSITIONS, SPEC)[0]))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(answers) == 8
    assert all(same_bits(each, want) for each in answers)
    assert (len(remembered), remembered.size) == (1, 2 * want.nbytes)

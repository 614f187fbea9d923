"""A call leaves its process as it was: NumPy, random states, threads. What it changed is named."""

# ruff: noqa: NPY002  # the global generator is what this is about
import math
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rope_conformance as rc
from rope_conformance import zoo
from rope_conformance.target.process_state import changes, restored, settings_restored
from rope_ref import RopeSpec

pytestmark = pytest.mark.skipif(os.name != "posix", reason="one of them is isolated")

HOSTILE = Path(__file__).parents[1] / "running" / "hostile"
SPEC = RopeSpec(64, layout="half")


@pytest.mark.parametrize("name", ["seeds_numpy", "patches_numpy", "leaves_threads"])
def test_a_call_that_disturbs_its_process_fails_one_clause(name):
    """The clause about it fails, and says what; what else is judged is judged as ever."""
    factory = zoo.WRONG[name].factory
    report = rc.check(factory, effort="quick")
    assert [r.clause for r in report.findings] == ["data.process"]
    says = {"seeds_numpy": "NumPy's random state", "patches_numpy": "numpy.cos"}
    assert says.get(name, "left a thread behind") in report.findings[0].failure.message


@pytest.mark.parametrize("isolate", [False, True])
def test_nobody_else_sees_what_a_call_made_of_numpy(isolate):
    """NumPy in ruins after every call: the numbers are judged right, and the ruins found."""
    before = dict(vars(np))
    only = ("frequency.ladder", "rotation.norm", "independence.tokens", "data.process")
    target = f"{HOSTILE / 'targets.py'}:makes_nothing_of_numpy"
    report = rc.check(
        target, spec=SPEC, only=only, effort="quick", options=rc.RunOptions(isolate=isolate)
    )
    assert [r.clause for r in report.findings] == ["data.process"]
    message = report.findings[0].failure.message
    assert {"numpy.cos", "numpy.sin", "numpy.random.default_rng"} <= set(
        message.partition(": ")[2].split(", ")
    )
    assert all(vars(np)[name] is value for name, value in before.items())


def test_what_was_replaced_on_import_is_put_back_and_found():
    """NumPy's functions are its own again once a target is loaded, and the clause says so."""
    cosine = np.cos
    report = rc.check(f"{HOSTILE / 'patches_on_import.py'}:rope", spec=SPEC, effort="quick")
    assert np.cos is cosine
    assert [r.clause for r in report.findings] == ["data.process"]
    assert report.findings[0].failure.message.endswith(": numpy.cos")
    if hasattr(np, "float_"):
        del np.float64


DISTURBANCES = {
    "NumPy's random state": lambda: np.random.seed(1),
    "NumPy's error state (numpy.seterr)": lambda: np.seterr(all="raise"),
    "NumPy's print options": lambda: np.set_printoptions(precision=2),
    "numpy.random.normal": lambda: setattr(np.random, "normal", None),
    "numpy.linalg.norm": lambda: delattr(np.linalg, "norm"),
    "math.cos": lambda: setattr(math, "cos", None),
}


@pytest.mark.parametrize("what", DISTURBANCES)
def test_what_is_changed_is_named_and_put_back(what):
    """Each thing that is watched is put back after a change, also if the call raises."""
    state = np.random.get_state(legacy=False)["state"]["key"].tolist()
    errors, printing, norm = np.geterr(), np.get_printoptions(), np.linalg.norm
    changed = []
    with pytest.raises(ZeroDivisionError), restored(changed):
        DISTURBANCES[what]()
        _ = 1 / 0
    assert changed == [what]
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == state
    assert (np.geterr(), np.get_printoptions(), np.linalg.norm) == (errors, printing, norm)
    assert np.random.normal and math.cos


def test_a_pool_of_threads_is_nothing_left_behind():
    """Threads that are made once, or that end with the call, break no clause."""
    honest = zoo.CONTROLS["float32_power"].factory(SPEC)
    pool = ThreadPoolExecutor(8)

    def pooled(x, positions):
        parts = [pool.submit(honest, x, positions) for _ in range(4)]
        return parts[0].result()

    def joined(x, positions):
        thread = threading.Thread(target=honest, args=(x, positions))
        thread.start()
        thread.join()
        return honest(x, positions)

    for rope in (pooled, joined):
        assert rc.check(rope, spec=SPEC, only=["data.process"]).passed
        assert changes(rope) == []


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: random.random(), []),
        (lambda: random.sample(range(9999), 200), []),
        (lambda: random.seed(3), ["the random state of Python (random)"]),
    ],
)
def test_drawing_from_python_is_no_seeding_either(act, named):
    """The rule is the same, and so is the kind of generator."""
    for used in (0, 100):
        random.seed(11)
        for _ in range(used):
            random.random()
        before = random.getstate()
        changed = []
        with settings_restored(changed):
            act()
        assert changed == named
        assert random.getstate() == before


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: np.random.rand(), []),
        (lambda: np.random.randint(9, size=300), []),
        (lambda: np.random.seed(3), ["NumPy's random state"]),
    ],
)
def test_drawing_is_no_seeding(act, named):
    """A library may draw a number; the state is put back either way, and only a seed is told."""
    for used in (0, 100):
        np.random.seed(11)
        np.random.rand(used)
        before = np.random.get_state()[1].tolist()
        changed = []
        with restored(changed):
            act()
        assert changed == named
        assert np.random.get_state()[1].tolist() == before

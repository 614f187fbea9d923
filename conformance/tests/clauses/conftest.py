"""What the tests of several families are made of."""

import numpy as np
import pytest

from rope_conformance.clauses import all_checks
from rope_conformance.judging.context import CheckContext
from rope_conformance.running.verdict import run_check
from rope_conformance.target.implementation import Implementation
from rope_ref import RopeSpec, apply_rope

SPEC = RopeSpec(64, layout="half")
DECODE = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}


# Any object


def _context_of(target, spec=SPEC, claim=None):
    implementation = Implementation(target, getattr(target, "spec", spec), claim)
    return CheckContext(implementation, implementation.claim.dtypes[0])


@pytest.fixture
def context_of():
    """A context of an object, with what it says of itself unless told otherwise."""
    return _context_of


# Objects that keep a cache


@pytest.fixture
def decode_verdicts():
    """What some of the decode clauses say, all of them if none is named."""

    def verdicts(target, *clauses, claim=None, spec=SPEC, effort="quick"):
        results = {
            name: run_check(DECODE[name], _context_of(target, spec, claim), effort=effort)
            for name in clauses or DECODE
        }
        return results[clauses[0]] if len(clauses) == 1 else results

    return verdicts


class Exact:
    """Raw keys and a list of positions, rotated by the reference when they are read."""

    axes, closes = "bthd", True

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        rows = x.shape[self.axes.index("b")] if "b" in self.axes else 1
        if np.ndim(positions) == 2 and len(positions) == 1 != rows:
            positions = positions[0]
        return apply_rope(x, positions, self.spec, axes=self.axes).astype(x.dtype)

    def start(self):
        self.raw, self.next, self.slots = None, 0, []

    def prefill(self, x, lengths=None):
        axis = self.axes.index("t")
        tokens = x.shape[axis]
        first = np.asarray(self.next)
        positions = first[..., None] + np.arange(tokens)
        self.raw = x if self.raw is None else np.concatenate([self.raw, x], axis=axis)
        self.slots = [*self.slots, *np.atleast_2d(positions)[0].tolist()]
        self.next = first + (tokens if lengths is None else lengths)
        return self.apply_rope(x, positions)

    def step(self, x):
        return self.prefill(x)

    def keys(self):
        return self.apply_rope(self.raw, np.array(self.slots))

    def evict(self, start, stop):
        self.raw = np.delete(self.raw, np.s_[start:stop], axis=self.axes.index("t"))
        del self.slots[start:stop]
        if self.closes:
            self.slots = list(range(len(self.slots)))
            self.next = np.array(len(self.slots))

    def shift(self, delta):
        self.slots = [p + delta for p in self.slots]
        self.next = self.next + delta


class ExactInSessions:
    """The same, in sessions."""

    def __init__(self, spec):
        self.spec = spec

    def apply_rope(self, x, positions):
        return Exact(self.spec).apply_rope(x, positions)

    def start(self):
        session = Exact(self.spec)
        session.start()
        return session


@pytest.fixture
def exact_request():
    """The class of requests that the reference serves."""
    return Exact


@pytest.fixture
def exact_sessions():
    """The class of objects whose sessions the reference serves."""
    return ExactInSessions


# Positions with several axes


@pytest.fixture
def reference():
    """The reference, rounded once to the type of the data, as a RoPE for one spec."""

    def rope_of(spec):
        return lambda x, positions: apply_rope(x, positions, spec, axes="bthd").astype(x.dtype)

    return rope_of


@pytest.fixture
def told():
    """What would have to be explained if an honest one did not pass."""
    return lambda report: (
        [(r.clause, r.failure.message, r.failure.case) for r in report.findings],
        report.doubts,
    )

"""Requests that grow: what is asked of an object that keeps a cache, one call after another.

A `Session` lists the calls. `CachePositions` says where every token of a request stands after
each of them, which is all there is to know about the calls: the rest is rotation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rope_conformance.inputs.cache_positions import CONVENTIONS, CachePositions, Convention
from rope_conformance.inputs.cases import Input
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import namespace

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Session", "sessions"]

Operation = tuple[Any, ...]

On = Literal["new", "used", "amplified", "narrow"]


@dataclass(frozen=True)
class Session(Input):
    """Calls on one object, one after another. The first request has begun before the first.

    Parameters
    ----------
    batch, heads
        Lengths of the axes of every array.
    operations
        In tuples: ``("prefill", T)``, ``("prefill", T, lengths)``, ``("step", n)`` for n
        steps, ``("evict", start, stop)``, ``("shift", delta)`` and ``("keys",)`` as the
        methods; ``("start",)``: a new request; ``("use", k)``: go on in request k, which
        begins when it is first used; ``("apply",)``: rotate something else by
        ``apply_rope``, at positions 0 to 2, and by ``("apply", p)`` at p to p + 2;
        ``("other",)``: let another object serve a request; ``("broken",)``: a prefill
        without an array, which may raise.
    seed
        Of the data.
    on
        The object: a ``new`` one, the ``used`` one of the whole run, a new one with
        amplitude (``amplified``), or one of which only half as many channels rotate
        (``narrow``). What is no factory has one object.
    """

    batch: int
    heads: int
    operations: tuple[Operation, ...]
    seed: int = 0
    on: On = "new"

    def inside(self, claim: Claim) -> bool:
        """Whether the calls are allowed, and no token leaves the claimed positions."""
        low, high = claim.position_range
        if ("b" not in claim.axes and self.batch > 1) or ("h" not in claim.axes and self.heads > 1):
            return False
        if not claim.empty and any(o[:2] == ("prefill", 0) for o in self.operations):
            return False
        if not self._allowed():
            return False
        return all(low <= p <= high for convention in CONVENTIONS for p in self._reach(convention))

    def _allowed(self) -> bool:
        """Whether each call is one that the contract allows after those before it."""
        states: dict[int, _State] = {}
        use = 0
        for name, *rest in self.operations:
            if name == "use":
                use = rest[0]
            state = states.setdefault(use, _State())
            if name == "start":
                states[use] = _State()
                continue
            lengths = rest[1] if name == "prefill" and len(rest) == 2 else None
            if lengths and not (
                len(lengths) == self.batch and 0 < min(lengths) <= max(lengths) <= rest[0]
            ):
                return False
            if not state.allows(name, *rest):
                return False
            state.add(name, *rest)
        return True

    def _reach(self, convention: Convention) -> set[int]:
        """The smallest and largest position after each call."""
        found = {0}
        requests: dict[int, CachePositions] = {}
        use = 0
        for name, *rest in self.operations:
            if name == "use":
                use = rest[0]
            elif name == "start":
                requests.pop(use, None)
            elif name == "apply" and rest:
                found |= {rest[0], rest[0] + 2}
            elif name in ("prefill", "step", "evict", "shift"):
                places = requests.setdefault(use, CachePositions(self.batch, convention))
                method = {"prefill": places.grow, "step": places.grow}.get(name)
                (method or getattr(places, name))(*rest)
                if places.slots.size:
                    found |= {int(places.slots.min()), int(places.slots.max())}
        return found

    def tokens(self) -> int:
        """How many tokens there are in each row, all requests together."""
        return sum(o[1] for o in self.operations if o[0] in ("prefill", "step"))

    def size(self) -> tuple[Any, ...]:
        """Tokens first, then calls."""
        return (self.batch * self.tokens() * self.heads, len(self.operations), self.seed)

    def smaller(self, token: int | None) -> Iterator[Session]:
        """One head, one row, fewer calls, fewer tokens in each."""
        yield replace(self, heads=1)
        yield self.cut(1, self.heads)
        # Always as many steps, however few calls are left: a step that fails is repeated by its
        # number, on what earlier steps have left.
        for _ in range(12):
            yield replace(self, operations=self.operations[:-1])
        for _ in range(12):
            yield replace(self, operations=self.operations[1:])
        for n in range(6):
            for part in (0.5, 0.5, 0.75):
                yield self._with_fewer(n, part)

    def _with_fewer(self, number: int, part: float) -> Session:
        """The same with part of the tokens of one call."""
        operations = list(self.operations)
        name, *rest = operations[number] if number < len(operations) else ("",)
        if name in ("prefill", "step") and len(rest) == 1:
            operations[number] = (name, int(part * rest[0]))
        return replace(self, operations=tuple(operations))

    def cut(self, rows: int, heads: int) -> Session:
        """The same with no more than so many rows and heads."""
        rows = min(rows, self.batch)
        operations = tuple(
            (*o[:2], o[2][:rows]) if o[0] == "prefill" and len(o) == 3 else o
            for o in self.operations
        )
        return replace(self, batch=rows, heads=min(heads, self.heads), operations=operations)


@dataclass
class _State:
    """What the contract must know of a request to say which call may come next."""

    tokens: int = 0
    ragged: bool = False
    moved: int = 0
    has_moved: bool = False
    broken: bool = False

    def allows(self, name: str, *rest: Any) -> bool:
        if self.broken:
            return name == "start"
        if name in ("prefill", "step"):
            return rest[0] >= (1 if name == "step" else 0) and (name != "step" or self.tokens > 0)
        if name == "evict":
            start, stop = rest
            return not self.ragged and not self.has_moved and 0 <= start < stop < self.tokens
        if name == "keys":
            return not self.ragged and self.tokens > 0
        return name != "shift" or self.tokens > 0

    def add(self, name: str, *rest: Any) -> None:
        if name in ("prefill", "step"):
            self.tokens += rest[0]
            self.ragged = self.ragged or len(rest) == 2
        elif name == "evict":
            self.tokens -= rest[1] - rest[0]
        elif name == "shift":
            self.moved += rest[0]
            self.has_moved = True
        elif name == "broken":
            self.broken = True


def sessions(claim: Claim, offers: Collection[str]) -> SearchStrategy[Session]:
    """Strategy for calls in any order that a claim allows.

    Parameters
    ----------
    claim
        What the object takes.
    offers
        Which of ``evict``, ``shift``, ``keys``, ``lengths`` and ``sessions`` it offers.
    """
    from hypothesis import strategies as st

    fixed = namespace(claim.namespace).fixed_shapes  # each new shape is a compilation
    low = claim.position_range[0]
    optional = [name for name in ("evict", "shift", "keys") if name in offers]

    @st.composite
    def build(draw: Any) -> Session:
        batch = draw(st.sampled_from([1, 2] if fixed else [1, 2, 3, 4]))
        heads = 2 if fixed else draw(st.integers(1, 4))
        batch, heads = (batch if "b" in claim.axes else 1), (heads if "h" in claim.axes else 1)
        lengths = st.sampled_from([1, 4]) if fixed else st.integers(1, 7)
        states: dict[int, _State] = {}
        use, operations = 0, list[Operation]()

        def add(*operation: Any) -> None:
            operations.append(operation)
            states.setdefault(use, _State()).add(*operation)

        add("prefill", draw(lengths))
        for _ in range(draw(st.integers(1, 8))):
            if "sessions" in offers and (other := draw(st.integers(0, 1))) != use:
                use = other
                add("use", use)
            state = states.setdefault(use, _State())
            names = ["prefill", "step", "start", *optional]
            name = draw(st.sampled_from([n for n in names if n in names[:3] or state.tokens > 1]))
            if name == "start":
                operations.append(("start",))
                states[use] = _State()
            elif name == "prefill" or (name == "step" and not state.tokens):
                tokens = draw(lengths)
                ragged = "lengths" in offers and batch > 1 and draw(st.booleans())
                row = st.integers(1, tokens)
                own = (tuple(draw(row) for _ in range(batch)),) if ragged else ()
                add("prefill", tokens, *own)
            elif name == "step":
                add("step", draw(st.integers(1, 3)))
            elif name == "shift":
                back = 0 if low == 0 else -8
                add("shift", draw(st.integers(back - state.moved, 8) | st.sampled_from([0, 100])))
            elif state.allows("keys") and name == "keys":
                add("keys")
            elif name == "evict" and not (state.ragged or state.has_moved):
                start = draw(st.integers(0, state.tokens - 2))
                add("evict", start, draw(st.integers(start + 1, state.tokens - 1)))
        return Session(batch, heads, tuple(operations), seed=draw(st.integers(0, 255)))

    return build().filter(lambda session: session.inside(claim))

"""One call: small, described in full by its repr, and biased to where RoPEs break.

A `Case` says everything about a call but the spec and the type of the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rope_conformance.inputs.claimed_positions import free_positions, positions_within
from rope_conformance.inputs.shapes import FEW_SHAPES, ROW, SHAPES, Shape, repeated
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array, data_type, namespace
from rope_conformance.target.views import View

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Case", "Input", "cases", "far_cases", "fixed_cases"]

Values = Literal["normal", "small", "large", "one-hot", "zeros"]


class Input(ABC):
    """What a check is given. Its repr rebuilds it, so a failure can be shown and repeated."""

    @abstractmethod
    def inside(self, claim: Claim) -> bool:
        """Whether it lies inside a claim."""

    @abstractmethod
    def size(self) -> tuple[Any, ...]:
        """What makes one input smaller than another, the most important first."""

    def smaller(self, token: int | None) -> Iterator[Input]:
        """Smaller inputs on which the same failure may show; `token` is the first bad one."""
        return iter(())


@dataclass(frozen=True)
class Case(Input):
    """One call: how many tokens, where, and what data.

    Parameters
    ----------
    batch, tokens, heads
        Lengths of the axes.
    positions
        One per token, a range where they follow each other, or one tuple per batch row.
    values
        ``normal`` numbers from `seed`; ``small``, ``large``: the same times 2**-20, and times
        2**60 or in float16 2**10; ``one-hot``: channel `seed`; ``zeros``.
    strided
        Whether the data is a view that is not contiguous: True for every second element of a
        larger array; ``backwards``; ``expanded`` for one head that stands for all (with one
        head, one row). Or ``positions``: they are every second element, the data is no view.
    parameter
        A number that some checks need: how far to move, where to cut.
    """

    batch: int
    tokens: int
    heads: int
    positions: tuple[Any, ...] | range
    values: Values = "normal"
    seed: int = 0
    strided: View = False
    parameter: int = 0

    @property
    def rows(self) -> bool:
        """Whether each batch row has positions of its own."""
        return bool(self.positions) and isinstance(self.positions[0], tuple)

    def flat(self) -> list[Any]:
        """All positions in one list."""
        if not self.rows:
            return list(self.positions)
        return [p for row in self.positions for p in row]  # type: ignore[union-attr]

    def position_array(self) -> Array:
        """Positions as int64, or float64 where one is not whole: (T,) or (B, T)."""
        flat = self.flat()
        dtype = np.float64 if any(isinstance(p, float) for p in flat) else np.int64
        shape = (self.batch, self.tokens) if self.rows else (self.tokens,)
        return np.array(flat, dtype=dtype).reshape(shape)

    def inside(self, claim: Claim) -> bool:
        """Whether its positions, and the form they need, are claimed."""
        low, high = claim.position_range
        p = self.flat()
        forms = set(claim.position_forms)
        if any(not low <= q <= high for q in p):
            return False
        if "real" not in claim.position_kinds and any(q != int(q) for q in p):
            return False
        if self.rows:
            return "bt" in forms
        in_a_row = p == list(range(int(p[0]), int(p[0]) + len(p))) if p else True
        # Scattered tokens take one call each where only an offset can be given.
        return bool(forms & {"t", "bt", "offset"}) or (in_a_row and p[:1] in ([], [0]))

    def cut(self, axes: str) -> Case:
        """The same with one row or one head where there is no such axis."""
        case = self
        if "b" not in axes and case.batch != 1:
            rows = case.positions[:1] if case.rows else case.positions
            case = replace(case, batch=1, positions=rows)
        return case if "h" in axes else replace(case, heads=1)

    def size(self) -> tuple[Any, ...]:
        """Tokens first, then how far they stand from 0."""
        return (
            self.batch * self.tokens * self.heads,
            sum(abs(p) for p in self.flat()),
            self.values != "one-hot",
            self.seed,
        )

    def smaller(self, token: int | None) -> Iterator[Case]:
        """One head, one row, one token or two."""
        yield replace(self, heads=1)
        if self.rows:
            return
        yield replace(self, batch=1)
        token = 0 if token is None else min(token, self.tokens - 1)
        for first, count in ((token, 1), (0, 2)):
            positions = tuple(self.positions[first : first + count])
            yield replace(self, tokens=len(positions), positions=positions)

    def x(self, head_dim: int, dtype: str) -> Array:
        """The data, axes ``bthd``."""
        shape = (self.batch, self.tokens, self.heads, head_dim)
        if self.values in ("normal", "small", "large"):
            x = np.random.default_rng(self.seed).standard_normal(shape, dtype=np.float32)
            sizes = {"small": 2**-20, "large": 2**10 if dtype == "float16" else 2**60}
            x *= np.float32(sizes.get(self.values, 1))
        else:
            x = np.zeros(shape, dtype=np.float32)
            if self.values == "one-hot":
                x[..., self.seed % head_dim] = 1
        if self.strided == "expanded":
            x = np.repeat(x[:, :, :1], self.heads, 2) if self.heads > 1 else x[:1].repeat(len(x), 0)
        return x.astype(data_type(dtype))


def fixed_cases(claim: Claim) -> list[Case]:
    """The inputs every numeric check meets: each hot spot, each shape, one-hot and zeros."""
    low, high = claim.position_range
    result = []
    few = namespace(claim.namespace).fixed_shapes  # each new shape is a compilation
    for batch, tokens, heads in FEW_SHAPES if few else SHAPES:
        # From 0, or as near as the range comes.
        start = max(min(0, high - tokens + 1), low)
        if start + tokens - 1 <= high:
            result.append(Case(batch, tokens, heads, range(start, start + tokens)))
    spots = positions_within(claim)
    if free_positions(claim) and result and result[0].tokens == 5:
        # As many tokens as in the first, the same ends, the same sum: a memo may confuse them.
        start = result[0].positions[0]
        mixed = tuple(start + n for n in (0, 3, 1, 2, 4))
        result.append(replace(result[0], positions=mixed))
    if free_positions(claim) and few:
        again = repeated(spots, ROW)
        for row in (again[n : n + ROW] for n in range(0, len(again), ROW)):
            result += [Case(2, ROW, 1, p) for p in (row, row[::-1])]
    elif free_positions(claim):
        result.append(Case(1, len(spots), 2, spots))
        result.append(Case(2, len(spots), 1, spots[::-1]))
    elif "offset" in claim.position_forms:
        batch, tokens, heads = FEW_SHAPES[0] if few else (1, 3, 2)
        starts = dict.fromkeys(max(min(spot, high - tokens + 1), low) for spot in spots)
        result += [
            Case(batch, tokens, heads, range(s, s + tokens))
            for s in starts
            if s + tokens - 1 <= high
        ]
        result += [Case(1, 2049, 1, range(low, low + 2049))] if high - low >= 2048 else []
    else:
        # Positions always count from 0: only a long sequence reaches far.
        lengths = (2**8 + 1, 2**11 + 1, 4097, 2**15 + 1)
        result += [Case(1, n, 1, range(n)) for n in lengths if n - 1 <= high]
    # At position 0 nothing turns: a single token, as in decoding, must stand elsewhere too.
    decoding = max(low, min(high, 7))
    if decoding != 0 and (free_positions(claim) or "offset" in claim.position_forms):
        result.append(Case(4, 1, 3, range(decoding, decoding + 1)))
    result.append(replace(result[0], values="one-hot", seed=1))
    result += [replace(result[0], values=values) for values in ("small", "large")]
    result.append(replace(result[0], values="zeros"))
    return result


def far_cases(claim: Claim) -> list[Case]:
    """Inputs with more tokens, rows and heads than kernels do at a time.

    The longest stands on positions spread over the claimed range, each stretch of which
    has one.
    """
    low, high = claim.position_range
    start = max(min(max(low, 0), high - 1024), low)
    shapes: tuple[Shape, ...] = (
        (9, 2, 1), (33, 2, 1), (129, 2, 1), (1, 2, 11), (1, 2, 65), (2, 67, 1), (1, 131, 1),
        (1, 4097, 1), (1, 257, 1),
    )  # fmt: skip
    if namespace(claim.namespace).fixed_shapes:
        shapes = ((33, 5, 11),)
    result = [Case(b, t, h, range(start, start + t)) for b, t, h in shapes if start + t - 1 <= high]
    if free_positions(claim) and high - low >= 1024:
        rng = np.random.default_rng(0)
        edges = np.linspace(low, high + 1, 1026).astype(np.int64)
        spread = rng.permutation(rng.integers(edges[:-1], edges[1:]))
        result.append(Case(1, 1025, 1, tuple(spread.tolist())))
    return result


def cases(
    claim: Claim,
    *,
    rows: bool = False,
    real: bool = False,
    min_tokens: int = 1,
    max_tokens: int = 8,
    low: int | None = None,
    high: int | None = None,
    few: Sequence[Shape] = FEW_SHAPES,
) -> SearchStrategy[Case]:
    """Strategy for inputs inside a claim.

    Parameters
    ----------
    claim
        What the implementation takes.
    rows, real
        Whether rows get positions of their own; whether positions may be fractions.
    min_tokens, max_tokens
        How many tokens.
    low, high
        Narrower limits for positions than the claim's.
    few
        The shapes to draw from where each new one is a compilation.
    """
    from hypothesis import strategies as st

    smallest = claim.position_range[0] if low is None else max(low, claim.position_range[0])
    largest = claim.position_range[1] if high is None else min(high, claim.position_range[1])
    spots = [p for p in positions_within(claim) if smallest <= p <= largest] or [smallest]
    near = max(smallest, min(0, largest))
    whole: SearchStrategy[Any] = st.one_of(
        st.integers(near, min(near + 16, largest)),
        st.sampled_from(spots),
        st.integers(smallest, largest),
    )
    one = whole
    if real:
        one = st.builds(
            lambda p, f: float(min(max(p + f, smallest), largest)),
            whole,
            st.sampled_from([0.5, 0.25, -0.5, 0.1, 1e-3, 1 / 3]),
        )
    free = free_positions(claim)
    # Tokens in a row must all find a place in the range.
    from_zero = not free and "offset" not in claim.position_forms
    longest = largest + 1 - (0 if from_zero else smallest)
    if not free:
        max_tokens = min(max_tokens, longest)
        min_tokens = min(min_tokens, max_tokens)
    shapes = []
    if namespace(claim.namespace).fixed_shapes:
        shapes = [s for s in few if min_tokens <= s[1] <= max_tokens and s[0] > rows]

    @st.composite
    def build(draw: Any) -> Case:
        if shapes:
            batch, tokens, heads = draw(st.sampled_from(shapes))
        else:
            tokens = draw(st.integers(min_tokens, max_tokens))
            same = draw(st.sampled_from(["none", "none", "batch", "heads"]))
            batch = tokens if same == "batch" and tokens else draw(st.integers(1 + rows, 3))
            heads = tokens if same == "heads" and tokens else draw(st.integers(1, 4))
        row_count = batch if rows else 1
        table: list[tuple[Any, ...] | range] = []
        for _ in range(row_count):
            if free and (tokens > longest or draw(st.booleans())):
                table.append(tuple(draw(one) for _ in range(tokens)))
            elif free or "offset" in claim.position_forms:
                start = min(draw(whole), max(smallest, largest - max(tokens - 1, 0)))
                table.append(range(start, start + tokens))
            else:
                table.append(range(tokens))
        values = draw(st.sampled_from(["normal", "normal", "small", "large", "one-hot"]))
        return Case(
            batch,
            tokens,
            heads,
            tuple(map(tuple, table)) if rows and tokens else table[0],
            values=values,
            seed=draw(st.integers(0, 255)),
        )

    return build()

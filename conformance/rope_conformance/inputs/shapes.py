"""How long the axes of inputs are, and the short list of lengths where each new one is slow.

JAX compiles each operation for each shape it meets: a function of a dozen operations that
is not under ``jit`` costs a dozen compilations a shape. What checks hand to it has a few
shapes, and each of them shows several things.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import namespace

__all__ = ["FEW_SHAPES", "ROW", "SHAPES", "repeated", "usual_shape"]

Shape = tuple[int, int, int]

# (batch, tokens, heads): where lengths are equal, or 1, a mistaken axis shows or is hidden.
SHAPES: tuple[Shape, ...] = (
    (2, 5, 3), (1, 1, 1), (3, 1, 2), (4, 4, 2), (2, 3, 3), (2, 4, 8), (1, 7, 1), (1, 2, 32),
    (3, 5, 3),
)  # fmt: skip

# Where each new shape is a compilation. One token of the first has the shape of the second; the
# third has three equal lengths; more heads than tokens are in `far_cases`.
FEW_SHAPES: tuple[Shape, ...] = ((4, 5, 3), (4, 1, 3), (5, 5, 5), (1, 1, 1))
ROW = 64  # there, longer inputs have this many tokens, or a multiple


def usual_shape(claim: Claim) -> Shape:
    """Batch, tokens and heads of an input that needs no others: three different numbers."""
    return (FEW_SHAPES if namespace(claim.namespace).fixed_shapes else SHAPES)[0]


def repeated(positions: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The same positions, begun again until there are `count`, or a multiple of it."""
    length = -(-len(positions) // count) * count
    return tuple(positions[n % len(positions)] for n in range(length))

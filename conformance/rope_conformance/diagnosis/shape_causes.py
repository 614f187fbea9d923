"""Whether axes, rows, heads, tokens or sizes are mistaken for each other.

Each search varies the input that failed, or tries a small one of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray, unit_roundoff
from rope_conformance.faults import Cause, Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.questions import DISTINCT, is_right
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, apply_rope

__all__ = [
    "wrong_alone",
    "wrong_axes",
    "wrong_order",
    "wrong_place",
    "wrong_size",
    "wrong_together",
]

_ROUNDINGS = 64  # roundings to the type of the data that a suspect may be off by
_NEAR = 128  # no table has fewer rows


def wrong_axes(context: CheckContext, case: Case) -> Cause | None:
    """Whether an axis is taken for another, or one row or head stands for all."""
    if context.cut(case) != case or not {"t", "bt"} & set(context.claim.position_forms):
        return None
    if not case.inside(context.claim) or case.rows or not case.tokens:
        return None
    x, p = context.x(case), context.positions(case)
    y = np.asarray(context.arrays.apply(x, p), np.float64)
    own = np.asarray(x, np.float64)
    near = _ROUNDINGS * unit_roundoff(context.dtype) * max(1.0, float(np.abs(own).max()))

    def explains(want: FloatArray) -> bool:
        return bool(np.abs(y - want).max() <= near)

    if explains(apply_rope(own, p, context.spec, axes="bthd")):
        return _wrong_rows(context, x, p) if "bt" in context.claim.position_forms else None
    evidence = f"explains {case.batch} rows of {case.tokens} tokens with {case.heads} heads"
    for words, (data, axes, positions) in _axes_suspects(case, own, p).items():
        if explains(apply_rope(data, positions, context.spec, axes=axes)):
            return Cause(words, "broadcast", evidence)
    head, row = np.arange(case.heads), np.arange(case.batch)
    at = p[None, :, None]
    added: dict[str, tuple[Fault, Array]] = {
        "the head's number is added to the position": ("broadcast", at + head),
        "the row's number is added to the position": ("broadcast", at + row[:, None, None]),
        "positions count on from row to row": (
            "position",
            at + case.tokens * row[:, None, None],
        ),
    }
    for words, (fault, place) in added.items():
        if explains(_at_each(own, np.broadcast_to(place, own.shape[:3]), context.spec)):
            return Cause(words, fault, evidence)
    return None


def _axes_suspects(
    case: Case, own: FloatArray, p: Array
) -> dict[str, tuple[FloatArray, str, Array]]:
    """Data, axes and positions of one axis taken for another."""
    b, t, h = case.batch, case.tokens, case.heads
    suspected = {
        "every batch row gets the data of row 0": (
            np.broadcast_to(own[:1], own.shape),
            "bthd",
            p,
        ),
        "every head gets the data of head 0": (
            np.broadcast_to(own[:, :, :1], own.shape),
            "bthd",
            p,
        ),
    }
    # An axis with one entry stands at position 0, which looks like no rotation at all.
    if h > 1:
        words = "the head axis counts as positions: phase = h theta"
        suspected[words] = (own, "bhtd", np.arange(h))
    if b > 1:
        words = "the batch axis counts as positions: phase = b theta"
        suspected[words] = (own, "tbhd", np.arange(b))
    if 1 < h <= t:
        suspected["the head axis is taken for the token axis"] = (own, "bhtd", p[:h])
    if 1 < b <= t:
        suspected["the batch axis is taken for the token axis"] = (own, "tbhd", p[:b])
    for words, (one, other), equal in (
        ("rows and tokens are exchanged", (0, 1), b == t > 1),
        ("rows and heads are exchanged", (0, 2), b == h > 1),
        ("tokens and heads are exchanged", (1, 2), t == h > 1),
    ):
        if equal:
            suspected[words] = (own.swapaxes(one, other), "bthd", p)
    return suspected


def _wrong_rows(context: CheckContext, x: Array, p: Array) -> Cause | None:
    """Whether one row's positions stand for all rows'."""
    each = np.stack([p + (p.size - 1 - 2 * p) * (n % 2) for n in range(x.shape[0])])
    low, high = context.claim.position_range
    if x.shape[0] < 2 or each.min() < low or each.max() > high:
        return None
    y = np.asarray(context.arrays.apply(x, each), np.float64)
    near = _ROUNDINGS * unit_roundoff(context.dtype)
    for which in (0, x.shape[0] - 1):
        want = apply_rope(np.asarray(x, np.float64), each[which], context.spec, axes="bthd")
        if np.abs(y - want).max() <= near:
            words = f"every batch row gets the positions of row {which}"
            return Cause(words, "broadcast", f"explains {x.shape[0]} rows of {p.size} tokens")
    return None


def _at_each(x: FloatArray, positions: Array, spec: RopeSpec) -> FloatArray:
    """Rotate every (row, token, head) at a position of its own."""
    flat = apply_rope(x.reshape(-1, x.shape[-1]), positions.ravel(), spec, axes="td")
    return flat.reshape(x.shape)


def wrong_alone(context: CheckContext) -> Cause | None:
    """Whether one row with one head is wrong where two rows with two heads are right."""
    alone, several = Case(1, 3, 1, (1, 2, 3)), Case(2, 4, 2, (1, 2, 3, 4))
    if is_right(context, alone) or not is_right(context, several):
        return None
    words = "one row with one head is rotated wrongly, two rows with two heads are rotated rightly"
    return Cause(words, "kernel-shape", "3 tokens against 2 x 4 tokens with 2 heads")


def wrong_order(context: CheckContext) -> Cause | None:
    """Whether tokens of a small call get positions by their order, or each other's."""
    return _moved(context, DISTINCT, _by_order)


def wrong_place(context: CheckContext, case: Case) -> Cause | None:
    """Whether the tokens of this call are rotated rightly for other positions."""
    return _moved(
        context,
        case,
        lambda p: {
            "one position later": p + 1,
            "one position earlier": p - 1,
            "at position 0": 0 * p,
            "at the first token's position": 0 * p + p[0],
            "at twice their positions": 2 * p,
            "at the next token's position": np.append(p[1:], p[-1:]),
            **_by_order(p),
        },
    )


def _by_order(p: Array) -> dict[str, Array]:
    return {
        "at positions 0, 1, 2, ...": np.arange(p.size),
        "as if each stood right behind the one before": p[0] + np.arange(p.size),
        "at each other's positions, the last token at the first": p[::-1],
    }


def _moved(
    context: CheckContext,
    case: Case,
    suspected: Callable[[Array], dict[str, Array]],
) -> Cause | None:
    """The first of other positions that explains a call."""
    case = context.cut(case)
    if case.rows or not case.tokens or is_right(context, case):
        return None
    x, p = context.x(case), context.positions(case)
    y = context.arrays.apply(x, p, strided=case.strided)
    for words, moved in suspected(p).items():
        if (np.abs(moved) < 2**31).all() and (context.judge(y, x, moved).ratio <= 1).all():
            text = f"in a call of {case.batch} rows and {case.tokens} tokens these are rotated "
            if p.size == 1:
                text, words = f"position {p[0]:g} is rotated as position ", f"{moved[0]:g}"
            evidence = f"explains all {p.size} tokens of the failing call"
            # At large positions a table has ended; at small ones counting began wrongly.
            fault: Fault = "position" if np.abs(p).min() < _NEAR else "cache"
            return Cause(f"{text}{words}", fault, evidence)
    return None


def wrong_size(context: CheckContext, case: Case) -> Cause | None:
    """Whether the same input with smaller numbers is right."""
    if case.values not in ("large", "normal", "small"):
        return None
    if is_right(context, case) or not is_right(context, replace(case, values="one-hot", seed=1)):
        return None
    small = case.values == "large" and is_right(context, replace(case, values="normal"))
    if not small and not is_right(context, replace(case, values="small")):
        return None
    words = "large numbers in x are clipped or overflow on the way"
    return Cause(words, "dtype", "the same input with smaller numbers is right")


def wrong_together(context: CheckContext, case: Case) -> Cause | None:
    """Whether each token of each head and row is right by itself."""
    case = context.cut(case)
    if case.rows or is_right(context, case):
        return None
    shape = f"{case.batch} rows, {case.tokens} tokens and {case.heads} heads"
    others = {
        "one row": replace(case, batch=1),
        "one head": replace(case, heads=1),
        "contiguous data": replace(case, strided=False),
        "one row more": replace(case, batch=case.batch + 1),
        "one head more": replace(case, heads=case.heads + 1),
        "one token more": replace(
            case, tokens=case.tokens + 1, positions=(*case.positions, *case.positions[-1:])
        ),
    }
    for words, other in others.items():
        if context.cut(other) != case and is_right(context, other):
            text = f"wrong for {shape}, right for {words}: a stride or an edge of a kernel"
            return Cause(text, "kernel-shape", f"the same tokens with {words} are right")
    singles = [
        replace(case, batch=1, heads=1, tokens=1, positions=(p,)) for p in case.positions[:64]
    ]
    if all(is_right(context, each) for each in singles):
        text = f"wrong for {shape}, right for each token alone: a stride or an edge of a kernel"
        return Cause(text, "kernel-shape", f"{len(singles)} of its tokens are right alone")
    return None

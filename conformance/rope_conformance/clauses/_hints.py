"""Says in words what became of a token that came out wrong: hints, no verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rope_conformance.accuracy.residual import Judgement, judge
from rope_conformance.faults import Fault
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import pairs
from rope_conformance.target.frameworks import Array, data_type
from rope_conformance.target.rule_parts import has_length

__all__ = ["Instead", "instead"]

_ROUNDINGS = 4  # a token that was rotated again may be off by a few bounds


@dataclass(frozen=True)
class Instead:
    """What came out instead, in words; at which position; the class of the fault if clear."""

    words: str
    position: int | None = None
    fault: Fault | None = None


def instead(context: CheckContext, x: Array, y: Array, position: int) -> Instead:
    """Say what became of a token.

    Parameters
    ----------
    context
        Of the check that failed.
    x, y
        The token given and returned, (H, D).
    position
        Where it stands.
    """
    got = pairs(context, y, output=True)
    if not got.any():
        return Instead("comes out as zeros", fault="cache")
    if _of_another_length(context, x, y, position):
        words = "is turned by the frequencies that belong to a text of another length"
        return Instead(words, position, "cache")
    for other in _likely(position):
        if _stands_at(context, x, y, other):
            words = f"comes out as at position {other}, not {position}"
            for narrow in ("bfloat16", "float16"):
                if other == float(np.float32(position).astype(data_type(narrow))):
                    return Instead(f"{words}, its {narrow}", other, "angle-precision")
            return Instead(words, other, "position" if other < 0 else None)
    want = pairs(context, _at(context, x, y, position).want[0, 0], output=True)
    factor = float((got * want).sum() / (want**2).sum())
    if factor > 0 and _stands_at(context, x, (y / factor).astype(y.dtype), position):
        return Instead(f"comes out {factor:.4g} times as long as it should", fault="scaling")
    if _nearly_there(context, got, want, position):
        words = "is turned by phases that are off by less than 1 %, as if something was rounded"
        return Instead(words, fault="angle-precision")
    return Instead("comes out wrong")


def _of_another_length(context: CheckContext, x: Array, y: Array, position: int) -> bool:
    """Whether a token was rotated by the frequencies of another length of text."""
    rule = context.spec.frequencies
    if not has_length(rule) or not position:
        return False
    trained = rule.original_length  # type: ignore[attr-defined]
    for length in (trained, 2 * trained):
        spec = replace(context.spec, frequencies=rule.at(length))  # type: ignore[attr-defined]
        where = np.array([position])
        got = judge(y[None, None], x[None, None], where, spec, context.dtype, context.profile)
        if got.decisive.any() and (got.ratio <= _ROUNDINGS).all():
            return True
    return False


def _nearly_there(context: CheckContext, got: Array, want: Array, position: int) -> bool:
    """Whether each phase is off by a small part of itself, as with rounded frequencies."""
    turned = (got[0] + 1j * got[1]) * (want[0] - 1j * want[1])
    phase = np.abs(position * context.spec.theta())
    off = np.abs(np.angle(turned))
    tells = phase < 100
    return bool(phase.max() > 100 and tells.any() and (off <= 0.01 * phase)[:, tells].all())


def _at(context: CheckContext, x: Array, y: Array, position: int) -> Judgement:
    """One token judged at a position."""
    where = np.array([position])
    return judge(y[None, None], x[None, None], where, context.spec, context.dtype, context.profile)


def _stands_at(context: CheckContext, x: Array, y: Array, position: int) -> bool:
    """Whether a token is rotated as at a position."""
    judgement = _at(context, x, y, position)
    return bool(judgement.decisive.any() and (judgement.ratio <= _ROUNDINGS).all())


def _likely(position: int) -> Iterator[int]:
    """Where a token may have been put by mistake, the likeliest first."""
    near = (position + d for d in (-1, 1, -2, 2, -3, 3, -4, 4))
    tables = (size for k in range(5, 17) for size in (position % 2**k, 2**k - 1, 2**k))
    widths = (position - 2**8, position - 2**16)
    return itertools.chain(near, (0, 2 * position, -position), range(64), tables, widths)

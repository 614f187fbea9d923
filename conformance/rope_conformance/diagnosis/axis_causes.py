"""What is wrong where a position has several axes: time, row, column.

Which axis a pair follows is read by moving one axis at a time. How fast it turns is seen
where tokens stand at the same position on all axes: for these it is a RoPE of one axis, and
the searches for such a RoPE apply.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray, unit_roundoff
from rope_conformance.diagnosis.turns import Complex, observed, predicted_turn
from rope_conformance.faults import Cause
from rope_conformance.identification.conventions import ChannelMap, read_map
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.position_axes import axes_of, on_all_axes, on_each_axis
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import probe_position
from rope_conformance.target.frameworks import Array
from rope_conformance.target.implementation import Implementation
from rope_ref import PowerLaw, RopeError, RopeSpec, apply_rope, pair_channels
from rope_ref.positions import (
    alternating_axes,
    contiguous_axes,
    ggml_axes,
    glm_axes,
    interleaved_axes,
    pangu_axes,
)
from rope_ref.scaling import Axial, Linear

__all__ = ["axis_searches", "with_equal_axes"]

Followed = list[frozenset[int] | None]  # the axes that move a pair; None where it cannot be seen

_NEAR = 1 / 16  # float32 phases up to some thousands are nearer to each other than that
_ROUNDINGS = 64

_MAPS: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "the contiguous map": contiguous_axes,
    "the interleaved map, as in Qwen3-VL,": interleaved_axes,
    "the interleaved map of ggml, with a fourth axis,": ggml_axes,
    "the interleaved map of GLM": glm_axes,
    "the interleaved map of openPangu": pangu_axes,
    "the alternating map, as in Ernie-4.5-VL,": alternating_axes,
}


def axis_searches(context: CheckContext, surface: str) -> list[Callable[[], Cause | None]]:
    """Searches for a cause, the most telling first; `context` is for looking only."""
    if surface == "theta":
        return [lambda: _wrong_ladder(context, surface)]
    found = [
        lambda: _wrong_positions(context, surface),
        lambda: _wrong_axes(context, surface),
        lambda: _wrong_ladder(context, surface),
    ]
    if surface == "table":
        return found
    try:
        found_map = read_map(context, probe_position(context))
    except (CheckFailure, TargetRaised):
        return found
    if not _pairs_keep(found_map, context.spec):
        return [lambda: _own_halves(context.spec, found_map)]
    return [*found, lambda: _wrong_rows(context)]


def with_equal_axes(context: CheckContext) -> CheckContext:
    """The same implementation as a RoPE of one axis: it is given each position on all axes."""
    own, spec = context.implementation, context.spec

    def spread(positions: Any) -> Any:
        return context.namespace.array(
            on_all_axes(context.arrays.host(positions), spec), context.device
        )

    surfaces: dict[str, Callable[..., Any]] = {
        "apply_rope": lambda x, positions: own.call("apply", x, spread(positions)),
        "cos_sin": lambda positions: own.call("table", spread(positions)),
        "theta": lambda: own.call("theta"),
        "apply_cos_sin": lambda *arguments: own.call("rotate", *arguments),
    }
    names = {"apply_rope": "apply", "cos_sin": "table", "apply_cos_sin": "rotate"}
    offered = {k: f for k, f in surfaces.items() if own.has(names.get(k, k))}
    flat = Implementation(SimpleNamespace(**offered), replace(spec, pair_axes=None), context.claim)
    return context.beside(flat)


def _turns(context: CheckContext, positions: Array, surface: str) -> Complex:
    """What each pair turns by at positions (A, T): (T, R/2)."""
    tokens = positions.shape[-1]
    return observed(context, Case(1, tokens, 1, range(tokens)), positions, surface)


def _is_near(context: CheckContext, seen: Complex, predicted: Complex) -> bool:
    near = _NEAR + _ROUNDINGS * unit_roundoff(context.dtype)
    return seen.shape == predicted.shape and bool((np.abs(seen - predicted) <= near).all())


# Where tokens stand


def _wrong_positions(context: CheckContext, surface: str) -> Cause | None:
    """Whether the pairs turn rightly for other positions than those given."""
    low, high = context.claim.position_range
    chosen: list[float] = [p for p in (3, 0, 5, 1, 11, 40, 23, 100, 64, 512, 300) if p <= high]
    if "real" in context.claim.position_kinds:
        chosen += [0.5, 1.75, 10.25]
    p = on_each_axis(np.array([q for q in chosen if low <= q <= high]), context.spec, context.claim)
    seen, theta = _turns(context, p, surface), context.spec.theta()
    if _is_near(context, seen, predicted_turn(p, theta, context.spec)):
        return None
    rule = context.spec.frequencies
    factor = float(rule.factor) if isinstance(rule, Linear) else 1.0
    for axis in range(len(p)) if factor != 1 else ():
        own = np.where(np.arange(len(p))[:, None] == axis, factor, 1.0)
        if _is_near(context, seen, predicted_turn(own * p, theta, context.spec)):
            words = f"pairs of axis {axis} are not divided by the factor {factor:g}"
            return Cause(words, "scaling", f"this explains {p.shape[1]} tokens")
    for words, moved in _other_positions(p).items():
        if _is_near(context, seen, predicted_turn(moved, theta, context.spec)):
            return Cause(words, "multi-axis", f"this explains {p.shape[1]} tokens")
    return None


def _other_positions(p: Array) -> dict[str, Array]:
    """Positions that may be used instead, in words."""
    axes, tokens = p.shape
    ranks = np.stack([np.unique(own, return_inverse=True)[1].ravel() for own in p])
    found = {
        "positions are not used: tokens are numbered 0, 1, 2, ... on every axis": np.tile(
            np.arange(tokens), (axes, 1)
        ),
        "positions, given axis by axis, are read token by token": p.reshape(tokens, axes).T,
        "positions, given axis by axis, are laid out token by token": p.T.reshape(axes, tokens),
        "coordinates are replaced by their numbers 0, 1, 2, ... along each axis": ranks,
        "coordinates are cut to whole numbers": np.trunc(p),
        "coordinates are rounded to whole numbers": np.round(p),
    }
    for axis in range(axes):
        own = np.arange(axes)[:, None] == axis
        found |= {
            f"positions on axis {axis} are one too large": p + own,
            f"positions on axis {axis} are one too small": p - own,
            f"positions on axis {axis} are doubled": p * (1 + own),
            f"positions on axis {axis} are halved": p / (1 + own),
            f"positions on axis {axis} are counted from the first token of the call": (
                p - own * p[:, :1]
            ),
            f"pairs of axis {axis} turn the other way": p * (1 - 2 * own),
        }
    return found


def _wrong_rows(context: CheckContext) -> Cause | None:
    """Whether rows are taken for axes, where there are as many."""
    axes = axes_of(context.spec)
    if "bt" not in context.claim.position_forms or "b" not in context.claim.axes or axes < 2:
        return None
    low, high = context.claim.position_range
    start = max(low, min(0, high))
    case = context.cut(Case(axes, axes + 1, 1, range(axes + 1), seed=3))
    p = np.arange(axes * axes * (axes + 1)).reshape(axes, axes, axes + 1) + start
    if p.max() > high:
        return None
    x = context.x(case)
    y = np.asarray(context.arrays.apply(x, p), np.float64)
    near = _ROUNDINGS * unit_roundoff(context.dtype) * max(1.0, float(np.abs(x).max()))
    own = np.asarray(x, np.float64)
    want = apply_rope(own, p.swapaxes(0, 1), context.spec, axes="bthd")
    if not np.abs(y - want).max() <= near:
        return None
    words = "positions of shape (A, B, T) are read as (B, A, T): rows stand for axes"
    return Cause(words, "multi-axis", f"explains {axes} rows of {axes + 1} tokens")


# Which axis a pair follows


def _wrong_axes(context: CheckContext, surface: str) -> Cause | None:
    """Whether pairs follow other axes than they should."""
    spec = context.spec
    assert spec.pair_axes is not None
    cos, sin = _followed(context, surface)
    for i, (first, second) in enumerate(zip(cos, sin, strict=True)):
        if first and second and first != second:
            words = (
                f"the two channels of pair {i} follow axes {_listed(first)} and {_listed(second)}, "
                "as when the axes are blocks of a table that holds each angle twice"
            )
            return Cause(words, "multi-axis", "each axis was moved by itself")
    told = [(i, axes) for i, axes in enumerate(sin) if axes is not None]
    wrong = [i for i, axes in told if axes != {spec.pair_axes[i]}]
    if not wrong:
        return None
    # What turns far too slowly follows its axis, too.
    if not any(dict(told)[i] for i in wrong) and (slow := _wrong_ladder(context, surface)):
        return slow
    i = wrong[0]
    words = (
        _relabelled(spec, told)
        or _other_map(spec, told)
        or _other_sections(spec, told)
        or f"pair {i} follows {_axes_in_words(dict(told)[i])}, claimed axis {spec.pair_axes[i]}"
    )
    evidence = f"moved one at a time, the axes show {len(wrong)} of {len(told)} pairs elsewhere"
    return Cause(words, "multi-axis", evidence)


def _followed(context: CheckContext, surface: str) -> tuple[Followed, Followed]:
    """The axes on which cos and sin of each pair depend."""
    spec, axes = context.spec, axes_of(context.spec)
    low, high = context.claim.position_range
    base = max(low, min(0, high))
    way = 1 if high > base else -1
    steps = [way * n for n in (1, 2, 5, 31, 256, 2**11, 2**14, 2**17)]
    steps = [n for n in steps if low <= base + n <= high]
    p = np.full((axes, 1 + axes * len(steps)), base)
    for axis in range(axes):
        p[axis, 1 + axis * len(steps) : 1 + (axis + 1) * len(steps)] += steps
    seen, right = _turns(context, p, surface), predicted_turn(p, spec.theta(), spec)
    least = 4 * unit_roundoff(context.dtype) + 2.0**-20
    found: list[Followed] = []
    for part, true in ((seen.real, right.real), (seen.imag, right.imag)):
        tells = (np.abs(true - true[0]) > 4 * least).any(axis=0)
        moved = (np.abs(part - part[0]) > least)[1:].reshape(axes, len(steps), -1).any(axis=1)
        found.append(
            [
                frozenset(np.flatnonzero(moved[:, i]).tolist()) if tells[i] else None
                for i in range(tells.size)
            ]
        )
    return found[0], found[1]


Told = list[tuple[int, frozenset[int]]]


def _relabelled(spec: RopeSpec, told: Told) -> str | None:
    """Whether all pairs of one axis follow the same other one."""
    assert spec.pair_axes is not None
    seen: dict[int, set[frozenset[int]]] = {}
    for i, axes in told:
        seen.setdefault(spec.pair_axes[i], set()).add(axes)
    if any(len(each) > 1 for each in seen.values()):
        return None
    new = {axis: next(iter(each)) for axis, each in seen.items()}
    changed = sorted(axis for axis, follows in new.items() if follows != {axis})
    values = [new[axis] for axis in changed]
    if len(new) > 1 and len(set(new.values())) == 1:
        return f"all pairs follow {_axes_in_words(values[0])}"
    if len(changed) == 2 and values == [{changed[1]}, {changed[0]}]:
        return f"axes {changed[0]} and {changed[1]} are exchanged"
    return "; ".join(f"pairs of axis {a} follow {_axes_in_words(new[a])}" for a in changed)


def _other_map(spec: RopeSpec, told: Told) -> str | None:
    """Whether pairs follow the axes of a map that public systems have."""
    assert spec.pair_axes is not None
    axes = axes_of(spec)
    sections = tuple(spec.pair_axes.count(axis) for axis in range(axes))
    known: dict[str, tuple[int, ...]] = {}
    for name, make in _MAPS.items():
        with contextlib.suppress(RopeError):
            known[name] = make(sections)
    claimed = next((name for name, own in known.items() if own == spec.pair_axes), None)
    twice = contiguous_axes(2 * n for n in sections)[: len(spec.pair_axes)]
    known["the contiguous map with each section twice as long"] = twice
    for name, own in known.items():
        # A fourth axis, where the claim has three, is one that never moves.
        if all(follows == ({own[i]} if own[i] < axes else set()) for i, follows in told):
            instead = "" if claimed is None else f" instead of {claimed.rstrip(',')}"
            return f"pairs follow the axes of {name}{instead}"
    return None


def _other_sections(spec: RopeSpec, told: Told) -> str | None:
    """Whether the axes have runs of pairs one after the other, of other lengths."""
    assert spec.pair_axes is not None
    single = [next(iter(axes)) if len(axes) == 1 else -1 for _, axes in told]
    if len(told) != len(spec.pair_axes) or -1 in single or single != sorted(single):
        return None
    found = [single.count(axis) for axis in range(axes_of(spec))]
    claimed = [spec.pair_axes.count(axis) for axis in range(axes_of(spec))]
    return f"the axes have {found} pairs, one after the other, claimed {claimed}"


# How pairs turn


def _wrong_ladder(context: CheckContext, surface: str) -> Cause | None:
    """Whether the axes have a ladder each where they share one, the reverse, or other widths."""
    low, high = context.claim.position_range
    chosen = [p for p in (2**k for k in range(13)) if low <= p <= high]
    p, spec = on_all_axes(np.array(chosen), context.spec), context.spec
    seen = _turns(context, p, surface)
    if not chosen or _is_near(context, seen, predicted_turn(p, spec.theta(), spec)):
        return None
    for words, theta in _ladders(spec):
        if _is_near(context, seen, predicted_turn(p, theta, spec)):
            evidence = f"explains {len(chosen)} tokens that stand at one position on all axes"
            return Cause(words, "multi-axis", evidence)
    return None


def _ladders(spec: RopeSpec) -> Iterator[tuple[str, FloatArray]]:
    """Frequencies that axes may have by mistake, in words."""
    assert spec.pair_axes is not None
    rule, axes = spec.frequencies, np.array(spec.pair_axes)
    rules = rule.rules if isinstance(rule, Axial) else (rule,) * axes_of(spec)
    bases = [float(each.base) for each in rules if isinstance(each, PowerLaw)]
    if len(bases) != axes_of(spec):
        return
    base = np.array(bases)[axes]
    own = np.array([spec.pair_axes[:i].count(axis) for i, axis in enumerate(spec.pair_axes)])
    pairs_of = np.array([spec.pair_axes.count(axis) for axis in range(len(bases))])
    all_pairs = np.arange(axes.size)
    yield "each axis has a ladder of its own, from 1 on", base ** (-own / pairs_of[axes])
    yield "one ladder runs through all axes", base ** (-all_pairs / axes.size)
    yield "each axis begins the ladder of the whole width anew", base ** (-own / axes.size)
    for axis, count in enumerate(pairs_of):
        words = f"the exponents of all axes have the width of axis {axis}, {2 * count} channels"
        yield words, base ** (-own / max(count, 1))
        if len(set(bases)) > 1:
            words = f"all axes have the base of axis {axis}, {bases[axis]:g}"
            yield words, bases[axis] ** (-own / pairs_of[axes])


# Which channels are a pair


def _pairs_keep(found_map: ChannelMap, spec: RopeSpec) -> bool:
    """Whether no channel comes out on channels of another pair."""
    read, written = pair_channels(spec), pair_channels(spec, output=True)
    return all(
        set(found_map.reaches[j]) <= set(written[:, i].tolist())
        for i in range(read.shape[1])
        for j in read[:, i].tolist()
    )


def _own_halves(spec: RopeSpec, found_map: ChannelMap) -> Cause | None:
    """Whether each axis has a block of channels that is split in halves by itself."""
    assert spec.pair_axes is not None
    counts = [spec.pair_axes.count(axis) for axis in range(axes_of(spec))]
    start = spec.rotary_start
    for count in counts:
        for j in range(start, start + count):
            if not {j, *found_map.reaches[j]} <= {j, j + count}:
                return None
        start += 2 * count
    words = "each axis has a block of channels to itself, whose halves form its pairs"
    return Cause(words, "multi-axis", "read from unit vectors")


def _axes_in_words(axes: frozenset[int]) -> str:
    if not axes:
        return "no axis: they stand still"
    return f"axis {_listed(axes)}" if len(axes) == 1 else f"axes {_listed(axes)}"


def _listed(axes: frozenset[int]) -> str:
    return " and ".join(map(str, sorted(axes)))

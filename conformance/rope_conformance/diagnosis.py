"""Says what is probably wrong: the one fault that explains everything that was seen.

The pair (1, 0) is put into every pair at a few dozen positions, so that each comes out
as its cos and sin. Each *suspect* is a RoPE with one thing wrong, of the kinds that
public trackers report. A suspect that predicts all that was seen, where the right RoPE
does not, is named. A suspect is a hint; the verdict never depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import unit_roundoff
from rope_conformance.clauses._common import (
    all_positions,
    angles_probe,
    pairs,
    standard_case,
    telling_position,
)
from rope_conformance.faults import Fault
from rope_conformance.identify import layout_in_words, read_map, visible_pairs
from rope_conformance.inputs import Case, data_type
from rope_conformance.trial import CheckFailure, TargetRaised, Trial
from rope_ref import PowerLaw, RopeSpec, apply_rope, cos_sin

__all__ = ["Cause", "likely_cause"]

Complex = npt.NDArray[np.complex128]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cause:
    """What is probably wrong: in words, its class, and what speaks for it."""

    words: str
    fault: Fault
    evidence: str


def likely_cause(trial: Trial) -> Cause | None:
    """Return the likeliest cause of a failure, or None if no suspect fits.

    Parameters
    ----------
    trial
        Of the check that failed; the implementation is called a few times more.
    """
    probe = Trial(trial.implementation, trial.dtype, trial.profile)
    for search in (_wrong_pairs, _wrong_numbers, _wrong_axes):
        try:
            cause = search(probe)
        except (CheckFailure, TargetRaised):
            continue
        if cause is not None:
            return Cause(cause, "other", "")
    return None


def _wrong_pairs(trial: Trial) -> str | None:
    """Whether unit vectors show another layout, or two channels that part."""
    position = telling_position(trial)
    reading, spec = read_map(trial, position), trial.spec
    found = reading.layouts(spec, position)
    claimed = layout_in_words(spec.layout, spec)
    if spec.output_layout != spec.layout:
        claimed += f", written {layout_in_words(spec.output_layout, spec)}"
    if found and (spec.layout, spec.output_layout) not in found:
        return f"{reading.in_words(spec, position)}, claimed {claimed}"
    for pair, (u, v), (first, second) in visible_pairs(spec, position) if found else ():
        if abs(reading.matrix[first, u] - reading.matrix[second, v]) > 1 / 64:
            return (
                f"the two channels of pair {pair} turn by different angles, as when a table laid "
                f"out for the other layout meets pairs that are {claimed}"
            )
    return None


def _wrong_numbers(trial: Trial) -> str | None:
    """The first suspect that explains what every pair does at every position tried."""
    spec, claim = trial.spec, trial.claim
    low, high = claim.position_range
    chosen: list[float] = [p for p in (0, 3, 5) if low <= p <= high]
    chosen += [p for p in all_positions(trial, limit=2**17) if p != 0]
    chosen += [p for p in (-1, -2, -7, -100) if p >= low]
    chosen += [0.5, 1.75, 10.25] if "real" in claim.position_kinds else []
    case = standard_case(trial, chosen)
    p = trial.positions(case)
    y = trial.apply(angles_probe(trial, case), p)
    first, second = pairs(trial, y, output=True)[:, 0, :, 0]
    seen = (first + 1j * second) / float(spec.frequencies.amplitude)
    if not seen.size:
        return None
    if _agrees(seen, _turn(p, spec), _tolerance(trial, p, spec.theta())):
        return None
    for words, predicted, theta in _suspects(p, spec, seen):
        fastest = np.maximum(np.abs(theta), spec.theta())
        if predicted.shape == seen.shape and _agrees(
            seen, predicted, _tolerance(trial, p, fastest)
        ):
            return words
    return None


def _tolerance(trial: Trial, p: npt.NDArray[Any], theta: Array) -> Array:
    """A suspect is honest in all but one thing: it may err as float32 phases do."""
    rule = trial.spec.frequencies
    spread = 4 * abs(np.log(float(rule.base))) if isinstance(rule, PowerLaw) else 0.0
    phase = (5 + spread) * np.abs(p)[:, None] * theta * unit_roundoff("float32")
    return np.asarray(phase + 4 * unit_roundoff(trial.dtype) + 8 * unit_roundoff("float32"))


def _agrees(seen: Complex, predicted: Complex, tolerance: Array) -> bool:
    """Whether they are the same wherever the tolerance lets anything be told."""
    with np.errstate(invalid="ignore"):
        close = np.abs(seen - predicted) <= tolerance
    both_nan = np.isnan(seen) & np.isnan(predicted)
    tells = tolerance < 1 / 8
    return bool((close | both_nan)[tells].all())


def _turn(p: npt.NDArray[Any], spec: RopeSpec) -> Complex:
    """cos + i sin of the right phases."""
    cos, sin = cos_sin(p, spec, unit=True)
    return cos + 1j * sin


def _phases(phase: npt.NDArray[Any]) -> Complex:
    """cos + i sin of given phases; NaN where a phase is."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(1j * np.asarray(phase, dtype=np.float64)))


Suspect = tuple[str, Complex, Array]


def _suspects(p: npt.NDArray[Any], spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """What is said of each suspect, what it would have shown, and its frequencies."""
    theta = spec.direction * spec.theta()
    for words, predicted in _misplaced(p, spec):
        yield words, predicted, theta
    for words, turn in _ladders(spec) if isinstance(spec.frequencies, PowerLaw) else ():
        yield words, _phases(p[:, None] * turn), turn
    yield from _fitted(p, spec, seen)


def _misplaced(p: npt.NDArray[Any], spec: RopeSpec) -> Iterator[tuple[str, Complex]]:
    """Right frequencies at wrong positions, or a wrong use of the right table."""
    theta = spec.direction * spec.theta()
    right = _turn(p, spec)
    column = p[:, None].astype(np.float64)

    yield "the sign of sin is flipped: pairs turn the wrong way", right.conj()
    yield "cos and sin are exchanged", right.imag + 1j * right.real

    for shift in (1, -1):
        start = f"token 0 is rotated as position {shift}"
        yield f"positions are off by one: {start}", _turn(p + shift, spec)
    yield "positions are not used: tokens are numbered 0, 1, 2, ...", _turn(np.arange(p.size), spec)
    yield "nothing is rotated", np.ones_like(right)
    for short in ("bfloat16", "float16"):
        with np.errstate(over="ignore"):
            rounded = p.astype(data_type(short)).astype(np.float64)
        yield (
            f"positions are rounded to {short}, which does not hold every integer above "
            f"{2 ** (8 if short == 'bfloat16' else 11)}",
            _phases(rounded[:, None] * theta),
        )
    for length in (2**k for k in range(5, 18)):
        yield f"positions wrap around at {length}", _turn(p % length, spec)
        last = np.minimum(p, length - 1)
        yield f"positions from {length} on are all taken for {length - 1}", _turn(last, spec)

    for short in ("bfloat16", "float16"):
        kind = data_type(short)
        slow = theta.astype(kind).astype(np.float64)
        yield f"the frequencies are rounded to {short}", _phases(column * slow)
        table = right.real.astype(kind).astype(np.float64) + 1j * right.imag.astype(kind).astype(
            np.float64
        )
        yield f"the table of cos and sin is rounded to {short}", table

    if (p < 0).any():
        yield "negative positions are taken for positive ones", _turn(np.abs(p), spec)
        yield "negative positions are taken for 0", _turn(np.maximum(p, 0), spec)
    if (p != np.floor(p)).any():
        yield "positions are cut to whole numbers", _turn(np.trunc(p), spec)
        yield "positions are rounded to whole numbers", _turn(np.round(p), spec)


def _ladders(spec: RopeSpec) -> Iterator[tuple[str, Array]]:
    """Frequencies by a wrong formula."""
    assert isinstance(spec.frequencies, PowerLaw)
    base, width = float(spec.frequencies.base), spec.rotary_dim
    i = np.arange(width // 2)
    theta = spec.direction * spec.theta()
    exponents = {
        f"2i/D with D = head_dim = {spec.head_dim}": 2 * i / spec.head_dim,
        "2(i+1)/R, one step down the ladder": 2 * (i + 1) / width,
        "(2i+1)/R": (2 * i + 1) / width,
        "i/R": i / width,
        "4i/R": 4 * i / width,
        "2i/(R-1)": 2 * i / max(width - 1, 1),
        "2i/(R-2)": 2 * i / max(width - 2, 1),
    }
    for formula, exponent in exponents.items():
        words = f"the exponent of the base is {formula}, not 2i/R with R = {width}"
        yield words, spec.direction * base**-exponent
    yield "the phase is taken for degrees", theta * (np.pi / 180)
    yield "the phase is taken for turns", theta * (2 * np.pi)
    yield "the frequencies are in reverse order", theta[::-1]


def _fitted(p: npt.NDArray[Any], spec: RopeSpec, seen: Complex) -> Iterator[Suspect]:
    """Suspects with a number in them that is read off what was seen."""
    if not np.isfinite(seen).any():
        return
    theta = spec.direction * spec.theta()
    size = float(np.nanmedian(np.abs(seen)))
    yield f"the result is {size:.6g} times too large", size * _turn(p, spec), theta
    measured = _measured_frequencies(p, seen)
    if measured is None or not (measured != 0).all():
        return
    pairs_ = np.arange(spec.rotary_dim // 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.median(measured / theta))
        logs = -np.log(np.abs(measured[1:])) * spec.rotary_dim / (2 * pairs_[1:])
    words = f"all frequencies are {factor:.6g} times too large"
    yield words, _phases(p[:, None] * theta * factor), theta * factor
    if isinstance(spec.frequencies, PowerLaw) and logs.size:
        base, own = float(np.exp(np.median(logs))), float(spec.frequencies.base)
        ladder = spec.direction * base ** (-2 * pairs_ / spec.rotary_dim)
        yield f"the base is {base:.7g}, claimed {own:.7g}", _phases(p[:, None] * ladder), ladder


def _measured_frequencies(p: npt.NDArray[Any], seen: Complex) -> Array | None:
    """theta_i read off the angles at 1, 2, 4, ...: each doubling gives one more bit."""
    at = {int(position): n for n, position in enumerate(p.tolist())}
    if 1 not in at:
        return None
    angle = np.angle(seen)
    theta = angle[at[1]]
    if not np.isfinite(theta).all():
        return None
    for position in (2**k for k in range(1, 13)):
        if position in at and np.isfinite(angle[at[position]]).all():
            whole = np.round((position * theta - angle[at[position]]) / (2 * np.pi))
            theta = (angle[at[position]] + 2 * np.pi * whole) / position
    return np.asarray(theta)


def _wrong_axes(trial: Trial) -> str | None:
    """Whether an axis is taken for another, or one row or head stands for all."""
    case = Case(2, 4, 3, (3, 1, 0, 2), seed=5)
    if trial.cut(case) != case or not {"t", "bt"} & set(trial.claim.position_forms):
        return None
    x, p = trial.x(case), trial.positions(case)
    y = np.asarray(trial.apply(x, p), np.float64)
    own = np.asarray(x, np.float64)
    rows = np.broadcast_to(own[:1], own.shape)
    heads = np.broadcast_to(own[:, :, :1], own.shape)
    suspects = {
        "the head axis is taken for the token axis": (own, "bhtd", p[:3]),
        "the batch axis is taken for the token axis": (own, "tbhd", p[:2]),
        "every batch row gets the data of row 0": (rows, "bthd", p),
        "every head gets the data of head 0": (heads, "bthd", p),
    }
    if "bt" in trial.claim.position_forms:
        each = np.stack([p, p[::-1]])
        y_each = np.asarray(trial.apply(x, each), np.float64)
        first = apply_rope(own, p, trial.spec, axes="bthd")
        if np.abs(y_each - first).max() <= 64 * unit_roundoff(trial.dtype):
            return "every batch row gets the positions of row 0"
    for words, (data, axes, positions) in suspects.items():
        want = apply_rope(data, positions, trial.spec, axes=axes)
        if np.abs(y - want).max() <= 64 * unit_roundoff(trial.dtype):
            return words
    return None

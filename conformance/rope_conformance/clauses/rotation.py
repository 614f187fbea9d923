"""What makes the map a rotation: norm, linearity, composition, inverse, transpose.

These properties alone pass most wrong RoPEs (a wrong base keeps them all), so each
stands beside the numeric oracle, not in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy import bound, compare, pair_norm, per_token
from rope_conformance.clauses._common import (
    all_positions,
    numeric_cases,
    numeric_fixed,
    pairs,
    to_input_layout,
    to_output_layout,
)
from rope_conformance.clauses.table import norm_error
from rope_conformance.identify import map_at
from rope_conformance.inputs import Case, cases
from rope_conformance.places import at_one_place
from rope_conformance.registry import EITHER, Clause
from rope_conformance.shapes import usual_shape
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Array = npt.NDArray[np.float64]

# Second-order terms: an output that is the next call's input is itself off by its bound.
_SECOND_ORDER = 1 + 2**-5
# An error that is turned again can come out on one component in its whole length.
_TURNED = True

NORM = Clause(
    id="rotation.norm",
    sentence="The length of each pair comes out times A.",
    formula=r"\lVert y_i \rVert = A\,\lVert x_i \rVert",
    reference="rope_ref.rotation:apply_rope",
    fault="scaling",
    surface=EITHER,
)

LINEAR = Clause(
    id="rotation.linear",
    sentence="The map is linear in x: parts can be rotated apart, and a factor taken out.",
    formula=r"f(x + x') = f(x) + f(x'),\quad f(a x) = a f(x)",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    any_map=True,
)


def _free(trial: Trial) -> str | None:
    if not {"t", "bt"} & set(trial.claim.position_forms):
        return "needs positions that can be chosen per token"
    if trial.claim.position_range[1] < 0:
        return "needs positive positions"
    return None


def _sums(trial: Trial) -> str | None:
    low, high = trial.claim.position_range
    return _free(trial) or (None if 2 * max(low, 0) <= high else "needs room for p + q")


def _free_and_negative(trial: Trial) -> str | None:
    if trial.claim.position_range[0] >= 0:
        return "negative positions are not claimed"
    return _free(trial)


COMPOSE = Clause(
    id="rotation.compose",
    sentence="Rotating by p and then by q is rotating by p + q, times A.",
    formula=r"f_q(f_p(x)) = A\, f_{p+q}(x)",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    opened_by=_sums,
)

INVERSE = Clause(
    id="rotation.inverse",
    sentence="Rotating by p and then by -p gives x back, times A squared.",
    formula=r"f_{-p}(f_p(x)) = A^2\, x",
    reference="rope_ref.rotation:invert_rope",
    fault="other",
    surface=EITHER,
    opened_by=_free_and_negative,
)

TRANSPOSE = Clause(
    id="rotation.transpose",
    sentence="The transpose of the map at p is the map at -p.",
    formula=r"M(p)^{\mathsf T} = M(-p)",
    reference="rope_ref.rotation:transpose_rope",
    fault="other",
    surface=EITHER,
    opened_by=_free_and_negative,
)


@NORM.check(
    fixed=numeric_fixed,
    generated=numeric_cases,
    kills=[
        "amplitude_half_percent",
        "sum_forgets_a_term",
        "both_components_add",
        "minus_one_misread",
        "zero_rows_behind_the_start",
    ],
    minimum=50,
    numeric=True,
)
def norm(trial: Trial, case: Case) -> None:
    """Measure each pair before and after."""
    x = trial.x(case)
    y = trial.apply(x, trial.positions(case))
    norm_error(trial, x, y, case, "the length of a pair changed (length, not value)")


@LINEAR.check(
    fixed=lambda trial: numeric_fixed(trial)[:4],
    generated=numeric_cases,
    kills=["clips_at_two"],
    minimum=50,
    numeric=True,
)
def linear(trial: Trial, case: Case) -> None:
    """Rotate x, 4x, and x's first and second channels apart: no input is rounded."""
    x, positions = trial.x(case), trial.positions(case)
    first, second = x.copy(), x.copy()
    first[..., pair_channels(trial.spec)[1]] = 0
    second[..., pair_channels(trial.spec)[0]] = 0
    inputs = (x, first, second, (4 * x).astype(x.dtype))
    outputs = [np.asarray(trial.apply(each, positions), np.float64) for each in inputs]
    want = outputs[1] + outputs[2]
    # The untouched channels are in both parts.
    rest = np.ones(trial.spec.head_dim, dtype=np.bool_)
    rest[pair_channels(trial.spec).ravel()] = False
    want[..., rest] /= 2
    p = per_token(positions, trial.spec)
    r = pair_norm(x, trial.spec)
    # All three calls turn by the same phase, right or wrong: only the roundings differ.
    parts = [r, pair_norm(first, trial.spec), pair_norm(second, trial.spec)]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(own > 0, own / r * _bound_at_zero(trial, p, own), 0) for own in parts]
    allowed = np.sum(shares, axis=0)
    _demand(trial, outputs[0], want, r, allowed, p, "f(x + x') is not f(x) + f(x')")
    twice = 2 * _bound_at_zero(trial, p, r)
    _demand(trial, outputs[3] / 4, outputs[0], r, twice, p, "f(4 x) is not 4 f(x)")


@COMPOSE.check(
    fixed=lambda trial: _two_legs(trial, back=False),
    generated=lambda trial: _halved(trial),
    kills=["phase_of_position_squared", "assumes_consecutive_positions", "rows_numbered_through"],
    minimum=50,
    numeric=True,
)
def compose(trial: Trial, case: Case) -> None:
    """Rotate twice, and once by the sum."""
    p = trial.positions(case)
    q = p[..., ::-1].copy()
    x = trial.x(case)
    once = to_input_layout(trial, trial.apply(x, p))
    twice = np.asarray(trial.apply(once, q), np.float64)
    amplitude = float(trial.spec.frequencies.amplitude)
    want = amplitude * np.asarray(trial.apply(x, p + q), np.float64)
    legs = [(p, _TURNED), (q, False), (p + q, False)]
    _two_calls(trial, x, twice, want, legs, "rotating by p, then q is not rotating by p + q")


@INVERSE.check(
    fixed=lambda trial: _two_legs(trial, back=True),
    generated=lambda trial: _halved(trial),
    kills=["negative_wraps"],
    minimum=50,
    numeric=True,
)
def inverse(trial: Trial, case: Case) -> None:
    """Rotate there and back."""
    p = trial.positions(case)
    x = trial.x(case)
    once = to_input_layout(trial, trial.apply(x, p))
    back = np.asarray(trial.apply(once, -p), np.float64)
    amplitude = float(trial.spec.frequencies.amplitude)
    want = to_output_layout(trial, np.asarray(x, np.float64))
    want[..., pair_channels(trial.spec, output=True)] *= amplitude**2
    _two_calls(
        trial,
        x,
        back,
        want,
        [(p, _TURNED), (-p, False)],
        "rotating by p, then -p does not give x back",
    )


@TRANSPOSE.check(
    fixed=lambda trial: [
        Case(1, 1, 1, (p,)) for p in all_positions(trial, limit=2**8) if _within(trial, p)
    ],
    kills=["negative_wraps"],
    minimum=50,
    numeric=True,
)
def transpose(trial: Trial, case: Case) -> None:
    """Read the maps at p and at -p from unit vectors, and lay one over the other."""
    position = case.positions[0]
    read, written = pair_channels(trial.spec), pair_channels(trial.spec, output=True)
    there, back = (map_at(trial, p).copy() for p in (position, -position))
    for matrix in (there, back):
        matrix[read] = matrix[written].copy()
    error = np.abs(there.T - back)
    amplitude = float(trial.spec.frequencies.amplitude)
    p = per_token(at_one_place(position, 1, trial.spec), trial.spec)
    allowed = 2 * bound(trial.profile, trial.spec, p, trial.dtype, amplitude)
    block = error[read[:, None, :], read[None, :, :]].max(axis=(0, 1)).reshape(1, 1, 1, -1)
    outside = error.copy()
    outside[read[:, None, :], read[None, :, :]] = 0
    if outside.any():
        row, column = (int(n) for n in np.argwhere(outside)[0])
        raise CheckFailure(
            f"M({position})^T and M({-position}) differ outside the pairs, at ({row}, {column})"
        )
    judgement = compare(
        block,
        np.full(block.shape, amplitude),
        allowed,
        p,
        trial.dtype,
        got=_first_components(back, read, written),
        want=_first_components(there.T, read, written),
    )
    trial.count(judgement)
    trial.demand(judgement, f"M({position})^T is not M({-position})")


def _within(trial: Trial, p: int) -> bool:
    low, high = trial.claim.position_range
    return low <= -p and p <= high


def _first_components(
    matrix: Array, read: npt.NDArray[np.int64], written: npt.NDArray[np.int64]
) -> Array:
    """For the report: image of the first unit vector of each pair, on the written channels."""
    out = np.zeros((1, 1, 1, matrix.shape[0]))
    for pair in range(read.shape[1]):
        out[0, 0, 0, written[:, pair]] = matrix[read[:, pair], read[0, pair]]
    return out


def _two_legs(trial: Trial, *, back: bool) -> list[Case]:
    """Two positions whose sum, or whose negatives, are still in the range."""
    low, high = trial.claim.position_range
    legs = ((1, 2), (3, 4), (100, 7), (255, 256))
    far = [(p, q) for p, q in legs if (low <= -max(p, q) if back else p + q <= high)]
    if trial.namespace.fixed_shapes:  # each new shape is a compilation
        batch, tokens, heads = usual_shape(trial.claim)
        return [
            trial.cut(Case(batch, tokens, heads, (p, p, min(p, q), q, q), seed=p)) for p, q in far
        ]
    return [Case(1, 2, 1, leg, seed=leg[0]) for leg in far]


def _halved(trial: Trial) -> SearchStrategy[Case]:
    """Positions whose sum with another's, and whose negative, is still in the range."""
    low, high = trial.claim.position_range
    largest = min(high // 2, -low) if low < 0 else high // 2
    return cases(trial.claim, low=0, high=largest).map(trial.cut)


def _bound_at_zero(trial: Trial, p: Array, r: Array) -> Array:
    """The bound without the phase's share: for calls that turn by the same phase."""
    return bound(trial.profile, trial.spec, 0 * p, trial.dtype, r)


def _two_calls(
    trial: Trial,
    x: npt.NDArray[np.generic],
    got: Array,
    want: Array,
    calls: list[tuple[npt.NDArray[np.generic], bool]],
    message: str,
) -> None:
    """Judge a result of several calls: their bounds add up.

    `calls` holds the positions of each and whether its error is turned again. The results
    are of size A r: an error of the first call goes through the second, which scales it by A.
    """
    amplitude = float(trial.spec.frequencies.amplitude)
    r = pair_norm(x, trial.spec)
    smallest = r * min(1.0, amplitude)
    allowed = np.zeros_like(r)
    for p, turned in calls:
        tokens = per_token(p, trial.spec)
        own = bound(trial.profile, trial.spec, tokens, trial.dtype, smallest, norm=turned)
        allowed = allowed + _SECOND_ORDER * own
    _demand(trial, got, want, amplitude * r, allowed, per_token(calls[0][0], trial.spec), message)


def _demand(
    trial: Trial, got: Array, want: Array, r: Array, allowed: Array, p: Array, message: str
) -> None:
    """Compare two outputs pair by pair."""
    error = np.abs(pairs(trial, got, output=True) - pairs(trial, want, output=True)).max(axis=0)
    judgement = compare(error, r, allowed, p, trial.dtype, got=got, want=want)
    trial.count(judgement)
    trial.demand(judgement, message)

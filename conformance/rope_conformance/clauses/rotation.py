"""What makes the map a rotation: norm, linearity, composition, inverse, transpose.

These properties alone pass most wrong RoPEs (a wrong base keeps them all), so each
is judged in addition to the numbers, not instead of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.residual import compare, pair_norm, per_token
from rope_conformance.clauses._arrays import to_input_layout, to_output_layout
from rope_conformance.clauses.table import norm_error
from rope_conformance.identification.conventions import map_at
from rope_conformance.inputs.cases import Case, cases
from rope_conformance.inputs.position_axes import at_one_place
from rope_conformance.inputs.shapes import usual_shape
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import all_positions, numeric_cases, numeric_fixed, pairs
from rope_conformance.target.frameworks import Array
from rope_ref import pair_channels

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


# Second-order terms: an output that is the next input is itself off by its bound.
_SECOND_ORDER = 1 + 2**-5
# Rotated again, an error may come out on one component in its whole length.
_TURNED = True


def _free(context: CheckContext) -> str | None:
    if not {"t", "bt"} & set(context.claim.position_forms):
        return "needs positions that can be chosen per token"
    if context.claim.position_range[1] < 0:
        return "needs positive positions"
    return None


def _sums(context: CheckContext) -> str | None:
    low, high = context.claim.position_range
    return _free(context) or (None if 2 * max(low, 0) <= high else "needs room for p + q")


def _free_and_negative(context: CheckContext) -> str | None:
    if context.claim.position_range[0] >= 0:
        return "negative positions are not claimed"
    return _free(context)


@clause(
    id="rotation.norm",
    sentence="The length of each pair comes out times A.",
    formula=r"\lVert y_i \rVert = A\,\lVert x_i \rVert",
    reference="rope_ref.definition:rotate",
    fault="scaling",
    surface=EITHER,
    fixed=numeric_fixed,
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def norm(context: CheckContext, case: Case) -> None:
    """Measure each pair before and after."""
    x = context.x(case)
    y = context.arrays.apply(x, context.positions(case))
    norm_error(context, x, y, case, "the length of a pair changed (length, not value)")


@clause(
    id="rotation.linear",
    sentence="The map is linear in x: parts can be rotated apart, and a factor taken out.",
    formula=r"f(x + x') = f(x) + f(x'),\quad f(a x) = a f(x)",
    reference="rope_ref.definition:rotate",
    fault="other",
    surface=EITHER,
    any_map=True,
    fixed=lambda context: numeric_fixed(context)[:4],
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def linear(context: CheckContext, case: Case) -> None:
    """Rotate x, 4x, and x's first and second channels apart: no input is rounded."""
    x, positions = context.x(case), context.positions(case)
    first, second = x.copy(), x.copy()
    first[..., pair_channels(context.spec)[1]] = 0
    second[..., pair_channels(context.spec)[0]] = 0
    inputs = (x, first, second, (4 * x).astype(x.dtype))
    outputs = [np.asarray(context.arrays.apply(each, positions), np.float64) for each in inputs]
    want = outputs[1] + outputs[2]
    # The untouched channels are in both parts.
    rest = np.ones(context.spec.head_dim, dtype=np.bool_)
    rest[pair_channels(context.spec).ravel()] = False
    want[..., rest] /= 2
    p = per_token(positions, context.spec)
    r = pair_norm(x, context.spec)
    # All three calls have the same phase, right or wrong: they differ by roundings alone.
    parts = [r, pair_norm(first, context.spec), pair_norm(second, context.spec)]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(own > 0, own / r * _bound_at_zero(context, p, own), 0) for own in parts]
    allowed = np.sum(shares, axis=0)
    _demand(context, outputs[0], want, r, allowed, p, "f(x + x') is not f(x) + f(x')")
    twice = 2 * _bound_at_zero(context, p, r)
    _demand(context, outputs[3] / 4, outputs[0], r, twice, p, "f(4 x) is not 4 f(x)")


@clause(
    id="rotation.compose",
    sentence="Rotating by p and then by q is rotating by p + q, times A.",
    formula=r"f_q(f_p(x)) = A\, f_{p+q}(x)",
    reference="rope_ref.definition:rotate",
    fault="other",
    surface=EITHER,
    opened_by=_sums,
    fixed=lambda context: _two_legs(context, back=False),
    generated=lambda context: _halved(context),
    minimum=50,
    numeric=True,
)
def compose(context: CheckContext, case: Case) -> None:
    """Rotate twice, and once by the sum."""
    p = context.positions(case)
    q = p[..., ::-1].copy()
    x = context.x(case)
    once = to_input_layout(context, context.arrays.apply(x, p))
    twice = np.asarray(context.arrays.apply(once, q), np.float64)
    amplitude = float(context.spec.frequencies.amplitude)
    want = amplitude * np.asarray(context.arrays.apply(x, p + q), np.float64)
    legs = [(p, _TURNED), (q, False), (p + q, False)]
    _two_calls(context, x, twice, want, legs, "rotating by p, then q is not rotating by p + q")


@clause(
    id="rotation.inverse",
    sentence="Rotating by p and then by -p gives x back, times A squared.",
    formula=r"f_{-p}(f_p(x)) = A^2\, x",
    reference="rope_ref.rotation:invert_rope",
    fault="other",
    surface=EITHER,
    opened_by=_free_and_negative,
    fixed=lambda context: _two_legs(context, back=True),
    generated=lambda context: _halved(context),
    minimum=50,
    numeric=True,
)
def inverse(context: CheckContext, case: Case) -> None:
    """Rotate there and back."""
    p = context.positions(case)
    x = context.x(case)
    once = to_input_layout(context, context.arrays.apply(x, p))
    back = np.asarray(context.arrays.apply(once, -p), np.float64)
    amplitude = float(context.spec.frequencies.amplitude)
    want = to_output_layout(context, np.asarray(x, np.float64))
    want[..., pair_channels(context.spec, output=True)] *= amplitude**2
    _two_calls(
        context,
        x,
        back,
        want,
        [(p, _TURNED), (-p, False)],
        "rotating by p, then -p does not give x back",
    )


@clause(
    id="rotation.transpose",
    sentence="The transpose of the map at p is the map at -p.",
    formula=r"M(p)^{\mathsf T} = M(-p)",
    reference="rope_ref.rotation:transpose_rope",
    fault="other",
    surface=EITHER,
    opened_by=_free_and_negative,
    fixed=lambda context: [
        Case(1, 1, 1, (p,)) for p in all_positions(context, limit=2**8) if _within(context, p)
    ],
    minimum=50,
    numeric=True,
)
def transpose(context: CheckContext, case: Case) -> None:
    """Read the maps at p and -p from unit vectors; one must be the transpose of the other."""
    position = case.positions[0]
    read, written = pair_channels(context.spec), pair_channels(context.spec, output=True)
    there, back = (map_at(context, p).copy() for p in (position, -position))
    for matrix in (there, back):
        matrix[read] = matrix[written].copy()
    error = np.abs(there.T - back)
    amplitude = float(context.spec.frequencies.amplitude)
    p = per_token(at_one_place(position, 1, context.spec), context.spec)
    allowed = 2 * bound(context.profile, context.spec, p, context.dtype, amplitude)
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
        context.dtype,
        got=_first_components(back, read, written),
        want=_first_components(there.T, read, written),
    )
    context.evidence.count(judgement)
    context.demand(judgement, f"M({position})^T is not M({-position})")


def _within(context: CheckContext, p: int) -> bool:
    low, high = context.claim.position_range
    return low <= -p and p <= high


def _first_components(
    matrix: Array, read: npt.NDArray[np.int64], written: npt.NDArray[np.int64]
) -> Array:
    """For the report: image of the first unit vector of each pair, on the written channels."""
    out = np.zeros((1, 1, 1, matrix.shape[0]))
    for pair in range(read.shape[1]):
        out[0, 0, 0, written[:, pair]] = matrix[read[:, pair], read[0, pair]]
    return out


def _two_legs(context: CheckContext, *, back: bool) -> list[Case]:
    """Two positions whose sum, or whose negatives, are still in the range."""
    low, high = context.claim.position_range
    legs = ((1, 2), (3, 4), (100, 7), (255, 256))
    far = [(p, q) for p, q in legs if (low <= -max(p, q) if back else p + q <= high)]
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        batch, tokens, heads = usual_shape(context.claim)
        return [
            context.cut(Case(batch, tokens, heads, (p, p, min(p, q), q, q), seed=p)) for p, q in far
        ]
    return [Case(1, 2, 1, leg, seed=leg[0]) for leg in far]


def _halved(context: CheckContext) -> SearchStrategy[Case]:
    """Positions whose sum with another's, and whose negative, is still in the range."""
    low, high = context.claim.position_range
    largest = min(high // 2, -low) if low < 0 else high // 2
    return cases(context.claim, low=0, high=largest).map(context.cut)


def _bound_at_zero(context: CheckContext, p: Array, r: Array) -> Array:
    """The bound without the error of the phase: for calls that have the same phase."""
    return bound(context.profile, context.spec, 0 * p, context.dtype, r)


def _two_calls(
    context: CheckContext,
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
    amplitude = float(context.spec.frequencies.amplitude)
    r = pair_norm(x, context.spec)
    smallest = r * min(1.0, amplitude)
    allowed = np.zeros_like(r)
    for p, turned in calls:
        tokens = per_token(p, context.spec)
        own = bound(context.profile, context.spec, tokens, context.dtype, smallest, norm=turned)
        allowed = allowed + _SECOND_ORDER * own
    _demand(
        context, got, want, amplitude * r, allowed, per_token(calls[0][0], context.spec), message
    )


def _demand(
    context: CheckContext, got: Array, want: Array, r: Array, allowed: Array, p: Array, message: str
) -> None:
    """Compare two outputs pair by pair."""
    error = np.abs(pairs(context, got, output=True) - pairs(context, want, output=True)).max(axis=0)
    judgement = compare(error, r, allowed, p, context.dtype, got=got, want=want)
    context.evidence.count(judgement)
    context.demand(judgement, message)

"""Which positions tokens have where text, images and videos follow each other.

``segment_positions(segments)`` is given objects of `rope_ref.positions.TextSegment` and
`rope_ref.positions.GridSegment`, and returns time, row and column of each token: integers (3, T).

A prompt in which two grids touch, or whose grids have another merge than 2, may be refused
with `Unsupported`: public models put marks around their images, and merge by 2. A refusal is
noted, and does not count as an input.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_conformance.inputs.segments import Prompt, drawn_prompts, fixed_prompts
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.target.implementation import Unsupported
from rope_ref.positions import TextSegment

Integers = npt.NDArray[np.int64]


def _from_0(context: CheckContext) -> str | None:
    low, high = context.claim.position_range
    return None if low <= 0 <= high else "position 0 is not in the claimed range"


def _answer(context: CheckContext, prompt: Prompt) -> Integers | None:
    """What was answered, as integers in the right shape; None if it was refused, as it may be."""
    try:
        result = context.arrays.call("segments", prompt.segments)
    except CheckFailure as failure:
        if not (prompt.refusable and isinstance(failure.__cause__, Unsupported)):
            raise
        context.evidence.inputs -= 1
        note = f"some prompts are refused: {failure.__cause__}"
        context.evidence.notes += [] if note in context.evidence.notes else [note]
        return None
    try:
        host = context.arrays.host(result)
    except Exception as error:  # whatever the framework of the result raises
        raise CheckFailure(
            f"segment_positions returned {type(result).__name__}, of which no array can be made: "
            f"{error}",
            fault="dtype",
        ) from None
    if host.dtype.kind not in "iu":
        raise CheckFailure(
            f"segment_positions returned {type(result).__name__} of {host.dtype}, must be integers",
            fault="dtype",
        )
    if host.shape != prompt.positions().shape:
        raise CheckFailure(
            f"segment_positions returned shape {host.shape}, must be {prompt.positions().shape}: "
            "time, row and column of each token"
        )
    context.arrays.outputs.add(hash(host.tobytes()))
    return host.astype(np.int64)


@clause(
    id="segments.grid",
    sentence=(
        "Tokens of an image or a video stand at their frame, row and column, counted from where "
        "it begins; time is frame times interval, then cut to an integer."
    ),
    formula=r"p = p_0 + (\lfloor f \Delta \rfloor,\, r,\, c)",
    reference="rope_ref.positions.grids:grid_positions",
    fault="multi-axis",
    surface="segments",
    opened_by=_from_0,
    fixed=lambda context: fixed_prompts(),
    generated=lambda context: drawn_prompts(context.claim),
    minimum=5,
)
def grid(context: CheckContext, prompt: Prompt) -> None:
    """Count from the first token of each segment, wherever it stands."""
    answer = _answer(context, prompt)
    if answer is None:
        return
    for n, (segment, tokens) in enumerate(prompt.parts()):
        own, want = answer[:, tokens], segment.positions()
        first = own[:, :1] - want[:, :1]
        bad = np.argwhere((own - first).T != want.T)
        if bad.size:
            token, axis = bad[0]
            raise CheckFailure(
                f"token {token} of segment {n} is {own[axis, token] - first[axis, 0]} from where "
                f"that begins on axis {axis}, must be {want[axis, token]}"
            )


@clause(
    id="segments.next",
    sentence=(
        "A segment begins at 1 more than the largest position of all axes so far: text behind a "
        "video does not stand where some of its frames do."
    ),
    formula=r"p_0 = 1 + \max_{a,\,s<t} p_{a,s}",
    reference="rope_ref.positions.multimodal:multimodal_positions",
    fault="multi-axis",
    surface="segments",
    opened_by=_from_0,
    fixed=lambda context: fixed_prompts(),
    generated=lambda context: drawn_prompts(context.claim),
    minimum=5,
)
def next_(context: CheckContext, prompt: Prompt) -> None:
    """Look at the first token of each segment, given where those before it stand."""
    answer, largest = _answer(context, prompt), -1
    if answer is None:
        return
    for n, (segment, tokens) in enumerate(prompt.parts()):
        if tokens.start == tokens.stop:
            continue
        for axis, start in enumerate(answer[:, tokens.start]):
            if start != largest + 1:
                kind = "text" if isinstance(segment, TextSegment) else "the grid"
                before = f"the largest position before it is {largest}"
                raise CheckFailure(
                    f"{kind} of segment {n} begins at {start} (axis {axis}), must begin at "
                    f"{largest + 1}: {'nothing stands before it' if largest < 0 else before}"
                )
        largest = max(largest, int(answer[:, tokens].max()))

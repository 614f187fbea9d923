"""Keys in a cache that move: rotated once more, by the distance that they move."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions, shown
from rope_ref.rotation import apply_cos_sin, as_real, check_shapes
from rope_ref.spec import RopeSpec, demand_spec
from rope_ref.table import cos_sin

__all__ = ["reposition_rope"]


def reposition_rope(
    k: npt.ArrayLike, delta: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """Rotate keys again that are rotated already, so that they stand `delta` further on.

    Equal to `apply_rope` of the keys at the new positions, up to rounding: a rotation
    without amplitude, for that is on the keys already, read and written in the spec's
    output layout.

    Parameters
    ----------
    k
        Keys as `apply_rope` returns them, with one axis per letter of `axes`.
    delta
        How far they move: shapes and kinds of numbers as positions in `apply_rope`; a
        scalar moves all alike, along all axes. Negative to close a gap.
    spec
        The RoPE they were rotated by. Where frequencies change with the length, it is not
        the one that holds now.
    axes
        As in `apply_rope`.

    Returns
    -------
    k
        float64, of the same shape. Channels that do not rotate stay as they are.

    Raises
    ------
    AxesError, ShapeError, DtypeError, PositionShapeError
        If k, axes and delta do not fit each other; and the errors of `cos_sin`.

    Notes
    -----
    To use `apply_rope` here is a fault where the amplitude A is not 1: each shift
    multiplies the keys by A once more, by 1.1386 for YaRN with factor 4, a shift by 0 too
    (ggml-org/llama.cpp#17945). Source of the operation: the K-shift of llama.cpp; Xiao et
    al., StreamingLLM, arXiv:2309.17453.
    """
    call = f"reposition_rope(k, delta, spec, axes={shown(axes)})"
    demand_spec(spec, call)
    k = as_real(k, call, "k")
    moves: npt.NDArray[np.generic] = as_positions(delta, call, "delta")
    if spec.pair_axes is not None and not moves.ndim:
        moves = np.broadcast_to(moves, (max(spec.pair_axes) + 1,))
    if not check_shapes(k.shape, moves.shape, spec, axes, call):
        moves = np.broadcast_to(moves[..., None], (*moves.shape, k.shape[axes.index("t")]))
    cos, sin = cos_sin(moves, spec, unit=True)
    layout, start = spec.output_layout, spec.rotary_start
    return apply_cos_sin(k, cos, sin, layout=layout, axes=axes, rotary_start=start)

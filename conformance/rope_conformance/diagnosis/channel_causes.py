"""What a map that is declared to be no rotation does instead of what it declares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_conformance.faults import Cause
from rope_conformance.identification.conventions import map_at
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import probe_position
from rope_conformance.judging.questions import DISTINCT, is_right
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, pair_channels

__all__ = ["channel_cause"]

_CLOSE = 2**-6  # radians: more than any profile rounds


def channel_cause(context: CheckContext, second: RopeSpec) -> Cause | None:
    """Whether it is a rotation, or channels have each other's angles, or quite other ones.

    Parameters
    ----------
    context
        Of a target that is wrong.
    second
        The RoPE that should give the second channel of each pair.
    """
    position = probe_position(context)
    matrix = map_at(context, position)
    read, written = pair_channels(context.spec), pair_channels(context.spec, output=True)
    cos = [matrix[written[n], read[n]] for n in (0, 1)]
    sin = [-matrix[written[0], read[1]], matrix[written[1], read[0]]]
    seen = np.arctan2(sin, cos)
    specs = (context.spec, second)
    phase = np.array([position * spec.direction * spec.theta() for spec in specs])
    want = np.arctan2(np.sin(phase), np.cos(phase))
    wrong = np.argwhere(~_near(seen, want))
    if not wrong.size and context.spec.pair_axes is not None and not is_right(context, DISTINCT):
        words = "right where positions are equal on all axes: channels follow other axes"
        return Cause(words, "multi-axis", f"all {want.size} angles are right at {position}")
    if not wrong.size:
        return None
    channel, pair = (int(n) for n in wrong[0])
    words = (
        f"the {('first', 'second')[channel]} channel of pair {pair} turns by "
        f"{seen[channel, pair]:.6g} at position {position}, not by {want[channel, pair]:.6g}"
    )
    evidence = f"{len(wrong)} of {want.size} channels turn by another angle"
    if _near(*seen).all():
        return Cause(f"{words}: it is a rotation, each pair has one angle", "layout", evidence)
    if _near(np.sort(seen, axis=None), np.sort(want, axis=None)).all():
        return Cause(f"{words}: channels have each other's angles", "layout", evidence)
    return Cause(words, "frequency", evidence)


def _near(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(a - b) < _CLOSE)

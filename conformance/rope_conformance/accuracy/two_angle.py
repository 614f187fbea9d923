"""Maps declared to be no rotations: the two channels of a pair turn by angles of their own.

The definition is two RoPEs, of which one gives the first channel of each pair and the other
the second (`rope_ref.extensions.apply_channel_ropes`). Each channel is then one component of
a rotated pair, and the bound of that RoPE holds for it.
"""

from __future__ import annotations

import numpy as np

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.accuracy.profiles import Profile
from rope_conformance.accuracy.residual import Judgement, judge
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, pair_channels
from rope_ref.extensions.channel_tables import own_positions

__all__ = ["judge_two_angles"]


def judge_two_angles(
    y: Array,
    x: Array,
    positions: Array,
    specs: tuple[RopeSpec, RopeSpec],
    dtype: str,
    profile: Profile,
) -> tuple[Judgement, Judgement, Judgement]:
    """Compare the first channel of each pair with one RoPE and the second with another.

    Parameters
    ----------
    y, x, positions, dtype, profile
        As in `judge`.
    specs
        The RoPE of the first channels, and that of the second.

    Returns
    -------
    first, second, worse
        The two comparisons, and one that has of each pair the channel that is farther off.
    """
    first, second = (
        judge(y, x, own_positions(positions, specs, spec), spec, dtype, profile, components=(n,))
        for n, spec in enumerate(specs)
    )
    of_first = first.ratio >= second.ratio

    def pick(name: str) -> FloatArray:
        return np.asarray(np.where(of_first, getattr(first, name), getattr(second, name)))

    want = first.want.copy()
    channels = pair_channels(specs[1], output=True)[1]
    want[..., channels] = second.want[..., channels]
    names = ("error", "residual", "bound", "r", "positions")
    worse = Judgement(**{n: pick(n) for n in names}, got=first.got, want=want, dtype=dtype)
    return first, second, worse

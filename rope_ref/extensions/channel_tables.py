"""Tables with an entry for each channel, and maps that are not rotations because of it.

Public code often keeps cos and sin as wide as the rotating part and multiplies channel by
channel, ``x cos + partner(x) sin``. That is the rotation of a pair only if both of its
channels have the same cos and sin. A table that repeats its halves, ``[c_0 .. c_n, c_0 ..
c_n]``, goes with the half layout; one that repeats each entry, ``[c_0, c_0, c_1, c_1, ..]``,
with the interleaved one. Crossed, each channel follows an angle of its own: lengths change,
and scores no longer depend on distances alone. Some published checkpoints were trained with
such a map and need it as it is.

    V-JEPA2                    halves repeated, interleaved layout, in three blocks of channels
    Paddle, half style         each entry repeated, half layout

What such a map is can be said without tables too: each channel is that of some rotation,
so two RoPEs are enough, one for the first channels of all pairs and one for the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions, is_one_of, shown
from rope_ref.errors import ChannelRopesError, LayoutError, TableShapeError
from rope_ref.positions.pair_axes import axis_widths, total
from rope_ref.rotation import apply_rope, as_real, check_axes, pair_channels
from rope_ref.scaling.axial import Reordered
from rope_ref.spec import LAYOUTS, Layout, RopeSpec, demand_spec

__all__ = ["apply_channel_ropes", "apply_channel_tables", "crossed_ropes", "pair_determinants"]


def apply_channel_tables(
    x: npt.ArrayLike, cos: npt.ArrayLike, sin: npt.ArrayLike, *, layout: Layout, axes: str
) -> FloatArray:
    """Return ``x cos + partner(x) sin``, channel by channel.

    The partner of a pair (u, v) is (-v, u).

    Parameters
    ----------
    x
        Real array with one axis per letter of `axes`, all of its channels rotating.
    cos, sin
        Of shape (T, D): one entry per channel; any numbers.
    layout
        Which channels are partners.
    axes
        The order of x's axes as letters, as in `apply_rope`.

    Returns
    -------
    y
        float64, shape of `x`.

    Raises
    ------
    AxesError, DtypeError, LayoutError
        If x, axes or layout cannot be used.
    TableShapeError
        If a table is not of shape (T, D), D even.

    Notes
    -----
    Source: the channelwise form of huggingface/transformers; its use with crossed tables in
    huggingface/transformers:src/transformers/models/vjepa2/modeling_vjepa2.py.
    """
    call = f"apply_channel_tables(x, cos, sin, layout={layout!r}, axes={axes!r})"
    x = as_real(x, call, "x")
    check_axes(axes, x.ndim, call, x.shape)
    tables = [as_real(table, call, name) for table, name in ((cos, "cos"), (sin, "sin"))]
    expected = (x.shape[axes.index("t")], x.shape[axes.index("d")])
    for table, name in zip(tables, ("cos", "sin"), strict=True):
        if table.shape != expected or expected[1] % 2:
            raise TableShapeError(
                f"{call}: {name} has shape {table.shape}, but x has T={expected[0]} and "
                f"D={expected[1]}: give one entry for each token and channel, D even"
            )
    order = [axes.index("t"), axes.index("d")]
    moved = np.moveaxis(x, order, [-2, -1])
    u, v = _pairs(moved, layout, call)
    partner = np.empty_like(moved)
    first, second = _pairs(partner, layout, call)
    first[...], second[...] = -v, u
    return np.moveaxis(moved * tables[0] + partner * tables[1], [-2, -1], order)


def pair_determinants(cos: npt.ArrayLike, sin: npt.ArrayLike, *, layout: Layout) -> FloatArray:
    """Return the determinant of what `apply_channel_tables` does to each pair.

    It is cos**2 + sin**2 = 1 for a rotation, and anything at all where the two channels of
    a pair follow different angles.

    Parameters
    ----------
    cos, sin, layout
        As in `apply_channel_tables`.

    Returns
    -------
    determinants
        Of shape (T, D/2).

    Raises
    ------
    DtypeError, LayoutError
        If the tables or the layout cannot be used.
    TableShapeError
        If the tables have different shapes, or an odd number of channels.
    """
    call = f"pair_determinants(cos, sin, layout={layout!r})"
    c, s = as_real(cos, call, "cos"), as_real(sin, call, "sin")
    if c.shape != s.shape or c.ndim != 2 or c.shape[1] % 2:
        raise TableShapeError(
            f"{call}: cos has shape {c.shape}, sin {s.shape}; both must be (T, D), D even"
        )
    (c_u, c_v), (s_u, s_v) = _pairs(c, layout, call), _pairs(s, layout, call)
    return c_u * c_v + s_u * s_v


def apply_channel_ropes(
    x: npt.ArrayLike, positions: npt.ArrayLike, first: RopeSpec, second: RopeSpec, *, axes: str
) -> FloatArray:
    """Return the first channel of each pair as `first` turns it, the second as `second` does.

    If both are the same RoPE this is `apply_rope`; if not, the map is no rotation.

    Parameters
    ----------
    x, positions, axes
        As in `apply_rope`; with as many position axes as the one that has more.
    first, second
        Two RoPEs with the same pairs and amplitude, both with position axes or both without;
        see `crossed_ropes` for those of crossed tables.

    Returns
    -------
    y
        float64, shape of `x`.

    Raises
    ------
    ChannelRopesError
        If the two do not fit each other; and the errors of `apply_rope`.
    """
    call = f"apply_channel_ropes(x, positions, ..., axes={shown(axes)})"
    demand_same_pairs(first, second, call)
    p = as_positions(positions, call)
    y, other = (
        apply_rope(x, own_positions(p, (first, second), spec), spec, axes=axes)
        for spec in (first, second)
    )
    channels = pair_channels(first, output=True)[1]
    last = axes.index("d")
    np.moveaxis(y, last, -1)[..., channels] = np.moveaxis(other, last, -1)[..., channels]
    return y


def own_positions(
    positions: npt.ArrayLike, ropes: Iterable[RopeSpec], spec: RopeSpec
) -> npt.NDArray[np.generic]:
    """The positions on those axes that one RoPE has, where several RoPEs share the positions."""
    p = np.asarray(positions)
    if spec.pair_axes is None:
        return p
    every = max(max(each.pair_axes or (0,)) for each in ropes) + 1
    fits = p.ndim > 0 and len(p) == every
    return p[: max(spec.pair_axes) + 1] if fits else p  # apply_rope refuses what does not fit


def demand_same_pairs(first: RopeSpec, second: RopeSpec, call: str) -> None:
    """Refuse two RoPEs that differ in more than their frequencies and axes."""
    for spec in (first, second):
        demand_spec(spec, call)
    named: dict[str, Callable[[RopeSpec], object]] = {
        "head_dim": lambda spec: spec.head_dim,
        "pairs": lambda spec: pair_channels(spec).tolist(),
        "output pairs": lambda spec: pair_channels(spec, output=True).tolist(),
        "amplitude": lambda spec: spec.frequencies.amplitude,
        "kind of positions": lambda spec: spec.pair_axes is None,
    }
    for name, of in named.items():
        if of(first) != of(second):
            raise ChannelRopesError(
                f"{call}: the RoPE of the first channels and that of the second must have the "
                f"same {name}, as replace(first, frequencies=...) gives them; they are {first!r} "
                f"and {second!r}"
            )


def crossed_ropes(
    spec: RopeSpec, *, widths: Iterable[int] | None = None
) -> tuple[RopeSpec, RopeSpec]:
    """Return the two RoPEs that a table laid out for the other layout amounts to.

    The table of interleaved pairs repeats its halves, ``[c_0 .. c_n, c_0 .. c_n]``; that of
    half pairs repeats each entry, ``[c_0, c_0, c_1, c_1, ..]``.

    Parameters
    ----------
    spec
        The RoPE that a table of its own layout would give.
    widths
        Channels of each block that has such a table by itself, together rotary_dim, for the
        interleaved layout; one block if left out.

    Returns
    -------
    first, second
        For `apply_channel_ropes`.

    Raises
    ------
    ChannelRopesError
        If `widths` do not add up to rotary_dim, or several are given for the half layout,
        where a block of channels is not a block of pairs.
    CountTypeError, WidthsError
        If `widths` are not positive even numbers.

    Notes
    -----
    Source: huggingface/transformers:src/transformers/models/vjepa2/modeling_vjepa2.py;
    PaddlePaddle/Paddle:paddle/phi/kernels/fusion/gpu/fused_rope_utils.h.
    """
    call = f"crossed_ropes({shown(spec)}, widths={shown(widths)})"
    demand_spec(spec, call)
    blocks = (spec.rotary_dim,) if widths is None else axis_widths(widths, call)
    if total(blocks) != spec.rotary_dim or (spec.layout == "half" and len(blocks) > 1):
        raise ChannelRopesError(
            f"{call}: widths must add up to rotary_dim={spec.rotary_dim}, and several blocks "
            "need the interleaved layout, where the channels of a block are those of its pairs"
        )
    ropes = []
    for channel in (0, 1):
        order: list[int] = []
        for width in blocks:
            pairs, begin = width // 2, len(order)
            if spec.layout == "interleaved":
                order += [begin + (2 * j + channel) % pairs for j in range(pairs)]
            else:
                order += [(j + channel * pairs) // 2 for j in range(pairs)]
        own = spec.pair_axes
        axes = None if own is None else tuple(own[i] for i in order)
        crossed = Reordered(spec.frequencies, order=order, repeats=True)
        ropes.append(replace(spec, frequencies=crossed, pair_axes=axes))
    return ropes[0], ropes[1]


def _pairs(x: FloatArray, layout: object, call: str) -> tuple[FloatArray, FloatArray]:
    """Views of the first and the second channels of all pairs."""
    if not is_one_of(layout, LAYOUTS):
        raise LayoutError(f"{call}: layout={layout!r} must be 'interleaved' or 'half'")
    if layout == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]

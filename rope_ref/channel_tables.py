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
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_ref.errors import LayoutError, TableShapeError
from rope_ref.rotation import as_real, check_axes
from rope_ref.spec import LAYOUTS, Layout

__all__ = ["apply_channel_tables", "pair_determinants"]

Array = npt.NDArray[np.float64]


def apply_channel_tables(
    x: npt.ArrayLike, cos: npt.ArrayLike, sin: npt.ArrayLike, *, layout: Layout, axes: str
) -> Array:
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


def pair_determinants(cos: npt.ArrayLike, sin: npt.ArrayLike, *, layout: Layout) -> Array:
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


def _pairs(x: Array, layout: object, call: str) -> tuple[Array, Array]:
    """Views of the first and the second channels of all pairs."""
    if layout not in LAYOUTS:
        raise LayoutError(f"{call}: layout={layout!r} must be 'interleaved' or 'half'")
    if layout == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]

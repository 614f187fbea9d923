"""The rotation, once, in the array API standard.

Two questions are kept apart, as in the reference: the *table* of cos and sin, and
what is done to a pair with it. The table comes from `rope_ref` in float64 and is
rounded once to the dtype the rotation works in; where positions are traced, it comes
from `rope_backends.traced`. The rotation is

    (u cos - v sin,  u sin + v cos)

in float64 for float64 data and in float32 for all other, rounded to the data's own
dtype at the end. It writes to no array, so it can be differentiated, mapped, compiled
and split over devices.

Its error, in units u r, where u is the unit roundoff and r = A hypot(u, v): the products
and the sum cost at most one unit each (by Cauchy's inequality, |u cos| + |v sin| <= r),
the table one more in float32 and, good to 0.8 ulp, 1.6 in float64. That is 3 and 3.6 of
the 5 units that ``exact`` allows. Fusing a product with the sum only saves a rounding.

No framework is named here: what is particular to one is asked of a `Framework`.
"""

from __future__ import annotations

from typing import Any

from rope_backends import traced
from rope_backends.framework import Framework
from rope_ref import RopeSpec
from rope_ref import cos_sin as reference_cos_sin
from rope_ref.arguments import as_positions, shown
from rope_ref.rotation import check_shapes
from rope_ref.spec import Layout

__all__ = ["apply_rope", "cos_sin", "rotate"]


def apply_rope(x: Any, positions: Any, spec: RopeSpec, *, axes: str, framework: Framework) -> Any:
    """Rotate `x`, an array of `framework`; see `Backend.apply_rope`."""
    name = framework.dtype_name(x)
    device = framework.device(x)
    # The reference checks the arguments, so that refusals and their words are its own.
    call = f"apply_rope(x, positions, spec, axes={shown(axes)})"
    host = framework.concrete(positions)
    p = framework.traced_array(positions, device) if host is None else as_positions(host, call)
    table_axes = check_shapes(tuple(x.shape), tuple(p.shape), spec, axes, call)
    working = "float64" if name == "float64" else "float32"
    cos, sin = cos_sin(p, spec, working, device, framework=framework)
    return rotate(x, cos, sin, spec, axes, table_axes, framework.xp)


def cos_sin(
    positions: Any, spec: RopeSpec, dtype: str, device: Any, *, framework: Framework
) -> tuple[Any, Any]:
    """Return the table in `dtype` on `device`; see `Backend.cos_sin`."""
    host = framework.concrete(positions)
    if host is None:
        p = framework.traced_array(positions, device)
        device = framework.device(p) if device is None else device
        return traced.cos_sin(p, spec, dtype, device, framework)
    cos, sin = reference_cos_sin(host, spec)
    return framework.place(cos.astype(dtype), device), framework.place(sin.astype(dtype), device)


def rotate(x: Any, cos: Any, sin: Any, spec: RopeSpec, axes: str, table_axes: str, xp: Any) -> Any:
    """Rotate the pairs of `x` with a table.

    Parameters
    ----------
    x
        One axis per letter of `axes`.
    cos, sin
        One axis per letter of `table_axes`, then the pairs. The rotation works in their
        dtype.
    table_axes
        The axes of `x` along which the table changes: ``""``, ``"t"`` or ``"bt"``.
    xp
        The namespace of the framework.
    """
    if not spec.rotary_dim:
        return xp.asarray(x, copy=True)
    cos, sin = (_spread(table, table_axes, axes, xp) for table in (cos, sin))
    d = axes.index("d")
    start, stop = spec.rotary_start, spec.rotary_start + spec.rotary_dim
    u, v = (
        xp.astype(x[_along(d, part)], cos.dtype, copy=False)
        for part in _pairs(spec.layout, start, stop)
    )
    rotated = (
        xp.astype(u * cos - v * sin, x.dtype, copy=False),
        xp.astype(u * sin + v * cos, x.dtype, copy=False),
    )
    # Channels that do not rotate are never converted: they keep their bits.
    pieces = [x[_along(d, slice(0, start))]] if start else []
    if spec.output_layout == "half":
        pieces += rotated
    else:
        shape = list(x.shape)
        shape[d] = spec.rotary_dim
        pieces.append(xp.reshape(xp.stack(rotated, axis=d + 1), tuple(shape)))
    if stop < spec.head_dim:
        pieces.append(x[_along(d, slice(stop, spec.head_dim))])
    return pieces[0] if len(pieces) == 1 else xp.concat(pieces, axis=d)


def _pairs(layout: Layout, start: int, stop: int) -> tuple[slice, slice]:
    """The first channels of the pairs, and the second ones."""
    if layout == "interleaved":
        return slice(start, stop, 2), slice(start + 1, stop, 2)
    middle = (start + stop) // 2
    return slice(start, middle), slice(middle, stop)


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    """An index that takes a part of one axis and all of the others."""
    return (*(slice(None),) * axis, part, ...)


def _spread(table: Any, table_axes: str, axes: str, xp: Any) -> Any:
    """A table with `table_axes`, then pairs, as a view that broadcasts against x."""
    have = table_axes + "d"
    table = xp.permute_dims(table, tuple(have.index(a) for a in axes if a in have))
    for position, letter in enumerate(axes):
        if letter not in have:
            table = xp.expand_dims(table, axis=position)
    return table

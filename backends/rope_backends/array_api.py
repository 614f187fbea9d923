"""The rotation, once, in the array API standard.

Two questions are kept apart, as in the reference: the *table* of cos and sin, and
what is done to a pair with it. The table comes from `rope_ref` in float64 and is
rounded once to the type the rotation works in; where positions are traced, from
`rope_backends.traced`. The rotation is

    (u cos - v sin,  u sin + v cos)

in float64 for float64 data and in float32 for all other, rounded to the data's own
type at the end. It writes to no array, so it can be differentiated, mapped, compiled
and split over devices. Its products and its sum cost a unit of r = A hypot(u, v) each
(by Cauchy's inequality, |u cos| + |v sin| <= r), the table one more in float32 and,
good to 0.8 ulp, 1.6 in float64: 3 and 3.6 of the 5 units that ``exact`` allows.
Products fused with the sum only take a rounding away.

No framework is named here; what is particular to one is asked of its `Backend`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rope_backends import traced
from rope_ref import RopeSpec
from rope_ref import cos_sin as reference_cos_sin
from rope_ref.arguments import as_positions
from rope_ref.rotation import check_shapes
from rope_ref.spec import Layout

if TYPE_CHECKING:
    from rope_backends.backend import Backend

__all__ = ["apply_rope", "cos_sin", "rotate"]


def apply_rope(
    x: Any,
    positions: Any,
    spec: RopeSpec,
    *,
    axes: str,
    backend: Backend,
    exact_table: Any = None,
) -> Any:
    """Rotate `x`; see `Backend.apply_rope`.

    Parameters
    ----------
    x, positions, spec, axes
        As there.
    backend
        The framework of `x`.
    exact_table
        What ``backend.exact_table`` returns, from a caller that has it already.
    """
    name = backend.dtype_name(x)
    device = backend.device(x)
    # What is refused, and in which words, is the reference's affair.
    call = f"apply_rope(x, positions, spec, axes={axes!r})"
    host = backend.concrete(positions)
    p = backend.beside(positions, device) if host is None else as_positions(host, call)
    own = check_shapes(tuple(x.shape), tuple(p.shape), spec, axes, call)
    working = "float64" if name == "float64" else "float32"
    cos, sin = cos_sin(p, spec, working, device, backend=backend, exact_table=exact_table)
    return rotate(x, cos, sin, spec, axes, own, backend.dtypes[working], backend.xp)


def cos_sin(
    positions: Any,
    spec: RopeSpec,
    dtype: str,
    device: Any,
    *,
    backend: Backend,
    exact_table: Any = None,
) -> tuple[Any, Any]:
    """Return the table in `dtype` on `device`; see `Backend.cos_sin`."""
    host = backend.concrete(positions)
    if host is None:
        p = backend.beside(positions, device)
        device = backend.device(p) if device is None else device
        return traced.cos_sin(p, spec, dtype, device, backend, exact_table)
    cos, sin = reference_cos_sin(host, spec)
    return backend.place(cos.astype(dtype), device), backend.place(sin.astype(dtype), device)


def rotate(
    x: Any, cos: Any, sin: Any, spec: RopeSpec, axes: str, own: str, working: Any, xp: Any
) -> Any:
    """Rotate the pairs of `x` with a table.

    Parameters
    ----------
    x
        One axis per letter of `axes`.
    cos, sin
        One axis per letter of `own`, then the pairs; in the type `working`.
    own
        The axes of `x` along which the table changes: ``""``, ``"t"`` or ``"bt"``.
    xp
        The namespace.
    """
    if not spec.rotary_dim:
        return xp.asarray(x, copy=True)
    cos, sin = (_spread(table, own, axes, xp) for table in (cos, sin))
    d = axes.index("d")
    start, stop = spec.rotary_start, spec.rotary_start + spec.rotary_dim
    u, v = (
        xp.astype(x[_along(d, part)], working, copy=False)
        for part in _pairs(spec.layout, start, stop)
    )
    turned = (
        xp.astype(u * cos - v * sin, x.dtype, copy=False),
        xp.astype(u * sin + v * cos, x.dtype, copy=False),
    )
    # Channels that do not rotate are never converted: they keep their bits.
    pieces = [x[_along(d, slice(0, start))]] if start else []
    if spec.output_layout == "half":
        pieces += turned
    else:
        shape = list(x.shape)
        shape[d] = spec.rotary_dim
        pieces.append(xp.reshape(xp.stack(turned, axis=d + 1), tuple(shape)))
    if stop < spec.head_dim:
        pieces.append(x[_along(d, slice(stop, spec.head_dim))])
    return pieces[0] if len(pieces) == 1 else xp.concat(pieces, axis=d)


def _pairs(layout: Layout, start: int, stop: int) -> tuple[slice, slice]:
    """The channels of the first and of the second half of each pair."""
    if layout == "interleaved":
        return slice(start, stop, 2), slice(start + 1, stop, 2)
    middle = (start + stop) // 2
    return slice(start, middle), slice(middle, stop)


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    """An index that takes a part of one axis and all of the others."""
    return (*(slice(None),) * axis, part, ...)


def _spread(table: Any, own: str, axes: str, xp: Any) -> Any:
    """A table with axes `own` and pairs, laid out to broadcast against x."""
    have = own + "d"
    table = xp.permute_dims(table, tuple(have.index(a) for a in axes if a in have))
    for place, letter in enumerate(axes):
        if letter not in have:
            table = xp.expand_dims(table, axis=place)
    return table

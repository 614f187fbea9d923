"""The rotation: pairs of channels turned by their phase.

Three things are kept apart. Which channels form a pair is the *layout*. How far a
pair turns is in the *table* of cos and sin. What happens to a pair (u, v) is

    (u cos - v sin,  u sin + v cos)

and nothing else.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import (
    FloatArray,
    IntArray,
    as_array,
    as_integer,
    as_positions,
    is_one_of,
    is_real,
    shown,
)
from rope_ref.errors import (
    AxesError,
    DtypeError,
    LayoutError,
    PositionShapeError,
    RotaryDimRangeError,
    ShapeError,
    SpecError,
    TableShapeError,
)
from rope_ref.exact.sincos import two_product, two_sum
from rope_ref.spec import LAYOUTS, Layout, RopeSpec, demand_spec
from rope_ref.table import cos_sin, cos_sin_parts

__all__ = [
    "apply_cos_sin",
    "apply_rope",
    "apply_rope_complex",
    "apply_rope_parts",
    "invert_rope",
    "pair_channels",
    "rotation_matrix",
    "transpose_rope",
]


_LARGE, _SMALL, _UNIT = (float.fromhex(h) for h in ("0x1p500", "0x1p-400", "0x1p600"))


def apply_rope(
    x: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """Rotate each pair of channels of `x` by position x theta_i, times the amplitude.

    Parameters
    ----------
    x
        Real array with one axis per letter of `axes`; its channel axis is D long.
    positions
        One per token: shape (T,), or (B, T); a scalar gives every token that
        position. Integers or real numbers, negative allowed. A spec with
        ``pair_axes`` takes a leading axis, one entry per position axis.
    spec
        The RoPE.
    axes
        The order of x's axes as letters: ``b`` batch, ``t`` token, ``h`` head,
        ``d`` channel, for example ``"bthd"``.

    Returns
    -------
    y
        float64, shape of `x`. Channels outside the rotating ones are those of `x`.

    Raises
    ------
    AxesError, ShapeError, DtypeError, PositionShapeError
        If x, axes and positions do not fit each other; and the errors of `cos_sin`.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, equation 34.
    """
    x, positions = _checked(x, positions, spec, axes, "apply_rope")
    cos, sin = cos_sin(positions, spec)
    return _apply(x, cos, sin, spec, axes)


def invert_rope(
    y: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """Undo `apply_rope`: rotate by minus the phase and divide by the amplitude.

    `y` comes in the spec's output layout and leaves in its layout. Parameters and
    errors are those of `apply_rope`.
    """
    y, positions = _checked(y, positions, spec, axes, "invert_rope")
    amplitude = float(spec.frequencies.amplitude)
    cos, sin = cos_sin(positions, spec, unit=True)
    x = _apply(y, cos, -sin, _reversed(spec), axes)
    channels = _move_channels_last(x, axes)[..., pair_channels(spec).ravel()]
    _move_channels_last(x, axes)[..., pair_channels(spec).ravel()] = channels / amplitude
    return x


def transpose_rope(
    g: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """Apply the transposed map: rotate by minus the phase, times the amplitude.

    This is the gradient of `apply_rope`. It is the inverse only where the amplitude
    is 1. `g` comes in the spec's output layout and leaves in its layout. Parameters
    and errors are those of `apply_rope`.
    """
    g, positions = _checked(g, positions, spec, axes, "transpose_rope")
    cos, sin = cos_sin(positions, spec)
    return _apply(g, cos, -sin, _reversed(spec), axes)


def apply_cos_sin(
    x: npt.ArrayLike,
    cos: npt.ArrayLike,
    sin: npt.ArrayLike,
    *,
    layout: Layout,
    axes: str,
    rotary_start: int = 0,
    output_layout: Layout | None = None,
) -> FloatArray:
    """Rotate the pairs of `x` with a table of cos and sin: the table-level operation.

    Parameters
    ----------
    x
        Real array with one axis per letter of `axes`.
    cos, sin
        Tables of shape (T, R/2) or (B, T, R/2), one entry per pair; any numbers.
        R follows from them.
    layout, output_layout, rotary_start
        As in `RopeSpec`.
    axes
        As in `apply_rope`.

    Returns
    -------
    y
        float64, shape of `x`.

    Raises
    ------
    SpecError
        If `rotary_start` is no integer.
    AxesError, DtypeError, LayoutError, RotaryDimRangeError, TableShapeError
        If the arguments do not fit each other.
    """
    call = f"apply_cos_sin(x, cos, sin, layout={shown(layout)}, axes={shown(axes)})"
    x = as_real(x, call, "x")
    c, s = as_real(cos, call, "cos"), as_real(sin, call, "sin")
    check_axes(axes, x.ndim, call, x.shape)
    if c.shape != s.shape or c.ndim not in (2, 3):
        raise TableShapeError(
            f"{call}: cos and sin must both be (T, R/2) or (B, T, R/2), one entry per pair; "
            f"their shapes are {c.shape} and {s.shape}"
        )
    expected = _token_shape(x.shape, axes, c.ndim - 1)
    if expected is None or c.shape[:-1] != expected:
        raise TableShapeError(
            f"{call}: tables of shape {c.shape} do not fit x of shape {x.shape}; expected "
            f"{'(T, R/2)' if expected is None else (*expected, 'R/2')}"
        )
    head_dim = x.shape[axes.index("d")]
    if not is_one_of(layout, LAYOUTS) or not is_one_of(output_layout, (None, *LAYOUTS)):
        raise LayoutError(
            f"{call}, output_layout={shown(output_layout)}: a layout is 'interleaved' or 'half'"
        )
    start = as_integer(rotary_start)
    if start is None:
        raise SpecError(f"{call}: rotary_start must be an integer, got {shown(rotary_start)}")
    if start + 2 * c.shape[-1] > head_dim or start < 0:
        raise RotaryDimRangeError(
            f"{call}, rotary_start={shown(start)}: tables of {c.shape[-1]} pairs rotate "
            f"{2 * c.shape[-1]} channels, but x has {head_dim}; a table has one entry per pair, "
            "not one per channel"
        )
    pairs = _channels(layout, c.shape[-1], start)
    written = _channels(output_layout or layout, c.shape[-1], start)
    return _rotate(x, c, s, pairs, written, axes)


def apply_rope_complex(
    x: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """`apply_rope` as the paper first writes it: pairs as complex numbers, z e^(i p theta).

    Equal to `apply_rope` up to rounding (complex products fuse differently from one
    CPU to the next). Parameters and errors are those of `apply_rope`.
    """
    x, positions = _checked(x, positions, spec, axes, "apply_rope_complex")
    cos, sin = cos_sin(positions, spec)
    factor = _spread(cos, axes) + 1j * _spread(sin, axes)
    out = x.copy()
    last = _move_channels_last(x, axes)
    u, v = (last[..., channels] for channels in pair_channels(spec))
    turned = (u + 1j * v) * factor
    first, second = pair_channels(spec, output=True)
    _move_channels_last(out, axes)[..., first] = turned.real
    _move_channels_last(out, axes)[..., second] = turned.imag
    return out


def rotation_matrix(position: npt.ArrayLike, spec: RopeSpec) -> FloatArray:
    """Return the (D, D) matrix M with ``apply_rope(x) = M x`` at one position.

    Parameters
    ----------
    position
        One number; one per position axis for a spec with ``pair_axes``.
    spec
        The RoPE.

    Returns
    -------
    matrix
        float64 of shape (D, D).

    Raises
    ------
    PositionShapeError
        If `position` is not a single position; and the errors of `cos_sin`.
    """
    call = f"rotation_matrix(position, {shown(spec)})"
    demand_spec(spec, call)
    p = as_positions(position, call, "position")
    if p.ndim != (0 if spec.pair_axes is None else 1):
        raise PositionShapeError(
            f"{call}: position must be a single position, "
            f"got shape {p.shape}; call it once per position"
        )
    eye = np.eye(spec.head_dim)
    # Row j of the rotated identity is the image of the j-th unit vector: column j of M.
    every = p if spec.pair_axes is None else np.repeat(p[:, None], spec.head_dim, axis=1)
    return apply_rope(eye, every, spec, axes="td").T.copy()


def apply_rope_parts(
    x: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> tuple[FloatArray, FloatArray]:
    """`apply_rope` as ``(y, y_low)``: y and what its own rounding took from it.

    ``y + y_low``, as real numbers, is within about 2**-56 of A hypot(u, v) of the true
    value, as far as the spacing of subnormal numbers allows. For judging float64 results,
    so that the reference's rounding plays no part. Parameters and errors are those of
    `apply_rope`.
    """
    x, positions = _checked(x, positions, spec, axes, "apply_rope_parts")
    (cos, cos_low), (sin, sin_low) = (
        tuple(_spread(part, axes) for part in parts) for parts in cos_sin_parts(positions, spec)
    )
    high, low = x.copy(), np.zeros_like(x)
    last = _move_channels_last(x, axes)
    u, v = (last[..., channels] for channels in pair_channels(spec))
    # Error-free products need room above and below: move large and small pairs, exactly.
    size = np.maximum(np.abs(u), np.abs(v))
    unit = np.where(size > _LARGE, _UNIT, np.where(size < _SMALL, 1.0 / _UNIT, 1.0))
    u, v = u / unit, v / unit
    first, second = pair_channels(spec, output=True)
    for channels, a, a_low, b, b_low in (
        (first, cos, cos_low, -sin, -sin_low),
        (second, sin, sin_low, cos, cos_low),
    ):
        ua, ua_low = two_product(u, a)
        vb, vb_low = two_product(v, b)
        total, total_low = two_sum(ua, vb)
        rest = total_low + (ua_low + vb_low + (u * a_low + v * b_low))
        result = total + rest
        _move_channels_last(high, axes)[..., channels] = result * unit
        _move_channels_last(low, axes)[..., channels] = (rest - (result - total)) * unit
    return high, low


def pair_channels(spec: RopeSpec, *, output: bool = False) -> IntArray:
    """Return the two channels of each pair.

    Parameters
    ----------
    spec
        The RoPE.
    output
        The channels that a pair is written to, not those it is read from.

    Returns
    -------
    channels
        int64 of shape (2, R/2): the first channel of each pair, then the second.

    Raises
    ------
    SpecError
        If `spec` is no RopeSpec.
    """
    demand_spec(spec, "pair_channels(spec)")
    layout = spec.output_layout if output else spec.layout
    return _channels(layout, spec.rotary_dim // 2, spec.rotary_start)


def _channels(layout: Layout, pairs: int, start: int) -> IntArray:
    i = np.arange(pairs)
    if layout == "interleaved":
        return start + np.stack([2 * i, 2 * i + 1])
    return start + np.stack([i, i + pairs])


def _apply(
    x: FloatArray, cos: FloatArray, sin: FloatArray, spec: RopeSpec, axes: str
) -> FloatArray:
    return _rotate(x, cos, sin, pair_channels(spec), pair_channels(spec, output=True), axes)


def _rotate(
    x: FloatArray,
    cos: FloatArray,
    sin: FloatArray,
    pairs: IntArray,
    written: IntArray,
    axes: str,
) -> FloatArray:
    """The rotation itself: every function of this module but the complex form ends here."""
    cos, sin = _spread(cos, axes), _spread(sin, axes)
    y = x.copy()
    x_last, y_last = _move_channels_last(x, axes), _move_channels_last(y, axes)
    u, v = x_last[..., pairs[0]], x_last[..., pairs[1]]
    y_last[..., written[0]] = u * cos - v * sin
    y_last[..., written[1]] = u * sin + v * cos
    return y


def _reversed(spec: RopeSpec) -> RopeSpec:
    """The same RoPE read in its output layout and written in its input layout."""
    return RopeSpec(
        spec.head_dim,
        layout=spec.output_layout,
        output_layout=spec.layout,
        rotary_dim=spec.rotary_dim,
        rotary_start=spec.rotary_start,
        frequencies=spec.frequencies,
        direction=spec.direction,
        pair_axes=spec.pair_axes,
    )


def _move_channels_last(x: FloatArray, axes: str) -> FloatArray:
    """A view of x with the channel axis last."""
    return np.moveaxis(x, axes.index("d"), -1)


def _spread(table: FloatArray, axes: str) -> FloatArray:
    """A table (T, R/2) or (B, T, R/2) as a view that broadcasts against x, channels last."""
    own = "bt"[-(table.ndim - 1) :]
    letters = axes.replace("d", "")
    order = [own.index(letter) for letter in letters if letter in own]
    table = table.transpose(*order, table.ndim - 1)
    for place, letter in enumerate(letters):
        if letter not in own:
            table = np.expand_dims(table, place)
    return table


def _checked(
    x: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, axes: str, function: str
) -> tuple[FloatArray, npt.NDArray[np.generic]]:
    """x in float64 and one position per token, or the error that says what does not fit."""
    call = f"{function}(x, positions, spec, axes={shown(axes)})"
    x = as_real(x, call, "x")
    p: npt.NDArray[np.generic] = as_positions(positions, call)
    if not check_shapes(x.shape, p.shape, spec, axes, call):
        p = np.broadcast_to(p[..., None], (*p.shape, x.shape[axes.index("t")]))
    return x, p


def check_shapes(
    shape: tuple[int, ...], positions: tuple[int, ...], spec: RopeSpec, axes: str, call: str
) -> str:
    """Return the axes of x along which positions change: ``""``, ``"t"`` or ``"bt"``.

    Parameters
    ----------
    shape, positions
        Shapes of x and of the positions.
    spec, axes
        As in `apply_rope`.
    call
        What the error calls the call.

    Raises
    ------
    SpecError
        If `spec` is no RopeSpec.
    AxesError, ShapeError, PositionShapeError
        If they do not fit each other.
    """
    demand_spec(spec, call)
    check_axes(axes, len(shape), call, shape)
    if shape[axes.index("d")] != spec.head_dim:
        raise ShapeError(
            f"{call}: axis 'd' of x has length {shape[axes.index('d')]} (x has shape {shape}), "
            f"but spec.head_dim is {spec.head_dim}; check axes, or make a spec with that head_dim"
        )
    lead = () if spec.pair_axes is None else (max(spec.pair_axes) + 1,)
    own = positions[len(lead) :]
    fits = positions[: len(lead)] == lead and (
        not own or own == _token_shape(shape, axes, len(own))
    )
    if not fits:
        allowed = [s for s in (_token_shape(shape, axes, n) for n in (1, 2)) if s is not None]
        raise PositionShapeError(
            f"{call}: positions of shape {positions} do not fit x of shape {shape}; expected "
            + " or ".join(str((*lead, *tokens)) for tokens in allowed)
            + f", or {lead or 'a scalar'} for one position everywhere"
        )
    return "bt"[2 - len(own) :]


def _token_shape(shape: tuple[int, ...], axes: str, ndim: int) -> tuple[int, ...] | None:
    """Shape of positions with `ndim` axes for x of this shape; None if there is none."""
    if ndim == 1:
        return (shape[axes.index("t")],)
    if ndim == 2 and "b" in axes:
        return (shape[axes.index("b")], shape[axes.index("t")])
    return None


def check_axes(axes: str, ndim: int, call: str, shape: tuple[int, ...]) -> None:
    """Refuse axes letters that cannot describe an array of this shape."""
    known = isinstance(axes, str) and set(axes) <= set("bthd") and len(set(axes)) == len(axes)
    if not known or not {"t", "d"} <= set(axes):
        raise AxesError(
            f"{call}: axes must order the letters b (batch), t (token), h (head), d (channel), "
            "each at most once, t and d always; for example 'bthd'"
        )
    if len(axes) != ndim:
        raise AxesError(
            f"{call}: axes has {len(axes)} letters but x has {ndim} axes (shape {shape}); "
            "give one letter per axis"
        )


def as_real(x: npt.ArrayLike, call: str, name: str) -> FloatArray:
    """An array as float64 (integers beyond 2**53 are rounded to it)."""
    array = as_array(x, DtypeError, call, name)
    if not is_real(array.dtype):
        raise DtypeError(
            f"{call}: {name} must hold real numbers that float64 represents, got dtype "
            f"{array.dtype}; convert it first, for example {name}.astype('float64')"
        )
    return array.astype(np.float64, copy=False)

"""xPos: a RoPE whose scores also fade with distance.

Beside its rotation, pair i of a query at position p is multiplied by ``zeta_i**e`` and of a
key by ``zeta_i**-e``, with ``e = (p - centre) / scale_base``. In a score the centre drops
out and ``zeta_i**((p_q - p_k) / scale_base)`` is left. It is no rotation, and nothing is said
of its speed.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions, shown
from rope_ref.errors import OddRotaryDimError, PairAxesError, ScaleRangeError, SpecError
from rope_ref.exact.parameters import choice, positive
from rope_ref.exact.real import DIGITS, Real, real, real_arithmetic
from rope_ref.positions.counts import count
from rope_ref.rotation import apply_cos_sin, as_real, check_shapes
from rope_ref.spec import RopeSpec, demand_spec
from rope_ref.table import cos_sin

__all__ = ["XPos", "apply_xpos"]

Role = Literal["q", "k"]


@dataclass(frozen=True)
class XPos:
    """How scores fade with distance.

    Parameters
    ----------
    gamma
        ``zeta_i = (2 i / R + gamma) / (1 + gamma)``: the larger, the less they fade.
    scale_base
        Over how many positions a pair fades by zeta_i.
    length
        The number of tokens, cached ones too, whose middle is scaled by 1; with 0 it is
        position 0.
    centre
        The middle of an odd number of tokens: ``"down"`` is ``length // 2``, ``"up"`` one
        more. Scores agree, scaled queries and keys do not: a cache must not mix the two,
        nor tables of different lengths.

    Raises
    ------
    FrequencyValueError
        If `gamma` or `scale_base` is not a positive finite number, or `centre` neither
        of the two.
    CountTypeError, CountError
        If `length` is not an integer from 0 to below 2**53.

    Notes
    -----
    Source: Sun et al., A Length-Extrapolatable Transformer, arXiv:2212.10554. ``"down"``:
    lucidrains/rotary-embedding-torch, Dao-AILab/flash-attention; ``"up"``:
    microsoft/torchscale.
    """

    _: KW_ONLY
    gamma: Real = Fraction(2, 5)
    scale_base: Real = 512.0
    length: int = 0
    centre: Literal["down", "up"] = "down"

    def __post_init__(self) -> None:
        call = (
            f"XPos(gamma={shown(self.gamma)}, scale_base={shown(self.scale_base)}, "
            f"length={shown(self.length)})"
        )
        object.__setattr__(self, "gamma", positive(self.gamma, call, "gamma", "0.4 is usual"))
        hint = "512 is usual"
        object.__setattr__(self, "scale_base", positive(self.scale_base, call, "scale_base", hint))
        object.__setattr__(self, "length", count(self.length, call, "length", 0))
        choice(self.centre, ("down", "up"), call, "centre")

    @property
    def middle(self) -> int:
        """The position that is scaled by 1."""
        return (self.length + (self.centre == "up")) // 2

    def zeta(self, rotary_dim: int) -> tuple[float, ...]:
        """zeta_i of each pair, rounded once.

        Raises
        ------
        CountTypeError, CountError, OddRotaryDimError
            If `rotary_dim` is not an even integer of at least 0.
        """
        return tuple(float(zeta) for zeta in self._zeta(rotary_dim, f"zeta({shown(rotary_dim)})"))

    def scale(self, positions: npt.ArrayLike, rotary_dim: int, *, role: Role) -> FloatArray:
        """The factor on each pair of a query or a key.

        Parameters
        ----------
        positions
            As in `cos_sin`, for one position axis.
        rotary_dim
            R.
        role
            ``"q"``, or ``"k"`` for the reciprocal.

        Returns
        -------
        scale
            float64 of shape ``positions.shape + (R/2,)``, each the real number rounded once.

        Raises
        ------
        CountTypeError, CountError, OddRotaryDimError
            If `rotary_dim` is not an even integer of at least 0.
        FrequencyValueError
            If `role` is neither of the two.
        ScaleRangeError
            If a factor is beyond the largest float64; and the errors of `cos_sin` about
            positions.
        """
        call = f"scale(positions, {shown(rotary_dim)}, role={shown(role)}) of {shown(self)}"
        return self._scale(positions, rotary_dim, role, call)

    def _scale(
        self, positions: npt.ArrayLike, rotary_dim: int, role: Role, call: str
    ) -> FloatArray:
        choice(role, ("q", "k"), call, "role")
        p = as_positions(positions, call)
        zetas = self._zeta(rotary_dim, call)
        different, where = np.unique(p, return_inverse=True)
        table = np.empty((different.size, len(zetas)))
        sign = 1 if role == "q" else -1
        with real_arithmetic(DIGITS):
            logarithms = [real(zeta).ln() for zeta in zetas]
            for row, position in zip(table, different.tolist(), strict=True):
                from_middle = Fraction(position) - self.middle
                exponent = real(sign * from_middle / Fraction(self.scale_base))
                row[:] = [_power(exponent * each, position, call) for each in logarithms]
        return table[where.ravel()].reshape(*p.shape, len(zetas))

    def _zeta(self, rotary_dim: int, call: str) -> list[Fraction]:
        width = count(rotary_dim, call, "rotary_dim", 0)
        if width % 2:
            raise OddRotaryDimError(
                f"{call}: rotary_dim={width} is odd, but channels rotate in pairs; give an even one"
            )
        gamma = Fraction(self.gamma)
        return [(Fraction(2 * i, width) + gamma) / (1 + gamma) for i in range(width // 2)]


def apply_xpos(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    spec: RopeSpec,
    xpos: XPos,
    *,
    axes: str,
    role: Role,
) -> FloatArray:
    """`apply_rope`, and each pair scaled as a query or as a key.

    Parameters
    ----------
    x, positions, spec, axes
        As in `apply_rope`; the spec has one position axis.
    xpos
        How scores fade.
    role
        ``"q"`` or ``"k"``: whether these are queries or keys.

    Returns
    -------
    y
        float64, shape of `x`.

    Raises
    ------
    SpecError
        If `spec` is no RopeSpec, or `xpos` no XPos.
    PairAxesError
        If the spec has several position axes.
    FrequencyValueError
        If `role` is neither of the two.
    ScaleRangeError
        If a factor is beyond the largest float64.
    AxesError, ShapeError, DtypeError, PositionShapeError
        As in `apply_rope`; and the errors of `cos_sin`.
    """
    call = f"apply_xpos(x, positions, spec, {shown(xpos)}, axes={shown(axes)}, role={shown(role)})"
    demand_spec(spec, call)
    if not isinstance(xpos, XPos):
        raise SpecError(f"{call}: xpos must be an XPos, as XPos() makes one, got {shown(xpos)}")
    if spec.pair_axes is not None:
        raise PairAxesError(
            f"{call}: a token has one distance to another in xPos, but the spec has several "
            "position axes; give one without pair_axes"
        )
    x = as_real(x, call, "x")
    p: npt.NDArray[np.generic] = as_positions(positions, call)
    if not check_shapes(x.shape, p.shape, spec, axes, call):
        p = np.broadcast_to(p, (x.shape[axes.index("t")],))
    scale = xpos._scale(p, spec.rotary_dim, role, call)
    cos, sin = cos_sin(p, spec)
    return apply_cos_sin(
        x,
        cos * scale,
        sin * scale,
        layout=spec.layout,
        axes=axes,
        rotary_start=spec.rotary_start,
        output_layout=spec.output_layout,
    )


def _power(logarithm: Decimal, position: float, call: str) -> float:
    """e to a power, rounded once; what is below the smallest float64 becomes 0."""
    value = 0.0 if logarithm < -800 else float(min(logarithm, Decimal(800)).exp())
    if not np.isfinite(value):
        raise ScaleRangeError(
            f"{call}: at position {position} a factor is beyond the largest float64; give a "
            "length, so that its middle is scaled by 1, or a larger scale_base"
        )
    return value

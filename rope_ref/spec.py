"""RopeSpec: one rotary position embedding, completely described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from rope_ref.arguments import FloatArray, as_integer, as_items, is_one_of, shown
from rope_ref.errors import (
    HeadDimError,
    LayerTypeError,
    LayoutError,
    OddRotaryDimError,
    PairAxesError,
    RotaryDimRangeError,
    SpecError,
)
from rope_ref.exact.real import DIGITS, nearest, real, real_arithmetic
from rope_ref.scaling.frequencies import FrequencyRule, PowerLaw

__all__ = ["EVERY_LAYER", "LAYOUTS", "LayerRopes", "Layout", "RopeSpec"]

Layout = Literal["interleaved", "half"]
LAYOUTS: tuple[Layout, ...] = ("interleaved", "half")

EVERY_LAYER = "every layer"
"""The name in `LayerRopes.specs` of the rotation that all layers share."""


@dataclass(frozen=True)
class RopeSpec:
    """One RoPE: which channels rotate together, how fast, and which way.

    Parameters
    ----------
    head_dim
        Width D of one attention head.
    layout
        ``"interleaved"``: pair i is channels (2i, 2i+1), as in the original paper;
        ``"half"``: (i, i + R/2), as in GPT-NeoX and Hugging Face. There is no
        default: mistaking one for the other is the commonest bug.
    rotary_dim
        How many channels R rotate, even; all of them if left out.
    rotary_start
        The first rotating channel; 0 unless the rotating part lies at the end.
    output_layout
        Where pair i is written, if not where it was read.
    frequencies
        The rule for theta_i and the amplitude.
    direction
        1 rotates counter-clockwise, ``(u cos - v sin, u sin + v cos)``; -1 clockwise.
    pair_axes
        For positions with several axes (time, height, width): which axis each pair
        follows.

    Raises
    ------
    SpecError, HeadDimError, LayoutError
        The argument named in the message cannot be used.
    OddRotaryDimError, RotaryDimRangeError, PairAxesError, FrequencyCountError
        Arguments that do not fit each other; the message says which.
    FrequencyValueError
        If a frequency or the amplitude is beyond the range of float64.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, section 3.2; the half layout from
    EleutherAI/gpt-neox.
    """

    head_dim: int
    _: KW_ONLY
    layout: Layout
    rotary_dim: int = None  # type: ignore[assignment]  # None is replaced by head_dim
    rotary_start: int = 0
    output_layout: Layout = None  # type: ignore[assignment]  # None is replaced by layout
    frequencies: FrequencyRule = PowerLaw(10000.0)
    direction: int = 1
    pair_axes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        call = f"RopeSpec({shown(self.head_dim)}, layout={shown(self.layout)}, ...)"
        head_dim = _integer(self.head_dim, call, "head_dim")
        if head_dim < 1:
            raise HeadDimError(f"{call}: head_dim must be a positive integer; a usual one is 128")
        layout = _layout(self.layout, call, "layout")
        output = layout if self.output_layout is None else self.output_layout
        start = _integer(self.rotary_start, call, "rotary_start")
        width = head_dim - start if self.rotary_dim is None else self.rotary_dim
        width = _integer(width, call, "rotary_dim")
        if width % 2:
            raise OddRotaryDimError(
                f"{call}: rotary_dim={shown(width)} is odd, but channels rotate in pairs; "
                f"give an even rotary_dim such as {shown(max(0, width - 1))}"
            )
        if width < 0 or start < 0 or start + width > head_dim:
            raise RotaryDimRangeError(
                f"{call}: channels {shown(start)} to {shown(start + width)} "
                f"(rotary_start={shown(start)}, rotary_dim={shown(width)}) do not lie inside a "
                f"head of {shown(head_dim)}; rotary_dim must be between 0 and head_dim - "
                f"rotary_start = {shown(head_dim - start)}"
            )
        if not is_one_of(self.direction, (1, -1)):
            raise LayoutError(
                f"{call}: direction={shown(self.direction)} must be 1 (counter-clockwise) or "
                "-1 (clockwise)"
            )
        if not isinstance(self.frequencies, FrequencyRule):
            raise SpecError(
                f"{call}: frequencies must be a frequency rule such as PowerLaw(10000) or "
                f"ExplicitFrequencies([1.0, 0.01]), got {shown(self.frequencies)}"
            )
        object.__setattr__(self, "head_dim", head_dim)
        object.__setattr__(self, "rotary_dim", width)
        object.__setattr__(self, "rotary_start", start)
        object.__setattr__(self, "output_layout", _layout(output, call, "output_layout"))
        object.__setattr__(self, "direction", int(self.direction))
        object.__setattr__(self, "pair_axes", _pair_axes(self.pair_axes, width // 2, call))
        _theta(self.frequencies, width)  # refuses a wrong number of given frequencies
        with real_arithmetic(DIGITS):
            hint = "give one nearer to 1"
            nearest(real(self.frequencies.amplitude), f"{call}: the amplitude", hint)

    def theta(self) -> FloatArray:
        """Return theta_i of each pair in radians per position.

        Returns
        -------
        theta
            float64 of shape (R/2,), each the real number rounded once. Read-only.
        """
        return _theta(self.frequencies, self.rotary_dim)


@dataclass(frozen=True)
class LayerRopes:
    """What a config says: the RoPE of each type of layers, and what a spec cannot say.

    Parameters
    ----------
    specs
        The RoPE of each type of layers, or of ``"every layer"``. Layers that do not rotate
        have a spec with rotary_dim 0.
    notes
        Sentences on keys that are of no effect or belong elsewhere, and on values that the
        config leaves to the model's code.

    Raises
    ------
    dataclasses.FrozenInstanceError
        On assignment.

    Notes
    -----
    Layers differ, for example, in google/gemma-3 (full and sliding attention).
    """

    specs: Mapping[str, RopeSpec]
    notes: tuple[str, ...] = ()

    def pick(self, layer_type: str | None, call: str) -> RopeSpec:
        """Return the RoPE of one type of layers.

        None stands for the only one that there is.

        Raises
        ------
        LayerTypeError
            If there are several and none is named, or none has this name.
        """
        names = ", ".join(map(repr, self.specs))
        if layer_type is None:
            turning = {spec for spec in self.specs.values() if spec.rotary_dim}
            found = turning or set(self.specs.values())
            if len(found) == 1:
                return found.pop()
            raise LayerTypeError(
                f"{call}: layers of different types turn differently; give layer_type, one of "
                f"{names}"
            )
        if not isinstance(layer_type, str) or layer_type not in self.specs:
            raise LayerTypeError(
                f"{call}: layer_type={shown(layer_type)} is none of those in the config: {names}"
            )
        return self.specs[layer_type]


@lru_cache(maxsize=64)
def _theta(rule: FrequencyRule, rotary_dim: int) -> FloatArray:
    theta = np.array(rule.theta(rotary_dim), dtype=np.float64)
    theta.flags.writeable = False
    return theta


def demand_spec(spec: object, call: str) -> None:
    """Refuse anything but a RopeSpec.

    Raises
    ------
    SpecError
        If it is not one.
    """
    if not isinstance(spec, RopeSpec):
        raise SpecError(
            f"{call}: the spec must be a RopeSpec, as RopeSpec(128, layout='half') makes one; got "
            f"{shown(spec)}"
        )


def _layout(value: object, call: str, name: str) -> Layout:
    for layout in LAYOUTS:
        if is_one_of(value, (layout,)):
            return layout
    raise LayoutError(
        f"{call}: {name}={shown(value)} must be 'interleaved' (pair i is channels 2i and 2i+1, "
        "as in the paper and GPT-J) or 'half' (channels i and i + R/2, as in Llama and GPT-NeoX)"
    )


def _integer(value: object, call: str, name: str) -> int:
    number = as_integer(value)
    if number is None:
        raise SpecError(f"{call}: {name} must be an integer, got {shown(value)}")
    return number


def _pair_axes(value: object, pairs: int, call: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    items = as_items(value)
    if items is None:
        raise SpecError(
            f"{call}: pair_axes must be a sequence, one axis per pair, got {shown(value)}"
        )
    axes = tuple(_integer(axis, call, f"pair_axes[{i}]") for i, axis in enumerate(items))
    if len(axes) != pairs or any(axis < 0 for axis in axes) or not axes:
        raise PairAxesError(
            f"{call}: pair_axes must give each of the {pairs} pairs the number (0, 1, ...) of the "
            f"position axis it follows, got {shown(value)}"
        )
    return axes

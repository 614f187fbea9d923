"""torch modules that a cast, a load, an ambient type or a compiler spoils.

torch is imported when one is made, and not before.
"""

from __future__ import annotations

import math
from typing import Any

from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.plain import base_of
from rope_conformance.zoo.parts.torch_modules import HALF, META, TORCH, buffered, layer
from rope_ref import RopeSpec

_COMPILED: dict[str, Any] = TORCH | {"survives": ("copy", "save", "cast", "compile")}


# Casts and loads


@wrong(fault="angle-precision", clause="objects.cast", **HALF)
def buffer_cast_with_model(spec: RopeSpec) -> Any:
    """The frequencies are a buffer, which a cast of the model rounds like any other."""
    return buffered()(spec)


@wrong(fault="angle-precision", clause="objects.cast", **HALF)
def buffer_cast_beyond_first_table(spec: RopeSpec) -> Any:
    """The table of 4096 positions is kept as made; beyond it a rounded buffer is used."""
    import torch

    class Rope(buffered()):  # type: ignore[misc]
        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            self.first = self.frequencies().numpy().tolist()  # no buffer: casts pass it by

        def phases(self, positions: Any) -> Any:
            kept = torch.tensor(self.first, dtype=torch.float32)
            theta = torch.where(positions[..., None] < 4096, kept, self.theta.float())
            return positions[..., None] * theta

    return Rope(spec)


@wrong(fault="other", clause="objects.meta", **META)
def lost_on_meta(spec: RopeSpec) -> Any:
    """The frequencies are a buffer that is not saved: after a load by way of meta, garbage."""
    return buffered()(spec)


@wrong(fault="other", clause="objects.meta", **META)
def amplitude_lost_on_meta(spec: RopeSpec) -> Any:
    """The frequencies are made anew when asked to, but not the amplitude beside them."""
    import torch

    class Rope(buffered()):  # type: ignore[misc]
        theta: Any

        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            self.register_buffer("amplitude", torch.ones(1), persistent=False)

        def reset_parameters(self) -> None:
            self.theta = self.frequencies(self.theta.device)

        def table(self, positions: Any) -> tuple[Any, Any]:
            cos, sin = super().table(positions)
            return cos * self.amplitude, sin * self.amplitude

    return Rope(spec)


@wrong(fault="other", clause="objects.save", **TORCH)
def table_not_in_state(spec: RopeSpec) -> Any:
    """That the table is made is part of the state that is saved, and the table is not."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        theta: Any
        made: Any

        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            self.register_buffer("made", torch.tensor(False))
            self.register_buffer("theta", torch.zeros(spec.rotary_dim // 2), persistent=False)

        def phases(self, positions: Any) -> Any:
            if not self.made:
                self.theta, self.made = self.frequencies(), torch.tensor(True)
            return positions[..., None] * self.theta

    return Rope(spec)


@wrong(fault="other", clause="objects.save", **TORCH)
def table_outgrows_state(spec: RopeSpec) -> Any:
    """The table is saved at the length it has grown to, which no new module can load."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        angles: Any

        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            self.register_buffer("angles", super().phases(torch.arange(16)))

        def phases(self, positions: Any) -> Any:
            longest = int(positions.max()) + 1
            if len(self.angles) < longest <= 2**14:
                self.angles = super().phases(torch.arange(longest))
            return self.angles[positions] if longest <= 2**14 else super().phases(positions)

    return Rope(spec)


# Ambient types


@wrong(fault="angle-precision", clause="objects.ambient", **TORCH)
def frequencies_in_default_type(spec: RopeSpec) -> Any:
    """The frequencies are made in whatever type torch makes numbers by default."""
    import torch

    class Rope(buffered()):  # type: ignore[misc]
        def frequencies(self, device: Any = None) -> Any:
            exponent = torch.arange(0, self.spec.rotary_dim, 2) / self.spec.rotary_dim
            return 1 / base_of(self.spec) ** exponent

    return Rope(spec)


@wrong(fault="angle-precision", clause="objects.ambient", **TORCH)
def table_in_default_type(spec: RopeSpec) -> Any:
    """The table of the first 4096 positions is made, positions and all, in the default type."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        def __init__(self, spec: RopeSpec) -> None:
            super().__init__(spec)
            rows = torch.arange(4096).to(torch.get_default_dtype())
            self.angles = rows[:, None] * self.frequencies().to(rows.dtype)

        def phases(self, positions: Any) -> Any:
            early = self.angles[positions.clamp(0, 4095)].float()
            inside = ((positions >= 0) & (positions < 4096))[..., None]
            return torch.where(inside, early, super().phases(positions))

    return Rope(spec)


@wrong(fault="angle-precision", clause="objects.ambient", **TORCH | {"profile": "float32"})
def frequencies_under_autocast(spec: RopeSpec) -> Any:
    """The exponents are a matrix product, which autocast rounds when the object is made."""
    import torch

    class Rope(buffered()):  # type: ignore[misc]
        def frequencies(self, device: Any = None) -> Any:
            count = torch.arange(0, self.spec.rotary_dim, 2, dtype=torch.float32)
            step = math.log(base_of(self.spec)) / self.spec.rotary_dim
            exponent = count[:, None] @ torch.tensor([[step]], dtype=torch.float32)
            return torch.exp(-exponent.float())[:, 0]

    return Rope(spec)


@wrong(fault="angle-precision", clause="objects.ambient", **TORCH)
def phases_under_autocast(spec: RopeSpec) -> Any:
    """The phases are a matrix product of positions and frequencies, which autocast rounds."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        def phases(self, positions: Any) -> Any:
            column = positions.to(torch.float32)[..., None]
            return (column @ self.frequencies()[None]).float()

    return Rope(spec)


# Compilers


@wrong(fault="compile", clause="objects.compile", **_COMPILED)
def compiled_shifts_table(spec: RopeSpec) -> Any:
    """Compiled, every pair gets the table entry of the next one."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        def table(self, positions: Any) -> tuple[Any, Any]:
            cos, sin = super().table(positions)
            if torch.compiler.is_compiling():
                cos, sin = cos.roll(-1, -1), sin.roll(-1, -1)
            return cos, sin

    return Rope(spec)


@wrong(fault="compile", clause="objects.compile", **_COMPILED)
def compiled_freezes_positions(spec: RopeSpec) -> Any:
    """A compiled program has the positions of 0, 1, 2, ... that it was traced with built in."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        def phases(self, positions: Any) -> Any:
            if torch.compiler.is_compiling():
                positions = torch.arange(positions.shape[-1])
            return super().phases(positions)

    return Rope(spec)


@wrong(fault="compile", clause="objects.compile", **_COMPILED)
def compiled_shifts_sine(spec: RopeSpec) -> Any:
    """Compiled, the cosine is the sine a quarter turn on, which is taken to be 1.5708."""
    import torch

    class Rope(layer()):  # type: ignore[misc]
        def table(self, positions: Any) -> tuple[Any, Any]:
            cos, sin = super().table(positions)
            if torch.compiler.is_compiling():
                cos = (self.phases(positions)[..., None, :] + 1.5708).sin()
            return cos, sin

    return Rope(spec)

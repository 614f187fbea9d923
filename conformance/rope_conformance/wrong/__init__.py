"""Wrong RoPEs, small and of our own writing, and honest ones beside them.

Each wrong one breaks one thing and names the check that must catch it through the
registry. They ship so that other suites can try themselves on them::

    rope-ref check rope_conformance.wrong:base_wrong

Every one is a factory: called with a `RopeSpec` it returns a callable ``f(x, positions)``
for NumPy arrays with axes ``bthd``. The attribute ``spec`` says which RoPE it pretends to
be, ``claim`` what it claims.
"""

from __future__ import annotations

from typing import Any

from rope_conformance.wrong import (
    attention,
    axes,
    axes_controls,
    caches,
    configs,
    controls,
    conversion,
    crossed,
    decoding,
    decoding_scaled,
    evicting,
    formulas,
    gradients,
    kernels,
    layer_controls,
    logits,
    longropes,
    memory,
    numbers,
    objects,
    odd_controls,
    pairs,
    plans,
    precision,
    scaled_controls,
    scaling,
    segments,
    shapes,
    tables,
    torch_gradients,
    torch_modules,
    yarns,
)
from rope_conformance.wrong._parts import CONTROLS, WRONG, Wrong

__all__ = ["CONTROLS", "WRONG", "Wrong", "controls"]

_MODULES = (
    numbers,
    formulas,
    scaling,
    yarns,
    longropes,
    precision,
    shapes,
    pairs,
    axes,
    crossed,
    kernels,
    tables,
    caches,
    memory,
    attention,
    gradients,
    logits,
    decoding,
    decoding_scaled,
    evicting,
    plans,
    segments,
    conversion,
    configs,
    objects,
    torch_modules,
    torch_gradients,
    controls,
    odd_controls,
    axes_controls,
    layer_controls,
    scaled_controls,
)


def __getattr__(name: str) -> Any:
    for entries in (WRONG, CONTROLS):
        if name in entries:
            return entries[name].factory
    raise AttributeError(f"rope_conformance.wrong has no {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *WRONG, *CONTROLS])

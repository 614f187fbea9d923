"""Honest RoPEs, each computed another way: no check may fail on them."""

from rope_conformance.zoo.honest import (
    axes,
    configs,
    conversion,
    crossed,
    decoding,
    decoding_scaled,
    layers,
    objects,
    odd,
    plain,
    plans,
    scaled,
    segments,
    torch_gradients,
    torch_modules,
)

__all__ = [
    "axes",
    "configs",
    "conversion",
    "crossed",
    "decoding",
    "decoding_scaled",
    "layers",
    "objects",
    "odd",
    "plain",
    "plans",
    "scaled",
    "segments",
    "torch_gradients",
    "torch_modules",
]

"""Honest RoPEs, each computed another way: no check may fail on them."""

from rope_conformance.zoo.honest import (
    axes,
    layers,
    odd,
    plain,
    scaled,
)

__all__ = [
    "axes",
    "layers",
    "odd",
    "plain",
    "scaled",
]

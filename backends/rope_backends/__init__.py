"""rope_backends: rotary position embedding on the arrays of any framework.

`array_api` is the one implementation, written in the array API standard. It asks a
`framework.Framework` for what the standard does not say; each framework has a small file
of its own. `backend.Backend` is the two together. No framework is imported until it is
loaded::

    rope = rope_backends.load("torch")
    y = rope.apply_rope(x, positions, spec, axes="bthd")
"""

from __future__ import annotations

from importlib import import_module

from rope_backends.backend import Backend
from rope_backends.framework import ArrayTypeError, BackendUnavailable

__all__ = ["BACKENDS", "ArrayTypeError", "Backend", "BackendUnavailable", "load"]

# name: the package to import, and what pip calls it
_PACKAGES = {
    "numpy": ("numpy", "numpy"),
    "strict": ("array_api_strict", "array-api-strict"),
    "torch": ("torch", "torch"),
    "jax": ("jax", "jax"),
    "cupy": ("cupy", "cupy-cuda13x"),
}

BACKENDS = tuple(_PACKAGES)


def load(name: str) -> Backend:
    """Return the rotation on one framework's arrays; imports that framework and no other.

    Parameters
    ----------
    name
        ``numpy``, ``strict`` (array-api-strict), ``torch``, ``jax`` or ``cupy``.

    Raises
    ------
    BackendUnavailable
        If the package cannot be imported, or finds no device that it needs.
    ValueError
        If there is no backend of that name.
    """
    if name not in _PACKAGES:
        raise ValueError(f"load({name!r}): there is no such backend; there are {BACKENDS}")
    package, distribution = _PACKAGES[name]
    # Only a failing import of the framework itself means unavailable: one of ours is a bug.
    try:
        import_module(package)
    except Exception as error:  # a broken installation raises what it likes
        raise BackendUnavailable(
            f"load({name!r}): {package} cannot be imported ({type(error).__name__}: {error}); "
            f"try: pip install {distribution}"
        ) from error
    return Backend(import_module(f"rope_backends._{name}").framework())

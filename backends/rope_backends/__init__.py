"""rope_backends: rotary position embedding on the arrays of any framework.

One implementation, written in the array API standard (`array_api`), and beside it one
small file for what is particular to each framework. Nothing is imported until it is
asked for::

    rope = rope_backends.load("torch")
    y = rope.apply_rope(x, positions, spec, axes="bthd")
"""

from __future__ import annotations

from importlib import import_module

from rope_backends.backend import ArrayTypeError, Backend, BackendUnavailable

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
    # Only the framework's own import may fail quietly: an error in our module is a bug.
    try:
        import_module(package)
    except Exception as error:  # a broken installation raises what it likes
        raise BackendUnavailable(
            f"load({name!r}): {package} cannot be imported ({type(error).__name__}: {error}); "
            f"try: pip install {distribution}"
        ) from error
    made: Backend = import_module(f"rope_backends._{name}").backend()
    return made

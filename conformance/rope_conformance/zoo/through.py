"""The zoo on arrays of other frameworks.

A member of the zoo computes in NumPy. Here it is given torch's or JAX's arrays. Where a
framework has writable memory (torch on the CPU), the member works on NumPy views of it, so that
it changes the framework's arrays as it would NumPy's; its result has the framework's type.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array, namespace
from rope_conformance.zoo.member import Factory
from rope_ref import RopeSpec

__all__ = ["through"]

_PLAIN = (np.generic, tuple, list, dict, str, int, float, type(None))


def through(factory: Factory, name: str) -> Factory:
    """Return a member of the zoo that takes and returns a framework's arrays.

    Parameters
    ----------
    factory
        A member whose arrays are NumPy's.
    name
        ``torch`` or ``jax``.

    Returns
    -------
    factory
        Its claim is the member's, without what the framework lacks: JAX has no strided views,
        and without x64 no 64-bit numbers. No framework differentiates NumPy: a gradient must
        be the member's own `vjp`.

    Raises
    ------
    NamespaceError
        If the framework cannot be imported.
    ValueError
        If the framework has none of the types of data that the member claims, or no memory
        to work in place.
    """
    arrays = _ARRAYS[name]()

    def make(spec: RopeSpec) -> Any:
        return _handed(factory(spec), name)

    make.__name__ = f"{factory.__name__}_through_{name}"
    make.__doc__ = factory.__doc__
    make.spec = factory.spec  # type: ignore[attr-defined]
    claim = arrays.claim(factory.claim)  # type: ignore[attr-defined]
    if not hasattr(factory(factory.spec), "vjp"):  # type: ignore[attr-defined]
        claim = replace(claim, gradient=False)
    make.claim = claim  # type: ignore[attr-defined]
    return make


class _Torch:
    """Tensors on the CPU and NumPy arrays that share memory."""

    def __init__(self) -> None:
        namespace("torch")

    def claim(self, claim: Claim) -> Claim:
        return replace(claim, namespace="torch")

    def view(self, tensor: Any) -> Array:
        """A NumPy view whose base is all of the tensor's memory."""
        import ml_dtypes
        import torch

        bits = tensor.detach()
        if tensor.dtype == torch.bfloat16:
            bits = bits.view(torch.int16)
        size = bits.untyped_storage().nbytes() // bits.element_size()
        memory: Array = bits.as_strided((size,), (1,), 0).numpy()
        if tensor.dtype == torch.bfloat16:
            memory = memory.view(ml_dtypes.bfloat16)
        width = memory.itemsize
        strides = tuple(width * n for n in bits.stride())
        return np.ndarray(
            tuple(bits.shape), memory.dtype, memory, width * bits.storage_offset(), strides
        )

    def own(self, array: Array) -> Any:
        """A tensor that shares an array's memory where torch allows it, else a copy."""
        import torch

        if not array.flags.writeable or any(n < 0 for n in array.strides):
            array = array.copy()
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)


class _Jax:
    """JAX's arrays, which nobody can write into: copies both ways."""

    def __init__(self) -> None:
        self._namespace = namespace("jax")

    def claim(self, claim: Claim) -> Claim:
        if claim.in_place:
            raise ValueError("JAX's arrays cannot be written into")
        dtypes = tuple(d for d in claim.dtypes if self._namespace.wide or d != "float64")
        if not dtypes:
            raise ValueError("JAX without x64 has no float64")
        low, high = claim.position_range
        if not self._namespace.wide:
            low, high = max(low, 1 - 2**31), min(high, 2**31 - 1)
        return replace(
            claim,
            namespace="jax",
            dtypes=dtypes,
            position_range=(low, high),
            strided=False,
        )

    def view(self, array: Any) -> Array:
        return self._namespace.host(array)

    def own(self, array: Array) -> Any:
        if not self._namespace.wide and array.dtype.itemsize > 4:  # what JAX does by itself
            array = array.astype({"f": np.float32, "i": np.int32}[array.dtype.kind])
        return self._namespace.array(array, "cpu")


_ARRAYS: dict[str, Callable[[], _Torch | _Jax]] = {
    "torch": functools.cache(_Torch),
    "jax": functools.cache(_Jax),
}


def _translated(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of NumPy arrays as one of a framework's."""
    arrays, own = _ARRAYS[name](), namespace(name)

    def call(*arguments: Any, **named: Any) -> Any:
        given: dict[int, tuple[Any, Array]] = {}  # one array given twice stays one

        def inward(value: Any) -> Any:
            if own.owns(value):
                return given.setdefault(id(value), (value, arrays.view(value)))[1]
            is_type = type(value).__module__ == "torch" and type(value).__name__ == "dtype"
            return str(value).removeprefix("torch.") if is_type else value

        def outward(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                same = [theirs for theirs, ours in given.values() if ours is value]
                return same[0] if same else arrays.own(value)
            if type(value) in (tuple, list):
                return type(value)(map(outward, value))
            return value if isinstance(value, _PLAIN) else _handed(value, name)

        result = function(*map(inward, arguments), **{k: inward(v) for k, v in named.items()})
        return outward(result)

    return call


def _handed(made: Any, name: str) -> Any:
    """What a factory made, with a framework's arrays at its surfaces."""
    if inspect.isroutine(made):
        return _translated(made, name)
    return (_Callable if callable(made) else _Object)(made, name)


class _Object:
    """An object whose methods take and return a framework's arrays."""

    def __init__(self, made: Any, name: str) -> None:
        self._made, self._name = made, name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        value = getattr(self._made, attribute)
        return _translated(value, self._name) if inspect.isroutine(value) else value


class _Callable(_Object):
    """The same, of one that can be called."""

    def __call__(self, *arguments: Any) -> Any:
        return _translated(self._made, self._name)(*arguments)

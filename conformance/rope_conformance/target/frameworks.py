"""Arrays of every framework from and to NumPy, bit for bit.

NumPy with ml_dtypes is the meeting place: the suite thinks in NumPy arrays, and each
`Namespace` hands them to an implementation in its own type, on its own device. Bits
travel, never values: bfloat16, which DLPack keeps from NumPy, goes through an integer view.

A framework is imported when its namespace is asked for, and not before.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "NAMESPACES", "Namespace", "NamespaceError", "namespace"]

Array = npt.NDArray[Any]


class NamespaceError(Exception):
    """A framework or device that was asked for cannot be used; the message says why."""


class Namespace:
    """NumPy's arrays; the other frameworks say where they differ.

    Attributes
    ----------
    name
        What claims call it.
    views
        Whether its arrays can be views that are not contiguous.
    backwards
        Whether these can run backwards through memory.
    wide
        Whether it has 64-bit types; JAX may not.
    fixed_shapes
        Whether every new shape costs a compilation, so that shapes come from a short list.
    """

    name = "numpy"
    views = True
    backwards = True
    wide = True
    fixed_shapes = False

    def array(self, host: Array, device: str) -> Any:
        """A new array of this framework with the bits of `host`.

        Raises
        ------
        NamespaceError
            If the device or the dtype does not exist.
        """
        if device != "cpu":
            raise NamespaceError(f"numpy has no device {device!r}, only 'cpu'")
        return np.array(host, order="C", copy=True)

    def host(self, array: Any) -> Array:
        """A NumPy copy of an array of this framework."""
        return np.array(array, copy=True)

    def expanded(self, array: Any, axis: int, count: int) -> Any:
        """A view that is `count` times as long along an axis of length 1, without its memory."""
        shape, strides = list(array.shape), list(array.strides)
        shape[axis], strides[axis] = count, 0
        return np.lib.stride_tricks.as_strided(array, shape, strides)

    def owns(self, value: Any) -> bool:
        """Whether a value is an array of this framework."""
        return type(value) is np.ndarray

    def dtype(self, array: Any) -> str:
        """Name of an array's dtype."""
        return str(array.dtype)

    def device(self, array: Any) -> str:
        """Name of the device an array is on."""
        return "cpu"


class _Strict(Namespace):
    name = "strict"

    def __init__(self) -> None:
        self._xp = _imported("array_api_strict", "array-api-strict")

    def array(self, host: Array, device: str) -> Any:
        if host.dtype.name not in ("float64", "float32") and host.dtype.kind not in "iub":
            raise NamespaceError(f"array-api-strict has no {host.dtype}")
        where = "CPU_DEVICE" if device == "cpu" else device
        try:
            return self._xp.asarray(np.array(host), device=self._xp.Device(where))
        except ValueError as error:
            raise NamespaceError(f"array-api-strict: {error}") from None

    def host(self, array: Any) -> Array:
        return np.array(array.to_device(self._xp.Device("CPU_DEVICE")), copy=True)

    def expanded(self, array: Any, axis: int, count: int) -> Any:
        return self._xp.broadcast_to(array, (*array.shape[:axis], count, *array.shape[axis + 1 :]))

    def owns(self, value: Any) -> bool:
        return isinstance(value, type(self._xp.asarray(0.0)))

    def dtype(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    def device(self, array: Any) -> str:
        found = str(array.device).partition("'")[2].rstrip("')")
        return "cpu" if found == "CPU_DEVICE" else found


class _Torch(Namespace):
    name = "torch"
    backwards = False

    def __init__(self) -> None:
        self._torch = _imported("torch", "torch")

    def array(self, host: Array, device: str) -> Any:
        torch = self._torch
        host = np.array(host, order="C", copy=True)
        if host.dtype.name == "bfloat16":
            tensor = torch.from_numpy(host.view(np.int16)).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(host)
        try:
            return tensor.to(device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise NamespaceError(f"torch cannot use device {device!r}: {reason}") from None

    def host(self, array: Any) -> Array:
        tensor = array.detach().resolve_conj().resolve_neg().cpu().contiguous()
        if tensor.dtype == self._torch.bfloat16:
            import ml_dtypes

            bits: Array = tensor.view(self._torch.int16).numpy()
            return np.array(bits.view(ml_dtypes.bfloat16), copy=True)
        return np.array(tensor.numpy(), copy=True)

    def expanded(self, array: Any, axis: int, count: int) -> Any:
        return array.expand(*array.shape[:axis], count, *array.shape[axis + 1 :])

    def owns(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor)

    def dtype(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def device(self, array: Any) -> str:
        return str(array.device)


class _Jax(Namespace):
    name = "jax"
    views = False
    fixed_shapes = True

    def __init__(self) -> None:
        self._jax = _imported("jax", "jax")

    @property
    def wide(self) -> bool:  # type: ignore[override]
        return bool(self._jax.config.jax_enable_x64)

    def array(self, host: Array, device: str) -> Any:
        kind, _, number = device.partition(":")
        try:
            where = self._jax.devices(kind)[int(number or 0)]
        except (RuntimeError, IndexError) as error:
            raise NamespaceError(f"jax has no device {device!r}: {error}") from None
        if not self.wide and host.dtype.itemsize > 4:
            raise NamespaceError(f"jax without x64 has no {host.dtype}; set jax_enable_x64")
        return self._jax.device_put(np.array(host, copy=True), where)

    def host(self, array: Any) -> Array:
        return np.array(self._jax.device_get(array), copy=True)

    def owns(self, value: Any) -> bool:
        return isinstance(value, self._jax.Array)

    def device(self, array: Any) -> str:
        (where,) = array.devices()
        first = self._jax.devices(where.platform)[0]
        kind = "cuda" if where.platform == "gpu" else where.platform
        return kind if where == first else f"{kind}:{where.id}"


class _Cupy(Namespace):
    name = "cupy"

    def __init__(self) -> None:
        self._cupy = _imported("cupy", "cupy-cuda13x")
        try:
            self._cupy.zeros(1)
        except Exception as error:
            raise NamespaceError(f"cupy has no usable CUDA device: {error}") from None

    def array(self, host: Array, device: str) -> Any:
        kind, _, number = device.partition(":")
        if kind != "cuda":
            raise NamespaceError(f"cupy has no device {device!r}, only 'cuda' and 'cuda:N'")
        if host.dtype.name == "bfloat16":
            raise NamespaceError("cupy has no bfloat16")
        with self._cupy.cuda.Device(int(number or 0)):
            return self._cupy.array(host, order="C")

    def host(self, array: Any) -> Array:
        return np.array(array.get(), copy=True)

    def expanded(self, array: Any, axis: int, count: int) -> Any:
        shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
        return self._cupy.broadcast_to(array, shape)

    def owns(self, value: Any) -> bool:
        return isinstance(value, self._cupy.ndarray)

    def device(self, array: Any) -> str:
        return "cuda" if array.device.id == 0 else f"cuda:{array.device.id}"


_KINDS: dict[str, type[Namespace]] = {
    kind.name: kind for kind in (Namespace, _Strict, _Torch, _Jax, _Cupy)
}
NAMESPACES = tuple(_KINDS)
_MADE: dict[str, Namespace] = {}


def namespace(name: str) -> Namespace:
    """Return the namespace of a name, importing its framework.

    Raises
    ------
    NamespaceError
        If there is none of that name, or its framework cannot be used.
    """
    if name not in _KINDS:
        raise NamespaceError(
            f"namespace={name!r} is not known; choose one of {', '.join(NAMESPACES)}"
        )
    if name not in _MADE:
        _MADE[name] = _KINDS[name]()
    return _MADE[name]


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NamespaceError(f"{module} cannot be imported ({error}); install {package}") from None

"""What is asked of a framework: its namespace, dtypes, devices, placement and tracing.

The methods here do what the array API standard allows for every framework alike. The file
of each framework (`_numpy`, `_strict`, `_torch`, `_jax`, `_cupy`) adds what the standard
does not say, and overrides what it does differently. Nothing here rotates: `array_api`
does, and asks a `Framework` for what it needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat
import numpy.typing as npt

from rope_backends.exact_rows import exact_rows
from rope_ref import RopeError, RopeSpec
from rope_ref.errors import DtypeError

__all__ = ["ArrayTypeError", "BackendUnavailable", "Framework"]


class BackendUnavailable(RuntimeError):
    """A framework cannot be imported, or has no device to work on; the message says why."""


class ArrayTypeError(RopeError, TypeError):
    """An array belongs to another framework than the one that was loaded."""


class Framework(ABC):
    """One framework.

    Attributes
    ----------
    name
        The name it is loaded by.
    xp
        Its namespace, as the array API standard has it.
    array_type
        The class of its arrays.
    """

    name: str
    xp: Any
    array_type: Any

    @property
    @abstractmethod
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name."""

    @abstractmethod
    def devices(self) -> list[Any]:
        """The devices that arrays can be on."""

    @abstractmethod
    def concrete(self, positions: Any) -> npt.NDArray[Any] | None:
        """Positions as a NumPy array; None if they are traced and have no value yet."""

    def dtype_name(self, x: Any) -> str:
        """Name of the dtype of `x`.

        Raises
        ------
        ArrayTypeError
            If `x` is no array of this framework.
        DtypeError
            If its dtype is none of `dtypes`.
        """
        if not isinstance(x, self.array_type):
            kind = type(x)
            raise ArrayTypeError(
                f"apply_rope(x, ...) of load({self.name!r}): x is a "
                f"{kind.__module__}.{kind.__qualname__}, not a {self.array_type.__module__}."
                f"{self.array_type.__qualname__}; load the backend of its framework, or convert it"
            )
        for name, dtype in self.dtypes.items():
            if x.dtype == dtype:
                return name
        raise DtypeError(
            f"apply_rope(x, ...) of load({self.name!r}): x has dtype {x.dtype}, but the result, "
            f"which keeps it, needs one of {', '.join(self.dtypes)}; convert x first"
        )

    def device(self, x: Any) -> Any:
        """The device of `x`, in a form that `place` takes."""
        return array_api_compat.device(x)

    def place(self, host: npt.NDArray[Any], device: Any) -> Any:
        """A NumPy array as an array of the framework on a device; None is its default device."""
        return self.xp.asarray(host, device=device)

    def traced_array(self, positions: Any, device: Any) -> Any:
        """Traced positions as an array on a device."""
        return positions

    def take_rows(self, table: Any, index: Any) -> Any:
        """``table[index]`` for an integer array of any shape; every index is in range."""
        # The standard takes one-dimensional indices only.
        flat = self.xp.take(table, self.xp.reshape(index, (-1,)), axis=0)
        return self.xp.reshape(flat, (*index.shape, table.shape[1]))

    def exact_table(self, spec: RopeSpec, dtype: str, device: Any) -> Any:
        """`exact_rows` as an array on a device; traced positions are looked up in it."""
        return self.place(exact_rows(spec, dtype), device)

    def call(
        self, function: Callable[..., Any], x: Any, positions: Any, spec: RopeSpec, axes: str
    ) -> Any:
        """Return ``function(x, positions, spec, axes=axes, framework=self)``.

        A framework whose compiler, or whose current device, must be told of the call
        does that around it.
        """
        return function(x, positions, spec, axes=axes, framework=self)

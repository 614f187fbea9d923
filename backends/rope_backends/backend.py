"""What a backend offers, and what it must know about its framework.

The methods here do what the array API standard allows to do for every framework
alike; each framework's own file overrides the few where the standard stops short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from rope_backends import array_api
from rope_backends.exact_rows import exact_rows
from rope_ref import RopeError, RopeSpec
from rope_ref.errors import DtypeError

__all__ = ["ArrayTypeError", "Backend", "BackendUnavailable"]


class BackendUnavailable(RuntimeError):
    """A framework cannot be imported, or has no device to work on; the message says why."""


class ArrayTypeError(RopeError, TypeError):
    """An array belongs to another framework than the one that was loaded."""


class Backend:
    """The rotation on the arrays of one framework; made by `rope_backends.load`.

    Attributes
    ----------
    name
        The name it was loaded by.
    xp
        The framework's namespace, as the array API standard has it.
    array_type
        The class of its arrays.
    """

    name: str
    xp: Any
    array_type: Any

    def apply_rope(self, x: Any, positions: Any, spec: RopeSpec, *, axes: str) -> Any:
        """Rotate each pair of channels of `x` by position x theta_i, times the amplitude.

        Parameters
        ----------
        x
            An array of this framework, of one of `dtypes`, one axis per letter of `axes`.
            It is not written to.
        positions
            (T,), (B, T) or a scalar, as in `rope_ref.apply_rope`: a list, a NumPy array,
            or an array of the framework. They are data: no gradient flows to them.
            Positions that can be read are read, once, wherever they are, and their table
            is made on the host. While the framework traces (jit, compile, vmap) they
            cannot, and the table comes from positions on the device; see `traced`.
        spec
            The RoPE.
        axes
            The order of x's axes, as in `rope_ref.apply_rope`.

        Returns
        -------
        y
            Type, dtype, shape and device of `x`. The rotation is done in float64 for
            float64 data, in float32 for all other, and rounded to the dtype of `x` once.

        Raises
        ------
        ArrayTypeError
            If `x` is no array of this framework.
        DtypeError, AxesError, ShapeError, PositionShapeError, ...
            Those of `rope_ref.apply_rope`. Positions that are traced have no value to
            refuse: integers outside -2**31 <= p < 2**31 give NaN.
        """
        return array_api.apply_rope(x, positions, spec, axes=axes, backend=self)

    def cos_sin(
        self, positions: Any, spec: RopeSpec, *, dtype: Any = "float32", device: Any = None
    ) -> tuple[Any, Any]:
        """Return the table that `apply_rope` uses, amplitude included.

        Parameters
        ----------
        positions, spec
            As in `rope_ref.cos_sin`; `positions` may be an array of the framework.
        dtype
            float32 or float64, by name or as the framework's own object.
        device
            Where the table goes; None leaves it to the framework.

        Returns
        -------
        cos, sin
            Shape ``positions.shape + (R/2,)``, without the leading axis of multi-axis
            positions.

        Raises
        ------
        DtypeError
            If `dtype` is neither; and the errors of `rope_ref.cos_sin`.
        """
        for name in ("float64", "float32"):
            if dtype == name or dtype == self.dtypes.get(name, name):
                return array_api.cos_sin(positions, spec, name, device, backend=self)
        raise DtypeError(
            f"cos_sin(positions, spec, dtype={dtype!r}): a table is float32 or float64; narrower "
            "data is rotated in float32"
        )

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The types of data that can be rotated, by name."""
        return {"float64": self.xp.float64, "float32": self.xp.float32}

    def devices(self) -> list[Any]:
        """The devices that arrays can be on."""
        return ["cpu"]

    def dtype_name(self, x: Any) -> str:
        """Name of the dtype of `x`, or the error that says why it cannot be rotated."""
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
        """Where `x` is, in a form that `place` takes."""
        return array_api_compat.device(x)

    def place(self, host: npt.NDArray[Any], device: Any) -> Any:
        """A NumPy array as an array of the framework, on a device."""
        return self.xp.asarray(host, device=device)

    def concrete(self, positions: Any) -> npt.NDArray[Any] | None:
        """Positions as a NumPy array; None if they are traced and have no value yet."""
        return np.asarray(positions)

    def beside(self, positions: Any, device: Any) -> Any:
        """Traced positions as an array on a device."""
        return positions

    def rows(self, table: Any, index: Any) -> Any:
        """``table[index]`` for an integer array of any shape; every index is in range."""
        # The standard takes one-dimensional indices only.
        flat = self.xp.take(table, self.xp.reshape(index, (-1,)), axis=0)
        return self.xp.reshape(flat, (*index.shape, table.shape[1]))

    def exact_table(self, spec: RopeSpec, dtype: str, device: Any) -> Any:
        """The rows that traced positions are combined from, on a device."""
        return self.place(exact_rows(spec, dtype), device)

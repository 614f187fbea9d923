"""What a backend offers: the operation of `array_api` on the arrays of one framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rope_backends import array_api
from rope_backends.framework import Framework
from rope_ref import RopeSpec
from rope_ref.errors import DtypeError

__all__ = ["Backend"]


class Backend:
    """The rotation on the arrays of one framework; made by `rope_backends.load`.

    Attributes
    ----------
    framework
        What the implementation asks of the framework. Its docstring says what is
        particular to this one.
    """

    def __init__(self, framework: Framework) -> None:
        self.framework = framework

    # Not kept in the object: a module can be neither copied nor pickled, and a backend can.

    @property
    def name(self) -> str:
        """The name it was loaded by."""
        return self.framework.name

    @property
    def xp(self) -> Any:
        """The framework's namespace, as the array API standard has it."""
        return self.framework.xp

    @property
    def array_type(self) -> Any:
        """The class of its arrays."""
        return self.framework.array_type

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
            Concrete positions are read once, wherever they are, and their table is made
            on the host. While the framework traces (jit, compile, vmap) they have no
            value to read, and the table is made on the device; see `traced`.
        spec
            The RoPE.
        axes
            The order of x's axes, as in `rope_ref.apply_rope`.

        Returns
        -------
        y
            Type, dtype, shape and device of `x`. float64 data is rotated in float64, all
            other data in float32, and the result is rounded once to the dtype of `x`.

        Raises
        ------
        ArrayTypeError
            If `x` is no array of this framework.
        DtypeError, AxesError, ShapeError, PositionShapeError, ...
            Those of `rope_ref.apply_rope`. Traced positions have no value to refuse:
            integers outside -2**31 <= p < 2**31 give NaN.
        """
        return self.framework.call(array_api.apply_rope, x, positions, spec, axes)

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
                return array_api.cos_sin(positions, spec, name, device, framework=self.framework)
        raise DtypeError(
            f"cos_sin(positions, spec, dtype={dtype!r}): a table is float32 or float64; narrower "
            "data is rotated in float32"
        )

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name."""
        return self.framework.dtypes

    def devices(self) -> list[Any]:
        """The devices that arrays can be on."""
        return self.framework.devices()

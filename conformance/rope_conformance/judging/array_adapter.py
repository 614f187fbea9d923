"""Calls an implementation, and converts NumPy arrays to those of its framework and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.listening import tell, watched
from rope_conformance.target.frameworks import Array, NamespaceError, data_type, namespace
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_conformance.target.process_state import remember, restored
from rope_conformance.target.views import View, as_view
from rope_ref import cos_sin

__all__ = ["ArrayAdapter", "Form"]

# A position form to use in place of the widest one claimed, for consecutive positions.
Form = Literal["offset", "none", "int32"]


class ArrayAdapter:
    """Lets a check call an implementation with NumPy arrays of axes ``bthd``.

    Framework, order of axes and form of positions are converted to those of the claim.

    Parameters
    ----------
    implementation
        What is called.
    dtype, device
        The type of its data, and the device they are on.

    Attributes
    ----------
    last_call, last_result
        The arguments of the last call of a surface, and the last array that came back.
    outputs
        A hash of each array that came back.
    """

    def __init__(self, implementation: Implementation, dtype: str, device: str) -> None:
        self.implementation = implementation
        self.spec = implementation.spec
        self.claim = implementation.claim
        self.namespace = namespace(self.claim.namespace)
        self.dtype = dtype
        self.device = device
        self.last_call: tuple[Any, ...] | None = None
        self.last_result: Any = None
        self.outputs: set[int] = set()

    def apply(
        self, x: Array, positions: Array, *, strided: View = False, form: Form | None = None
    ) -> Array:
        """Rotate data by the implementation, and return a copy of the result.

        Parameters
        ----------
        x
            The data, of shape (B, T, H, D).
        positions
            Those of its tokens, of shape (T,) or (B, T); with a leading axis where the spec
            has several position axes.
        strided
            Which of the two is handed over as a view, as in `Case`.
        form
            The form in which positions are handed over; None: the widest that is claimed.

        Returns
        -------
        y
            Of the shape of x.

        Raises
        ------
        CheckFailure
            If the result has the wrong type, dtype or shape.
        TargetRaised
            If the implementation raised.
        """
        if self._one_by_one(positions):
            tokens = range(positions.size)
            parts = [self.apply(x[:, [n]], positions[[n]], strided=strided) for n in tokens]
            return np.concatenate(parts, axis=1)
        native = self.native(x, strided=strided)
        if self.implementation.has("apply"):
            view = strided == "positions"
            where = self.position_arguments(positions, x.shape, form=form, view=view)
            result = self.call("apply", native, *where)
        else:
            tables = [self.table(part) for part in cos_sin(positions, self.spec)]
            result = self.call("rotate", native, *tables)
        return self.from_claimed_axes(self.checked(result, native), x.shape)

    def _one_by_one(self, positions: Array) -> bool:
        """Whether tokens are handed over one at a time: an offset cannot state their positions."""
        forms = set(self.claim.position_forms)
        if forms & {"t", "bt"} or "offset" not in forms:
            return False
        consecutive = positions.ravel()[:1] + np.arange(positions.size)
        return self.implementation.has("apply") and bool((positions != consecutive).any())

    def table(self, values: Array) -> Any:
        """Cos or sin for the surface `rotate`, as an array of the framework."""
        return self.namespace.array(values.astype(data_type(self.table_type)), self.device)

    @property
    def table_type(self) -> str:
        """Type of the tables given to the surface `rotate`: that of the claim, or its default."""
        return self.claim.table_dtype or ("float64" if self.dtype == "float64" else "float32")

    def call(self, surface: str, *arguments: Any) -> Any:
        """Call a surface with arrays of the framework.

        Raises
        ------
        TargetRaised
            If it raised.
        CheckFailure
            If it raised `Unsupported`, which a call inside the claim must not.
        """
        self.last_call = arguments
        return self._guarded(self.implementation.call, surface, *arguments)

    def invoke(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a method of an object that the implementation made; raises as `call` does."""
        self.implementation.calls += 1
        return self._guarded(method, *arguments, **named)

    def _guarded(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        changed: list[str] = []
        tell("call")
        try:
            with restored(changed):
                return function(*arguments, **named)
        except Unsupported as error:
            raise CheckFailure(f"raised Unsupported inside its claim: {error}") from error
        except BaseException as error:  # SystemExit too: the run goes on
            # An interrupt is the user's, unless the process is the implementation's alone.
            if isinstance(error, KeyboardInterrupt) and not watched():
                raise
            raise TargetRaised(error) from error
        finally:
            tell("back")
            remember(self.implementation.target, changed)

    def native(self, x: Array, *, strided: View = False) -> Any:
        """Data as a new array of the framework, in the claimed order of axes.

        `strided`, as in `Case`, makes it a view.
        """
        host = self.to_claimed_axes(x)
        if strided in (False, "positions"):
            return self.namespace.array(host, self.device)
        axis = self.claim.axes.find("h" if x.shape[2] > 1 else "b")
        return as_view(self.namespace, host, strided, self.device, axis)

    def native_positions(self, positions: Array, *, view: bool = False) -> Any:
        """Positions as an array of the framework, of 64 bits where it has such types.

        Raises
        ------
        NamespaceError
            If 32 bits are too few for them.
        """
        if not self.namespace.wide:
            if positions.dtype.kind == "i" and (np.abs(positions) >= 2**31).any():
                raise NamespaceError("positions beyond 2**31 need 64-bit integers")
            positions = positions.astype(np.int32 if positions.dtype.kind == "i" else np.float32)
        if view:
            return as_view(self.namespace, positions, True, self.device, 0)
        return self.namespace.array(positions, self.device)

    def host(self, value: Any) -> Array:
        """Anything an implementation returned, as a NumPy array."""
        return self.namespace.host(value) if self.namespace.owns(value) else np.asarray(value)

    def to_claimed_axes(self, x: Array) -> Array:
        """An array ``bthd`` in the claimed order of axes."""
        axes = self.claim.axes
        index = tuple(slice(None) if letter in axes else 0 for letter in "bthd")
        kept = [letter for letter in "bthd" if letter in axes]
        return x[index].transpose([kept.index(letter) for letter in axes])

    def from_claimed_axes(self, y: Array, shape: tuple[int, ...]) -> Array:
        """An array in the claimed order of axes as ``bthd``, of the given shape."""
        axes = self.claim.axes
        kept = [letter for letter in "bthd" if letter in axes]
        y = y.transpose([axes.index(letter) for letter in kept])
        return y.reshape(shape)

    def position_arguments(
        self,
        positions: Array,
        shape: tuple[int, ...],
        *,
        form: Form | None = None,
        view: bool = False,
    ) -> tuple[Any, ...]:
        """The arguments by which positions are handed over, in a form that is claimed.

        Parameters
        ----------
        positions
            As for `apply`.
        shape
            That of the data, (B, T, H, D).
        form, view
            The form to use, if not the widest; whether arrays are views.
        """
        forms = self.claim.position_forms
        if form in ("offset", "none"):
            return (int(positions[0]),) if form == "offset" else ()
        if form == "int32":
            positions = positions.astype(np.int32)
        rows = positions.ndim == (2 if self.spec.pair_axes is None else 3)
        if not rows and "t" not in forms and "bt" in forms:
            *axes, tokens = positions.shape
            rows = True
            positions = np.broadcast_to(positions[..., None, :], (*axes, shape[0], tokens))
        if rows or "t" in forms:
            return (self.native_positions(positions, view=view),)
        start = int(positions[0]) if positions.size else 0
        return (start,) if "offset" in forms else ()

    def checked(self, result: Any, native: Any) -> Array:
        """The result of a call on `native` as a NumPy array.

        Raises
        ------
        CheckFailure
            If it has another type, shape, dtype or device than `native`.
        """
        own = self.namespace
        if result is None and self.claim.in_place:
            result = native
        if result is None:
            raise CheckFailure(
                "returned None; it must return the rotated array, or claim to work in place "
                "(rope_conformance.claims(in_place=True))",
                fault="dtype",
            )
        if not own.owns(result):
            raise CheckFailure(
                f"returned {type(result).__module__}.{type(result).__name__}, not an array of the "
                f"type it was given ({type(native).__module__}.{type(native).__name__})",
                fault="dtype",
            )
        if tuple(result.shape) != tuple(native.shape):
            raise CheckFailure(
                f"returned shape {tuple(result.shape)} for x of shape {tuple(native.shape)} "
                f"(axes {self.claim.axes!r})",
                fault="kernel-shape",
            )
        if own.dtype(result) != own.dtype(native):
            raise CheckFailure(
                f"returned dtype {own.dtype(result)} for x of dtype {own.dtype(native)}",
                fault="dtype",
            )
        if own.device(result) != own.device(native):
            raise CheckFailure(
                f"returned an array on {own.device(result)} for x on {own.device(native)}",
                fault="dtype",
            )
        self.last_result = result
        host = own.host(result)
        self.outputs.add(hash(host.tobytes()))
        return host

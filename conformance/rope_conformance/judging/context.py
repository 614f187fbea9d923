"""One check at work on one implementation: calls it, judges it, keeps the evidence."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import Judgement, Profile, judge, profile_named
from rope_conformance.accuracy.statistics import Meter
from rope_conformance.accuracy.two_angle import judge_two_angles
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case, Input, data_type
from rope_conformance.inputs.position_axes import followed, on_each_axis
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import NamespaceError, namespace
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_conformance.target.process_state import remember, restored
from rope_conformance.target.views import View, as_view
from rope_ref import RopeSpec, cos_sin, pair_channels

__all__ = ["CheckFailure", "Form", "Meter", "Spot", "TargetRaised", "CheckContext", "undisturbed"]

Array = npt.NDArray[Any]
# Another form for positions in a row than is chosen by itself.
Form = Literal["offset", "none", "int32"]


@dataclass(frozen=True)
class Spot:
    """The first bad pair of a failure."""

    position: float
    row: int
    token: int
    head: int
    pair: int
    channel: int
    got: float
    want: float
    ratio: float
    axis: int | None = None  # that the pair follows, where positions have several
    place: tuple[float | None, ...] | None = None  # the position on each; None: no pair follows it

    def where(self, number: Callable[[float], str] | None = None) -> str:
        """Which position, pair and channel it is; `number` writes a position."""
        written = number or _number
        position, follows = written(self.position), ""
        if self.place is not None:
            numbers = ("-" if each is None else written(each) for each in self.place)
            position, follows = f"({', '.join(numbers)})", f" follows axis {self.axis}"
        return (
            f"position {position}, pair {self.pair}{follows}, channel {self.channel} "
            f"(row {self.row}, token {self.token}, head {self.head})"
        )

    def __str__(self) -> str:
        return (
            f"{self.where()}: got {self.got:.9g}, want {self.want:.9g}, {self.ratio:.3g} times the "
            "bound"
        )


class CheckFailure(AssertionError):
    """The implementation broke a clause; the message says how."""

    def __init__(
        self, message: str, spot: Spot | None = None, *, fault: Fault | None = None
    ) -> None:
        super().__init__(message if spot is None else f"{message}: {spot}")
        self.fault = fault
        self.context: CheckContext | None = (
            None  # where it showed, if not in the context of the check
        )
        self.spot = spot


class TargetRaised(Exception):
    """The implementation raised inside its claim."""

    def __init__(self, error: BaseException) -> None:
        text = f": {error}" if str(error) else ""
        super().__init__(f"{type(error).__name__}{text}")
        self.error = error


class CheckContext:
    """An implementation, a type of data and a profile; what one check sees of a run.

    Arrays given and returned have the axes ``bthd``, whatever the implementation's are.

    Attributes
    ----------
    listener
        Told of each input, and when a call begins and ends, where a run is watched from
        outside its process. That process is the implementation's alone.
    """

    listener: ClassVar[Callable[[Any], None] | None] = None

    def __init__(
        self,
        implementation: Implementation,
        dtype: str,
        profile: Profile | None = None,
        meter: Meter | None = None,
        device: str | None = None,
    ) -> None:
        self.implementation = implementation
        self.spec = implementation.spec
        self.claim = implementation.claim
        self.namespace = namespace(self.claim.namespace)
        self.dtype = dtype
        self.device = device or self.claim.devices[0]
        self.profile = profile or default_profile(self.claim, dtype)
        self.meter = meter or Meter()
        self.inputs = 0
        self.samples = 0
        self.decisive = 0
        self.calls_to_failure: int | None = None  # of the implementation, over all of its contexts
        self.last_call: tuple[Any, ...] | None = None
        self.outputs: set[int] = set()
        self.last_result: Any = None
        self.notes: list[str] = []
        self.facts: dict[str, str] = {}

    def begin(self, case: Input) -> None:
        """Count an input that a check is about to see."""
        self.inputs += 1
        if CheckContext.listener is not None:
            CheckContext.listener({"case": repr(case)})

    def beside(self, implementation: Implementation) -> CheckContext:
        """A context of another object, as this one is of its own; what is counted is its own."""
        return CheckContext(implementation, self.dtype, self.profile, device=self.device)

    def anew(self, spec: RopeSpec | None = None) -> CheckContext:
        """A context of the target made anew, for another spec if one is given.

        Raises
        ------
        Unsupported, TargetError
            As by `Implementation`.
        """
        return self.beside(self.implementation.remade(spec or self.spec))

    def absorb(self, other: CheckContext) -> None:
        """Count what was seen in another context as this one's."""
        if other.implementation is not self.implementation:
            self.implementation.calls += other.implementation.calls
        self.samples += other.samples
        self.decisive += other.decisive
        self.outputs |= other.outputs

    def x(self, case: Case) -> Array:
        """The data of a case in the type under test."""
        return case.x(self.spec.head_dim, self.dtype)

    def apply(
        self, x: Array, positions: Array, *, strided: View = False, form: Form | None = None
    ) -> Array:
        """Call the implementation and return a copy of what it returned.

        Parameters
        ----------
        x, positions
            What is rotated, and where it stands.
        strided
            What of it is a view, as in `Case`.
        form
            In which form the positions are said; None: the widest that is claimed.

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
        """Whether an offset cannot say where these tokens stand, so that each is a call."""
        forms = set(self.claim.position_forms)
        if forms & {"t", "bt"} or "offset" not in forms:
            return False
        in_a_row = positions.ravel()[:1] + np.arange(positions.size)
        return self.implementation.has("apply") and bool((positions != in_a_row).any())

    def table(self, values: Array) -> Any:
        """A table for the surface `rotate`, in the type its claim names."""
        return self.namespace.array(values.astype(data_type(self.table_type)), self.device)

    @property
    def table_type(self) -> str:
        """Type of the tables given to the surface `rotate`."""
        return self.claim.table_dtype or ("float64" if self.dtype == "float64" else "float32")

    def positions(self, case: Case) -> Array:
        """The positions of a case, one for each axis where the spec has several.

        Without 64-bit types fractions are rounded here already.
        """
        p = on_each_axis(case.position_array(), self.spec, self.claim)
        if p.dtype.kind == "f" and not self.namespace.wide:
            return p.astype(np.float32).astype(np.float64)
        return p

    def call(self, surface: str, *arguments: Any) -> Any:
        """Call a surface; what it raises becomes `TargetRaised`."""
        self.last_call = arguments
        return self._guarded(self.implementation.call, surface, *arguments)

    def invoke(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a method of an object that the implementation made; otherwise as `call`."""
        self.implementation.calls += 1
        return self._guarded(method, *arguments, **named)

    def _guarded(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        changed: list[str] = []
        self._tell("call")
        try:
            with restored(changed):
                return function(*arguments, **named)
        except Unsupported as error:
            raise CheckFailure(f"raised Unsupported inside its claim: {error}") from error
        except BaseException as error:  # SystemExit too: the run goes on
            # An interrupt is the user's, unless the process is the implementation's alone.
            if isinstance(error, KeyboardInterrupt) and CheckContext.listener is None:
                raise
            raise TargetRaised(error) from error
        finally:
            self._tell("back")
            remember(self.implementation.target, changed)

    def _tell(self, message: Any) -> None:
        if CheckContext.listener is not None:
            CheckContext.listener(message)

    def native(self, x: Array, *, strided: View = False) -> Any:
        """A new array of the implementation's framework, in its order of axes.

        `strided`: as a view, as in `Case`.
        """
        host = self.to_claimed_axes(x)
        if strided in (False, "positions"):
            return self.namespace.array(host, self.device)
        axis = self.claim.axes.find("h" if x.shape[2] > 1 else "b")
        return as_view(self.namespace, host, strided, self.device, axis)

    def native_positions(self, positions: Array, *, view: bool = False) -> Any:
        """Positions as an array of the framework: 64 bits wide where it has such types."""
        if not self.namespace.wide:
            if positions.dtype.kind == "i" and (np.abs(positions) >= 2**31).any():
                raise NamespaceError("positions beyond 2**31 need 64-bit integers")
            positions = positions.astype(np.int32 if positions.dtype.kind == "i" else np.float32)
        if view:
            return as_view(self.namespace, positions, True, self.device, 0)
        return self.namespace.array(positions, self.device)

    def host(self, value: Any) -> Array:
        """What an implementation returned beside its output, as a NumPy array."""
        return self.namespace.host(value) if self.namespace.owns(value) else np.asarray(value)

    def to_claimed_axes(self, x: Array) -> Array:
        """An array ``bthd`` in the implementation's order of axes."""
        axes = self.claim.axes
        index = tuple(slice(None) if letter in axes else 0 for letter in "bthd")
        kept = [letter for letter in "bthd" if letter in axes]
        return x[index].transpose([kept.index(letter) for letter in axes])

    def from_claimed_axes(self, y: Array, shape: tuple[int, ...]) -> Array:
        """Back to ``bthd``."""
        axes = self.claim.axes
        kept = [letter for letter in "bthd" if letter in axes]
        y = y.transpose([axes.index(letter) for letter in kept])
        return y.reshape(shape)

    def cut(self, case: Case) -> Case:
        """A case with one row or one head where the claimed axes have no room for more."""
        axes = self.claim.axes
        if "b" not in axes and case.batch != 1:
            rows = case.positions[:1] if case.rows else case.positions
            case = replace(case, batch=1, positions=rows)
        return case if "h" in axes else replace(case, heads=1)

    def position_arguments(
        self,
        positions: Array,
        shape: tuple[int, ...],
        *,
        form: Form | None = None,
        view: bool = False,
    ) -> tuple[Any, ...]:
        """Positions (T,) or (B, T), with a leading axis or not, in a form that is claimed."""
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
        """The result as a NumPy array, once type, shape, dtype and device are right."""
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

    def judge(self, y: Array, x: Array, positions: Array) -> Judgement:
        """Compare with the truth, count the evidence, and return the judgement."""
        second = self.claim.second_channels
        if second is None:
            judgement = judge(y, x, positions, self.spec, self.dtype, self.profile)
            self.meter.add(judgement, self.spec)
        else:
            specs = (self.spec, second)
            *halves, judgement = judge_two_angles(y, x, positions, specs, self.dtype, self.profile)
            for half, spec in zip(halves, specs, strict=True):
                self.meter.add(half, spec)
        self.count(judgement)
        return judgement

    def count(self, judgement: Judgement) -> None:
        """Count how many samples there were and how many could tell right from wrong."""
        self.samples += judgement.ratio.size
        self.decisive += int(judgement.decisive.sum())

    def demand(self, judgement: Judgement, message: str) -> None:
        """Fail with the first bad pair if any ratio exceeds 1."""
        ratio = judgement.ratio
        bad = ~(ratio <= 1)
        if not bad.any():
            return
        # First in the order of positions, then pairs: the simplest place to look.
        where = np.argwhere(bad)
        p = np.broadcast_to(judgement.positions, ratio.shape)
        order = np.lexsort((where[:, 3], np.abs(p[bad])))
        row, token, head, pair = (int(n) for n in where[order[0]])
        first, second = pair_channels(self.spec, output=True)[:, pair]
        got, want = judgement.got[row, token, head], judgement.want[row, token, head]
        channel = int(max((first, second), key=lambda c: _difference(got[c], want[c])))
        spot = Spot(
            position=float(p[row, token, head, pair]),
            row=row,
            token=token,
            head=head,
            pair=pair,
            channel=channel,
            got=float(got[channel]),
            want=float(want[channel]),
            ratio=float(ratio[row, token, head, pair]),
            # The two channels of such a pair may well follow different axes.
            **(
                {} if self.claim.second_channels else followed(p[row, token, head], pair, self.spec)
            ),
        )
        raise CheckFailure(message, spot)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Our own arithmetic on what an implementation returned, which may be no numbers at all.

    Infinities and NaN are judged, not warned of, whatever error state the caller, or the
    implementation when it was imported, has set.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def default_profile(claim: Claim, dtype: str) -> Profile:
    """The profile claimed for a type of data, or what is taken for claimed."""
    return profile_named(claim.profile or ("float64" if dtype == "float64" else "float32"))


def _number(position: float) -> str:
    return str(int(position)) if position == int(position) else repr(position)


def _difference(got: float, want: float) -> float:
    difference = abs(got - want)
    return float(np.inf) if np.isnan(difference) else float(difference)

"""What a check raises: the implementation broke the clause, or raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rope_conformance.faults import Fault

__all__ = ["CheckFailure", "Spot", "TargetRaised"]


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
        self.seen_in: Any = None  # the CheckContext where it showed, if not that of the check
        self.spot = spot


class TargetRaised(Exception):
    """The implementation raised inside its claim."""

    def __init__(self, error: BaseException) -> None:
        text = f": {error}" if str(error) else ""
        super().__init__(f"{type(error).__name__}{text}")
        self.error = error


def _number(position: float) -> str:
    return str(int(position)) if position == int(position) else repr(position)

"""What is raised when a check fails: the implementation broke the clause, or raised itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rope_conformance.faults import Fault

__all__ = ["CheckFailure", "Spot", "TargetRaised"]


@dataclass(frozen=True)
class Spot:
    """The first bad pair of a failure.

    Parameters
    ----------
    position
        The position that the pair follows.
    row, token, head, pair, channel
        Where it is, counted from 0; the channel with the larger error.
    got, want
        The output in that channel, and the right value.
    ratio
        The error over the bound.
    axis
        Where positions have several axes: the one that the pair follows.
    place
        There too: the position on each axis; None for an axis that no pair follows.
    """

    position: float
    row: int
    token: int
    head: int
    pair: int
    channel: int
    got: float
    want: float
    ratio: float
    axis: int | None = None
    place: tuple[float | None, ...] | None = None

    def where(self, written: Callable[[float], str] | None = None) -> str:
        """Position, pair and channel in words; `written` formats a position."""
        written = written or _written
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
    """The implementation broke a clause; the message says how.

    Parameters
    ----------
    message
        What is wrong, in words.
    spot
        The first bad pair, if outputs were compared.
    fault
        The class of faults, if it is not that of the clause.

    Attributes
    ----------
    seen_in
        The `CheckContext` where it showed, if not that of the check.
    """

    def __init__(
        self, message: str, spot: Spot | None = None, *, fault: Fault | None = None
    ) -> None:
        super().__init__(message if spot is None else f"{message}: {spot}")
        self.fault = fault
        self.seen_in: Any = None
        self.spot = spot


class TargetRaised(Exception):
    """The implementation raised `error` inside its claim."""

    def __init__(self, error: BaseException) -> None:
        text = f": {error}" if str(error) else ""
        super().__init__(f"{type(error).__name__}{text}")
        self.error = error


def _written(position: float) -> str:
    return str(int(position)) if position == int(position) else repr(position)

"""Waivers: known failures that are forgiven, each for a reason and until a date.

A file of waivers is TOML::

    [[waiver]]
    clause = "frequency.phase"
    reason = "phases are made in bfloat16 until the new kernel is in"
    link = "https://example.org/issues/12"
    expires = 2027-01-31         # the last day on which it holds
    target = "my_package.*"      # optional: the name of a target, or a pattern of names
    dtype = "bfloat16"           # optional: one type of data

A waiver that holds turns a failure into the verdict ``waived``. One that expired does
nothing, and one that is no longer needed is a failure itself.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from rope_conformance.clauses import all_clauses
from rope_conformance.report.model import Report, Result
from rope_conformance.target.claim import DTYPES

__all__ = ["Waiver", "WaiverError", "Waivers", "apply_waivers", "load_waivers", "waived"]

_LARGEST = 2**20  # bytes; thousands of waivers


class WaiverError(ValueError):
    """A waiver, or a file of waivers, that cannot be understood."""


@dataclass(frozen=True)
class Waiver:
    """One known failure that is forgiven for a while.

    Parameters
    ----------
    clause
        The id of the clause.
    reason, link
        Why it is forgiven, and where the failure is tracked.
    expires
        The last day on which it holds.
    target
        The name of a target, or a pattern of names as in a shell; None stands for all.
    dtype
        A type of data; None stands for all.

    Raises
    ------
    WaiverError
        If a field has another type, or names a clause or type of data that does not exist.
    """

    clause: str
    reason: str
    link: str
    expires: date
    target: str | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        for name in ("clause", "reason", "link", "target", "dtype"):
            value = getattr(self, name)
            if value is None and name in ("target", "dtype"):
                continue
            if not isinstance(value, str) or not value.strip():
                raise WaiverError(f"{name} = {value!r}: a text expected, and not an empty one")
        if type(self.expires) is not date:  # a time of day is a subclass
            raise WaiverError(
                f"expires = {str(self.expires)!r}: a date expected, without quotes and without a "
                "time of day, as in expires = 2027-01-31"
            )
        if self.clause not in {clause.id for clause in all_clauses()}:
            raise WaiverError(
                f"there is no clause {self.clause!r}; `rope-ref list --clauses` shows all"
            )
        if self.dtype is not None and self.dtype not in DTYPES:
            raise WaiverError(
                f"dtype = {self.dtype!r} is not known; the types of data are {', '.join(DTYPES)}"
            )

    def covers(self, result: Result, target: str) -> bool:
        """Return whether it is about this result of this target, whatever the verdict."""
        return (
            self.clause == result.clause
            and self.dtype in (None, result.dtype)
            and (self.target is None or self.target == target or fnmatchcase(target, self.target))
        )


# What `load_waivers` takes.
Waivers: TypeAlias = str | os.PathLike[str] | Iterable[Waiver | Mapping[str, Any]] | None


def load_waivers(source: Waivers) -> tuple[Waiver, ...]:
    """Return the waivers of a file, or those of a list, each checked.

    Parameters
    ----------
    source
        The path of a TOML file; or waivers, or mappings with the fields of one; None: no
        waivers.

    Raises
    ------
    WaiverError
        If the file cannot be read, or a waiver cannot be understood; the message names the
        file and the number of the waiver in it.
    """
    if source is None:
        return ()
    if isinstance(source, str | os.PathLike):
        return _made(_read(Path(source)), str(source))
    return _made(source, "waivers")


def apply_waivers(report: Report, waivers: Sequence[Waiver], *, today: date | None = None) -> None:
    """Forgive the failures that waivers cover, and let a waiver that is not needed fail.

    A waiver is not needed if every result that it covers passed or was not claimed. One that
    covers no result of this run is left alone.

    Parameters
    ----------
    report
        Its results are replaced.
    waivers
        As returned by `load_waivers`.
    today
        The day of the run; that of the clock if left out.
    """
    found = report.results
    report.results = [waived(each, waivers, report.target, today=today) for each in found]
    if report.interrupted:  # a result that is missing may have needed one
        return
    for waiver in waivers:
        covered = [n for n, each in enumerate(found) if waiver.covers(each, report.target)]
        if covered and all(found[n].verdict in ("passed", "not claimed") for n in covered):
            report.results[covered[0]] = _not_needed(found[covered[0]], waiver)


def waived(
    result: Result, waivers: Iterable[Waiver], target: str, *, today: date | None = None
) -> Result:
    """Return a failure that a waiver covers as ``waived``, and any other result as it is.

    If all waivers that cover it expired, the failure stays, and its message says so.
    """
    if result.verdict not in ("failed", "error") or result.failure is None:
        return result
    covering = [each for each in waivers if each.covers(result, target)]
    if not covering:
        return result
    last = max(covering, key=lambda each: each.expires)
    if last.expires >= (today or date.today()):
        reason = f"{last.reason} ({last.link}, until {last.expires})"
        return replace(result, verdict="waived", reason=reason)
    message = f"the waiver of {last.expires} expired ({last.link}): {result.failure.message}"
    return replace(result, failure=replace(result.failure, message=message))


def _not_needed(result: Result, waiver: Waiver) -> Result:
    why = "passed" if result.verdict == "passed" else f"is not claimed, as {result.reason}"
    reason = (
        f"the waiver is no longer needed: remove it ({waiver.link}, until {waiver.expires}); the "
        f"clause {why}"
    )
    return replace(result, verdict="failed", reason=reason)


def _read(path: Path) -> Iterable[Any]:
    """The entries of a file, each still to be checked."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise WaiverError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise WaiverError(f"{path}: larger than {_LARGEST:,} bytes, which no file of waivers is")
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise WaiverError(f"{path}: no TOML: {error}") from None
    if unknown := data.keys() - {"waiver"}:
        raise WaiverError(
            f"{path}: {sorted(unknown)[0]!r} is not known; each waiver begins with [[waiver]]"
        )
    entries = data.get("waiver", [])
    if not isinstance(entries, list):
        raise WaiverError(f"{path}: each waiver begins with [[waiver]], two brackets on each side")
    return entries


def _made(entries: Iterable[Any], source: str) -> tuple[Waiver, ...]:
    """Waivers from mappings; an error names the source and the number of the entry."""
    waivers = []
    for number, entry in enumerate(entries, start=1):
        try:
            waivers.append(entry if isinstance(entry, Waiver) else _waiver(entry))
        except WaiverError as error:
            raise WaiverError(f"{source}, entry {number}: {error}") from None
    return tuple(waivers)


def _waiver(entry: Any) -> Waiver:
    if not isinstance(entry, Mapping):
        raise WaiverError(f"{entry!r} is no table with the fields of a waiver")
    known = {each.name: each.default is MISSING for each in fields(Waiver)}
    if missing := [name for name, required in known.items() if required and name not in entry]:
        raise WaiverError(f"{missing[0]} is missing; a waiver has clause, reason, link and expires")
    if unknown := sorted(str(key) for key in entry if key not in known):
        raise WaiverError(f"{unknown[0]!r} is not known; the fields are {', '.join(known)}")
    return Waiver(**entry)

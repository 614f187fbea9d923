"""From what was asked for, on a command line or of pytest, to a spec and a claim.

Only what was asked for counts: all else is what the target says of itself, then what
trying it shows, then the defaults.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.adapters import BUNDLED, installed
from rope_conformance.describing.output import open_model
from rope_conformance.describing.words import spec_on_a_line
from rope_conformance.judging.context import undisturbed
from rope_conformance.report.model import Fact
from rope_conformance.running.discovery import discover_spec, takes_rows
from rope_conformance.target import frameworks
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_ref import PowerLaw, RopeSpec

__all__ = [
    "OptionError",
    "Settled",
    "bundled_in_words",
    "claim_in_words",
    "command_line",
    "judged_as",
    "settle",
    "spec_in_words",
]

_FORMS = {
    "none": "none (always 0 to T-1)",
    "t": "(T,)",
    "bt": "(B, T)",
    "offset": "of the first token",
}


class OptionError(ValueError):
    """An option whose value cannot be used."""


@dataclass(frozen=True)
class Settled:
    """What a target is judged as, and what had to be found out for that."""

    spec: RopeSpec
    claim: Claim
    facts: tuple[Fact, ...]

    @property
    def judged_as(self) -> str:
        """The spec in words, and whether the map is declared to be no rotation."""
        return judged_as(self.spec, self.claim)


@undisturbed()
def settle(
    target: Any,
    *,
    name: str | None = None,
    layout: str | None = None,
    output_layout: str | None = None,
    head_dim: int | None = None,
    rotary_dim: int | None = None,
    rotary_start: int | None = None,
    base: float | None = None,
    direction: int | None = None,
    axes: str | None = None,
    positions: str | None = None,
    position_range: str | None = None,
    real: bool = False,
    namespace: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    profile: str | None = None,
    config: str | None = None,
    layer_type: str | None = None,
    length: int | None = None,
    trying: bool = True,
) -> Settled:
    """Return what a target is to be judged as.

    Parameters
    ----------
    target
        As for `rope_conformance.check`.
    name
        What messages call it.
    layout, output_layout, head_dim, rotary_dim, rotary_start, base, direction
        Parts of the spec; None leaves what the target's own ``spec`` says.
    axes, positions, position_range, real, namespace, dtype, device, profile
        Parts of the claim, as texts; several values are separated by commas.
    config, layer_type, length
        A model's configuration file, in place of the target's own ``spec``; which of its
        layers, and the length of text, where the RoPE depends on them.
    trying
        Whether the target may be called to find out what was not given.

    Raises
    ------
    OptionError, RopeError, NamespaceError
        If a value cannot be used.
    TargetError
        If the target is no implementation.
    """
    claim = _claim(target, axes, positions, position_range, real, dtype, profile)
    if namespace is not None:
        claim = replace(claim, namespace=namespace)
    if device is not None:
        claim = replace(claim, devices=tuple(device.split(",")))
    frameworks.namespace(claim.namespace)  # says at once if it cannot be used
    parts = {
        "layout": layout,
        "output_layout": output_layout,
        "head_dim": head_dim,
        "rotary_dim": rotary_dim,
        "rotary_start": rotary_start,
        "frequencies": None if base is None else PowerLaw(base),
        "direction": direction,
    }
    given: dict[str, Any] = {name: value for name, value in parts.items() if value is not None}
    own = getattr(target, "spec", None)
    if config is not None:
        own = open_model(config, length=length).pick(layer_type, config)
    elif layer_type is not None or length is not None:
        raise OptionError("layer_type and length choose from a config; give config beside them")
    facts: list[Fact] = []
    if isinstance(own, RopeSpec):
        spec = _changed(own, given)
    elif output_layout is not None and layout is None:
        raise OptionError("output_layout needs layout beside it: what is written, and what is read")
    else:
        spec, facts = discover_spec(target, claim, trying=trying, **given)
    try:
        implementation = Implementation(target, spec, claim, name)
    except Unsupported:  # `check` reports it
        return Settled(spec, claim, tuple(facts))
    unknown = trying and positions is None and not implementation.claims_itself
    if unknown and takes_rows(implementation):
        claim = replace(claim, position_forms=("t", "bt"))
    return Settled(spec, claim, tuple(facts))


def _changed(own: RopeSpec, given: dict[str, Any]) -> RopeSpec:
    """A target's own spec with some parts replaced; parts that follow others go along."""
    follow: dict[str, Any] = {}
    if own.output_layout == own.layout:
        follow["output_layout"] = None
    if own.rotary_start + own.rotary_dim == own.head_dim and own.pair_axes is None:
        follow["rotary_dim"] = None
    if {"layout", "head_dim", "rotary_dim", "rotary_start"} & given.keys():
        return replace(own, **(follow | given))
    return replace(own, **given)


def _claim(
    target: Any,
    axes: str | None,
    positions: str | None,
    position_range: str | None,
    real: bool,
    dtype: str | None,
    profile: str | None,
) -> Claim:
    own = getattr(target, "claim", None)
    changed: dict[str, Any] = {}
    if axes is not None:
        letters = set(axes)
        if not {"t", "d"} <= letters <= set("bthd") or len(letters) != len(axes):
            raise OptionError(
                f"axes={axes!r}: give the order of x's axes in letters, t (token) and d (channel) "
                "and where there are such axes b (batch) and h (head), for example bthd"
            )
        changed["axes"] = axes
    if positions is not None:
        changed["position_forms"] = forms = tuple(positions.split(","))
        if unknown := [form for form in forms if form not in _FORMS]:
            raise OptionError(
                f"positions={positions!r}: {unknown[0]!r} is no form; give some of "
                f"{', '.join(_FORMS)}, separated by commas"
            )
    if position_range is not None:
        changed["position_range"] = _range(position_range)
    if real:
        changed["position_kinds"] = ("integer", "real")
    if dtype is not None:
        changed["dtypes"] = dtypes = tuple(dtype.split(","))
        for each in dtypes:
            try:
                unit_roundoff(each)
            except KeyError:
                raise OptionError(
                    f"dtype={each!r} is not known; the types of data are float64, float32, "
                    "float16 and bfloat16"
                ) from None
    if profile is not None:
        try:
            profile_named(profile)
        except ValueError as error:
            raise OptionError(str(error)) from None
        changed["profile"] = profile
    return replace(own if isinstance(own, Claim) else Claim(), **changed)


def _range(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":")
    try:
        limits = int(low), int(high)
    except ValueError:
        limits = (1, 0)
    if not -(2**53) < limits[0] <= limits[1] < 2**53:
        raise OptionError(
            f"position_range={text!r}: give the smallest and the largest position, integers "
            "below 2**53 in size, for example 0:4095 or -100:100"
        )
    return limits


def command_line(target: str, given: Mapping[str, Any]) -> str:
    """Return the command that judges a target with the options given."""
    words = ["rope-ref", "check", target]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            # With "=", a value may begin with a minus.
            words.append(f"{option}={value}")
    return shlex.join(words)


def bundled_in_words(name: str) -> str:
    """A bundled implementation on a few lines: its version or what is missing, and its claim."""
    entry = BUNDLED[name]
    version, missing = installed(name)
    found = f"{entry.package} {version}" if version else missing
    adapter = entry.load()
    profile = adapter.claim.profile or "float32"
    return f"{found}. {entry.sentence}. Claims {profile}; {claim_in_words(adapter.claim)}"


def spec_in_words(spec: RopeSpec) -> str:
    """A spec on a line or two."""
    return spec_on_a_line(spec)


def judged_as(spec: RopeSpec, claim: Claim) -> str:
    """A spec in words, and whether the map is declared to be no rotation."""
    declared = ", declared to be no rotation: each pair's second channel has an angle of its own"
    return spec_in_words(spec) + (declared if claim.second_channels is not None else "")


def claim_in_words(claim: Claim) -> str:
    """A claim on a line or two, its profile apart."""
    low, high = claim.position_range
    forms = " or ".join(_FORMS[form] for form in claim.position_forms)
    kind = ", whole or fractional," if "real" in claim.position_kinds else ""
    where = "" if claim.devices == ("cpu",) else f" on {' and '.join(claim.devices)}"
    words = [
        f"{' or '.join(claim.dtypes)} data in {claim.namespace} arrays{where}",
        f"axes {claim.axes}",
        f"positions {forms}{kind} from {low:,} to {high:,}",
    ]
    also = {"empty input": claim.empty, "strided views": claim.strided}
    words += [what for what, taken in also.items() if taken]
    if claim.in_place:
        words.append("in place")
    return ", ".join(words)

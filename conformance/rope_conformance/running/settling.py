"""What a target is judged as: settled here, once, for every way in.

What is asked for counts most, then what the target says of itself, then what trying it shows,
then the defaults.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.describing.output import open_model
from rope_conformance.judging.context import undisturbed
from rope_conformance.report.model import Fact, JudgedAs
from rope_conformance.report.words import POSITION_FORMS, judged_as_in_words
from rope_conformance.running.discovery import discover_spec, takes_rows
from rope_conformance.running.settings import OptionError, TargetOptions
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import namespace
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_ref import PowerLaw, RopeSpec

__all__ = ["settle"]


@undisturbed()
def settle(
    target: Any, asked: TargetOptions, *, name: str | None = None, trying: bool = True
) -> tuple[Implementation | Unsupported, JudgedAs]:
    """Make a target for what it is to be judged as.

    Parameters
    ----------
    target
        As for `rope_conformance.check`.
    asked
        What it should be, as far as that is asked for.
    name
        What messages call it.
    trying
        Whether the target may be called to find out what was not given.

    Returns
    -------
    made
        The implementation, not called yet; or why it does not do that spec.
    judged_as

    Raises
    ------
    OptionError, RopeError, NamespaceError
        If a value cannot be used.
    TargetError
        If the target is no implementation.
    """
    claim = _claim(target, asked)
    namespace(claim.namespace)  # says at once if it cannot be used
    spec, facts = _spec(target, claim, asked, trying)
    try:
        made = Implementation(target, spec, claim, name)
        unsaid = asked.claim is None and asked.positions is None and not made.claims_itself
        if trying and unsaid and takes_rows(made):
            claim = replace(claim, position_forms=("t", "bt"))
            made = Implementation(target, spec, claim, name)
    except Unsupported as refusal:
        return refusal, _judged_as(spec, claim, facts)
    return made, _judged_as(spec, claim, facts)


def _judged_as(spec: RopeSpec, claim: Claim, facts: list[Fact]) -> JudgedAs:
    return JudgedAs(judged_as_in_words(spec, claim), claim, tuple(facts), spec)


def _spec(
    target: Any, claim: Claim, asked: TargetOptions, trying: bool
) -> tuple[RopeSpec, list[Fact]]:
    """The RoPE that a target should be, and what was found by trying."""
    parts = {
        "layout": asked.layout,
        "output_layout": asked.output_layout,
        "head_dim": asked.head_dim,
        "rotary_dim": asked.rotary_dim,
        "rotary_start": asked.rotary_start,
        "frequencies": None if asked.base is None else PowerLaw(asked.base),
        "direction": asked.direction,
    }
    given: dict[str, Any] = {name: value for name, value in parts.items() if value is not None}
    own = asked.spec or getattr(target, "spec", None)
    if asked.config is not None:
        own = open_model(asked.config, length=asked.length).pick(asked.layer_type, asked.config)
    elif asked.layer_type is not None or asked.length is not None:
        raise OptionError("layer_type and length choose from a config; give config beside them")
    if isinstance(own, RopeSpec):
        return _changed(own, given), []
    if asked.output_layout is not None and asked.layout is None:
        raise OptionError("output_layout needs layout beside it: what is written, and what is read")
    return discover_spec(target, claim, trying=trying, **given)


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


def _claim(target: Any, asked: TargetOptions) -> Claim:
    """What the target claims, with what is asked for in place of it."""
    own = asked.claim or getattr(target, "claim", None)
    changed: dict[str, Any] = {}
    if asked.axes is not None:
        letters = set(asked.axes)
        if not {"t", "d"} <= letters <= set("bthd") or len(letters) != len(asked.axes):
            raise OptionError(
                f"axes={asked.axes!r}: give the order of x's axes in letters, t (token) and "
                "d (channel) and where there are such axes b (batch) and h (head), for example bthd"
            )
        changed["axes"] = asked.axes
    if asked.positions is not None:
        changed["position_forms"] = forms = tuple(asked.positions.split(","))
        if unknown := [form for form in forms if form not in POSITION_FORMS]:
            raise OptionError(
                f"positions={asked.positions!r}: {unknown[0]!r} is no form; give some of "
                f"{', '.join(POSITION_FORMS)}, separated by commas"
            )
    if asked.position_range is not None:
        changed["position_range"] = _range(asked.position_range)
    if asked.real:
        changed["position_kinds"] = ("integer", "real")
    if asked.dtype is not None:
        changed["dtypes"] = dtypes = tuple(asked.dtype.split(","))
        for each in dtypes:
            try:
                unit_roundoff(each)
            except KeyError:
                raise OptionError(
                    f"dtype={each!r} is not known; the types of data are float64, float32, "
                    "float16 and bfloat16"
                ) from None
    if asked.namespace is not None:
        changed["namespace"] = asked.namespace
    if asked.device is not None:
        changed["devices"] = tuple(asked.device.split(","))
    if asked.profile is not None:
        try:
            profile_named(asked.profile)
        except ValueError as error:
            raise OptionError(str(error)) from None
        changed["profile"] = asked.profile
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

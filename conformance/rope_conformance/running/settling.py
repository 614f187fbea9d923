"""Settles what a target is judged as: its spec and claim, once, for every way to start a run.

Options count most, then what the target says of itself, then what trying it shows, then the
defaults.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.describing.output import open_model
from rope_conformance.judging.context import undisturbed
from rope_conformance.report.model import Fact, JudgedAs
from rope_conformance.report.words import POSITION_FORMS, judged_as_in_words
from rope_conformance.running.discovery import discover_spec, takes_rows
from rope_conformance.running.settings import OptionError, TargetOptions
from rope_conformance.target.claim import DTYPES, Claim
from rope_conformance.target.frameworks import namespace
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_ref import PowerLaw, RopeSpec

__all__ = ["own_claim", "settle"]


@undisturbed()
def settle(
    target: Any, asked: TargetOptions, *, name: str | None = None, trying: bool = True
) -> tuple[Implementation | Unsupported, JudgedAs]:
    """Settle what a target is judged as, and make it for that.

    Parameters
    ----------
    target
        As for `rope_conformance.check`.
    asked
        What it should be, as far as options say so.
    name
        What messages call it.
    trying
        Whether the target may be called to find out what was not given.

    Returns
    -------
    made
        The implementation; or its `Unsupported` with the reason why it does not do that spec.
    judged_as
        The spec and the claim, in words too, and what trying it showed.

    Raises
    ------
    OptionError, RopeError
        If an option cannot be used, or the parts of the spec do not fit.
    NamespaceError
        If the framework it claims cannot be used here.
    TargetError
        If the target is no implementation.
    """
    claim = _claim(target, asked)
    namespace(claim.namespace)  # raises at once if it cannot be used
    spec, facts = _spec(target, claim, asked, trying)
    try:
        made = Implementation(target, spec, claim, name)
        nothing_said = asked.claim is None and asked.positions is None and not made.claims_itself
        if trying and nothing_said and takes_rows(made):
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
    """The RoPE that a target should be, and what trying it showed."""
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
    """A target's own spec with some fields replaced, and with them the fields derived from them."""
    follow: dict[str, Any] = {}
    if own.output_layout == own.layout:
        follow["output_layout"] = None
    if own.rotary_start + own.rotary_dim == own.head_dim and own.pair_axes is None:
        follow["rotary_dim"] = None
    if {"layout", "head_dim", "rotary_dim", "rotary_start"} & given.keys():
        return replace(own, **(follow | given))
    return replace(own, **given)


def own_claim(target: Any, asked: TargetOptions) -> Claim:
    """Return the claim that options ask for as a whole, else the target's own or the default."""
    claim = asked.claim or getattr(target, "claim", None)
    return claim if isinstance(claim, Claim) else Claim()


def _claim(target: Any, asked: TargetOptions) -> Claim:
    """What the target claims, with those parts replaced that options ask for."""
    changed: dict[str, Any] = {}
    if asked.axes is not None:
        changed["axes"] = _axes(asked.axes)
    if asked.positions is not None:
        changed["position_forms"] = _position_forms(asked.positions)
    if asked.position_range is not None:
        changed["position_range"] = _position_range(asked.position_range)
    if asked.real:
        changed["position_kinds"] = ("integer", "real")
    if asked.dtype is not None:
        changed["dtypes"] = _dtypes(asked.dtype)
    if asked.namespace is not None:
        changed["namespace"] = asked.namespace
    if asked.device is not None:
        changed["devices"] = tuple(asked.device.split(","))
    if asked.profile is not None:
        changed["profile"] = _profile(asked.profile)
    return replace(own_claim(target, asked), **changed)


# What each option must be: returned as the claim has it, or an OptionError.


def _axes(text: str) -> str:
    letters = set(text)
    if not {"t", "d"} <= letters <= set("bthd") or len(letters) != len(text):
        raise OptionError(
            f"axes={text!r}: give the order of x's axes in letters, t (token) and "
            "d (channel) and where there are such axes b (batch) and h (head), for example bthd"
        )
    return text


def _position_forms(text: str) -> tuple[str, ...]:
    forms = tuple(text.split(","))
    if unknown := [form for form in forms if form not in POSITION_FORMS]:
        raise OptionError(
            f"positions={text!r}: {unknown[0]!r} is no form; give some of "
            f"{', '.join(POSITION_FORMS)}, separated by commas"
        )
    return forms


def _position_range(text: str) -> tuple[int, int]:
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


def _dtypes(text: str) -> tuple[str, ...]:
    dtypes = tuple(text.split(","))
    for each in dtypes:
        if each not in DTYPES:
            raise OptionError(
                f"dtype={each!r} is not known; the types of data are float64, float32, "
                "float16 and bfloat16"
            )
    return dtypes


def _profile(name: str) -> str:
    try:
        profile_named(name)
    except ValueError as error:
        raise OptionError(str(error)) from None
    return name

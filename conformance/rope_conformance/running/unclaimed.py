"""Finds by trying what a target does beyond its claim. That is reported, and no verdict."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace

from rope_conformance.accuracy.profiles import PROFILES, profile_named
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.clause import Check
from rope_conformance.judging.context import CheckContext, default_profile
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.report.model import Fact
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import NamespaceError, namespace
from rope_conformance.target.implementation import Implementation
from rope_ref import PowerLaw

__all__ = ["discover_facts"]

_SMALL = 160  # the most vectors (rows x tokens x heads) of an input that is tried for a fact


def discover_facts(
    implementation: Implementation, found: dict[str, str], checks: Iterable[Check]
) -> list[Fact]:
    """Try what is not claimed, and return what happened.

    Parameters
    ----------
    implementation
        What is under test. The calls made here are counted as its own.
    found
        What checks came across: what it is about, and what was found.
    checks
        Those of the run; what none of them judges is not tried.
    """
    surprising = ("swallowed", "rounds")
    facts = [Fact(w, text, warn=any(s in text for s in surprising)) for w, text in found.items()]
    claim = implementation.claim
    by_id = {each.name: each for each in checks}
    low, high = claim.position_range
    # Such positions are tried only where they can be handed over one by one.
    chosen = implementation.has("apply") and bool({"t", "bt"} & set(claim.position_forms))
    # What is tried, the check that judges it, the claim that opens it, and whether it is unclaimed.
    widened: list[tuple[str, str, Callable[[Claim], Claim], bool]] = [
        (
            "negative positions",
            "frequency.negative",
            lambda c: replace(c, position_range=(-high, high)),
            chosen and low >= 0,
        ),
        (
            "fractional positions",
            "frequency.real",
            lambda c: replace(c, position_kinds=("integer", "real")),
            chosen and "real" not in claim.position_kinds,
        ),
        (
            "positions (B, T)",
            "frequency.rows",
            lambda c: replace(c, position_forms=("t", "bt")),
            claim.position_forms == ("t",) and chosen and "b" in claim.axes,
        ),
        ("strided views", "data.strides", lambda c: replace(c, strided=True), not claim.strided),
        ("empty input", "data.empty", lambda c: replace(c, empty=True), not claim.empty),
    ]
    for what, id_, widen, unclaimed in widened:
        if unclaimed and id_ in by_id:
            facts.append(_tried(what, by_id[id_], implementation, widen(claim), claim.dtypes[0]))
    if "frequency.phase" in by_id:
        for dtype in ("float64", "float32", "bfloat16", "float16"):
            if dtype not in claim.dtypes:
                wide = replace(claim, dtypes=(dtype,))
                facts.append(
                    _tried(f"{dtype} data", by_id["frequency.phase"], implementation, wide, dtype)
                )
        if not implementation.is_factory:
            facts += _other_widths(implementation, by_id["frequency.phase"])
    return facts


def _tried(
    what: str, check: Check, implementation: Implementation, claim: Claim, dtype: str
) -> Fact:
    """What comes of the fixed inputs of a check under a wider claim."""
    wider = copy.copy(implementation)
    wider.claim = claim
    # No accuracy was claimed for this either: the tightest of these profiles that holds is named.
    own = default_profile(claim, dtype)
    wrong = ""
    try:
        for profile in dict.fromkeys([own, profile_named("float32"), PROFILES[-1]]):
            context = CheckContext(wider, dtype, profile)
            try:
                for case in _few(check, context):
                    check.body(context, case)
            except CheckFailure as error:
                wrong = wrong or str(error)
                continue
            return Fact(what, "taken, and right" + (f" to {profile.name}" if wrong else ""))
    except TargetRaised as error:
        return Fact(what, f"not taken: raises {error}")
    except NamespaceError as error:
        return Fact(what, f"not tried: {error}")
    finally:
        implementation.calls = wider.calls
    return Fact(what, f"taken without complaint, but {wrong}", warn=True)


def _few(check: Check, context: CheckContext) -> list[Case]:
    """The smaller fixed inputs; where each new shape is a compilation, the furthest of them."""
    inputs = [case for case in check.fixed_inputs(context) if isinstance(case, Case)]
    small = [case for case in inputs if case.batch * case.tokens * case.heads <= _SMALL]
    if not context.namespace.fixed_shapes:
        return small
    return [max(small, key=lambda case: max((abs(p) for p in case.flat()), default=0))]


def _other_widths(implementation: Implementation, check: Check) -> list[Fact]:
    """At which other values of head_dim a callable is right, wrong, or refuses."""
    spec = implementation.spec
    fixed = not isinstance(spec.frequencies, PowerLaw) or spec.pair_axes is not None
    fixed = fixed or implementation.claim.second_channels is not None
    if spec.rotary_dim != spec.head_dim or fixed:
        return []
    right: list[int] = []
    wrong: list[int] = []
    refused: list[int] = []
    few = namespace(implementation.claim.namespace).fixed_shapes
    for width in (6, 48, 64, 80, 96, 128):
        # Where each new width is a compilation, one that it takes is enough.
        if width == spec.head_dim or (few and (right or wrong)):
            continue
        other = implementation.remade(replace(spec, head_dim=width, rotary_dim=width))
        context = CheckContext(other, implementation.claim.dtypes[0])
        try:
            for case in _few(check, context):
                check.body(context, case)
            right.append(width)
        except TargetRaised:
            refused.append(width)
        except CheckFailure:
            wrong.append(width)
        implementation.calls += other.calls
    parts = [
        f"{word} at {', '.join(map(str, widths))}"
        for word, widths in (("right", right), ("wrong", wrong), ("not taken", refused))
        if widths
    ]
    return [Fact("other widths", "; ".join(parts), warn=bool(wrong))]

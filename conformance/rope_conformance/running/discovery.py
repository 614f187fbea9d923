"""What a target takes beyond, or instead of, what it claims: found by trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.profiles import PROFILES, profile_named
from rope_conformance.describing.words import layout_in_words
from rope_conformance.identification.conventions import read_map
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.rows import row_cases
from rope_conformance.judging.clause import Check
from rope_conformance.judging.context import CheckContext, default_profile
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import probe_position
from rope_conformance.report.model import Fact
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import NamespaceError, namespace
from rope_conformance.target.implementation import Implementation, TargetError, Unsupported
from rope_ref import PowerLaw, RopeSpec
from rope_ref.errors import RopeError
from rope_ref.spec import Layout

__all__ = ["discover_facts", "discover_spec", "takes_rows"]

_SMALL = 160  # vectors of an input that is tried for a mere fact
WIDTHS = (128, 64, 256, 96, 80, 48, 32, 16, 8, 6, 4, 2)


def discover_spec(
    target: Any,
    claim: Claim,
    *,
    layout: str | None = None,
    head_dim: int | None = None,
    trying: bool = True,
    **rest: Any,
) -> tuple[RopeSpec, list[Fact]]:
    """Return the spec to judge a target by, and what had to be found for it.

    Parameters
    ----------
    target, claim
        What is under test.
    layout, head_dim
        As in `RopeSpec`; found if None.
    trying
        Whether the target may be called to find them; else it is the first of the widths,
        and half.
    rest
        The other parts of the spec.
    """
    facts: list[Fact] = []
    if head_dim is None:
        head_dim, reason = _width(target, claim, layout, rest) if trying else (WIDTHS[0], "")
        if head_dim != WIDTHS[0]:
            facts.append(Fact("head_dim", f"{head_dim}: at {WIDTHS[0]} it {reason}"))
    if layout is not None:
        return RopeSpec(head_dim, layout=layout, **rest), facts  # type: ignore[arg-type]
    spec = RopeSpec(head_dim, layout="half", **rest)
    found = _layouts(target, claim, spec) if trying else []
    if not found:
        facts.append(Fact("layout", "could not be read; judged as half", warn=True))
        return spec, facts
    read, written = found[0]
    spec = replace(spec, layout=read, output_layout=written)
    words = layout_in_words(read, spec)
    odd = written != read
    if odd:
        words += (
            f", written {layout_in_words(written, spec)}: pairs come out in another layout than "
            "they went in; judged as if that were meant, if it is not it is a fault"
        )
    return spec, [*facts, Fact("layout", words, warn=odd)]


def _layouts(target: Any, claim: Claim, spec: RopeSpec) -> list[tuple[Layout, Layout]]:
    """The layouts read and written that fit what a target does; none if that cannot be told."""
    try:
        context = CheckContext(Implementation(target, spec, claim), claim.dtypes[0])
        position = probe_position(context)
        return read_map(context, position).layouts(spec, position) if position else []
    except (CheckFailure, TargetRaised, TargetError, Unsupported):
        return []


def _width(target: Any, claim: Claim, layout: str | None, rest: dict[str, Any]) -> tuple[int, str]:
    """The first width that the target takes, and why not the first tried."""
    reason = ""
    for width in WIDTHS:
        try:
            spec = RopeSpec(width, layout=layout or "half", **rest)  # type: ignore[arg-type]
            context = CheckContext(Implementation(target, spec, claim), claim.dtypes[0])
            case = Case(1, 1, 1, (probe_position(context),))
            context.arrays.apply(context.x(case), context.positions(case))
        except RopeError:
            continue
        except (TargetRaised, Unsupported) as error:
            reason = reason or str(error)
        except CheckFailure:  # it takes the width, and is wrong
            return width, reason
        else:
            return width, reason
    return WIDTHS[0], ""


def takes_rows(implementation: Implementation) -> bool:
    """Whether a plain callable returns something of the right shape for positions (B, T).

    If so it answers for them: nobody who calls it could know that the numbers are wrong. It
    is asked in each shape that rows are judged in; one that is refused is a refusal.
    """
    if "b" not in implementation.claim.axes or "t" not in implementation.claim.position_forms:
        return False
    context = CheckContext(implementation, implementation.claim.dtypes[0])
    widened = replace(implementation.claim, position_forms=("t", "bt"))
    cases = {
        (each.batch, each.tokens): each for each in row_cases(context.claim) if each.inside(widened)
    }
    try:
        for case in cases.values():
            context.arrays.apply(context.x(case), context.positions(case))
    except (CheckFailure, TargetRaised):
        return False
    return bool(cases)


def discover_facts(
    implementation: Implementation, found: dict[str, str], checks: Iterable[Check]
) -> list[Fact]:
    """Try what is not claimed, and say what happened."""
    surprising = ("swallowed", "rounds")
    facts = [Fact(w, text, warn=any(s in text for s in surprising)) for w, text in found.items()]
    claim = implementation.claim
    by_id = {each.name: each for each in checks}
    low, high = claim.position_range
    # Only what can be handed over is tried.
    apart = implementation.has("apply") and bool({"t", "bt"} & set(claim.position_forms))
    contexts: list[tuple[str, str, Callable[[Claim], Claim], bool]] = [
        (
            "negative positions",
            "frequency.negative",
            lambda c: replace(c, position_range=(-high, high)),
            apart and low >= 0,
        ),
        (
            "fractional positions",
            "frequency.real",
            lambda c: replace(c, position_kinds=("integer", "real")),
            apart and "real" not in claim.position_kinds,
        ),
        (
            "positions (B, T)",
            "frequency.rows",
            lambda c: replace(c, position_forms=("t", "bt")),
            claim.position_forms == ("t",) and apart and "b" in claim.axes,
        ),
        ("strided views", "data.strides", lambda c: replace(c, strided=True), not claim.strided),
        ("empty input", "data.empty", lambda c: replace(c, empty=True), not claim.empty),
    ]
    for what, id_, widen, unclaimed in contexts:
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
    what: str, each: Check, implementation: Implementation, claim: Claim, dtype: str
) -> Fact:
    """Run the fixed inputs of a check under a wider claim."""
    wider = Implementation.__new__(Implementation)
    wider.__dict__.update(implementation.__dict__)
    wider.claim = claim
    # What was not claimed was claimed to no accuracy either: the tightest that it keeps is told.
    own = default_profile(claim, dtype)
    wrong = ""
    try:
        for profile in dict.fromkeys([own, profile_named("float32"), PROFILES[-1]]):
            context = CheckContext(wider, dtype, profile)
            try:
                for case in _few(each, context):
                    each.body(context, case)
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


def _few(each: Check, context: CheckContext) -> list[Case]:
    """The smaller fixed inputs; where a new shape is a compilation, the furthest of them."""
    inputs = [case for case in each.fixed_inputs(context) if isinstance(case, Case)]
    small = [case for case in inputs if case.batch * case.tokens * case.heads <= _SMALL]
    if not context.namespace.fixed_shapes:
        return small
    return [max(small, key=lambda case: max((abs(p) for p in case.flat()), default=0))]


def _other_widths(implementation: Implementation, each: Check) -> list[Fact]:
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
        # Where each new width is a compilation, the first that is taken will do.
        if width == spec.head_dim or (few and (right or wrong)):
            continue
        other = implementation.remade(replace(spec, head_dim=width, rotary_dim=width))
        context = CheckContext(other, implementation.claim.dtypes[0])
        try:
            for case in _few(each, context):
                each.body(context, case)
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

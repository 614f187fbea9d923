"""Specs and claims in words, a line or two each."""

from __future__ import annotations

from rope_conformance.describing.description import rule_in_words
from rope_conformance.identification.conventions import layout_in_words
from rope_conformance.target.claim import Claim
from rope_ref import PowerLaw, RopeSpec

__all__ = ["POSITION_FORMS", "claim_in_words", "judged_as_in_words", "spec_in_words"]

POSITION_FORMS = {
    "none": "none (always 0 to T-1)",
    "t": "(T,)",
    "bt": "(B, T)",
    "offset": "of the first token",
}


def spec_in_words(spec: RopeSpec) -> str:
    """A spec on a line or two."""
    words = [f"{spec.head_dim} channels"]
    if spec.rotary_dim != spec.head_dim:
        last = spec.rotary_start + spec.rotary_dim - 1
        words.append(f"of which {spec.rotary_start} to {last} rotate")
    words.append(layout_in_words(spec.layout, spec))
    if spec.output_layout != spec.layout:
        words.append(f"written {layout_in_words(spec.output_layout, spec)}")
    if isinstance(spec.frequencies, PowerLaw):
        words.append(f"base {spec.frequencies.base:.12g}")
    else:
        words += rule_in_words(spec.frequencies, spec.rotary_dim)
    if spec.direction == -1:
        words.append("clockwise")
    return ", ".join(words)


def judged_as_in_words(spec: RopeSpec, claim: Claim) -> str:
    """Return a spec in words, and that the map is declared to be no rotation if it is."""
    declared = ", declared to be no rotation: each pair's second channel has an angle of its own"
    return spec_in_words(spec) + (declared if claim.second_channels is not None else "")


def claim_in_words(claim: Claim) -> str:
    """Return a claim on a line or two, without its profile."""
    low, high = claim.position_range
    forms = " or ".join(POSITION_FORMS[form] for form in claim.position_forms)
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

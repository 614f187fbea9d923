"""Claims in words, and what a target is judged as."""

from __future__ import annotations

from rope_conformance.describing.words import spec_on_a_line
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec

__all__ = ["POSITION_FORMS", "claim_in_words", "judged_as_in_words"]

POSITION_FORMS = {
    "none": "none (always 0 to T-1)",
    "t": "(T,)",
    "bt": "(B, T)",
    "offset": "of the first token",
}


def judged_as_in_words(spec: RopeSpec, claim: Claim) -> str:
    """Return a spec in words, and that the map is declared to be no rotation if it is."""
    declared = ", declared to be no rotation: each pair's second channel has an angle of its own"
    return spec_on_a_line(spec) + (declared if claim.second_channels is not None else "")


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

"""The same RoPE with something more in it: an amplitude, channels that do not rotate.

As a spec, and as a context of the same target made for it, or a string that says why there is
none. A target that does not rotate by such a spec gets no context: other clauses judge that.
"""

from __future__ import annotations

from dataclasses import replace

from rope_conformance.clauses._openers import made_anew
from rope_conformance.inputs.spec_variants import for_width
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import numeric_fixed
from rope_conformance.judging.questions import within_bound
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError, Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import ExplicitFrequencies, RopeSpec

__all__ = [
    "OTHER_AMPLITUDE",
    "amplified",
    "half_rotated",
    "narrowed",
    "reason",
    "unamplified",
    "with_amplitude",
]

OTHER_AMPLITUDE = 1.25  # exact in every type, as is its square


def with_amplitude(spec: RopeSpec, amplitude: float) -> RopeSpec:
    """The same frequencies with an amplitude, where there is none yet."""
    if spec.frequencies.amplitude != 1:
        return spec
    return replace(spec, frequencies=ExplicitFrequencies(spec.theta(), amplitude=amplitude))


def narrowed(spec: RopeSpec) -> RopeSpec | None:
    """The same RoPE on half of the channels, rounded down to pairs; None if it has no such."""
    width = spec.rotary_dim // 4 * 2
    if not width or base_below(spec.frequencies) is None or spec.pair_axes is not None:
        return None
    return replace(spec, rotary_dim=width, frequencies=for_width(spec.frequencies, width))


def amplified(context: CheckContext) -> CheckContext | str:
    """With an amplitude that is not 1."""
    spec = with_amplitude(context.spec, OTHER_AMPLITUDE)
    return _made(context, spec, f"with the amplitude {OTHER_AMPLITUDE}")


def unamplified(context: CheckContext) -> CheckContext | str:
    """With the amplitude 1."""
    spec = context.spec
    if spec.frequencies.amplitude != 1:
        spec = replace(spec, frequencies=ExplicitFrequencies(spec.theta()))
    return _made(context, spec, "without an amplitude")


def half_rotated(context: CheckContext) -> CheckContext | str:
    """With channels that do not rotate."""
    whole = context.spec.rotary_dim == context.spec.head_dim
    spec = narrowed(context.spec) if whole else context.spec
    if spec is None:
        return "every channel rotates"
    return _made(context, spec, "with channels that do not rotate")


def reason(made: CheckContext | str) -> str | None:
    """Why there is none."""
    return made if isinstance(made, str) else None


def _made(context: CheckContext, spec: RopeSpec, words: str) -> CheckContext | str:
    if spec == context.spec:
        made = context.beside(context.implementation)
    elif lacking := made_anew(context):
        return lacking
    else:
        try:
            made = context.anew(spec)
        except (Unsupported, TargetError) as error:
            return f"{words}: {error}"
    case = next(c for c in numeric_fixed(made) if c.values == "normal")
    x, positions = made.x(case), made.positions(case)
    try:
        y = made.arrays.apply(x, positions)
    except (CheckFailure, TargetRaised, NamespaceError) as error:
        return f"{words}: {error}"
    right = within_bound(made, y, x, positions)
    return made if right else f"{words} it does not rotate as it should"

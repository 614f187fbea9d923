"""The same target made for a spec with something more in it: an amplitude, channels that stay.

What comes back is a context of it, or a string that says why there is none. One that does
not rotate as the other spec does is none: that is the affair of other clauses.
"""

from __future__ import annotations

from dataclasses import replace

from rope_conformance.accuracy.residual import judge
from rope_conformance.inputs.spec_variants import for_width
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.probes import numeric_fixed
from rope_conformance.target.frameworks import NamespaceError
from rope_conformance.target.implementation import TargetError, Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import ExplicitFrequencies, RopeSpec

OTHER_AMPLITUDE = 1.25  # exact in every type, and so is its square


def amplified(context: CheckContext) -> CheckContext | str:
    """With an amplitude that is not 1."""
    spec = context.spec
    if spec.frequencies.amplitude == 1:
        spec = replace(
            spec, frequencies=ExplicitFrequencies(spec.theta(), amplitude=OTHER_AMPLITUDE)
        )
    return _made(context, spec, f"with the amplitude {OTHER_AMPLITUDE}")


def unamplified(context: CheckContext) -> CheckContext | str:
    """With the amplitude 1."""
    spec = context.spec
    if spec.frequencies.amplitude != 1:
        spec = replace(spec, frequencies=ExplicitFrequencies(spec.theta()))
    return _made(context, spec, "without an amplitude")


def half_rotated(context: CheckContext) -> CheckContext | str:
    """With channels that do not rotate."""
    spec = context.spec
    if spec.rotary_dim == spec.head_dim:
        fixed = base_below(spec.frequencies) is None or spec.pair_axes is not None
        if spec.head_dim < 4 or fixed:
            return "every channel rotates"
        width = spec.head_dim // 4 * 2
        spec = replace(spec, rotary_dim=width, frequencies=for_width(spec.frequencies, width))
    return _made(context, spec, "with channels that do not rotate")


def reason(made: CheckContext | str) -> str | None:
    """Why there is none."""
    return made if isinstance(made, str) else None


def _made(context: CheckContext, spec: RopeSpec, words: str) -> CheckContext | str:
    if spec == context.spec:
        made = context.beside(context.implementation)
    elif not context.implementation.is_factory:
        return "a plain callable is judged for one spec; a factory is made for several"
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
    ratio = judge(y, x, positions, made.spec, made.dtype, made.profile).ratio
    return made if (ratio <= 1).all() else f"{words} it does not rotate as it should"

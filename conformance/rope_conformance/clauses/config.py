"""Reading a model's config: every key is heeded or refused, in whichever of its forms.

``from_config(mapping)`` returns an implementation for the config of a model of the
claimed pair layout. A config that it does not know it may refuse, by any exception; one
that it takes it must read rightly. It is told neither the type of a layer nor the length of a
text.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from typing import Any

from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.configs import (
    ModelConfig,
    key_configs,
    name_configs,
    plain_configs,
    wrong_configs,
)
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.judging.questions import is_right
from rope_conformance.target.implementation import Implementation, TargetError
from rope_conformance.target.rule_parts import has_length
from rope_ref import RopeSpec, spec_from_hf_config
from rope_ref.errors import ConfigError


def _no_layout_of_its_own(context: CheckContext) -> str | None:
    spec = context.spec
    if spec.output_layout != spec.layout or spec.direction != 1 or spec.pair_axes is not None:
        return "the configs at hand are of models with one layout, one axis and direction 1"
    return None


@clause(
    id="config.plain",
    sentence=(
        "A config without scaling gives its base and the width of its heads; what it leaves out "
        "has the model's default. To read a config changes nothing that was there before."
    ),
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.models.hf_config:read_hf_config",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
    fixed=lambda context: plain_configs(context.spec.layout),
    minimum=4,
)
def plain(context: CheckContext, case: ModelConfig) -> None:
    """Read configs without scaling; those of whole heads must not be refused.

    Reading must change neither the object that is asked nor the config.
    """
    at = _case(context, 5000)
    before = _is_itself(context, at)
    _read(context, case, must=not case.about)
    if before and not _is_itself(context, at):
        raise CheckFailure(
            "from_config changed the object it was called on: it rotated by its own spec before, "
            "and no longer does",
            fault="cache",
        )


@clause(
    id="config.keys",
    sentence=(
        "Every key about RoPE is heeded, or the config is refused; none is dropped in silence."
    ),
    formula=r"\frac{\partial \theta_i}{\partial \text{key}} \ne 0 \text{ for some } i",
    reference="rope_ref.models.hf_scaling:Scaling",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
    fixed=lambda context: key_configs(context.spec.layout),
    minimum=10,
)
def keys(context: CheckContext, case: ModelConfig) -> None:
    """Change one key after another; the RoPE must follow, or the config be refused."""
    _read(context, case)


@clause(
    id="config.names",
    sentence="The same RoPE written with the old and with the new names of keys is the same RoPE.",
    formula=r"\theta_i(\text{old}) = \theta_i(\text{new})",
    reference="rope_ref.models.hf_config:read_hf_config",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
    fixed=lambda context: name_configs(context.spec.layout),
    minimum=5,
)
def names(context: CheckContext, case: ModelConfig) -> None:
    """Write the same scaling with other names of keys, and leave out what has a default."""
    _read(context, case)


@clause(
    id="config.refused",
    sentence=(
        "A config with an unknown scaling, an unknown key in it, a missing one, or a value that "
        "no scaling can have is refused."
    ),
    formula=r"s > 0, \quad \text{kind} \in \{\text{default}, \text{linear}, \dots\}",
    reference="rope_ref.models.hf_scaling:Scaling",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
    fixed=lambda context: wrong_configs(context.spec.layout),
    minimum=10,
)
def refused(context: CheckContext, case: ModelConfig) -> None:
    """Hand over configs that are meaningless, or mean different things to different systems."""
    try:
        made = context.arrays.call("config", case.mapping())
    except (TargetRaised, CheckFailure):  # Unsupported is a refusal too
        return
    without = case.spec_unheeded()
    if without is None:
        raise CheckFailure(f"from_config took a config with {case.about}; it must be refused")
    if _fault(context, made, without) is None:
        raise CheckFailure(
            f"from_config took a config with {case.about} and dropped that key in silence; it "
            "must be heeded, or the config refused"
        )
    context.evidence.notes.append(
        f"a config with {case.about} is taken, and the key heeded; systems differ in what it "
        "means, so how is not judged"
    )


def _read(context: CheckContext, case: ModelConfig, *, must: bool = False) -> None:
    """Have a config read, rotate, and compare."""
    mapping, spec = case.mapping(), case.spec()
    try:
        made = context.arrays.call("config", mapping)
    except (TargetRaised, CheckFailure) as refusal:
        if must:
            raise
        words = case.about or "a config"
        context.evidence.notes.append(f"a config with {words} is refused: {refusal}")
        return
    _demand_same_meaning(mapping, spec)
    fault = _fault(context, made, spec)
    if fault is None:
        if case.then:
            _read_again(context, case)
        return
    mistaken = case.spec_unheeded()
    if mistaken is not None and _fault(context, made, mistaken) is None:
        raise CheckFailure(f"{case.mistake()}; the config means {_words(spec)}")
    about = f" (the key in question: {case.about})" if case.about else ""
    raise CheckFailure(
        f"the config means {_words(spec)}{about}, but what from_config returned for it "
        f"{_does(fault)}"
    )


def _words(spec: RopeSpec) -> str:
    rule = re.sub(r"(, [\d.]+){4,}", ", ...", repr(spec.frequencies))  # the beginning of long lists
    return f"head_dim={spec.head_dim}, rotary_dim={spec.rotary_dim}, {rule}"


def _does(fault: Exception) -> str:
    if isinstance(fault, CheckFailure) and fault.spot is not None:
        return f"turns otherwise, at {fault.spot}"
    return f"raises {fault}" if isinstance(fault, TargetRaised) else f"is no such RoPE: {fault}"


def _case(context: CheckContext, largest: int) -> Case:
    """Some tokens near 0 and some as far as is asked for."""
    largest = min(context.claim.position_range[1], largest)
    case = context.cut(Case(1, 6, 1, (0, 1, 2, 3, largest // 2, largest)))
    return case if case.inside(context.claim) else context.cut(Case(1, 6, 1, range(6)))


def _fault(context: CheckContext, made: Any, spec: RopeSpec) -> Exception | None:
    """The failure that shows that an object is not the RoPE of a spec; None if it is.

    Where the frequencies depend on the length of the text, a call beyond the trained length may be
    rotated by those of its own length or by those of the trained one: `from_config` is told no
    length.
    """
    rule = spec.frequencies
    if not has_length(rule):
        return _fault_at(context, made, spec, _case(context, 5000))
    trained = int(rule.original_length)  # type: ignore[attr-defined]
    longer = _case(context, 2 * trained - 1)
    fault = _fault_at(context, made, spec, _case(context, trained - 1))
    if fault is not None or _fault_at(context, made, spec, longer) is None:
        return fault
    length = int(longer.position_array().max()) + 1
    at = replace(spec, frequencies=rule.at(length))  # type: ignore[attr-defined]
    return _fault_at(context, made, at, longer)


def _fault_at(context: CheckContext, made: Any, spec: RopeSpec, case: Case) -> Exception | None:
    try:
        other = context.beside(Implementation(made, spec, context.claim))
        x, positions = other.x(case), other.positions(case)
        other.demand(other.judge(other.arrays.apply(x, positions), x, positions), "")
    except (TargetError, TargetRaised, CheckFailure) as fault:
        return fault
    context.absorb(other)
    return None


def _demand_same_meaning(mapping: dict[str, Any], spec: RopeSpec) -> None:
    """Fail where reading changed what the caller's mapping means."""
    try:
        same = spec_from_hf_config(mapping) == spec
    except ConfigError:
        same = False
    if not same:
        raise CheckFailure(
            "from_config changed the mapping it was given: it means another RoPE after it was read"
        )


def _is_itself(context: CheckContext, case: Case) -> bool:
    """Whether the object under test rotates by its own spec."""
    return is_right(context.beside(context.implementation), case)


def _read_again(context: CheckContext, case: ModelConfig) -> None:
    """Change the mapping that was read, and read it again; what came first must not follow."""
    mapping, spec = case.mapping(), case.spec()
    first = context.arrays.call("config", mapping)
    mapping.update(json.loads(case.then))
    if _fault(context, first, spec) is not None:
        raise CheckFailure(
            "what was read changed when the caller changed the mapping afterwards",
            fault="aliasing",
        )
    with contextlib.suppress(TargetRaised, CheckFailure):  # it may be refused
        context.arrays.call("config", mapping)
    if _fault(context, first, spec) is not None:
        raise CheckFailure(
            "what was read first changed when a second config was read",
            fault="cache",
        )

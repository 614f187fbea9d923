"""A model's config, read: every key heeded or refused, whatever way it is written.

``from_config(mapping)`` returns an implementation for the config of a model of the
claimed pair layout. What it does not know it may refuse, by any exception; what it takes
it must read rightly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rope_conformance.accuracy import judge
from rope_conformance.configs import ModelConfig, config
from rope_conformance.implementation import Implementation, TargetError
from rope_conformance.inputs import Case
from rope_conformance.registry import Clause
from rope_conformance.trial import CheckFailure, TargetRaised, Trial
from rope_ref import RopeSpec


def _no_layout_of_its_own(trial: Trial) -> str | None:
    spec = trial.spec
    if spec.output_layout != spec.layout or spec.direction != 1 or spec.pair_axes is not None:
        return "the configs at hand are of models with one layout, one axis and direction 1"
    return None


PLAIN = Clause(
    id="config.plain",
    sentence=(
        "A config without scaling gives its base and the width of its heads; what it leaves out "
        "has the model's default."
    ),
    formula=r"\theta_i = b^{-2i/R}",
    reference="rope_ref.model_config:read_hf_config",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
)

KEYS = Clause(
    id="config.keys",
    sentence=(
        "Every key about RoPE is heeded, or the config is refused; none is dropped in silence."
    ),
    formula=r"\frac{\partial \theta_i}{\partial \text{key}} \ne 0 \text{ for some } i",
    reference="rope_ref.config_rules:Scaling",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
)

NAMES = Clause(
    id="config.names",
    sentence="The same RoPE written with the old and with the new names of keys is the same RoPE.",
    formula=r"\theta_i(\text{old}) = \theta_i(\text{new})",
    reference="rope_ref.model_config:read_hf_config",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
)

REFUSED = Clause(
    id="config.refused",
    sentence=(
        "A config with an unknown scaling, an unknown key in it, a missing one, or a value that "
        "no scaling can have is refused."
    ),
    formula=r"s > 0, \quad \text{kind} \in \{\text{default}, \text{linear}, \dots\}",
    reference="rope_ref.config_rules:Scaling",
    fault="config",
    surface="config",
    opened_by=_no_layout_of_its_own,
)

_MODEL: dict[str, Any] = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
}
_LINEAR = {"rope_type": "linear", "factor": 8.0}
_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
_LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0 + i / 32 for i in range(32)],
    "long_factor": [1.0 + i for i in range(32)],
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
}
# Of each scaling, a key and another value for it, chosen so that it shows.
_CHANGES: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (_LINEAR, "factor", 3.0),
    (_LLAMA3, "factor", 32.0),
    (_LLAMA3, "low_freq_factor", 2.0),
    (_LLAMA3, "high_freq_factor", 16.0),
    (_LLAMA3, "original_max_position_embeddings", 2048),
    (_YARN, "factor", 16.0),
    (_YARN, "original_max_position_embeddings", 4096),
    (_YARN, "beta_fast", 8.0),
    (_YARN, "beta_slow", 4.0),
    (_YARN, "truncate", False),
    (_YARN, "attention_factor", 1.0),
    (_LONGROPE, "short_factor", [2.0 - i / 64 for i in range(32)]),
    (_LONGROPE, "attention_factor", 1.5),
)


def _model(trial: Trial, **keys: Any) -> dict[str, Any]:
    """A model whose pairs are laid out as those of the claimed spec."""
    kind = "llama" if trial.spec.layout == "half" else "cohere"
    return {"model_type": kind, **_MODEL, **keys}


def _without(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != key}


def _plain(trial: Trial) -> list[ModelConfig]:
    plain = _model(trial)
    narrow = _model(trial, head_dim=32)
    return [
        config(plain),
        config(_model(trial, rope_theta=10_000.0)),
        config(_model(trial, rope_theta=1_000_000), "rope_theta", _without(plain, "rope_theta")),
        config(_without(plain, "rope_theta")),
        config(narrow, "head_dim", plain),
        config(_model(trial, hidden_size=512)),
        config(_model(trial, rope_scaling=None)),
    ]


def _keys(trial: Trial) -> list[ModelConfig]:
    found = []
    for scaling, key, value in _CHANGES:
        changed = _model(trial, rope_scaling=scaling | {key: value})
        found.append(config(changed, f"rope_scaling[{key!r}]", _model(trial, rope_scaling=scaling)))
    for scaling in (_LINEAR, _LLAMA3, _YARN, _LONGROPE):
        found.append(config(_model(trial, rope_scaling=scaling), "rope_scaling", _model(trial)))
    weights = _YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}
    found.append(
        config(_model(trial, rope_scaling=weights), "rope_scaling['mscale_all_dim']",
               _model(trial, rope_scaling=_YARN))
    )  # fmt: skip
    if trial.spec.layout == "half":
        whole = _model(trial) | {"model_type": "phi"}
        part = whole | {"partial_rotary_factor": 0.5}
        quarter = whole | {"partial_rotary_factor": 0.25}
        found.append(config(quarter, "partial_rotary_factor", part))
    return found


def _names(trial: Trial) -> list[ModelConfig]:
    found = []
    for scaling in (_LINEAR, _LLAMA3, _YARN):
        old = {"type": scaling["rope_type"], **_without(scaling, "rope_type")}
        found.append(config(_model(trial, rope_scaling=old), "rope_scaling['type']", _model(trial)))
        inside = scaling | {"rope_theta": 500_000.0}
        new = _without(_model(trial, rope_parameters=inside), "rope_theta")
        found.append(
            config(new, "rope_parameters", _without(_model(trial), "rope_theta"))
        )  # fmt: skip
    inside = {"rope_type": "default", "rope_theta": 1_000_000.0}
    new = _without(_model(trial, rope_parameters=inside), "rope_theta")
    found.append(
        config(new, "rope_parameters['rope_theta']", _without(_model(trial), "rope_theta"))
    )
    length = "original_max_position_embeddings"
    shorter = _model(trial, max_position_embeddings=8192)
    found.append(config(shorter | {"rope_scaling": _without(_YARN, length)}))
    return found


def _wrong(trial: Trial) -> list[ModelConfig]:
    scalings: list[tuple[str, Any]] = [
        ("rope_scaling['rope_type']='yaarn'", _YARN | {"rope_type": "yaarn"}),
        ("rope_scaling['rope_type']='spiral'", {"rope_type": "spiral", "factor": 2.0}),
        ("rope_scaling['beta_fats']", _YARN | {"beta_fats": 16.0}),
        ("rope_scaling['low_frequency_factor']", _LLAMA3 | {"low_frequency_factor": 2.0}),
        ("rope_scaling['factor'] left out", _without(_LINEAR, "factor")),
        ("rope_scaling['low_freq_factor'] left out", _without(_LLAMA3, "low_freq_factor")),
        ("rope_scaling['factor']=0", _LINEAR | {"factor": 0.0}),
        ("rope_scaling['factor']=-2", _YARN | {"factor": -2.0}),
        ("rope_scaling['factor']='4'", _LINEAR | {"factor": "4"}),
        ("rope_scaling['factor']=NaN", _LINEAR | {"factor": float("nan")}),
        ("rope_scaling=4.0", 4.0),
        ("rope_scaling['long_factor'] too short", _LONGROPE | {"long_factor": [1.0] * 31}),
    ]
    found = [config(_model(trial, rope_scaling=scaling), about) for about, scaling in scalings]
    found.append(config(_model(trial, rope_theta=0), "rope_theta=0"))
    found.append(config(_model(trial, rope_theta=-10_000.0), "rope_theta=-10000"))
    if trial.spec.layout == "half":
        odd = _model(trial, partial_rotary_factor=0.33) | {"model_type": "phi"}
        found.append(config(odd, "21 channels of 64 that rotate, by partial_rotary_factor=0.33"))
    return found


@PLAIN.check(
    fixed=_plain,
    kills=["config_base_ignored", "config_head_dim_derived", "config_other_default_base"],
    minimum=4,
)
def plain(trial: Trial, case: ModelConfig) -> None:
    """Read configs without scaling; those of whole heads must not be refused."""
    _read(trial, case, must=not case.about)


@KEYS.check(
    fixed=_keys,
    kills=[
        "config_scaling_ignored",
        "config_truncate_ignored",
        "config_attention_factor_ignored",
        "config_betas_fixed",
        "config_mscale_ignored",
        "config_longest_for_original",
        "config_partial_ignored",
        "config_factor_from_lengths",
    ],
    minimum=10,
)
def keys(trial: Trial, case: ModelConfig) -> None:
    """Change one key after the other; what is read must follow, or be refused."""
    _read(trial, case)


@NAMES.check(
    fixed=_names,
    kills=["config_old_type_ignored", "config_parameters_ignored", "config_original_fixed"],
    minimum=5,
)
def names(trial: Trial, case: ModelConfig) -> None:
    """Write the same scaling with other names of keys, and leave out what has a default."""
    _read(trial, case)


@REFUSED.check(
    fixed=_wrong,
    kills=[
        "config_unknown_type_is_plain",
        "config_unknown_keys_dropped",
        "config_values_taken",
        "config_odd_width_taken",
    ],
    minimum=10,
)
def refused(trial: Trial, case: ModelConfig) -> None:
    """Hand over configs that mean nothing."""
    try:
        trial.call("config", case.mapping())
    except TargetRaised:
        return
    except CheckFailure:  # Unsupported: a refusal too
        return
    raise CheckFailure(f"from_config took a config with {case.about}; it must be refused")


def _read(trial: Trial, case: ModelConfig, *, must: bool = False) -> None:
    """Have a config read, rotate, and compare."""
    try:
        made = trial.call("config", case.mapping())
    except (TargetRaised, CheckFailure) as refusal:
        if must:
            raise
        words = case.about or "a config"
        trial.notes.append(f"a config with {words} is refused: {refusal}")
        return
    spec = case.spec()
    if _is(trial, made, spec):
        return
    unheeded = case.spec_unheeded()
    if unheeded is not None and _is(trial, made, unheeded):
        raise CheckFailure(f"{case.about} is not heeded: the RoPE is that of a config without it")
    raise CheckFailure(_words(case, spec))


def _words(case: ModelConfig, spec: RopeSpec) -> str:
    about = f" ({case.about} is what differs from the usual)" if case.about else ""
    return (
        f"the RoPE is not the one of the config{about}: head_dim={spec.head_dim}, "
        f"rotary_dim={spec.rotary_dim}, {spec.frequencies}"
    )


def _is(trial: Trial, made: Any, spec: RopeSpec) -> bool:
    """Whether what was made rotates by a spec."""
    try:
        other = trial.beside(Implementation(made, spec, trial.claim))
        largest = min(trial.claim.position_range[1], 5000)
        case = trial.cut(Case(1, 6, 1, (0, 1, 2, 3, largest // 2, largest)))
        if not case.inside(trial.claim):
            case = trial.cut(Case(1, 6, 1, range(6)))
        x, positions = other.x(case), other.positions(case)
        y = other.apply(x, positions)
    except (TargetError, TargetRaised, CheckFailure):
        return False
    trial.absorb(other)
    found = judge(y, x, positions, spec, trial.dtype, trial.profile)
    return bool(found.ratio.max() <= 1)

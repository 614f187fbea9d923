"""Readers of a model's config that drop, mistake or take what they should not."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.honest.scaled import amplitude_of, rotated, theta_of
from rope_conformance.zoo.member import control, wrong
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import DynamicNTK, FrequencyRule, Linear, Llama3, LongRoPE, YaRN

Config = dict[str, Any]

_LENGTH = "original_max_position_embeddings"
_KEYS = {
    "default": set[str](),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor", _LENGTH},
    "yarn": {
        *("factor", "beta_fast", "beta_slow", "truncate", "attention_factor"),
        *("mscale", "mscale_all_dim", _LENGTH),
    },
    "longrope": {"factor", "short_factor", "long_factor", "attention_factor", _LENGTH},
}
_EVERY = {"type", "rope_type", "rope_theta", "partial_rotary_factor"}
# Of each model type: its base, the part of a head that rotates, and the names of the two keys.
_USUAL = ("rope_theta", "partial_rotary_factor")
_TYPES: dict[str, tuple[float, float, tuple[str, str]]] = {
    "llama": (10_000.0, 1.0, _USUAL),
    "cohere": (500_000.0, 1.0, _USUAL),
    "phi": (10_000.0, 0.5, _USUAL),
    "glm": (10_000.0, 0.5, _USUAL),
    "gpt_neox": (10_000.0, 0.25, ("rotary_emb_base", "rotary_pct")),
}


class _Reader:
    """A RoPE that can be made from a config. What can be misread is a method of its own."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.theta = theta_of(spec.frequencies, spec.rotary_dim, np.float64)
        self.amplitude = amplitude_of(spec.frequencies, np.float64)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return rotated(x, positions, self.spec, self.theta, self.amplitude)

    def from_config(self, config: Config) -> _Reader:
        scaling = dict(self.scaling(config))
        kind = self.kind(scaling)
        self.look(kind, scaling)
        width = self.width(config)
        rule = self.rule(kind, PowerLaw(self.base(config, scaling)), scaling, config)
        rotary = self.rotating(width, self.part(config, scaling))
        return type(self)(
            RopeSpec(width, layout=self.spec.layout, rotary_dim=rotary, frequencies=rule)
        )

    def scaling(self, config: Config) -> Config:
        found: Config = config.get("rope_parameters") or config.get("rope_scaling") or {}
        return found

    def kind(self, scaling: Config) -> str:
        return str(scaling.get("rope_type") or scaling.get("type") or "default")

    def look(self, kind: str, scaling: Config) -> None:
        if kind not in _KEYS:
            raise ValueError(f"no scaling {kind}")
        unknown = set(scaling) - _KEYS[kind] - _EVERY
        if unknown:
            raise ValueError(f"no keys {unknown}")

    def width(self, config: Config) -> int:
        derived = config["hidden_size"] // config["num_attention_heads"]
        return int(config.get("head_dim") or derived)

    def part(self, config: Config, scaling: Config) -> float:
        _, usual, (_, key) = _TYPES[config["model_type"]]
        outside: float = config.get(key, usual)
        return float(scaling.get("partial_rotary_factor", outside))

    def rotating(self, width: int, part: float) -> int:
        return int(width * part)

    def default_base(self, config: Config) -> float:
        return _TYPES[config["model_type"]][0]

    def base(self, config: Config, scaling: Config) -> Any:
        _, _, (key, _) = _TYPES[config["model_type"]]
        given = scaling.get("rope_theta", config.get(key))
        return self.default_base(config) if given is None else given

    def original(self, config: Config, scaling: Config) -> Any:
        return scaling.get(_LENGTH, config["max_position_embeddings"])

    def rule(self, kind: str, plain: PowerLaw, scaling: Config, config: Config) -> FrequencyRule:
        length = self.original(config, scaling)
        if kind == "linear":
            return Linear(plain, factor=scaling["factor"])
        if kind == "dynamic":
            longest = config["max_position_embeddings"]
            return DynamicNTK(plain, factor=scaling["factor"], original_length=longest)
        if kind == "llama3":
            return Llama3(
                plain,
                factor=scaling["factor"],
                low_freq_factor=scaling["low_freq_factor"],
                high_freq_factor=scaling["high_freq_factor"],
                original_length=length,
            )
        if kind == "yarn":
            return self.yarn(plain, scaling, length)
        if kind == "longrope":
            return LongRoPE(
                plain,
                short_factors=scaling["short_factor"],
                long_factors=scaling["long_factor"],
                factor=scaling["factor"],
                original_length=length,
                attention_factor=scaling.get("attention_factor"),
            )
        return plain

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return YaRN(
            plain,
            factor=scaling["factor"],
            original_length=length,
            beta_fast=scaling.get("beta_fast", 32),
            beta_slow=scaling.get("beta_slow", 1),
            truncate=scaling.get("truncate", True),
            attention_factor=scaling.get("attention_factor"),
            mscale=scaling.get("mscale"),
            mscale_all_dim=scaling.get("mscale_all_dim"),
        )


@control(position_forms=("t", "bt"))
class config_read(_Reader):  # noqa: N801
    """Reads all it knows, and refuses the rest."""


@wrong(fault="config", clause="config.plain")
class config_base_ignored(_Reader):  # noqa: N801
    """The base is 10000, whatever the config says."""

    def base(self, config: Config, scaling: Config) -> Any:
        return 10_000.0


@wrong(fault="config", clause="config.plain")
class config_other_default_base(_Reader):  # noqa: N801
    """Where the config says nothing, the base is that of another model."""

    def default_base(self, config: Config) -> float:
        return 1_000_000.0


@wrong(fault="config", clause="config.plain")
class config_head_dim_derived(_Reader):  # noqa: N801
    """The width of a head is hidden_size over heads, though the config gives another."""

    def width(self, config: Config) -> int:
        return int(config["hidden_size"] // config["num_attention_heads"])


@wrong(fault="config", clause="config.plain")
class config_base_wraps(_Reader):  # noqa: N801
    """The base is kept as thousandths in 32 bits, so large ones wrap."""

    def base(self, config: Config, scaling: Config) -> Any:
        base = super().base(config, scaling)
        return base if base <= 0 else (int(base * 1000) % 2**32) / 1000


@wrong(fault="config", clause="config.names")
class config_part_inside_ignored(_Reader):  # noqa: N801
    """partial_rotary_factor counts at the top alone, not inside rope_parameters."""

    def part(self, config: Config, scaling: Config) -> float:
        return super().part(config, {})


@wrong(fault="config", clause="config.keys")
class config_partial_ignored(_Reader):  # noqa: N801
    """All channels rotate, whatever partial_rotary_factor says."""

    def part(self, config: Config, scaling: Config) -> float:
        return 1.0


@wrong(fault="config", clause="config.refused")
class config_odd_width_taken(_Reader):  # noqa: N801
    """Where an odd number of channels should rotate, one fewer does."""

    def rotating(self, width: int, part: float) -> int:
        return int(width * part) // 2 * 2


@wrong(fault="config", clause="config.keys")
class config_scaling_ignored(_Reader):  # noqa: N801
    """The scaling is looked at and not used."""

    def rule(self, kind: str, plain: PowerLaw, scaling: Config, config: Config) -> FrequencyRule:
        super().rule(kind, plain, scaling, config)
        return plain


@wrong(fault="config", clause="config.keys")
class config_truncate_ignored(_Reader):  # noqa: N801
    """The ends of YaRN's ramp are rounded, though the config says that they are not."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"truncate": True}, length)


@wrong(fault="config", clause="config.keys")
class config_attention_factor_ignored(_Reader):  # noqa: N801
    """The amplitude follows from the factor, though the config gives one."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        scaling.pop("attention_factor", None)


@wrong(fault="config", clause="config.keys")
class config_betas_fixed(_Reader):  # noqa: N801
    """YaRN's ramp goes from 32 turns to 1, whatever the config says."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"beta_fast": 32, "beta_slow": 1}, length)


@wrong(fault="config", clause="config.keys")
class config_betas_exchanged(_Reader):  # noqa: N801
    """Where both ends of YaRN's ramp are given, each is taken for the other."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        if {"beta_fast", "beta_slow"} <= set(scaling):
            fast, slow = scaling["beta_slow"], scaling["beta_fast"]
            scaling = scaling | {"beta_fast": fast, "beta_slow": slow}
        return super().yarn(plain, scaling, length)


@wrong(fault="config", clause="config.keys")
class config_mscale_ignored(_Reader):  # noqa: N801
    """mscale and mscale_all_dim are known and not used."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"mscale": None, "mscale_all_dim": None}, length)


@wrong(fault="config", clause="config.keys")
class config_longest_for_original(_Reader):  # noqa: N801
    """The original length is taken from max_position_embeddings, the longest now."""

    def original(self, config: Config, scaling: Config) -> Any:
        return config["max_position_embeddings"]


@wrong(fault="config", clause="config.names")
class config_original_fixed(_Reader):  # noqa: N801
    """An original length that is left out is 4096, not max_position_embeddings."""

    def original(self, config: Config, scaling: Config) -> Any:
        return scaling.get(_LENGTH, 4096)


@wrong(fault="config", clause="config.keys")
class config_factor_from_lengths(_Reader):  # noqa: N801
    """The factor is the ratio of the two lengths, though the config gives one."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        if _LENGTH in scaling and "factor" in scaling:
            scaling["factor"] = 131_072 / scaling[_LENGTH]


@wrong(fault="config", clause="config.names")
class config_old_type_ignored(_Reader):  # noqa: N801
    """The kind of scaling is read from rope_type alone; the older name is not known."""

    def kind(self, scaling: Config) -> str:
        return str(scaling.get("rope_type") or "default")

    def look(self, kind: str, scaling: Config) -> None:
        super().look(str(scaling.get("type") or kind), scaling)


@wrong(fault="config", clause="config.names")
class config_parameters_ignored(_Reader):  # noqa: N801
    """rope_parameters, the newer name, is not known and dropped."""

    def scaling(self, config: Config) -> Config:
        return config.get("rope_scaling") or {}


@wrong(fault="config", clause="config.refused")
class config_unknown_type_is_plain(_Reader):  # noqa: N801
    """A scaling that is not known is taken for none."""

    def kind(self, scaling: Config) -> str:
        kind = super().kind(scaling)
        return kind if kind in _KEYS else "default"

    def look(self, kind: str, scaling: Config) -> None:
        if kind != "default":
            super().look(kind, scaling)


@wrong(fault="config", clause="config.refused")
class config_unknown_keys_dropped(_Reader):  # noqa: N801
    """Keys that are not known are dropped in silence."""

    def look(self, kind: str, scaling: Config) -> None:
        known = _KEYS.get(kind, set()) | _EVERY
        super().look(kind, {key: value for key, value in scaling.items() if key in known})


@wrong(fault="config", clause="config.refused")
class config_attn_factor_dropped(_Reader):  # noqa: N801
    """Of the keys that are not known one, attn_factor, is dropped in silence."""

    def look(self, kind: str, scaling: Config) -> None:
        scaling.pop("attn_factor", None)
        super().look(kind, scaling)


@wrong(fault="cache", clause="config.plain")
class config_read_into_itself(_Reader):  # noqa: N801
    """The object that is asked to read a config becomes what it reads."""

    def from_config(self, config: Config) -> _Reader:
        vars(self).update(vars(super().from_config(config)))
        return self


@wrong(fault="cache", clause="config.plain")
class config_base_kept_for_all(_Reader):  # noqa: N801
    """The frequencies that were read last are those of every object of their width."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.read: dict[int, Array] = {}

    def from_config(self, config: Config) -> _Reader:
        made = super().from_config(config)
        assert isinstance(made, config_base_kept_for_all)
        made.read = self.read
        self.read[len(made.theta)] = made.theta
        return made

    def apply_rope(self, x: Array, positions: Array) -> Array:
        theta = self.read.get(len(self.theta), self.theta)
        return rotated(x, positions, self.spec, theta, self.amplitude)


@wrong(fault="config", clause="config.refused")
class config_values_taken(_Reader):  # noqa: N801
    """A factor that makes no sense is replaced by 1."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        factor = scaling.get("factor", 1)
        if isinstance(factor, str) or not factor > 0:
            scaling["factor"] = 1.0

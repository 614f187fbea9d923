"""Readers of a model's config that drop, mistake or take what they should not."""

from __future__ import annotations

from typing import Any

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.member import wrong
from rope_conformance.zoo.parts.configs import (
    KEYS_OF_ALL,
    KNOWN_KEYS,
    ORIGINAL_LENGTH,
    Config,
    Reader,
)
from rope_conformance.zoo.parts.scaling_formulas import rotated
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import FrequencyRule, YaRN


@wrong(fault="config", clause="config.plain")
class config_base_ignored(Reader):  # noqa: N801
    """The base is 10000, whatever the config says."""

    def base(self, config: Config, scaling: Config) -> Any:
        return 10_000.0


@wrong(fault="config", clause="config.plain")
class config_other_default_base(Reader):  # noqa: N801
    """Where the config says nothing, the base is that of another model."""

    def default_base(self, config: Config) -> float:
        return 1_000_000.0


@wrong(fault="config", clause="config.plain")
class config_head_dim_derived(Reader):  # noqa: N801
    """The width of a head is hidden_size over heads, though the config gives another."""

    def width(self, config: Config) -> int:
        return int(config["hidden_size"] // config["num_attention_heads"])


@wrong(fault="config", clause="config.plain")
class config_base_wraps(Reader):  # noqa: N801
    """The base is kept as thousandths in 32 bits, so large ones wrap."""

    def base(self, config: Config, scaling: Config) -> Any:
        base = super().base(config, scaling)
        return base if base <= 0 else (int(base * 1000) % 2**32) / 1000


@wrong(fault="config", clause="config.names")
class config_part_inside_ignored(Reader):  # noqa: N801
    """partial_rotary_factor counts at the top alone, not inside rope_parameters."""

    def part(self, config: Config, scaling: Config) -> float:
        return super().part(config, {})


@wrong(fault="config", clause="config.keys")
class config_partial_ignored(Reader):  # noqa: N801
    """All channels rotate, whatever partial_rotary_factor says."""

    def part(self, config: Config, scaling: Config) -> float:
        return 1.0


@wrong(fault="config", clause="config.refused")
class config_odd_width_taken(Reader):  # noqa: N801
    """Where an odd number of channels should rotate, one fewer does."""

    def rotating(self, width: int, part: float) -> int:
        return int(width * part) // 2 * 2


@wrong(fault="config", clause="config.keys")
class config_scaling_ignored(Reader):  # noqa: N801
    """The scaling is looked at and not used."""

    def rule(self, kind: str, plain: PowerLaw, scaling: Config, config: Config) -> FrequencyRule:
        super().rule(kind, plain, scaling, config)
        return plain


@wrong(fault="config", clause="config.keys")
class config_truncate_ignored(Reader):  # noqa: N801
    """The ends of YaRN's ramp are rounded, though the config says that they are not."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"truncate": True}, length)


@wrong(fault="config", clause="config.keys")
class config_attention_factor_ignored(Reader):  # noqa: N801
    """The amplitude follows from the factor, though the config gives one."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        scaling.pop("attention_factor", None)


@wrong(fault="config", clause="config.keys")
class config_betas_fixed(Reader):  # noqa: N801
    """YaRN's ramp goes from 32 turns to 1, whatever the config says."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"beta_fast": 32, "beta_slow": 1}, length)


@wrong(fault="config", clause="config.keys")
class config_betas_exchanged(Reader):  # noqa: N801
    """Where both ends of YaRN's ramp are given, each is taken for the other."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        if {"beta_fast", "beta_slow"} <= set(scaling):
            fast, slow = scaling["beta_slow"], scaling["beta_fast"]
            scaling = scaling | {"beta_fast": fast, "beta_slow": slow}
        return super().yarn(plain, scaling, length)


@wrong(fault="config", clause="config.keys")
class config_mscale_ignored(Reader):  # noqa: N801
    """mscale and mscale_all_dim are known and not used."""

    def yarn(self, plain: PowerLaw, scaling: Config, length: Any) -> YaRN:
        return super().yarn(plain, scaling | {"mscale": None, "mscale_all_dim": None}, length)


@wrong(fault="config", clause="config.keys")
class config_longest_for_original(Reader):  # noqa: N801
    """The original length is taken from max_position_embeddings, the longest now."""

    def original(self, config: Config, scaling: Config) -> Any:
        return config["max_position_embeddings"]


@wrong(fault="config", clause="config.names")
class config_original_fixed(Reader):  # noqa: N801
    """An original length that is left out is 4096, not max_position_embeddings."""

    def original(self, config: Config, scaling: Config) -> Any:
        return scaling.get(ORIGINAL_LENGTH, 4096)


@wrong(fault="config", clause="config.keys")
class config_factor_from_lengths(Reader):  # noqa: N801
    """The factor is the ratio of the two lengths, though the config gives one."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        if ORIGINAL_LENGTH in scaling and "factor" in scaling:
            scaling["factor"] = 131_072 / scaling[ORIGINAL_LENGTH]


@wrong(fault="config", clause="config.names")
class config_old_type_ignored(Reader):  # noqa: N801
    """The kind of scaling is read from rope_type alone; the older name is not known."""

    def kind(self, scaling: Config) -> str:
        return str(scaling.get("rope_type") or "default")

    def look(self, kind: str, scaling: Config) -> None:
        super().look(str(scaling.get("type") or kind), scaling)


@wrong(fault="config", clause="config.names")
class config_parameters_ignored(Reader):  # noqa: N801
    """rope_parameters, the newer name, is not known and dropped."""

    def scaling(self, config: Config) -> Config:
        return config.get("rope_scaling") or {}


@wrong(fault="config", clause="config.refused")
class config_unknown_type_is_plain(Reader):  # noqa: N801
    """A scaling that is not known is taken for none."""

    def kind(self, scaling: Config) -> str:
        kind = super().kind(scaling)
        return kind if kind in KNOWN_KEYS else "default"

    def look(self, kind: str, scaling: Config) -> None:
        if kind != "default":
            super().look(kind, scaling)


@wrong(fault="config", clause="config.refused")
class config_unknown_keys_dropped(Reader):  # noqa: N801
    """Keys that are not known are dropped in silence."""

    def look(self, kind: str, scaling: Config) -> None:
        known = KNOWN_KEYS.get(kind, set()) | KEYS_OF_ALL
        super().look(kind, {key: value for key, value in scaling.items() if key in known})


@wrong(fault="config", clause="config.refused")
class config_attn_factor_dropped(Reader):  # noqa: N801
    """Of the keys that are not known one, attn_factor, is dropped in silence."""

    def look(self, kind: str, scaling: Config) -> None:
        scaling.pop("attn_factor", None)
        super().look(kind, scaling)


@wrong(fault="cache", clause="config.plain")
class config_read_into_itself(Reader):  # noqa: N801
    """The object that is asked to read a config becomes what it reads."""

    def from_config(self, config: Config) -> Reader:
        vars(self).update(vars(super().from_config(config)))
        return self


@wrong(fault="cache", clause="config.plain")
class config_base_kept_for_all(Reader):  # noqa: N801
    """The frequencies that were read last are those of every object of their width."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        self.read: dict[int, Array] = {}

    def from_config(self, config: Config) -> Reader:
        made = super().from_config(config)
        assert isinstance(made, config_base_kept_for_all)
        made.read = self.read
        self.read[len(made.theta)] = made.theta
        return made

    def apply_rope(self, x: Array, positions: Array) -> Array:
        theta = self.read.get(len(self.theta), self.theta)
        return rotated(x, positions, self.spec, theta, self.amplitude)


@wrong(fault="config", clause="config.refused")
class config_values_taken(Reader):  # noqa: N801
    """A factor that makes no sense is replaced by 1."""

    def look(self, kind: str, scaling: Config) -> None:
        super().look(kind, scaling)
        factor = scaling.get("factor", 1)
        if isinstance(factor, str) or not factor > 0:
            scaling["factor"] = 1.0

"""An object that reads a model's config; what can be misread is a method of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_conformance.target.frameworks import Array
from rope_conformance.zoo.parts.scaling_formulas import amplitude_of, rotated, theta_of
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import DynamicNTK, FrequencyRule, Linear, Llama3, LongRoPE, YaRN

Config = dict[str, Any]


ORIGINAL_LENGTH = "original_max_position_embeddings"
KNOWN_KEYS = {
    "default": set[str](),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor", ORIGINAL_LENGTH},
    "yarn": {
        *("factor", "beta_fast", "beta_slow", "truncate", "attention_factor"),
        *("mscale", "mscale_all_dim", ORIGINAL_LENGTH),
    },
    "longrope": {"factor", "short_factor", "long_factor", "attention_factor", ORIGINAL_LENGTH},
}
KEYS_OF_ALL = {"type", "rope_type", "rope_theta", "partial_rotary_factor"}
# Of each model type: its base, the part of a head that rotates, and the names of the two keys.
_USUAL = ("rope_theta", "partial_rotary_factor")
_TYPES: dict[str, tuple[float, float, tuple[str, str]]] = {
    "llama": (10_000.0, 1.0, _USUAL),
    "cohere": (500_000.0, 1.0, _USUAL),
    "phi": (10_000.0, 0.5, _USUAL),
    "glm": (10_000.0, 0.5, _USUAL),
    "gpt_neox": (10_000.0, 0.25, ("rotary_emb_base", "rotary_pct")),
}


class Reader:
    """A RoPE that can be made from a config."""

    def __init__(self, spec: RopeSpec) -> None:
        self.spec = spec
        self.theta = theta_of(spec.frequencies, spec.rotary_dim, np.float64)
        self.amplitude = amplitude_of(spec.frequencies, np.float64)

    def apply_rope(self, x: Array, positions: Array) -> Array:
        return rotated(x, positions, self.spec, self.theta, self.amplitude)

    def from_config(self, config: Config) -> Reader:
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
        if kind not in KNOWN_KEYS:
            raise ValueError(f"no scaling {kind}")
        unknown = set(scaling) - KNOWN_KEYS[kind] - KEYS_OF_ALL
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
        return scaling.get(ORIGINAL_LENGTH, config["max_position_embeddings"])

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

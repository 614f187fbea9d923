"""Model configurations that an implementation is given to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rope_conformance.inputs.cases import Input
from rope_conformance.target.claim import Claim
from rope_ref import RopeSpec, spec_from_hf_config

__all__ = [
    "ModelConfig",
    "config",
    "key_configs",
    "name_configs",
    "plain_configs",
    "wrong_configs",
]

Config = dict[str, Any]


@dataclass(frozen=True)
class ModelConfig(Input):
    """One call of ``from_config``.

    Parameters
    ----------
    text
        The config as JSON.
    about
        The key in question; empty where it is the config as a whole.
    unheeded
        A config, as JSON, whose RoPE an implementation has that mistakes the key.
    told
        That mistake in words; empty where the key is ignored.
    then
        Keys, as JSON, that the mapping gets afterwards, before it is read a second time.
    """

    text: str
    about: str = ""
    unheeded: str = ""
    told: str = ""
    then: str = ""

    def inside(self, claim: Claim) -> bool:
        """Always: a config has neither positions nor data."""
        return True

    def size(self) -> tuple[Any, ...]:
        """The shorter the smaller."""
        return (len(self.text),)

    def mapping(self) -> Config:
        """The config, made anew."""
        found = json.loads(self.text)
        assert isinstance(found, dict)
        return found

    def spec(self) -> RopeSpec:
        """The RoPE it describes."""
        return spec_from_hf_config(self.mapping())

    def spec_unheeded(self) -> RopeSpec | None:
        """The RoPE of an implementation that mistakes the key, where that is known."""
        return spec_from_hf_config(json.loads(self.unheeded)) if self.unheeded else None

    def mistake(self) -> str:
        """The mistake, in words, of an implementation whose RoPE is `spec_unheeded`."""
        return self.told or f"{self.about} is not heeded: the RoPE is that of a config without it"


def config(
    content: Mapping[str, Any],
    about: str = "",
    unheeded: Mapping[str, Any] | None = None,
    told: str = "",
    then: Mapping[str, Any] | None = None,
) -> ModelConfig:
    """Return the input for a config given as a mapping."""
    return ModelConfig(
        json.dumps(content),
        about,
        "" if unheeded is None else json.dumps(unheeded),
        told,
        "" if then is None else json.dumps(then),
    )


_MODEL: Config = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
}
_ORIGINAL = "original_max_position_embeddings"
_LINEAR: Config = {"rope_type": "linear", "factor": 8.0}
_DYNAMIC: Config = {"rope_type": "dynamic", "factor": 4.0}
_LLAMA3: Config = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    _ORIGINAL: 8192,
}
_YARN: Config = {"rope_type": "yarn", "factor": 4.0, _ORIGINAL: 32_768}
_LONGROPE: Config = {
    "rope_type": "longrope",
    "short_factor": [1.0 + i / 32 for i in range(32)],
    "long_factor": [1.0 + i for i in range(32)],
    "factor": 32.0,
    _ORIGINAL: 4096,
}
# Of each scaling, a key and another value for it, chosen so that it shows.
_CHANGES: tuple[tuple[Config, str, Any], ...] = (
    (_LINEAR, "factor", 3.0),
    (_LLAMA3, "factor", 32.0),
    (_LLAMA3, "low_freq_factor", 2.0),
    (_LLAMA3, "high_freq_factor", 16.0),
    (_LLAMA3, _ORIGINAL, 2048),
    (_YARN, "factor", 16.0),
    (_YARN, _ORIGINAL, 4096),
    (_YARN, "beta_fast", 8.0),
    (_YARN, "beta_slow", 4.0),
    (_YARN, "truncate", False),
    (_YARN, "attention_factor", 1.0),
    (_LONGROPE, "short_factor", [2.0 - i / 64 for i in range(32)]),
    (_LONGROPE, "attention_factor", 1.5),
)
# Factors that are no whole numbers, some of one next to one.
_FRACTIONS = ((_LINEAR, 2.5), (_LLAMA3, 2.5), (_YARN, 1.5))
# Keys that some systems know and others drop. What they mean is not the same everywhere.
_KNOWN_TO_SOME = (
    (_YARN, "attn_factor", 1.5),
    (_YARN, "extrapolation_factor", 0.5),
    (_DYNAMIC, "alpha", 1000.0),
)


def _model(layout: str, **keys: Any) -> Config:
    """A model whose pairs are laid out so."""
    return {"model_type": "llama" if layout == "half" else "cohere", **_MODEL, **keys}


def _partial(layout: str, **keys: Any) -> Config:
    """A model of which a half of each head rotates, if its config does not say."""
    kind = "phi" if layout == "half" else "glm"
    return {"model_type": kind, "head_dim": 64, **_MODEL, **keys}


def _without(content: Mapping[str, Any], key: str) -> Config:
    return {name: value for name, value in content.items() if name != key}


def _key(name: str) -> str:
    return f"rope_scaling[{name!r}]"


def plain_configs(layout: str) -> list[ModelConfig]:
    """Configs without scaling."""
    plain = _model(layout)
    unsaid = _without(plain, "rope_theta")
    bases = [
        config(_model(layout, rope_theta=base), f"rope_theta={base}", unsaid)
        for base in (1_000_000, 50_000_000.0, 123_456, 12_345.6)
    ]
    wrapped = 10_000_000_000 % 2**32 / 1000
    grouped = _model(layout, num_key_value_heads=2)
    return [
        config(plain),
        config(_model(layout, rope_theta=10_000.0)),
        config(
            _model(layout, rope_theta=10_000_000.0),
            "rope_theta=10000000.0",
            _model(layout, rope_theta=wrapped),
            "the base is kept as thousandths in 32 bits, in which 10000000 has no room",
        ),
        *bases,
        config(unsaid),
        config(_model(layout, head_dim=32), "head_dim", plain),
        config(_model(layout, hidden_size=512)),
        config(_model(layout, hidden_size=320), "heads of 80 channels"),
        config(_model(layout, hidden_size=384), "heads of 96 channels"),
        config(
            grouped,
            "num_key_value_heads",
            grouped | {"head_dim": 128},
            "the width of a head is hidden_size over num_key_value_heads, not over "
            "num_attention_heads",
        ),
        config(_model(layout, rope_scaling=None)),
        config(plain, then={"rope_theta": 10_000.0}),
    ]


def key_configs(layout: str) -> list[ModelConfig]:
    """Configs that differ from a usual one in one key of their scaling."""
    found = []
    for scaling, key, value in _CHANGES:
        given = "..." if isinstance(value, list) else repr(value)
        usual = "another list" if isinstance(value, list) else repr(scaling.get(key))
        which = f"with {usual}" if key in scaling else "without it"
        found.append(
            config(
                _model(layout, rope_scaling=scaling | {key: value}),
                f"{_key(key)}={given}",
                _model(layout, rope_scaling=scaling),
                f"{_key(key)}={given} is not heeded: the RoPE is that of a config {which}",
            )
        )
    for scaling in (_LINEAR, _LLAMA3, _YARN, _LONGROPE):
        found.append(
            config(_model(layout, rope_scaling=scaling), "rope_scaling", _model(layout))
        )  # fmt: skip
    for scaling, factor in _FRACTIONS:
        found.append(
            config(
                _model(layout, rope_scaling=scaling | {"factor": factor}),
                f"{_key('factor')}={factor}",
                _model(layout, rope_scaling=scaling | {"factor": float(int(factor))}),
                f"of {_key('factor')}={factor} the fraction is dropped",
            )
        )
    found += [
        *_several_keys(layout),
        config(
            _partial(layout, partial_rotary_factor=0.25),
            "partial_rotary_factor=0.25",
            _partial(layout),
            "partial_rotary_factor=0.25 is not heeded: half of each head rotates",
        ),
        # Its trained length is max_position_embeddings.
        config(
            _model(layout, rope_scaling=_DYNAMIC, max_position_embeddings=2048),
            "rope_scaling",
            _model(layout, rope_scaling=_DYNAMIC | {"rope_type": "linear"}),
            "dynamic scaling is read as linear: positions are divided whatever the length",
        ),
        config(
            _model(layout, rope_scaling=_LONGROPE),
            "rope_scaling",
            then={"rope_scaling": _LONGROPE | {"short_factor": [2.0] * 32, _ORIGINAL: 2048}},
        ),
    ]
    return found


def _several_keys(layout: str) -> list[ModelConfig]:
    """Configs in which keys of a scaling stand beside each other that could be confused."""
    usual = _model(layout, rope_scaling=_YARN)
    betas = _YARN | {"beta_fast": 16.0, "beta_slow": 2.0}
    exchanged = _YARN | {"beta_fast": 2.0, "beta_slow": 16.0}
    # As in gpt-oss, where what is given for the two betas is the usual.
    whole = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": False, "factor": 32.0}
    weights = _YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}
    by_lengths = _without(_LONGROPE, "factor")
    return [
        config(
            _model(layout, rope_scaling=betas),
            "rope_scaling with beta_fast=16 and beta_slow=2",
            _model(layout, rope_scaling=exchanged),
            "beta_fast and beta_slow are exchanged",
        ),
        config(
            _model(layout, rope_scaling=_YARN | whole),
            "rope_scaling with beta_fast, beta_slow and truncate",
            _model(layout, rope_scaling=_YARN | whole | {"truncate": True}),
            "rope_scaling['truncate'] is not heeded",
        ),
        config(_model(layout, rope_scaling=weights), _key("mscale_all_dim"), usual),
        config(
            _model(layout, rope_scaling=_LONGROPE | {"factor": 8.0}),
            f"{_key('factor')}=8.0",
            _model(layout, rope_scaling=by_lengths),
            "rope_scaling['factor'] is not heeded: the amplitude is that of the quotient of the "
            "two lengths",
        ),
    ]


def name_configs(layout: str) -> list[ModelConfig]:
    """The same RoPE by old names of keys and by new ones."""
    found = []
    bare = _without(_model(layout), "rope_theta")
    for scaling in (_LINEAR, _LLAMA3, _YARN):
        old = {"type": scaling["rope_type"], **_without(scaling, "rope_type")}
        found.append(config(_model(layout, rope_scaling=old), _key("type"), _model(layout)))
        inside = scaling | {"rope_theta": 500_000.0}
        found.append(config(bare | {"rope_parameters": inside}, "rope_parameters", bare))
    inside = {"rope_type": "default", "rope_theta": 1_000_000.0}
    about = "rope_parameters['rope_theta']"
    found.append(config(bare | {"rope_parameters": inside}, about, bare))
    shorter = _model(layout, max_position_embeddings=8192)
    found.append(config(shorter | {"rope_scaling": _without(_YARN, _ORIGINAL)}))
    about = "rope_parameters['partial_rotary_factor']"
    part = _without(_partial(layout), "rope_theta")
    for scaling in ({}, _LINEAR):
        inside = {"rope_type": "default", **scaling, "rope_theta": 1_000_000.0}
        quarter = inside | {"partial_rotary_factor": 0.25}
        found.append(
            config(
                part | {"rope_parameters": quarter},
                about,
                part | {"rope_parameters": inside},
                f"{about}=0.25 is not heeded: half of each head rotates",
            )
        )
    if layout == "half":
        named = {"rotary_emb_base": 123_456, "rotary_pct": 0.5}
        neox = {**bare, "model_type": "gpt_neox", **named}
        found.append(config(neox, "the keys rotary_pct and rotary_emb_base of gpt_neox", bare))
    return found


def wrong_configs(layout: str) -> list[ModelConfig]:
    """Configs to be refused."""
    scalings: list[tuple[str, Any]] = [
        ("rope_scaling['rope_type']='yaarn'", _YARN | {"rope_type": "yaarn"}),
        ("rope_scaling['rope_type']='spiral'", {"rope_type": "spiral", "factor": 2.0}),
        ("rope_scaling['beta_fats']", _YARN | {"beta_fats": 16.0}),
        ("rope_scaling['low_frequency_factor']", _LLAMA3 | {"low_frequency_factor": 2.0}),
        ("rope_scaling['scaling_factor']", _LINEAR | {"scaling_factor": 2.0}),
        ("rope_scaling['long_factors']", _LONGROPE | {"long_factors": [2.0] * 32}),
        ("rope_scaling['beta_fast'], which linear scaling has not", _LINEAR | {"beta_fast": 8.0}),
        ("rope_scaling['mrope_section'], without several axes", {"mrope_section": [8, 12, 12]}),
        ("rope_scaling['truncate']='false'", _YARN | {"truncate": "false"}),
        ("rope_scaling['factor'] left out", _without(_LINEAR, "factor")),
        ("rope_scaling['low_freq_factor'] left out", _without(_LLAMA3, "low_freq_factor")),
        ("rope_scaling['factor']=0", _LINEAR | {"factor": 0.0}),
        ("rope_scaling['factor']=-2", _YARN | {"factor": -2.0}),
        ("rope_scaling['factor']='4'", _LINEAR | {"factor": "4"}),
        ("rope_scaling['factor']=NaN", _LINEAR | {"factor": float("nan")}),
        ("rope_scaling=4.0", 4.0),
        ("rope_scaling['long_factor'] too short", _LONGROPE | {"long_factor": [1.0] * 31}),
    ]
    found = [config(_model(layout, rope_scaling=scaling), about) for about, scaling in scalings]
    for scaling, key, value in _KNOWN_TO_SOME:
        changed = _model(layout, rope_scaling=scaling | {key: value})
        without = _model(layout, rope_scaling=scaling)
        found.append(config(changed, f"{_key(key)}={value}", without))
    found.append(config(_model(layout, rope_theta=0), "rope_theta=0"))
    found.append(config(_model(layout, rope_theta=-10_000.0), "rope_theta=-10000"))
    odd = _partial(layout, partial_rotary_factor=0.33)
    found.append(config(odd, "21 channels of 64 that rotate, by partial_rotary_factor=0.33"))
    return found

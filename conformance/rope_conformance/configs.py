"""Model configurations that an implementation is given to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rope_conformance.claim import Claim
from rope_conformance.inputs import Input
from rope_ref import RopeSpec

__all__ = ["ModelConfig", "config"]


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
        The config, as JSON, that has the RoPE of one who does not heed that key.
    """

    text: str
    about: str = ""
    unheeded: str = ""

    def inside(self, claim: Claim) -> bool:
        """Always: a config has neither positions nor data."""
        return True

    def size(self) -> tuple[Any, ...]:
        """The shorter the smaller."""
        return (len(self.text),)

    def mapping(self) -> dict[str, Any]:
        """The config, made anew."""
        found = json.loads(self.text)
        assert isinstance(found, dict)
        return found

    def spec(self) -> RopeSpec:
        """The RoPE it describes."""
        return RopeSpec.from_hf_config(self.mapping())

    def spec_unheeded(self) -> RopeSpec | None:
        """The RoPE of one who does not heed the key, where that is known."""
        return RopeSpec.from_hf_config(json.loads(self.unheeded)) if self.unheeded else None


def config(
    content: Mapping[str, Any], about: str = "", unheeded: Mapping[str, Any] | None = None
) -> ModelConfig:
    """Return the input for a config given as a mapping."""
    return ModelConfig(json.dumps(content), about, "" if unheeded is None else json.dumps(unheeded))

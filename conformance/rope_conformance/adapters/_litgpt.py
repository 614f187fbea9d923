"""LitGPT: a float32 table of fixed length, rounded once."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.adapters._scalings import only, rope_parameters
from rope_conformance.target.claim import claims
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import YaRN

__all__ = ["LitGPTYaRN"]

_LENGTH = 2**15
# Its ramp ends at the last pair, and it has an amplitude only if the config has one.
_YARN = only(
    YaRN,
    limit=("pairs",),
    equal_ends=("raise",),
    attention_factor=(None,),
    amplitude_rule=("single",),
    below_one=(False,),
)
_OWN = YaRN(
    PowerLaw(1_000_000.0),
    factor=4,
    original_length=32768,
    limit="pairs",
    amplitude_rule="single",
)


@claims(
    accepts=takes("half", rule=_YARN),
    axes="bhtd",
    namespace="torch",
    position_forms=("bt",),
    position_range=(0, _LENGTH - 1),
    dtypes=("float32", "bfloat16"),
    profile="float32",
    strided=True,
)
class LitGPTYaRN:
    """build_rope_cache with the parameters of YaRN, and apply_rope."""

    spec = RopeSpec(128, layout="half", frequencies=_OWN)

    def __init__(self, spec: RopeSpec) -> None:
        from litgpt import model

        asked = rope_parameters(spec.frequencies)
        asked["original_max_seq_len"] = asked.pop("original_max_position_embeddings")
        self.table = model.build_rope_cache(
            _LENGTH, spec.head_dim, base=base_of(spec), extra_config=asked
        )
        self.rotate = model.apply_rope

    def apply_rope(self, x: Any, positions: Any) -> Any:
        cos, sin = (each[positions] for each in self.table)
        return self.rotate(x, cos, sin)

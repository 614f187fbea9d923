"""IBM's foundation model stack with YaRN: a table of fixed length, rounded to the data's type."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import base_of, takes
from rope_conformance.adapters._scalings import only, rope_parameters
from rope_conformance.target.claim import claims
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import YaRN

__all__ = ["IbmFmsYaRN"]

_LENGTH = 2**15
_YARN = only(
    YaRN,
    truncate=(False,),
    original_length=(_LENGTH,),
    attention_factor=(None,),
    mscale=(None,),
    mscale_all_dim=(None,),
)
_OWN = YaRN(PowerLaw(1_000_000.0), factor=4, original_length=_LENGTH, truncate=False)


@claims(
    accepts=takes(rule=_YARN),
    namespace="torch",
    position_forms=("bt",),
    position_range=(0, _LENGTH - 1),
    dtypes=("float32", "bfloat16"),
    profile="model-dtype-table",
    strided=True,
)
class IbmFmsYaRN:
    """RotaryEmbedding of rope_type "yarn", with the pairs that it has of every other type."""

    spec = RopeSpec(128, layout="interleaved", frequencies=_OWN)

    def __init__(self, spec: RopeSpec) -> None:
        from fms.modules.positions import RotaryEmbedding

        asked = rope_parameters(spec.frequencies)
        scaling = {
            "rope_type": asked["rope_type"],
            "scaling_factor": asked["factor"],
            "ntk_beta": asked["beta_fast"],
            "ntk_alpha": asked["beta_slow"],
        }
        self.rope = RotaryEmbedding(spec.head_dim, base_of(spec), _LENGTH, scaling=scaling)

    def apply_rope(self, x: Any, positions: Any) -> Any:
        return self.rope.adjusted_qk(x, x, positions)[0]

"""keras-hub: its layer with the scaling types yarn and dynamic."""

from __future__ import annotations

from typing import Any

from rope_conformance.adapters._accept import takes
from rope_conformance.adapters._keras_hub import CLAIM, rotary_embedding
from rope_conformance.adapters._scalings import only, rope_parameters
from rope_conformance.target.claim import claims
from rope_ref import PowerLaw, RopeSpec
from rope_ref.scaling import DynamicNTK, YaRN

__all__ = ["KerasHubDynamic", "KerasHubYaRN"]

_YARN = only(
    YaRN,
    limit=("channels",),
    equal_ends=("least",),
    attention_factor=(None,),
    mscale=(None,),
    mscale_all_dim=(None,),
    below_one=(True,),
)
_CLAIM = CLAIM | {"dtypes": ("float32", "bfloat16")}


class _Scaled:
    """One layer per type of data, since a layer casts to its own."""

    def __init__(self, spec: RopeSpec) -> None:
        asked = rope_parameters(spec.frequencies)
        asked["max_wavelength"] = asked.pop("rope_theta")
        asked["scaling_factor"] = asked.pop("factor")
        self.layer, self.asked = rotary_embedding(), asked

    def apply_rope(self, x: Any, positions: Any) -> Any:
        layer = self.layer(**self.asked, dtype=str(x.dtype).removeprefix("torch."))
        return layer(x, positions=positions)


# In half-precision types the amplitude is computed in the layer's type: more than the one rounding
# of the table that the profile allows.
@claims(accepts=takes("half", rule=_YARN), **_CLAIM | {"dtypes": ("float32",)})
class KerasHubYaRN(_Scaled):
    """RotaryEmbedding with rope_type "yarn"."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=YaRN(
            PowerLaw(1_000_000.0),
            factor=4,
            original_length=32768,
            equal_ends="least",
            below_one=True,
        ),
    )


@claims(accepts=takes("half", rule=only(DynamicNTK)), **_CLAIM)
class KerasHubDynamic(_Scaled):
    """RotaryEmbedding with rope_type "dynamic"; the layer is not given the length."""

    spec = RopeSpec(
        128,
        layout="half",
        frequencies=DynamicNTK(PowerLaw(10000.0), factor=2, original_length=4096, length=6144),
    )

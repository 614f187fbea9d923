"""How fast each pair turns: a frequency rule, the power law, and every published scaling of it.

A scaling is a rule over a rule. `rope_ref.scaling.axial` puts ladders together, one for each
position axis.
"""

from rope_ref.scaling.axial import Axial, Reordered
from rope_ref.scaling.divided import Divided
from rope_ref.scaling.frequencies import ExplicitFrequencies, FrequencyRule, PowerLaw
from rope_ref.scaling.linear import Linear
from rope_ref.scaling.llama3 import Llama3
from rope_ref.scaling.longrope import LongRoPE
from rope_ref.scaling.ntk import NTK, DynamicNTK, FixedNTK, qwen_alpha
from rope_ref.scaling.proportional import Proportional
from rope_ref.scaling.scaled_rule import ScaledRule
from rope_ref.scaling.yarn import NTKByParts, YaRN

__all__ = [
    "NTK",
    "Axial",
    "Divided",
    "DynamicNTK",
    "ExplicitFrequencies",
    "FixedNTK",
    "FrequencyRule",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKByParts",
    "PowerLaw",
    "Proportional",
    "Reordered",
    "ScaledRule",
    "YaRN",
    "qwen_alpha",
]

"""What is done beside rotating: xPos, temperature, length rules, moved keys, tables, weights."""

from rope_ref.extensions.channel_tables import (
    apply_channel_ropes,
    apply_channel_tables,
    crossed_ropes,
    pair_determinants,
)
from rope_ref.extensions.length_rules import served_rule
from rope_ref.extensions.repositioning import reposition_rope
from rope_ref.extensions.temperature import log_temperature, softmax_factor, step_temperature
from rope_ref.extensions.weights import channel_order, convert_weights
from rope_ref.extensions.xpos import XPos, apply_xpos

__all__ = [
    "XPos",
    "apply_channel_ropes",
    "apply_channel_tables",
    "apply_xpos",
    "channel_order",
    "convert_weights",
    "crossed_ropes",
    "log_temperature",
    "pair_determinants",
    "reposition_rope",
    "served_rule",
    "softmax_factor",
    "step_temperature",
]

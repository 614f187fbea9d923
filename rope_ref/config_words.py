"""Keys of Hugging Face configs that only say whether there is RoPE, or say a thing twice."""

from __future__ import annotations

import re

from rope_ref.config_values import SPEAKS_OF_ROPE, Keys, shown
from rope_ref.errors import ConfigValueError, UnknownConfigKeyError
from rope_ref.model_types import ModelType
from rope_ref.real import Real

__all__ = ["STILL_LAYERS", "agree", "leftover", "must_rotate"]

STILL_LAYERS = frozenset(
    "linear_attention conv mamba mamba2 recurrent moe mlp rwkv gated_deltanet".split()
)
"""Types of layers that have no attention over positions, so no RoPE."""

_BASES = ("rope_theta", "rotary_emb_base", "theta")
_FRACTIONS = (
    "partial_rotary_factor", "rotary_pct", "rope_pct", "rope_percent", "rotary_emb_fraction",
)  # fmt: skip
_SWITCH = re.compile(
    r"(?:use_|apply_|enable_)?(?:rope|rotary)(?:_pos)?(?:_emb|_embeddings?|_position_embeddings?)?"
)


def must_rotate(top: Keys, row: ModelType, notes: list[str]) -> None:
    """Refuse a config that says that the model has no RoPE."""
    call, kind = top.call, top.text("position_embedding_type")
    if kind is None and row.says_rope:
        raise ConfigValueError(
            f"{call}: position_embedding_type is missing or null, which means no RoPE for this "
            "model type; give 'rope' if there is one"
        )
    if kind is not None and row.ignores_kind and kind not in ("rope", "rotary"):
        notes.append(f"position_embedding_type {shown(kind)} is of no effect on this model type")
        kind = None
    in_pairs = kind == "rope_gptj" and row.layout == "interleaved"
    if kind not in (None, "rope", "rotary") and not in_pairs:
        raise ConfigValueError(
            f"{call}: position_embedding_type is {shown(kind)}, so the model has no "
            f"RoPE to describe, or none in the layout {row.layout!r}"
        )
    if top.flag("alibi"):
        raise ConfigValueError(f"{call}: alibi is true, so the model has no RoPE to describe")
    for key in list(top):
        if not _SWITCH.fullmatch(key):
            continue
        value = top.take(key)
        if not isinstance(value, bool):
            top.forget(key)  # for it says something else
        else:
            if not value:
                raise ConfigValueError(
                    f"{call}: {top.name(key)} is false, so the model has no RoPE to describe"
                )
            notes.append(f"{top.name(key)} says that there is RoPE")


def agree(
    top: Keys, key: str, value: Real, notes: list[str], *, given: bool, base: bool = False
) -> None:
    """Note the other names under which a config has a value too; refuse another value.

    A different value beside one that is not `given` is left to be refused as unknown.
    """
    for name in _BASES if base else _FRACTIONS:
        if name == key or name not in top:
            continue
        other = top.number(name)
        if other == value:
            notes.append(f"{name} {other} says the same as {key}")
        elif given:
            raise ConfigValueError(
                f"{top.call}: {name} {other} and {key} {value} contradict each other; leave one out"
            )
        else:
            top.forget(name)


def leftover(top: Keys, row: ModelType, name: str | None, *, known: bool, notes: list[str]) -> None:
    """Refuse a key that speaks of RoPE and was not read, unless it is switched off."""
    if "max_trained_positions" in top:
        top.take("max_trained_positions")
        notes.append("max_trained_positions is a matter of serving, which a spec does not have")
    for key in top.unread():
        if not SPEAKS_OF_ROPE.search(key):
            continue
        decides = "interleav" in key and (not known or row.layout == "interleaved")
        if top.take(key) is False and not decides:
            notes.append(f"{top.name(key)} is false, so it changes nothing")
            continue
        raise UnknownConfigKeyError(
            f"{top.call}: the key {top.name(key)} speaks of RoPE and is not understood here for "
            f"model type {shown(name)}; if it changes the rotation, build the RopeSpec by hand, "
            "else leave it out"
        )

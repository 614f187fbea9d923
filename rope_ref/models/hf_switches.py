"""Keys of Hugging Face configs that only say whether there is RoPE, or say a thing twice."""

from __future__ import annotations

import re

from rope_ref.arguments import brief
from rope_ref.errors import ConfigValueError, UnknownConfigKeyError
from rope_ref.exact.real import Real
from rope_ref.models.keys import ABOUT_ROPE, Keys
from rope_ref.models.model_types import ModelType

__all__ = [
    "STILL_LAYERS",
    "TEMPERATURE",
    "agree",
    "leftover",
    "must_rotate",
    "refuse_alibi",
    "temperatures",
]

STILL_LAYERS = frozenset(
    "linear_attention conv mamba mamba2 recurrent moe mlp rwkv gated_deltanet".split()
)
"""Types of layers that have no attention over positions, so no RoPE."""

TEMPERATURE = re.compile(
    r"(?:^|_)logn|(?:^|_)log_?n?_?att|att(?:n|ention)_temperature|scaling_beta"
    r"|^(?:floor|attn)_scale$"
)
"""Found in keys about temperatures on queries."""

_ON_QUERIES = "is about a temperature on queries, which a spec does not have"

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
    if row.says_rope is not None and kind != row.says_rope:
        found = "missing or null" if kind is None else brief(kind)
        raise ConfigValueError(
            f"{call}: position_embedding_type is {found}, which means no RoPE for this model type; "
            f"give {row.says_rope!r} if there is one"
        )
    if kind is not None and row.ignores_kind and kind not in ("rope", "rotary"):
        notes.append(f"position_embedding_type {brief(kind)} is of no effect on this model type")
        kind = None
    in_pairs = kind == "rope_gptj" and row.layout == "interleaved"
    if kind not in (None, "rope", "rotary") and not in_pairs:
        raise ConfigValueError(
            f"{call}: position_embedding_type is {brief(kind)}, so the model has no "
            f"RoPE to describe, or none in the layout {row.layout!r}"
        )
    refuse_alibi(top)
    if row.size_decides:
        _refuse_by_size(top)
    for key in list(top):
        if not _SWITCH.fullmatch(key):
            continue
        value = top.take(key)
        if not isinstance(value, bool):
            top.forget(key)  # it means something else
        else:
            if not value:
                raise ConfigValueError(
                    f"{call}: {top.name(key)} is false, so the model has no RoPE to describe"
                )
            notes.append(f"{top.name(key)} says that there is RoPE")


def refuse_alibi(part: Keys) -> None:
    """Refuse a config that says that the model has ALiBi."""
    for key in list(part):
        if "alibi" in key.lower() and key != "alibi_bias_max" and part.flag(key):
            raise ConfigValueError(
                f"{part.call}: {part.name(key)} is true, so the model has no RoPE to describe"
            )


def _refuse_by_size(top: Keys) -> None:
    """Refuse a Baichuan other than the one of 7B, for no key tells ALiBi from RoPE."""
    size, layers = top.width("hidden_size"), top.width("num_hidden_layers")
    if size == 5120 or layers == 40:
        raise ConfigValueError(
            f"{top.call}: hidden_size 5120 and 40 layers are those of the model of 13B, which has "
            "ALiBi, so no RoPE to describe"
        )
    heads, width = top.width("num_attention_heads"), top.width("head_dim")
    if size != 4096 or not {layers, heads} <= {32, None} or width not in (128, None):
        raise ConfigValueError(
            f"{top.call}: known of this model type are models with hidden_size 4096, 32 layers and "
            "32 heads of 128 channels, which have RoPE, and those with hidden_size 5120, which "
            f"have ALiBi; got hidden_size {size}, num_hidden_layers {layers}, num_attention_heads "
            f"{heads}, head_dim {width}"
        )


def temperatures(part: Keys, notes: list[str]) -> None:
    """Note the keys about temperatures on queries."""
    for key in part.unread():
        if TEMPERATURE.search(key):
            off = part.take(key) is False
            what = "is false, so it changes nothing" if off else _ON_QUERIES
            notes.append(f"{part.name(key)} {what}")


def agree(
    top: Keys, key: str, value: Real, notes: list[str], *, given: bool, base: bool = False
) -> None:
    """Note where a config has a value under other names too; refuse it if it differs there.

    If the value was not `given`, another name stays unread, to be refused as unknown.
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
    """Refuse a key that is about RoPE and was not read, unless it is switched off."""
    if "max_trained_positions" in top:
        top.take("max_trained_positions")
        notes.append("max_trained_positions is a matter of serving, which a spec does not have")
    temperatures(top, notes)
    for key in top.unread():
        if not ABOUT_ROPE.search(key):
            continue
        decides = "interleav" in key and (not known or row.layout == "interleaved")
        if top.take(key) is False and not decides:
            notes.append(f"{top.name(key)} is false, so it changes nothing")
            continue
        raise UnknownConfigKeyError(
            f"{top.call}: the key {top.name(key)} is about RoPE and is not understood here for "
            f"model type {brief(name)}; if it changes the rotation, build the RopeSpec by hand, "
            "else leave it out"
        )

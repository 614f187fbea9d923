"""Which part of a Hugging Face config has the RoPE, and what its model type adds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from rope_ref.arguments import brief
from rope_ref.errors import (
    ConfigValueError,
    MissingConfigKeyError,
    UnknownConfigKeyError,
    UnknownModelTypeError,
)
from rope_ref.models.hf_switches import TEMPERATURE, refuse_alibi, temperatures
from rope_ref.models.keys import ABOUT_ROPE, Keys
from rope_ref.models.model_types import MODEL_TYPES, SOURCE, ModelType
from rope_ref.spec import Layout

__all__ = ["attention_part", "model_row", "text_part"]

_OTHER_PART = re.compile(r"vision|visual|image|video|audio|speech|talker|codec|depth")


def text_part(keys: Keys, notes: list[str]) -> tuple[Keys, str | None]:
    """The part of a config that is about text, and its model type."""
    name = keys.text("model_type")
    if "text_config" not in keys:
        return keys, name
    inner = keys.mapping("text_config")
    assert inner is not None
    refuse_alibi(keys)
    temperatures(keys, notes)
    for key in keys:
        if ABOUT_ROPE.search(key):
            if key in inner and keys.agrees(key, inner):
                notes.append(f"{key} says the same as the one in text_config")
                continue
            raise ConfigValueError(
                f"{keys.call}: {key!r} stands beside a text_config, which has the RoPE; move it "
                "inside, or hand over the part you mean by itself"
            )
        if key.endswith("_config") and key != "text_config":
            notes.append(f"{key} is another part of the model; its RoPE, if any, is not read")
    if "text_config" in inner:
        raise ConfigValueError(f"{keys.call}: text_config must not hold another text_config")
    inner_name = inner.text("model_type")
    if inner_name is None and name is not None:
        inner_name = next((n for n in (f"{name}_text", name) if n in MODEL_TYPES), name)
    return inner, inner_name


def model_row(name: str | None, layout: Layout | None, keys: Keys) -> ModelType:
    """What the model type adds, with the layout asked for."""
    row = None if name is None else MODEL_TYPES.get(name)
    if row is not None:
        return row if layout is None else replace(row, layout=layout, output_layout=None)
    if layout is not None:
        return ModelType(
            layout, plain_is_whole=False, ntk_alpha=True, skips_layers=True, attn_config=True
        )
    if name is None:
        raise MissingConfigKeyError(
            f"{keys.call}: 'model_type' is missing, from which the pair layout follows; add it, or "
            "give layout='half' or layout='interleaved'"
        )
    raise UnknownModelTypeError(
        f"{keys.call}: model_type {brief(name)} is not in the table of {len(MODEL_TYPES)} model "
        f"types ({SOURCE} and others), and configs do not name the pair layout; give "
        "layout='half' or layout='interleaved'"
    )


def attention_part(top: Keys, row: ModelType, notes: list[str]) -> Keys | None:
    """The part ``attn_config``; RoPE in any other part is noted or refused."""
    inner = None
    for key in list(top):
        part = top.part(key)
        if part is None or ABOUT_ROPE.search(key) or "quant" in key:
            continue
        if key == "dual_chunk_attention_config":
            notes.append(f"{key} changes positions at long range, which a spec does not have")
        elif key == "attn_config" and row.attn_config and not _mentions_rope(list(part.values())):
            inner = Keys(part, top.call, key)
        elif _mentions_rope([part]):
            if not _OTHER_PART.search(key):
                raise UnknownConfigKeyError(
                    f"{top.call}: {key!r} has keys about RoPE or ALiBi inside, which are not "
                    "understood here; move them to the top if they mean the same there"
                )
            notes.append(f"{key} is another part of the model; its RoPE is not read")
        elif any(TEMPERATURE.search(each) for each in part if isinstance(each, str)):
            notes.append(f"{key} is about temperatures on queries too, which a spec does not have")
    return inner


def _mentions_rope(level: list[object]) -> bool:
    """Whether one of these parts, or a part inside, has a key about RoPE."""
    for _ in range(8):
        maps = [each for each in level if isinstance(each, Mapping)]
        if any(_is_about_rope(key, value) for each in maps for key, value in each.items()):
            return True
        level = [value for each in maps for value in each.values()]
    return False


def _is_about_rope(key: object, value: object) -> bool:
    if not isinstance(key, str):
        return False
    return bool(ABOUT_ROPE.search(key)) or ("alibi" in key.lower() and value is True)

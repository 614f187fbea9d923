"""RoPE as a model's own Hugging Face config describes it.

Every key that is about RoPE is honoured, or refused by its name, or mentioned in a note;
none is dropped. What the code of a model decides, and not its config, is in the table of
`rope_ref.models.model_types`. GGUF metadata are read by `rope_ref.models.gguf`.

Two ways of writing are in use. Old configs have ``rope_theta`` and ``rope_scaling`` side by
side; new ones have all in ``rope_parameters``, either once or once for each type of layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rope_ref.arguments import brief
from rope_ref.errors import (
    ConfigError,
    ConfigValueError,
    RopeError,
    UnknownConfigKeyError,
    UnknownRopeTypeError,
)
from rope_ref.exact.real import Real
from rope_ref.models.hf_heads import Heads
from rope_ref.models.hf_parts import attention_part, model_row, text_part
from rope_ref.models.hf_scaling import ALIASES, PARAMETERS, ROPE_TYPES, Scaling, prompt_ntk
from rope_ref.models.hf_switches import STILL_LAYERS, agree, leftover, must_rotate
from rope_ref.models.keys import Keys
from rope_ref.models.model_types import EVERY_FOURTH, MODEL_TYPES, LayerRope, ModelType
from rope_ref.scaling.frequencies import PowerLaw
from rope_ref.spec import EVERY_LAYER, LAYOUTS, LayerRopes, Layout, RopeSpec

__all__ = ["read_hf_config", "spec_from_hf_config"]

_ELSEWHERE = {
    "llama_4_scaling_beta": "is a temperature on queries, which a spec does not have",
    "finetuned": "changes nothing about how a layer rotates",
    "max_position_embeddings": "is of no effect there",
    "max_trained_positions": "is a matter of serving, which a spec does not have",
}


def spec_from_hf_config(
    config: Mapping[str, object],
    layer_type: str | None = None,
    *,
    length: Real | None = None,
    layout: Layout | None = None,
) -> RopeSpec:
    """Return the RoPE that the config of a Hugging Face model describes.

    Every key about RoPE is honoured or refused by name. What a spec cannot say, and what
    the config leaves to the model's code, is in the notes of `read_hf_config`.

    Parameters
    ----------
    config
        The content of a ``config.json``.
    layer_type
        Which layers, where they differ: ``"full_attention"``, ``"sliding_attention"``.
    length
        The length of text in question, for dynamic NTK and LongRoPE; None for one
        within the original length.
    layout
        The pair layout, for a model type that is not in the table, or to overrule it.

    Returns
    -------
    spec
        The RoPE of all layers, or of those of `layer_type`.

    Raises
    ------
    ConfigError
        In one of its kinds: what is wrong and where.

    Notes
    -----
    Source: huggingface/transformers, modeling_rope_utils.py and the code of each model.
    """
    rope = read_hf_config(config, layout=layout, length=length)
    return rope.pick(layer_type, "spec_from_hf_config(config)")


def read_hf_config(
    config: Mapping[str, object], *, layout: Layout | None = None, length: Real | None = None
) -> LayerRopes:
    """Return what a Hugging Face config says about RoPE.

    Parameters
    ----------
    config
        The content of a ``config.json``. Of a model with several parts the part
        ``text_config`` is read; hand over another part by itself.
    layout
        The pair layout, for a model type that is not in the table, or to overrule it.
    length
        The length of text in question, for scalings that depend on it.

    Returns
    -------
    rope
        A spec for each type of layers, and notes.

    Raises
    ------
    ConfigError
        In one of its kinds: what is wrong and where.
    """
    call = f"spec_from_hf_config({{'model_type': {brief(_peek(config, 'model_type'))}, ...}})"
    if layout is not None and layout not in LAYOUTS:
        raise ConfigValueError(f"{call}: layout={brief(layout)} must be 'interleaved' or 'half'")
    asked = Keys({"length": length}, call).length("length")
    notes: list[str] = []
    keys, name = text_part(Keys(config, call), notes)
    return _HfReader(keys, model_row(name, layout, keys), name, layout, asked, notes).read()


def _peek(config: object, key: str) -> object:
    return config.get(key) if isinstance(config, Mapping) else None


@dataclass
class _HfReader:
    """What is read of one config, step by step."""

    top: Keys
    row: ModelType
    name: str | None
    layout: Layout | None
    length: Real | None
    notes: list[str]

    def __post_init__(self) -> None:
        self.heads = Heads(self.top, self.row, self.name, self.notes)
        self.kinds = self.top.strings("layer_types")
        self.longest = self.top.length("max_position_embeddings")
        if self.longest is None:
            self.longest = self.top.length("n_positions")

    def read(self) -> LayerRopes:
        self.attention = attention_part(self.top, self.row, self.notes)
        for part in (self.top, self.attention):
            if part is not None:
                must_rotate(part, self.row if part is self.top else ModelType(), self.notes)
        self._special_layers()
        specs = self._specs()
        still = self._still_layers()
        if list(specs) == [EVERY_LAYER] and (self.kinds or still):
            kinds = self.kinds or {"sliding_attention", *still}
            specs = dict.fromkeys(sorted(kinds), specs[EVERY_LAYER])
        for kind in (*still, *STILL_LAYERS):
            if kind in specs:
                specs[kind] = RopeSpec(specs[kind].head_dim, layout=self.row.layout, rotary_dim=0)
        for kind, spec in specs.items():
            if not spec.rotary_dim:
                self.notes.append(f"layers of type {kind!r} do not rotate")
        known = self.name in MODEL_TYPES
        for part in (self.top, self.attention):
            if part is not None:
                leftover(part, self.row, self.name, known=known, notes=self.notes)
        if self.row.remark:
            self.notes.append(self.row.remark)
        return LayerRopes(specs, tuple(dict.fromkeys(self.notes)))

    def _specs(self) -> dict[str, RopeSpec]:
        """The spec of each type of layers; notes on one of several name it."""
        specs, said = {}, {}
        for kind, (keys, layer) in self._parameters().items():
            start = len(self.notes)
            specs[kind] = self._spec(keys, layer)
            said[kind] = self.notes[start:]
            del self.notes[start:]
        for kind, notes in said.items():
            for note in notes:
                shared = all(note in others for others in said.values())
                self.notes.append(note if shared else f"{kind}: {note}")
        return specs

    def _still_layers(self) -> tuple[str, ...]:
        """The types of layers that do not rotate."""
        still, without = self.row.still_layers, self.row.without_window
        if without == "no matter" or not self.top.has_null("sliding_window"):
            return still
        return (*still, "sliding_attention") if without == "none turns" else ()

    def _special_layers(self) -> None:
        if self.top.flag("rotary_value"):
            self.notes.append("rotary_value: values are rotated as queries and keys are")
        named = [key for key in ("no_rope_layers", "no_rope_layer_interval") if key in self.top]
        for key in named if self.row.skips_layers else ():
            self.top.take(key)
            self.notes.append(f"{key} says which layers rotate; a spec says how")
        if self.row.fourth_is_still and not named:
            self.notes.append(EVERY_FOURTH)

    def _parameters(self) -> dict[str, tuple[Keys | None, LayerRope]]:
        """The scaling part for each type of layers; None where these do not rotate."""
        new, old = map(self._scaling_part, ("rope_parameters", "rope_scaling"))
        if new is not None and old is not None and not new.same(old):
            raise ConfigValueError(
                f"{self.top.call}: rope_parameters and rope_scaling both stand in the config and "
                "differ, or cannot be compared; leave one out"
            )
        empty = Keys({}, self.top.call, "rope_parameters")
        found = next((part for part in (new, old) if part is not None), empty)
        layers = self.row.layers
        plain = LayerRope(self.row.base, self.row.base_key, head_dim_key=self.row.head_dim_key)
        kinds = found.nested(set(layers) | self.kinds, PARAMETERS)
        if kinds:
            return self._nested(found, kinds, empty, plain)
        if not layers:
            return {EVERY_LAYER: (found, plain)}
        if new is not None:
            raise ConfigValueError(
                f"{self.top.call}: rope_parameters of a model of this type must have one entry for "
                f"each type of layers: {', '.join(map(repr, layers))}"
            )
        return {kind: (found if layer.scaled else empty, layer) for kind, layer in layers.items()}

    def _scaling_part(self, key: str) -> Keys | None:
        part = self.top.mapping(key)
        if part is None or part.is_empty():
            return None
        if self.row.scaling == "unread":
            self.top.forget(key)  # to be refused as a key that nothing reads
            return None
        return part

    def _nested(
        self, found: Keys, kinds: list[str], empty: Keys, plain: LayerRope
    ) -> dict[str, tuple[Keys | None, LayerRope]]:
        for key in found:
            if key not in kinds:
                raise ConfigValueError(
                    f"{found.call}: {found.name(key)} stands beside entries for types of layers "
                    f"({', '.join(map(brief, kinds))}); move it into each of them"
                )
        layers = self.row.layers
        parts = {kind: (found.mapping(kind), layers.get(kind, plain)) for kind in kinds}
        for kind in layers:
            if kind not in kinds:
                self.notes.append(f"{found.where} has no entry {kind!r}, which means plain RoPE")
                parts[kind] = (empty, layers[kind])
        return parts

    def _spec(self, keys: Keys | None, layer: LayerRope) -> RopeSpec:
        row, head_dim = self.row, self.heads.width(layer)
        if keys is None:
            return RopeSpec(head_dim, layout=row.layout, rotary_dim=0)
        rope_type = self._rope_type(keys, layer)
        fraction = self._fraction(keys)
        start, width = self.heads.rotating(head_dim, rope_type, fraction)
        base = self._base(keys, layer)
        layout, output_layout = row.layout, row.output_layout
        halves = row.interleave_key and self.top.flag("rope_interleave") is False
        if halves and self.layout is None:
            layout, output_layout = "half", None
        try:
            given = Scaling(
                keys,
                PowerLaw(base),
                width,
                outer_original=self._outer_original(keys, rope_type),
                longest=self.longest,
                length=self.length,
                fraction=row.fraction if fraction is None else fraction,
                ntk_alpha=row.ntk_alpha,
                yarn_amplitude=layer.yarn_amplitude,
                notes=self.notes,
            )
            make = ROPE_TYPES[rope_type]
            rule = prompt_ntk(given, self.top) if row.prompt_ntk else make(given)
            axes = self.heads.axes(keys, rope_type, width)
            self._refuse_unread(keys, rope_type)
            return RopeSpec(
                head_dim,
                layout=layout,
                rotary_dim=width,
                rotary_start=start,
                output_layout=layout if output_layout is None else output_layout,
                frequencies=rule,
                direction=row.direction,
                pair_axes=axes,
            )
        except ConfigError:
            raise
        except RopeError as error:
            raise ConfigValueError(
                f"{self.top.call}: no RoPE of type {rope_type!r} can be built: {error}"
            ) from error

    def _rope_type(self, keys: Keys, layer: LayerRope) -> str:
        given = [name for key in ("rope_type", "type") if (name := keys.text(key)) is not None]
        aliases = ALIASES | ({"yarn": "longrope"} if self.row.yarn_is_longrope else {})
        named = list(dict.fromkeys(aliases.get(name, name) for name in given))
        if len(named) > 1:
            raise ConfigValueError(
                f"{keys.call}: rope_type and type of {keys.where} are {brief(named[0])} and "
                f"{brief(named[1])}; leave out one of them"
            )
        axial = self.row.axes == "axial"
        name = named[0] if named else layer.rope_type
        if name == "default" and axial:
            name = "axial"
        if name not in ROPE_TYPES:
            raise UnknownRopeTypeError(
                f"{keys.call}: {keys.where} has the unknown rope_type {brief(name)}; known are "
                f"{', '.join(map(repr, (*ROPE_TYPES, *ALIASES)))}"
            )
        if (name == "axial") != axial or (self.row.scaling == "plain" and name != "default"):
            raise ConfigValueError(
                f"{keys.call}: rope_type {name!r} does not go with model type {brief(self.name)}"
            )
        return name

    def _fraction(self, keys: Keys) -> Real | None:
        """The part of a head that rotates, if the config says it."""
        key = self.row.fraction_key
        outside = None if key is None else self.top.number(key)
        inside = keys.number("partial_rotary_factor")
        if inside is not None and outside not in (None, inside):
            self.notes.append(f"{key} {outside} is overruled by {inside} in {keys.where}")
        found = outside if inside is None else inside
        if found is not None and not 0 < found <= 1:
            raise ConfigValueError(
                f"{keys.call}: partial_rotary_factor must be above 0 and at most 1, got "
                f"{brief(found)}"
            )
        if key is not None:
            used = self.row.fraction if found is None else found
            agree(self.top, key, used, self.notes, given=found is not None)
        return found

    def _base(self, keys: Keys, layer: LayerRope) -> Real:
        key = layer.base_key
        if key is not None and self.row.or_rope_theta and key not in self.top:
            key = "rope_theta"
        outside = None if key is None else self.top.positive(key)
        inside = keys.positive("rope_theta")
        if key is not None and self.attention is not None:
            attention = self.attention.positive("rope_theta")
            if attention is not None and outside not in (None, attention):
                raise ConfigValueError(
                    f"{self.top.call}: {key} {outside} and attn_config['rope_theta'] {attention} "
                    "contradict each other; leave one out"
                )
            outside = attention if outside is None else outside
        if inside is not None and outside not in (None, inside):
            self.notes.append(f"{key} {outside} is overruled by {inside} in {keys.where}")
        found = outside if inside is None else inside
        base = layer.base if found is None else found
        if key is not None and not self.row.layers:
            agree(self.top, key, base, self.notes, given=found is not None, base=True)
        if found is None and key is None:
            source = self.row.source
            self.notes.append(f"the base is {base}; no key of this model type says it ({source})")
        elif found is None:
            self.heads.unsaid(key or "", base)
        return base

    def _outer_original(self, keys: Keys, rope_type: str) -> Real | None:
        """The original length at the top, where it counts."""
        name = "original_max_position_embeddings"
        found = self.top.length(name)
        nested = bool(self.row.layers) or keys.where.endswith("]")
        if found is None or (rope_type in ("yarn", "longrope", "llama3") and not nested):
            return found
        self.notes.append(f"{name} at the top is of no effect on RoPE of type {rope_type!r} here")
        return None

    def _refuse_unread(self, keys: Keys, rope_type: str) -> None:
        """Refuse what is left in a scaling part."""
        for key, what in _ELSEWHERE.items():
            if key in keys:
                keys.take(key)
                self.notes.append(f"{keys.name(key)} {what}")
        for key in keys.unread():
            if keys.take(key) is False and key not in PARAMETERS and "interleav" not in key:
                self.notes.append(f"{keys.name(key)} is false, so it changes nothing")
                continue
            raise UnknownConfigKeyError(
                f"{keys.call}: {keys.name(key)} is not understood here with rope_type "
                f"{rope_type!r} of model type {brief(self.name)}; if it changes the rotation, "
                "change rope_type or build the RopeSpec by hand, else leave it out"
            )

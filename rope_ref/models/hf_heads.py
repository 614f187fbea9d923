"""Which channels of a head rotate, and along which axis, by a Hugging Face config."""

from __future__ import annotations

from dataclasses import dataclass

from rope_ref.arguments import brief
from rope_ref.errors import ConfigValueError, MissingConfigKeyError, UnknownConfigKeyError
from rope_ref.exact.real import Real
from rope_ref.models.keys import Keys
from rope_ref.models.model_types import MODEL_TYPES, LayerRope, ModelType
from rope_ref.positions.pair_axes import (
    alternating_axes,
    axial_axes,
    contiguous_axes,
    interleaved_axes,
)

__all__ = ["Heads"]


@dataclass
class Heads:
    """How wide the heads of a config are, and where in them the rotating channels lie.

    Parameters
    ----------
    top
        The config.
    row, name
        What the model type adds, and what it is called.
    notes
        Takes what the config leaves to the model type.
    """

    top: Keys
    row: ModelType
    name: str | None
    notes: list[str]

    def width(self, layer: LayerRope) -> int:
        """The width of a head in layers of one type."""
        top, row = self.top, self.row
        if row.widths is not None:
            still, turning = self._latent()
            return top.head_dim(still + turning)
        given = top.width(layer.head_dim_key)
        if given is None and layer.head_dim is None:
            given = top.width("head_dim")
        if given is None and self.name not in MODEL_TYPES:
            given = top.width("kv_channels")
        usual = row.head_dim if layer.head_dim is None else layer.head_dim
        if given is None and usual is not None and not top.has_null(layer.head_dim_key):
            self.unsaid(layer.head_dim_key, usual)
            given = usual
        if given is not None:
            return top.head_dim(given)
        sizes = top.either_width("hidden_size", "n_embd", "d_model")
        if row.axes == "axial" and "embed_dim" in top:
            sizes = top.width("embed_dim")
        heads = top.either_width("num_attention_heads", "n_head", "n_heads", "num_heads")
        if sizes is None or heads is None:
            raise MissingConfigKeyError(
                f"{top.call}: 'head_dim' is missing, and so is hidden_size or num_attention_heads; "
                "give head_dim"
            )
        if sizes % heads:
            raise ConfigValueError(
                f"{top.call}: hidden_size {sizes} is no multiple of num_attention_heads {heads}; "
                "give head_dim"
            )
        return top.head_dim(sizes // heads)

    def rotating(self, head_dim: int, rope_type: str, given: Real | None) -> tuple[int, int]:
        """The first channel that rotates, and how many do.

        `given` is the fraction of the head that the config names.
        """
        row = self.row
        if row.widths is not None:
            start, count = self._latent()
            if given not in (None, 1) and int(head_dim * float(given)) != count:
                raise ConfigValueError(
                    f"{self.top.call}: partial_rotary_factor {given} of {head_dim} channels is not "
                    f"qk_rope_head_dim, {count}; leave one out"
                )
        else:
            count = self._count(head_dim, rope_type, given)
            start = head_dim - count if row.trailing else 0
        if not 1 <= count <= head_dim:
            raise ConfigValueError(
                f"{self.top.call}: {count} of {head_dim} channels cannot rotate; "
                "partial_rotary_factor must lie in (0, 1], and rotary_dim within the head"
            )
        if count % 2:
            raise ConfigValueError(
                f"{self.top.call}: {count} of {head_dim} channels would rotate, an odd number, but "
                "channels rotate in pairs; change head_dim or partial_rotary_factor"
            )
        return start, count

    def _count(self, head_dim: int, rope_type: str, given: Real | None) -> int:
        row = self.row
        whole = rope_type in ("proportional", "axial")
        whole |= rope_type == "default" and row.plain_is_whole
        key = "qk_rope_head_dim" if row.trailing else "rotary_dim"
        if row.trailing or row.rotary_dim is not None:
            if row.rotary_dim and self.top.has_null(key):
                raise ConfigValueError(
                    f"{self.top.call}: {key!r} is null, by which systems mean different things; "
                    f"give a number, or leave it out for {row.rotary_dim}"
                )
            count = self.top.width(key)
            if count is None and row.rotary_dim:
                count = self._or_usual(key, row.rotary_dim)
            if count is not None:
                if given is not None and int(head_dim * float(given)) != count:
                    raise ConfigValueError(
                        f"{self.top.call}: partial_rotary_factor {given} of {head_dim} channels is "
                        f"not {key}, {count}; leave one out"
                    )
                return count
        if whole:
            if given not in (None, 1) and row.plain_is_whole and rope_type == "default":
                self.notes.append(
                    f"partial_rotary_factor {given} is of no effect on the plain RoPE of "
                    f"{self.name}"
                )
            return head_dim
        if given is None and row.fraction != 1:
            self.unsaid(row.fraction_key or "partial_rotary_factor", row.fraction)
        # Systems multiply as float64 and cut off.
        return int(head_dim * float(row.fraction if given is None else given))

    def _latent(self) -> tuple[int, int]:
        """Channels that stay and channels that rotate, of latent attention."""
        usual_still, usual_turning = self.row.widths or (0, 0)
        still = self._or_usual("qk_nope_head_dim", usual_still)
        turning = self._or_usual("qk_rope_head_dim", usual_turning)
        head_dim = self.top.width("head_dim")
        if head_dim not in (None, turning, still + turning):
            raise ConfigValueError(
                f"{self.top.call}: head_dim {head_dim} is neither qk_rope_head_dim, {turning}, "
                f"nor its sum with qk_nope_head_dim, {still + turning}; leave it out"
            )
        return still, turning

    def _or_usual(self, key: str, usual: int) -> int:
        given = self.top.width(key)
        if given is None:
            self.unsaid(key, usual)
        return usual if given is None else given

    def axes(self, keys: Keys, rope_type: str, width: int) -> tuple[int, ...] | None:
        """Which axis each pair follows."""
        kind = self.row.axes
        if rope_type == "axial":
            return axial_axes((width // 2, width // 2))
        sections = keys.counts("mrope_section") or keys.counts("xdrope_section")
        flags = [keys.flag(key) for key in ("mrope_interleaved", "interleaved")]
        if kind is None and self.name not in MODEL_TYPES and sections:
            kind = "interleaved" if True in flags else "contiguous"
        if kind is None and (sections or any(flag is not None for flag in flags)):
            raise UnknownConfigKeyError(
                f"{keys.call}: {keys.where} is about position axes (mrope_section), which are not "
                f"understood here for model type {brief(self.name)}; if they change the rotation, "
                "build the RopeSpec by hand"
            )
        if any(flag not in (None, kind == "interleaved") for flag in flags):
            raise ConfigValueError(
                f"{keys.call}: mrope_interleaved in {keys.where} contradicts the {kind} axes of "
                f"model type {brief(self.name)}; remove it"
            )
        if sections is None and self.row.sections is not None:
            self.unsaid("mrope_section", self.row.sections)
            sections = self.row.sections
        if kind is None or sections is None:
            return None
        if kind == "alternating" and len(sections) == 3:
            rows, columns, time = sections  # the order in which these configs list them
            return alternating_axes((time, rows, columns))
        return interleaved_axes(sections) if kind == "interleaved" else contiguous_axes(sections)

    def unsaid(self, key: str, usual: object) -> None:
        """Note that a value comes from the table of model types."""
        note = f"{key} is missing; {usual} is what the model type stands for in {self.row.source}"
        if note not in self.notes:
            self.notes.append(note)

"""RoPE as the metadata of a GGUF file describe it, read as llama.cpp reads them.

GGUF has no key for the pair layout: it is fixed for each architecture, in
`rope_ref.models.gguf_architectures`. Converters fold some scalings into a
tensor of divisors, ``rope_freqs.weight``, one for each pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from rope_ref.arguments import brief
from rope_ref.errors import (
    ConfigError,
    ConfigValueError,
    MissingConfigKeyError,
    RopeError,
    UnknownConfigKeyError,
    UnknownModelTypeError,
    UnknownRopeTypeError,
)
from rope_ref.exact.real import Real
from rope_ref.models.gguf_architectures import ARCHITECTURES, Architectures
from rope_ref.models.keys import ABOUT_ROPE, Keys
from rope_ref.models.model_types import EVERY_FOURTH
from rope_ref.positions.pair_axes import contiguous_axes, ggml_axes
from rope_ref.scaling.divided import Divided
from rope_ref.scaling.frequencies import FrequencyRule, PowerLaw
from rope_ref.scaling.linear import Linear
from rope_ref.scaling.longrope import LongRoPE
from rope_ref.scaling.ntk import NTK
from rope_ref.scaling.yarn import YaRN
from rope_ref.spec import EVERY_LAYER, LayerRopes, RopeSpec

__all__ = ["ARCHITECTURES", "SCALING_TYPES", "read_gguf", "spec_from_gguf"]

SCALING_TYPES = ("none", "linear", "yarn", "longrope")
"""The values of ``rope.scaling.type``."""

_FINETUNED = "rope.scaling.finetuned"
_FREQS, _LONG, _SHORT = "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"


def spec_from_gguf(
    metadata: Mapping[str, object],
    layer_type: str | None = None,
    *,
    length: Real | None = None,
) -> RopeSpec:
    """Return the RoPE that the metadata of a GGUF file describe.

    Parameters
    ----------
    metadata
        Keys and values, and, where the file has them, the tensors
        ``rope_freqs.weight``, ``rope_factors_long.weight`` and
        ``rope_factors_short.weight`` as sequences of R/2 numbers.
    layer_type
        Which layers, where they differ: ``"full_attention"``, ``"sliding_attention"``.
    length
        The length of text in question, for LongRoPE: llama.cpp takes the context it
        is set up for.

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
    Source: ggml-org/llama.cpp:src/llama-model.cpp and src/llama-context.cpp.
    """
    return read_gguf(metadata, length=length).pick(layer_type, "spec_from_gguf(metadata)")


def read_gguf(metadata: Mapping[str, object], *, length: Real | None = None) -> LayerRopes:
    """Return what GGUF metadata say about RoPE.

    Parameters
    ----------
    metadata
        Keys and values, and optionally the three tensors ``rope_freqs.weight``,
        ``rope_factors_long.weight`` and ``rope_factors_short.weight`` as sequences of
        R/2 numbers.
    length
        The length of text in question, for LongRoPE.

    Returns
    -------
    rope
        A spec for each type of layers, and notes.

    Raises
    ------
    ConfigError
        In one of its kinds: what is wrong and where.

    Notes
    -----
    Source: ggml-org/llama.cpp:src/llama-model.cpp and src/llama-context.cpp.
    """
    call = "spec_from_gguf(metadata)"
    asked = Keys({"length": length}, call).length("length")
    keys = Keys(metadata, call)
    keys.need("general.architecture", "from which the pair layout follows")
    name = keys.text("general.architecture") or ""
    if name not in ARCHITECTURES:
        raise UnknownModelTypeError(
            f"{call}: general.architecture {brief(name)} is none of the {len(ARCHITECTURES)} whose "
            "pair layout is known; build a RopeSpec by hand"
        )
    return _GgufReader(keys, name, asked).read()


@dataclass
class _GgufReader:
    keys: Keys
    name: str
    length: Real | None
    notes: list[str] = field(default_factory=list)

    def read(self) -> LayerRopes:
        try:
            specs = self._specs()
        except ConfigError:
            raise
        except RopeError as error:
            raise ConfigValueError(
                f"{self.keys.call}: no RoPE can be built from these metadata: {error}"
            ) from error
        inert = ["attention.rope_pattern"]
        if self.name in Architectures.finetuned_switches:
            specs = self._switched(specs)
        else:
            inert.append(_FINETUNED)
        for key in inert:
            if self.keys.take(self._key(key)) is not None:
                self.notes.append(f"{key} changes nothing about how a layer rotates")
        for key in self.keys.unread():
            if ABOUT_ROPE.search(key):
                raise UnknownConfigKeyError(
                    f"{self.keys.call}: the key {brief(key)} is about RoPE and is not understood "
                    f"here for architecture {self.name!r}; if it changes the rotation, build the "
                    "RopeSpec by hand, else leave it out"
                )
        return LayerRopes(specs, tuple(dict.fromkeys(self.notes)))

    def _switched(self, specs: dict[str, RopeSpec]) -> dict[str, RopeSpec]:
        """The specs, or still ones where the switch for RoPE is off."""
        if self.keys.flag(self._key(_FINETUNED)) is not False:
            return specs
        self.notes = [f"{_FINETUNED} is false, so no layer rotates"]
        return {layer: self._still(spec) for layer, spec in specs.items()}

    def _still(self, spec: RopeSpec) -> RopeSpec:
        return RopeSpec(spec.head_dim, layout=spec.layout, rotary_dim=0)

    def _check_blocks(self) -> None:
        blocks, key = Architectures.blocks_that_rotate.get(self.name), self._key("block_count")
        if blocks is None:
            return
        self.keys.need(key, "which says whether the model has RoPE")
        given = self.keys.width(key)
        if given != blocks:
            raise ConfigValueError(
                f"{self.keys.call}: {key!r} is {given}, but only models of {blocks} blocks have "
                f"RoPE on architecture {self.name!r}; those of 40 have ALiBi"
            )

    def _key(self, key: str) -> str:
        return f"{self.name}.{key}"

    def _specs(self) -> dict[str, RopeSpec]:
        name, keys = self.name, self.keys
        self._check_blocks()
        head_dim = self._head_dim()
        base = self._positive("rope.freq_base", 10000.0)
        width = self._width(head_dim, "rope.dimension_count")
        full_width = width // 2 if name in Architectures.half_where_full else width
        full = self._spec(head_dim, full_width, self._rule(base, full_width))
        window = keys.number(self._key("attention.sliding_window"))
        slides = name not in Architectures.window_matters or bool(window)
        all_rotate = name in Architectures.none_still_without_window and window == 0
        if name in Architectures.every_fourth_still and not all_rotate:
            self.notes.append(EVERY_FOURTH)
        if name in Architectures.still_where_full and slides:
            self.notes.append("layers of type 'full_attention' do not rotate")
            return {"full_attention": self._still(full), "sliding_attention": full}
        own = ("rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa")
        if not slides:
            for key in own:
                self._inert(key)
            return {EVERY_LAYER: full}
        sliding_base: Real | None = keys.positive(self._key(own[0]))
        sliding_width, sliding_head = (keys.width(self._key(key)) for key in own[1:])
        plain = name in Architectures.plain_where_sliding
        apart = name in Architectures.divisors_where_full
        given = (sliding_base, sliding_width, sliding_head)
        if given == (None, None, None) and not plain and not apart:
            return {EVERY_LAYER: full}
        if apart and name not in Architectures.base_where_sliding:
            keys.need(self._key(own[0]), "the base of sliding layers")
        if sliding_base is None:
            sliding_base = Architectures.base_where_sliding.get(name, base)
        if sliding_head is not None:
            width = head_dim = keys.head_dim(sliding_head)
        width = width if sliding_width is None else sliding_width
        rule: FrequencyRule = PowerLaw(sliding_base)
        if not plain:
            rule = self._rule(sliding_base, width, divide=not apart)
        sliding = self._spec(head_dim, width, rule)
        return {"full_attention": full, "sliding_attention": sliding}

    def _spec(self, head_dim: int, width: int, rule: FrequencyRule) -> RopeSpec:
        layout, axes = ARCHITECTURES[self.name], self._axes()
        if axes is not None and self.name in Architectures.half_with_axes:
            layout = "half"
        start = head_dim - width if self.name in Architectures.latent else 0
        return RopeSpec(
            head_dim,
            layout=layout,
            rotary_dim=width,
            rotary_start=start,
            frequencies=rule,
            pair_axes=axes,
        )

    def _head_dim(self) -> int:
        keys = self.keys
        latent = keys.width(self._key("attention.key_length_mla"))
        given = keys.width(self._key("attention.key_length"))
        if latent is not None or given is not None:
            return keys.head_dim(given or 0 if latent is None else latent)
        size = keys.width(self._key("embedding_length"))
        heads = keys.first_width(self._key("attention.head_count"))
        if size is None or heads is None:
            raise MissingConfigKeyError(
                f"{keys.call}: {self._key('attention.key_length')!r} is missing, and so is "
                "embedding_length or attention.head_count; give it a value"
            )
        if size % heads:
            raise ConfigValueError(
                f"{keys.call}: embedding_length {size} is no multiple of attention.head_count "
                f"{heads}; give attention.key_length"
            )
        return keys.head_dim(size // heads)

    def _width(self, head_dim: int, key: str) -> int:
        given = self.keys.width(self._key(key))
        return head_dim if given is None else given

    def _positive(self, key: str, usual: float) -> Real:
        given = self.keys.positive(self._key(key))
        if given is None:
            self.notes.append(f"{key} is missing, which means {usual}")
        return usual if given is None else given

    def _axes(self) -> tuple[int, ...] | None:
        key = self._key("rope.dimension_sections")
        sections = self.keys.counts(key)
        if sections is None or not any(sections):
            return None
        if self.name in Architectures.interleaved_axes:
            return ggml_axes(sections)
        if self.name in Architectures.several_axes:
            return contiguous_axes(sections)
        raise UnknownConfigKeyError(
            f"{self.keys.call}: {key!r} is about position axes and is not understood here for "
            f"architecture {self.name!r}; if it changes the rotation, build the RopeSpec by hand"
        )

    def _factor(self) -> Real:
        """How many times longer the context becomes; 1 if nothing says it."""
        found = [
            (key, value)
            for key in ("rope.scaling.factor", "rope.scale_linear")
            if (value := self.keys.number(self._key(key))) is not None
        ]
        for key, value in found:
            if value < 0:
                raise self.keys.wrong(self._key(key), "must not be below 0", value)
        if len(found) > 1:
            self.notes.append("rope.scale_linear is of no effect beside rope.scaling.factor")
        # 0 means that nothing is scaled.
        return found[0][1] or 1 if found else 1

    def _rule(self, base: Real, width: int, *, divide: bool = True) -> FrequencyRule:
        keys = self.keys
        kind = keys.text(self._key("rope.scaling.type")) or "linear"
        if kind not in SCALING_TYPES:
            raise UnknownRopeTypeError(
                f"{keys.call}: {self._key('rope.scaling.type')!r} is {brief(kind)}, which is none "
                f"of {', '.join(map(repr, SCALING_TYPES))}"
            )
        factor = self._factor()
        plain: PowerLaw | NTK = PowerLaw(base)
        alpha = keys.number(self._key("rope.scaling.alpha"))
        if alpha:
            plain = NTK(PowerLaw(base), alpha=alpha)
        for key in ("rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"):
            if keys.number(self._key(key)) not in (None, 1):
                raise ConfigValueError(
                    f"{keys.call}: {self._key(key)!r} must be 1, for a spec has no such weight"
                )
        divided = self._divided(plain, width) if divide else plain
        attention = keys.positive(self._key("rope.scaling.attn_factor"))
        if kind != "yarn" and attention not in (None, 1) and _LONG not in keys:
            raise ConfigValueError(
                f"{keys.call}: {self._key('rope.scaling.attn_factor')!r} goes with YaRN, or with "
                "LongRoPE's two tensors of factors; neither is given"
            )
        if kind == "longrope" and _LONG not in keys:
            raise MissingConfigKeyError(
                f"{keys.call}: scaling type 'longrope' takes the tensors {_LONG} and {_SHORT}; add "
                "them to the metadata"
            )
        if kind == "yarn":
            return self._yarn(plain, divided, factor)
        self._inert("rope.scaling.yarn_log_multiplier")
        self._inert("rope.scaling.yarn_beta_fast")
        self._inert("rope.scaling.yarn_beta_slow")
        if kind == "none" and factor != 1:
            self.notes.append("rope.scaling.factor is of no effect with scaling type 'none'")
        return divided if kind == "none" or factor == 1 else Linear(divided, factor=factor)

    def _inert(self, key: str) -> None:
        if self.keys.take(self._key(key)) is not None:
            self.notes.append(f"{key} is of no effect here")

    def _original(self) -> Real:
        for key in ("rope.scaling.original_context_length", "context_length"):
            found = self.keys.length(self._key(key))
            if found is not None:
                return found
        raise MissingConfigKeyError(
            f"{self.keys.call}: {self._key('rope.scaling.original_context_length')!r} is missing, "
            "and so is context_length; give one of them"
        )

    def _divided(self, plain: FrequencyRule, width: int) -> FrequencyRule:
        """The frequencies, divided by the tensors that are there."""
        keys, stored = self.keys, width // 2
        if self.name in Architectures.half_where_full:
            sliding_width = keys.width(self._key("rope.dimension_count_swa")) or 2 * width
            stored = max(width, sliding_width) // 2
        freqs, long, short = (
            None if (found := keys.numbers(tensor, stored)) is None else found[: width // 2]
            for tensor in (_FREQS, _LONG, _SHORT)
        )
        if (long is None) != (short is None) or (freqs is not None and long is not None):
            raise ConfigValueError(
                f"{keys.call}: give {_FREQS} alone, or {_LONG} and {_SHORT} together"
            )
        if long is None or short is None:
            keys.take(self._key("rope.scaling.original_context_length"))
            if freqs is None:
                return plain
            if max(freqs, default=0) >= 1e30:
                self.notes.append(f"pairs that {_FREQS} divides by 1e30 stand all but still")
            return Divided(plain, factors=freqs)
        attention = keys.positive(self._key("rope.scaling.attn_factor"))
        return LongRoPE(
            plain,
            short_factors=short,
            long_factors=long,
            original_length=self._original(),
            factor=1,
            length=self.length,
            attention_factor=1 if attention is None else attention,
        )

    def _yarn(self, plain: FrequencyRule, divided: FrequencyRule, factor: Real) -> FrequencyRule:
        keys = self.keys
        if divided is not plain or not isinstance(plain, PowerLaw):
            raise ConfigValueError(
                f"{keys.call}: scaling type 'yarn' goes with neither tensors of factors nor "
                "rope.scaling.alpha; remove them"
            )
        betas = []
        own = Architectures.own_betas.get(self.name)
        for key, usual in zip(("fast", "slow"), own or (32, 1), strict=True):
            name = f"rope.scaling.yarn_beta_{key}"
            given = keys.positive(self._key(name))
            if own is None and given not in (None, usual):
                self.notes.append(f"{name} {given} is of no effect on architecture {self.name!r}")
            betas.append(usual if own is None or given is None else given)
        weight = self._log_multiplier()
        upper = weight if self.name == "deepseek2" and weight != 1 else 1
        rule = YaRN(
            plain,
            factor=factor,
            original_length=self._original(),
            beta_fast=betas[0],
            beta_slow=betas[1],
            equal_ends="least",
            mscale=upper if weight else None,
            mscale_all_dim=weight or None,
        )
        attention = keys.positive(self._key("rope.scaling.attn_factor"))
        if attention in (None, 1):
            return rule
        return replace(rule, attention_factor=rule.amplitude * Fraction(attention or 1))

    def _log_multiplier(self) -> Real:
        """mscale_all_dim; 0 stands for none."""
        key = "rope.scaling.yarn_log_multiplier"
        stored = self.keys.number(self._key(key))
        if stored is None:
            return 0
        if self.name in Architectures.tenths:
            return stored / 0.1
        if self.name in Architectures.whole:
            return stored
        self.notes.append(f"{key} {stored} is of no effect on architecture {self.name!r}")
        return 0

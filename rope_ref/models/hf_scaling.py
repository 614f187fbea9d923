"""From the scaling part of a Hugging Face config to a frequency rule.

Keys are read as transformers reads them; where other systems read them differently, the rule
has a parameter for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rope_ref.errors import ConfigValueError, MissingConfigKeyError
from rope_ref.exact.real import Real
from rope_ref.models.keys import Keys
from rope_ref.scaling.axial import Axial
from rope_ref.scaling.frequencies import FrequencyRule, PowerLaw
from rope_ref.scaling.linear import Linear
from rope_ref.scaling.llama3 import Llama3
from rope_ref.scaling.longrope import LongRoPE
from rope_ref.scaling.ntk import NTK, DynamicNTK, FixedNTK, qwen_alpha
from rope_ref.scaling.proportional import Proportional
from rope_ref.scaling.yarn import YaRN

__all__ = ["ALIASES", "PARAMETERS", "ROPE_TYPES", "Scaling", "prompt_ntk"]

ALIASES = {"su": "longrope", "mrope": "default", "xdrope": "dynamic"}
"""Old names of scaling types."""


PARAMETERS = frozenset(
    "rope_type type rope_theta partial_rotary_factor factor original_max_position_embeddings "
    "max_position_embeddings attention_factor beta_fast beta_slow mscale mscale_all_dim truncate "
    "short_factor long_factor short_mscale long_mscale low_freq_factor high_freq_factor alpha "
    "mixed_b mrope_section mrope_interleaved interleaved xdrope_section "
    "llama_4_scaling_beta".split()
)
"""The keys of a scaling part, of any type."""


@dataclass
class Scaling:
    """What a rule is made from.

    Parameters
    ----------
    keys
        The scaling part of the config; empty where there is none.
    plain
        The frequencies to scale.
    width
        How many channels the frequencies are for.
    outer_original
        ``original_max_position_embeddings`` outside the scaling part, which wins.
    longest
        ``max_position_embeddings``.
    length
        The length of text in question.
    fraction
        The part of the head that rotates.
    ntk_alpha, yarn_amplitude
        As in `ModelType` and `LayerRope`.
    notes
        Takes what a spec cannot say.
    """

    keys: Keys
    plain: PowerLaw
    width: int
    outer_original: Real | None = None
    longest: Real | None = None
    length: Real | None = None
    fraction: Real = 1.0
    ntk_alpha: bool = False
    yarn_amplitude: Real | None = None
    notes: list[str] = field(default_factory=list)

    def factor(self) -> Real:
        """The factor, which must be there."""
        factor = self.keys.positive("factor")
        if factor is None:
            self.keys.need("factor", "the number of times the context becomes longer")
        assert factor is not None
        return factor

    def original_length(self) -> Real:
        """The length the model was trained for; the longest length if nothing says it."""
        given = self.keys.length("original_max_position_embeddings")
        if self.outer_original is not None:
            if given not in (None, self.outer_original):
                self.notes.append(
                    f"original_max_position_embeddings {self.outer_original} at the top overrules "
                    f"{given} in {self.keys.where}"
                )
            return self.outer_original
        if given is not None:
            return given
        if self.longest is None:
            raise MissingConfigKeyError(
                f"{self.keys.call}: {self.keys.name('original_max_position_embeddings')} is "
                "missing, and so is max_position_embeddings; give one of them"
            )
        self.notes.append(
            f"the original length is max_position_embeddings, {self.longest}, for "
            "original_max_position_embeddings is missing"
        )
        return self.longest

    def stretch(self, original: Real) -> Real:
        """The factor, or else how many times longer the longest length is."""
        factor = self.keys.positive("factor")
        if factor is not None:
            return factor
        if self.longest is None:
            raise MissingConfigKeyError(
                f"{self.keys.call}: {self.keys.name('factor')} is missing, and so is "
                "max_position_embeddings; give one of them"
            )
        factor = float(self.longest) / float(original)
        self.notes.append(
            f"the factor is {factor}, max_position_embeddings over the original length"
        )
        return factor

    def inert(self, *names: str) -> None:
        """Read keys that public code ignores, and note that."""
        for name in names:
            if name in self.keys:
                self.keys.take(name)
                self.notes.append(f"{self.keys.name(name)} is of no effect on this scaling")


def _default(given: Scaling) -> FrequencyRule:
    given.inert("original_max_position_embeddings")
    return given.plain


def _axial(given: Scaling) -> FrequencyRule:
    if given.width % 4:
        raise ConfigValueError(
            f"{given.keys.call}: an axial rotation gives rows and columns an even number of "
            f"channels each, but the head has {given.width}"
        )
    return Axial(given.plain, (given.width // 2, given.width // 2))


def _linear(given: Scaling) -> FrequencyRule:
    given.inert("original_max_position_embeddings")
    return Linear(given.plain, factor=given.factor())


def _dynamic(given: Scaling) -> FrequencyRule:
    alpha = given.keys.positive("alpha") if given.ntk_alpha else None
    if alpha is not None:
        given.inert("factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow")
        given.inert("original_max_position_embeddings")
        return NTK(given.plain, alpha=alpha)
    given.inert("original_max_position_embeddings")
    if given.longest is None:
        raise MissingConfigKeyError(
            f"{given.keys.call}: 'max_position_embeddings' is missing, the length from which "
            "dynamic scaling grows; give it a value"
        )
    return DynamicNTK(
        given.plain, factor=given.factor(), original_length=given.longest, length=given.length
    )


def _ntk(given: Scaling) -> FrequencyRule:
    return FixedNTK(given.plain, factor=given.factor(), mixing=given.keys.number("mixed_b"))


def _beta(given: Scaling, name: str, usual: int) -> Real:
    beta = given.keys.number(name)
    if beta == 0:
        given.notes.append(f"{given.keys.name(name)} is 0, which stands for {usual}")
    return beta or usual


def _yarn(given: Scaling) -> FrequencyRule:
    keys = given.keys
    original = given.original_length()
    factor = given.stretch(original)
    beta_fast, beta_slow = _beta(given, "beta_fast", 32), _beta(given, "beta_slow", 1)
    attention_factor = keys.positive("attention_factor")
    mscale, mscale_all_dim = keys.number("mscale"), keys.number("mscale_all_dim")
    if mscale_all_dim:
        given.notes.append(
            f"{keys.name('mscale_all_dim')} may change the softmax scale too, which a spec "
            "does not have"
        )
    truncate = keys.flag("truncate")
    return YaRN(
        given.plain,
        factor=factor,
        original_length=original,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=True if truncate is None else truncate,
        attention_factor=given.yarn_amplitude if attention_factor is None else attention_factor,
        mscale=mscale,
        mscale_all_dim=mscale_all_dim,
    )


def _longrope(given: Scaling) -> FrequencyRule:
    keys = given.keys
    for name in ("short_factor", "long_factor"):
        keys.need(name, "one number for each pair that rotates")
    original = given.original_length()
    return LongRoPE(
        given.plain,
        short_factors=keys.numbers("short_factor", given.width // 2) or (),
        long_factors=keys.numbers("long_factor", given.width // 2) or (),
        original_length=original,
        factor=given.stretch(original),
        length=given.length,
        attention_factor=keys.positive("attention_factor"),
        short_mscale=keys.positive("short_mscale"),
        long_mscale=keys.positive("long_mscale"),
    )


def _llama3(given: Scaling) -> FrequencyRule:
    keys = given.keys
    low, high = keys.positive("low_freq_factor"), keys.positive("high_freq_factor")
    for name in ("low_freq_factor", "high_freq_factor"):
        keys.need(name, "a number of turns in the original context")
    assert low is not None
    assert high is not None
    return Llama3(
        given.plain,
        factor=given.factor(),
        low_freq_factor=low,
        high_freq_factor=high,
        original_length=given.original_length(),
    )


def _proportional(given: Scaling) -> FrequencyRule:
    factor = given.keys.positive("factor")
    return Proportional(
        given.plain, fraction=given.fraction, factor=1.0 if factor is None else factor
    )


ROPE_TYPES: dict[str, Callable[[Scaling], FrequencyRule]] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
    "axial": _axial,
    "ntk": _ntk,
}
"""Each scaling type: those of transformers, and vLLM's ``ntk``."""


def prompt_ntk(given: Scaling, top: Keys) -> FrequencyRule:
    """The rule of Qwen-1, which has no scaling part but switches at the top."""
    trained = top.length("seq_length")
    if trained is not None and trained != int(trained):
        raise top.wrong("seq_length", "must be a whole number", trained)
    for name in ("use_dynamic_ntk", "use_logn_attn"):
        if name not in top:
            given.notes.append(f"{name} is missing and read as false; the published class has true")
    if top.flag("use_logn_attn"):
        length = "seq_length" if trained is None else trained
        given.notes.append(
            "use_logn_attn: queries at position p are multiplied by "
            f"log_temperature(p, length={length}), which a spec does not have"
        )
    if not top.flag("use_dynamic_ntk"):
        return given.plain
    top.need("seq_length", "the length the model was trained for")
    assert trained is not None
    given.notes.append(
        "use_dynamic_ntk: alpha follows the length of the prompt and is kept while decoding"
    )
    if given.length is None:
        given.notes.append(
            f"a prompt longer than seq_length {trained} takes "
            f"NTK(alpha=qwen_alpha(length, {trained})); give length for it"
        )
        return given.plain
    whole = int(-(-given.length // 1))  # rounded up, which changes no step
    return NTK(given.plain, alpha=qwen_alpha(whole, int(trained)))

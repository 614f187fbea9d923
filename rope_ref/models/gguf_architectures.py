"""What llama.cpp's code knows about an architecture and GGUF metadata do not say."""

from __future__ import annotations

from typing import ClassVar

from rope_ref.exact.real import Real
from rope_ref.spec import Layout

__all__ = ["ARCHITECTURES", "Architectures"]

_LAYOUTS: dict[Layout, str] = {
    "interleaved": (
        "llama llama4 llada deci baichuan internlm2 minicpm xverse command-r cohere2 "
        "cohere2moe olmo arctic deepseek deepseek2 deepseek2ocr deepseek32 plm chatglm granite "
        "granitemoe granitehybrid chameleon bailingmoe smollm3 arcee ernie4_5 ernie4_5-moe "
        "mistral3 mistral4 glm-dsa glm4 bailingmoe3"
    ),
    "half": (
        "falcon falcon-h1 grok dbrx nomic-bert nomic-bert-moe stablelm bitnet qwen qwen2 "
        "qwen2moe qwen3 qwen3moe qwen3next olmo2 olmoe phi2 phi3 phimoe plamo plamo2 gemma gemma2 "
        "gemma3 gemma3n gemma4 starcoder2 openelm gptneox orion nemotron exaone exaone4 minicpm3 "
        "dots1 hunyuan-dense hunyuan-moe gpt-oss lfm2 seed_oss apertus minimax-m2 pangu-embedded "
        "afmoe laguna mimo2 step35 qwen2vl paddleocr qwen3vl qwen3vlmoe qwen35 qwen35moe qwen3tts "
        "glm4moe hunyuan-vl"
    ),
}

ARCHITECTURES: dict[str, Layout] = {
    name: layout for layout, names in _LAYOUTS.items() for name in names.split()
}
"""The pair layout of each architecture that is read here.

llama.cpp knows more. Not here are those without RoPE (``bert`` and ``starcoder`` have learned
positions), whatever layout it gives them.
"""


class Architectures:
    """Sets of architectures that llama.cpp treats alike."""

    interleaved_axes = frozenset("qwen3vl qwen3vlmoe qwen35 qwen35moe qwen3tts".split())
    several_axes = frozenset("qwen2vl paddleocr glm4 glm4moe hunyuan-vl bailingmoe3".split())
    half_with_axes = frozenset(("glm4", "bailingmoe3"))

    latent = frozenset("deepseek2 deepseek2ocr deepseek32 plm minicpm3 glm-dsa mistral4".split())
    """The rotating channels are the last of the head."""

    own_betas: ClassVar[dict[str, tuple[Real, Real]]] = {"grok": (8, 1), "mistral3": (32, 1)}
    """These read beta_fast and beta_slow, with these defaults."""

    tenths = frozenset("deepseek2 deepseek2ocr deepseek32 glm-dsa mistral4".split())
    """``yarn_log_multiplier`` is a tenth of ``mscale_all_dim``."""

    whole = frozenset(("mistral3",))
    """``yarn_log_multiplier`` is ``mscale_all_dim`` itself."""

    finetuned_switches = frozenset(("granite", "granitemoe", "granitehybrid"))
    """``rope.scaling.finetuned`` says whether layers rotate; true where it is missing."""

    blocks_that_rotate: ClassVar[dict[str, int]] = {"baichuan": 32}
    """Only models of so many blocks rotate; Baichuan's of 40 have ALiBi."""

    window_matters = frozenset(("gemma3", "olmo2", "exaone4", "laguna"))
    """Layers are of two types only if ``attention.sliding_window`` is there and not 0."""

    plain_where_sliding = frozenset(("gemma3", "gemma3n", "laguna", "olmo2", "step35"))
    """Sliding layers are never scaled."""

    base_where_sliding: ClassVar[dict[str, Real]] = {"gemma3": 1e4, "gemma3n": 1e4, "step35": 1e4}
    """The base of sliding layers, where ``rope.freq_base_swa`` is missing."""

    divisors_where_full = frozenset(("gemma4", "step35"))
    """``rope_freqs.weight`` is for full layers alone; sliding ones have a base of their own."""

    half_where_full = frozenset(("step35",))
    """In full layers half of ``rope.dimension_count`` channels rotate; tensors fit the others."""

    still_where_full = frozenset(("cohere2", "cohere2moe", "exaone4"))
    """Layers of full attention do not rotate."""

    every_fourth_still = frozenset(("smollm3", "llama4", "afmoe"))
    """Every fourth layer does not rotate."""

    none_still_without_window = frozenset(("llama4",))
    """But every layer does where ``attention.sliding_window`` is there and 0."""

"""Adapters for public libraries that cannot be called as they are.

An adapter only passes arguments on in the order that its library wants; frequencies, table and
rotation are the library's. Its claim says what the library documents, no more and no less, so
that a verdict is about the library.

::

    from rope_conformance.adapters import BUNDLED, bundled, installed

    report = rope_conformance.check(bundled("transformers/llama"))

Nothing of a library is imported until its adapter is made for a spec.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass
from typing import Any

from rope_conformance.target.implementation import TargetError
from rope_ref import RopeSpec

__all__ = ["BUNDLED", "Bundled", "bundled", "installed"]


@dataclass(frozen=True)
class Bundled:
    """An adapter that ships with the suite.

    Parameters
    ----------
    name
        What ``rope-ref check`` and `bundled` call it.
    package
        The distribution that it calls, as its registry names it.
    target
        Module of this folder and class in it.
    sentence
        Which functions and classes it calls, and what is particular to them.
    needs
        Other distributions that must be installed.
    """

    name: str
    package: str
    target: str
    sentence: str
    needs: tuple[str, ...] = ()

    def load(self) -> Any:
        """Return the adapter class. This does not import the library."""
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)

    @property
    def spec(self) -> RopeSpec:
        """The RoPE it is judged by if no other is asked for."""
        spec = self.load().spec
        assert isinstance(spec, RopeSpec)
        return spec


def _entries() -> dict[str, Bundled]:
    entries = (
        Bundled(
            "transformers/llama",
            "transformers",
            "_transformers:Llama",
            "LlamaRotaryEmbedding and apply_rotary_pos_emb; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/gptj",
            "transformers",
            "_transformers:GPTJ",
            "GPTJRotaryEmbedding and apply_rotary_pos_emb; interleaved, a table of fixed length",
            ("torch",),
        ),
        Bundled(
            "transformers/gptneox",
            "transformers",
            "_transformers:GPTNeoX",
            "GPTNeoXRotaryEmbedding and apply_rotary_pos_emb; half layout, part of each head",
            ("torch",),
        ),
        Bundled(
            "transformers/qwen2-vl",
            "transformers",
            "_transformers:Qwen2VL",
            "Qwen2VLRotaryEmbedding with the same position on all three axes; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/deepseek-v2",
            "transformers",
            "_transformers:DeepseekV2",
            "DeepseekV2RotaryEmbedding and apply_rotary_emb; interleaved, complex numbers",
            ("torch",),
        ),
        Bundled(
            "transformers/deepseek-v3",
            "transformers",
            "_transformers:DeepseekV3",
            "DeepseekV3RotaryEmbedding and apply_rotary_pos_emb_interleave; read interleaved, "
            "written half",
            ("torch",),
        ),
        Bundled(
            "transformers/llama-scaled",
            "transformers",
            "_transformers_scaled:LlamaScaled",
            "ROPE_INIT_FUNCTIONS for one length, LlamaRotaryEmbedding and apply_rotary_pos_emb; "
            "half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/olmo3",
            "transformers",
            "_transformers_scaled:Olmo3",
            "Olmo3RotaryEmbedding, configured by type of layers, and apply_rotary_pos_emb; half "
            "layout",
            ("torch",),
        ),
        Bundled(
            "transformers/phi3",
            "transformers",
            "_transformers_scaled:Phi3",
            "Phi3RotaryEmbedding and apply_rotary_pos_emb in long texts; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/phimoe",
            "transformers",
            "_transformers_scaled:Phimoe",
            "PhimoeRotaryEmbedding and apply_rotary_pos_emb in long texts; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/qwen2.5-vl",
            "transformers",
            "_multi_axis:Qwen25VL",
            "Qwen2_5_VLRotaryEmbedding on time, row, column, and apply_rotary_pos_emb; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/qwen3-vl",
            "transformers",
            "_multi_axis:Qwen3VL",
            "Qwen3VLTextRotaryEmbedding on time, row, column, and apply_rotary_pos_emb; half "
            "layout",
            ("torch",),
        ),
        Bundled(
            "transformers/glm4v",
            "transformers",
            "_multi_axis:GLM4V",
            "Glm4vTextRotaryEmbedding on time, row, column, and apply_rotary_pos_emb; interleaved",
            ("torch",),
        ),
        Bundled(
            "transformers/ernie4.5-vl",
            "transformers",
            "_multi_axis:Ernie45VL",
            "Ernie4_5_VLMoeTextRotaryEmbedding on time, row, column, and apply_rotary_pos_emb; "
            "interleaved",
            ("torch",),
        ),
        Bundled(
            "transformers/hunyuan-vl",
            "transformers",
            "_multi_axis:HunYuanVL",
            "HunYuanVLRotaryEmbedding on four axes, and apply_rotary_pos_emb; half layout",
            ("torch",),
        ),
        Bundled(
            "transformers/vjepa2",
            "transformers",
            "_multi_axis:VJEPA2",
            "VJEPA2RopeAttention.apply_rotary_embeddings on frame, row, column: no rotation, and "
            "declared so",
            ("torch",),
        ),
        Bundled(
            "diffusers/float32",
            "diffusers",
            "_diffusers:Float32",
            "get_1d_rotary_pos_embed with float32 frequencies and apply_rotary_emb",
            ("torch",),
        ),
        Bundled(
            "diffusers/float64",
            "diffusers",
            "_diffusers:Float64",
            "get_1d_rotary_pos_embed with float64 frequencies and apply_rotary_emb",
            ("torch",),
        ),
        Bundled(
            "diffusers/flux",
            "diffusers",
            "_multi_axis:Flux",
            "FluxPosEmbed on three axes, and apply_rotary_emb; interleaved",
            ("torch",),
        ),
        Bundled(
            "x-transformers",
            "x-transformers",
            "_x_transformers:XTransformers",
            "RotaryEmbedding and apply_rotary_pos_emb; interleaved",
            ("torch",),
        ),
        Bundled(
            "rotary-embedding-torch",
            "rotary-embedding-torch",
            "_rotary_embedding_torch:RotaryEmbeddingTorch",
            "RotaryEmbedding.rotate_queries_or_keys at an offset; interleaved",
            ("torch",),
        ),
        Bundled(
            "ibm-fms",
            "ibm-fms",
            "_ibm_fms:IbmFms",
            "RotaryEmbedding.adjusted_qk without scaling; interleaved, a table of fixed length",
            ("torch",),
        ),
        Bundled(
            "ibm-fms/yarn",
            "ibm-fms",
            "_ibm_fms_scaled:IbmFmsYaRN",
            "RotaryEmbedding.adjusted_qk with rope_type yarn; a table of fixed length",
            ("torch",),
        ),
        Bundled(
            "litgpt/yarn",
            "litgpt",
            "_litgpt:LitGPTYaRN",
            "build_rope_cache with parameters of YaRN, and apply_rope; half layout",
            ("torch", "lightning"),
        ),
        Bundled(
            "torch/rotary-embedding",
            "torch",
            "_torch:TorchOperator",
            "torch.onnx.ops.rotary_embedding; either layout, tables from the caller",
        ),
        Bundled(
            "onnx/rotary-embedding",
            "onnx",
            "_onnx:OnnxReference",
            "the operator RotaryEmbedding in onnx's reference evaluator; tables from the caller",
        ),
        Bundled(
            "onnxruntime/rotary-embedding",
            "onnxruntime",
            "_onnx:OnnxRuntime",
            "the operator RotaryEmbedding in onnxruntime on the CPU; tables from the caller",
            ("onnx",),
        ),
        Bundled(
            "equinox",
            "equinox",
            "_equinox:Equinox",
            "equinox.nn.RotaryPositionalEmbedding mapped over rows and heads; half layout",
            ("jax",),
        ),
        Bundled(
            "keras-hub",
            "keras-hub",
            "_keras_hub:KerasHub",
            "keras_hub.layers.RotaryEmbedding on the torch backend; half layout",
            ("keras", "torch"),
        ),
        Bundled(
            "keras-hub/yarn",
            "keras-hub",
            "_keras_hub_scaled:KerasHubYaRN",
            "keras_hub.layers.RotaryEmbedding with rope_type yarn on the torch backend; half "
            "layout",
            ("keras", "torch"),
        ),
        Bundled(
            "keras-hub/dynamic",
            "keras-hub",
            "_keras_hub_scaled:KerasHubDynamic",
            "keras_hub.layers.RotaryEmbedding with rope_type dynamic on the torch backend; half "
            "layout",
            ("keras", "torch"),
        ),
        *(
            Bundled(
                f"rope-backends/{framework}",
                package,
                f"_rope_backends:{framework.capitalize()}",
                f"our own backend on {framework}'s arrays, positions concrete",
            )
            for framework, package in (
                ("numpy", "numpy"),
                ("strict", "array-api-strict"),
                ("torch", "torch"),
                ("jax", "jax"),
                ("cupy", "cupy-cuda13x"),
            )
        ),
        Bundled(
            "mlx",
            "mlx",
            "_mlx:Mlx",
            "mlx.nn.RoPE at an offset, on the CPU; either layout",
        ),
    )
    return {entry.name: entry for entry in entries}


BUNDLED: dict[str, Bundled] = _entries()


def bundled(name: str) -> Any:
    """Return the factory of a bundled adapter.

    Parameters
    ----------
    name
        A key of `BUNDLED`.

    Returns
    -------
    factory
        A class that is called with a `RopeSpec`: a target of `rope_conformance.check`.

    Raises
    ------
    TargetError
        If there is none of that name, or its library is not installed.
    """
    if name not in BUNDLED:
        raise TargetError(
            f"there is no bundled implementation {name!r}; there are {', '.join(BUNDLED)}"
        )
    version, reason = installed(name)
    if version is None:
        raise TargetError(f"{name}: {reason}")
    return BUNDLED[name].load()


def installed(name: str) -> tuple[str | None, str]:
    """Return whether the library of an adapter is installed, without importing it.

    Parameters
    ----------
    name
        A key of `BUNDLED`.

    Returns
    -------
    version
        That of the library; None if it, or another distribution it needs, is missing.
    missing
        What is missing, and the command that installs it; empty otherwise.

    Raises
    ------
    KeyError
        If there is no adapter of that name.
    """
    entry = BUNDLED[name]
    missing = []
    for package in (entry.package, *entry.needs):
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        return None, f"not installed; pip install {' '.join(missing)}"
    return importlib.metadata.version(entry.package), ""

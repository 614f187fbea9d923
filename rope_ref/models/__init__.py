"""A spec from a Hugging Face config or from GGUF metadata: mappings, not files."""

from rope_ref.models.gguf import read_gguf, spec_from_gguf
from rope_ref.models.hf_config import read_hf_config, spec_from_hf_config

__all__ = ["read_gguf", "read_hf_config", "spec_from_gguf", "spec_from_hf_config"]

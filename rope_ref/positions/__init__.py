"""Which position each token has: sequences, grids, multimodal; which axis each pair follows."""

from rope_ref.positions.dual_chunks import DualChunkPositions, dual_chunk_positions
from rope_ref.positions.grids import (
    centred_coordinates,
    coordinate_grid,
    cropped_coordinates,
    grid_positions,
    normalised_coordinates,
)
from rope_ref.positions.multimodal import (
    GridSegment,
    TextSegment,
    decoding_delta,
    multimodal_decoding_positions,
    multimodal_positions,
)
from rope_ref.positions.pair_axes import (
    alternating_axes,
    axial_axes,
    contiguous_axes,
    ggml_axes,
    glm_axes,
    interleaved_axes,
    pangu_axes,
)
from rope_ref.positions.sequences import (
    context_parallel_positions,
    context_parallel_tokens,
    decoding_positions,
    packed_positions,
    padded_positions,
)

__all__ = [
    "DualChunkPositions",
    "GridSegment",
    "TextSegment",
    "alternating_axes",
    "axial_axes",
    "centred_coordinates",
    "context_parallel_positions",
    "context_parallel_tokens",
    "contiguous_axes",
    "coordinate_grid",
    "cropped_coordinates",
    "decoding_delta",
    "decoding_positions",
    "dual_chunk_positions",
    "ggml_axes",
    "glm_axes",
    "grid_positions",
    "interleaved_axes",
    "multimodal_decoding_positions",
    "multimodal_positions",
    "normalised_coordinates",
    "packed_positions",
    "padded_positions",
    "pangu_axes",
]

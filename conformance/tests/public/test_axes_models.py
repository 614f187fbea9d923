"""Models of images and videos: rows, columns and frames turn their pairs as the specs say.

Each model's own table is compared, and where it has a function for it, its own rotation. The
bound is that of the recipe by which the model makes its frequencies; where coordinates are
no integers, what their roundings add is stated beside them.
"""

import importlib

import numpy as np
import pytest
import torch

import rope_ref as rr
from rope_conformance.accuracy.number_types import unit_roundoff
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_ref import PowerLaw, RopeSpec, pair_channels
from rope_ref.extensions import apply_channel_tables, pair_determinants
from rope_ref.positions import (
    GridSegment,
    TextSegment,
    alternating_axes,
    axial_axes,
    centred_coordinates,
    contiguous_axes,
    coordinate_grid,
    cropped_coordinates,
    decoding_delta,
    grid_positions,
    interleaved_axes,
    multimodal_positions,
    normalised_coordinates,
)
from rope_ref.scaling import NTK, Axial, Reordered

FLOAT32, FLOAT64 = profile_named("float32-power"), profile_named("float64")
FRAMES, ROWS, COLUMNS = 3, 5, 4
GRID = grid_positions(FRAMES, ROWS, COLUMNS)
IMAGE = grid_positions(1, ROWS, COLUMNS)[1:]
FAR = np.random.default_rng(0).integers(0, 4096, (4, 60))  # for models that take positions


def share_of_bound(y, x, positions, spec, profile=FLOAT32, roundings=0.0):
    """The largest error as a share of the bound; outputs and inputs are (T, H, D).

    `roundings` is how far off coordinates are, in units of float32's roundoff.
    """
    y, x = (np.asarray(each, dtype=np.float32)[None] for each in (y, x))
    assert y.shape == x.shape == (1, np.shape(positions)[-1], x.shape[2], spec.head_dim)
    judgement = judge(y, x, np.asarray(positions), spec, "float32", profile)
    allowed = judgement.bound + roundings * np.abs(spec.theta())
    assert (allowed * unit_roundoff("float32") < 1 / 16).all()
    return np.max(judgement.residual / allowed)


def data(tokens, head_dim, heads=2):
    x = np.random.default_rng(tokens).standard_normal((tokens, heads, head_dim), dtype=np.float32)
    return torch.from_numpy(x)


def units(cos, sin, spec):
    """What a table makes of (1, 0) in every pair, and these; cos and sin are (T, R/2)."""
    first, second = pair_channels(spec)
    x = np.zeros((len(cos), 1, spec.head_dim))
    y = x.copy()
    x[..., first] = 1
    y[:, 0, first], y[:, 0, second] = (np.asarray(each) for each in (cos, sin))
    return y, x


def axial(widths, base, layout="interleaved"):
    return RopeSpec(
        sum(widths),
        layout=layout,
        frequencies=Axial(PowerLaw(base), widths),
        pair_axes=axial_axes(widths),
    )


# transformers: text


def text_model(folder, prefix, **config):
    """The text rotary embedding of a model, and its function that rotates."""
    model = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    kind = getattr(model, f"{prefix.removesuffix('Text')}TextConfig")
    parameters = {"rope_type": "default", **config.pop("rope")}
    made = kind(num_attention_heads=1, rope_parameters=parameters, **config)
    return getattr(model, f"{prefix}RotaryEmbedding")(made), model.apply_rotary_pos_emb


TEXT = [
    # folder, classes, layout, width, base, sections in the config, the axis of each pair
    ("qwen2_vl", "Qwen2VL", "half", 128, 1e6, (16, 24, 24), contiguous_axes((16, 24, 24))),
    ("qwen2_5_vl", "Qwen2_5_VL", "half", 128, 1e6, (16, 24, 24), contiguous_axes((16, 24, 24))),
    ("qwen3_vl", "Qwen3VLText", "half", 128, 5e6, (24, 20, 20), interleaved_axes((24, 20, 20))),
    (
        "qwen3_vl_moe", "Qwen3VLMoeText", "half", 128, 5e6, (24, 20, 20),
        interleaved_axes((24, 20, 20)),
    ),
    ("qwen3_5", "Qwen3_5Text", "half", 64, 1e7, (11, 11, 10), interleaved_axes((11, 11, 10))),
    ("glm4v", "Glm4vText", "interleaved", 64, 1e4, (8, 12, 12), contiguous_axes((8, 12, 12))),
    ("glm4v_moe", "Glm4vMoeText", "half", 64, 1e4, (8, 12, 12), contiguous_axes((8, 12, 12))),
    ("glm_ocr", "GlmOcrText", "interleaved", 64, 1e4, (8, 12, 12), contiguous_axes((8, 12, 12))),
    (
        "ernie4_5_vl_moe", "Ernie4_5_VLMoeText", "interleaved", 128, 5e5, (22, 22, 20),
        alternating_axes((20, 22, 22)),
    ),
]  # fmt: skip


@pytest.mark.parametrize("model", TEXT, ids=[row[0] for row in TEXT])
def test_text_with_three_axes(model):
    folder, prefix, layout, width, base, sections, axes = model
    rope = {"rope_theta": base, "mrope_section": list(sections), "partial_rotary_factor": 1.0}
    table, rotate = text_model(folder, prefix, hidden_size=width, head_dim=width, rope=rope)
    spec = RopeSpec(width, layout=layout, frequencies=PowerLaw(base), pair_axes=axes)
    x = data(60, width).transpose(0, 1)[None]
    y, _ = rotate(x, x, *table(x, torch.from_numpy(FAR[:3, None])))
    assert share_of_bound(y[0].transpose(0, 1), x[0].transpose(0, 1), FAR[:3], spec) <= 1


def test_hunyuan_vl_cuts_both_halves_at_once():
    """Known: sections are cut out of the whole width, and no pair follows one axis."""
    width, sections = 128, (16, 16, 16, 16)
    rope = {"rope_theta": 1e4, "mrope_section": list(sections)}
    table, rotate = text_model(
        "hunyuan_vl", "HunYuanVL", hidden_size=width, head_dim=width, rope=rope
    )
    spec = RopeSpec(width, layout="half", pair_axes=contiguous_axes(sections))
    x = data(60, width).transpose(0, 1)[None]

    def share(positions):
        y, _ = rotate(x, x, *table(x, torch.from_numpy(positions[:, None])))
        return share_of_bound(y[0].transpose(0, 1), x[0].transpose(0, 1), positions, spec)

    assert share(np.repeat(FAR[:1], 4, axis=0)) <= 1  # text
    assert share(FAR) > 1e5
    cos, _ = table(x, torch.from_numpy(FAR[:, None]))
    channels = np.arange(width)
    phases = FAR[channels // 32].T * spec.theta()[channels % 64]
    m = FLOAT32.amplification(spec)[channels % 64] * unit_roundoff("float32")
    assert (np.abs(cos[0].numpy() - np.cos(phases)) <= m * phases + 2**-23).all()
    right = np.cos(np.tile(FAR[list(spec.pair_axes)].T * spec.theta(), 2))
    assert np.abs(cos[0].numpy() - right).max() > 1.99


# transformers: images


def vision_model(folder, prefix, **config):
    model = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    config_class = getattr(model, f"{prefix}VisionConfig")
    return model, getattr(model, f"{prefix}VisionRotaryEmbedding")(config_class(**config))


@pytest.mark.parametrize(
    ("folder", "prefix", "width"),
    [
        ("qwen2_vl", "Qwen2VL", {"embed_dim": 80, "num_heads": 1}),
        ("qwen2_5_vl", "Qwen2_5_VL", {"hidden_size": 80, "num_heads": 1}),
        ("qwen3_vl", "Qwen3VL", {"hidden_size": 80, "num_heads": 1}),
        ("glm4v", "Glm4v", {"hidden_size": 80, "num_heads": 1}),
        ("ernie4_5_vl_moe", "Ernie4_5_VLMoe", {"hidden_size": 80, "num_heads": 1}),
    ],
)
def test_rows_and_columns_with_a_ladder_each(folder, prefix, width):
    model, table = vision_model(folder, prefix, **width)
    x = data(IMAGE.shape[1], 80)
    y, _ = model.apply_rotary_pos_emb_vision(x, x, *table(x, torch.from_numpy(IMAGE.T)))
    assert share_of_bound(y, x, IMAGE, axial((40, 40), 1e4, "half")) <= 1


def test_pixtral_shares_one_ladder_between_even_and_odd_pairs():
    model, table = vision_model("pixtral", "Pixtral", hidden_size=64, num_attention_heads=1)
    order = (*range(0, 32, 2), *range(1, 32, 2))
    spec = RopeSpec(
        64,
        layout="half",
        frequencies=Reordered(PowerLaw(1e4), order=order),
        pair_axes=contiguous_axes((16, 16)),
    )
    x = data(IMAGE.shape[1], 64).transpose(0, 1)
    y, _ = model.apply_rotary_pos_emb(x, x, *table(x, torch.from_numpy(IMAGE.T)), 0)
    assert share_of_bound(y.transpose(0, 1), x.transpose(0, 1), IMAGE, spec) <= 1


def test_dinov3_has_coordinates_from_minus_one_to_one():
    from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3

    config = dinov3.DINOv3ViTConfig(hidden_size=64, num_attention_heads=1, patch_size=16)
    pixels = torch.zeros(1, 3, 16 * ROWS, 16 * COLUMNS)
    cos, sin = dinov3.DINOv3ViTRopePositionEmbedding(config).eval()(pixels)
    turns = Axial(rr.ExplicitFrequencies(turns=PowerLaw(100).theta(32)), (32, 32))
    spec = RopeSpec(64, layout="half", frequencies=turns, pair_axes=axial_axes((32, 32)))
    rows, columns = (normalised_coordinates(n) for n in (ROWS, COLUMNS))
    positions = coordinate_grid(rows, columns)
    prefix = 5  # class and register tokens
    x = data(positions.shape[1] + prefix, 64).transpose(0, 1)[None]
    y, _ = dinov3.apply_rotary_pos_emb(x, x, cos, sin)
    assert torch.equal(y[:, :, :prefix], x[:, :, :prefix])
    y, x = (each[0, :, prefix:].transpose(0, 1) for each in (y, x))
    # A coordinate is a quotient, doubled, less 1: half a unit and a unit and a half. 2 pi is
    # rounded and multiplied in, and frequencies are not given but computed.
    computed = FLOAT32.amplification(RopeSpec(32, layout="half", frequencies=PowerLaw(100)))
    assert share_of_bound(y, x, positions, spec, roundings=4 + np.tile(computed, 2)) <= 1


def test_llama4_vision_counts_columns_and_rows_from_one():
    from transformers.models.llama4 import modeling_llama4 as llama4

    config = llama4.Llama4VisionConfig(
        hidden_size=88, num_attention_heads=1, image_size=14 * 6, patch_size=14
    )
    table = llama4.Llama4VisionRotaryEmbedding(config)(torch.zeros(1))
    rows, columns = coordinate_grid(np.arange(1, 7), np.arange(1, 7))
    positions = np.stack([columns, rows])
    positions = np.concatenate([positions, np.zeros((2, 1), int)], axis=1)  # the class token
    x = data(positions.shape[1], 88)
    y, _ = llama4.vision_apply_rotary_emb(x[None], x[None], table)
    assert share_of_bound(y[0], x, positions, axial((44, 44), 1e4)) <= 1


def test_gemma4_vision_rotates_two_blocks_one_after_the_other():
    model, table = vision_model(
        "gemma4", "Gemma4", hidden_size=64, num_attention_heads=1, head_dim=64
    )
    columns_first = torch.from_numpy(IMAGE[::-1].copy())
    x = data(IMAGE.shape[1], 64)
    cos, sin = table(x[None], columns_first.T[None])
    y = model.apply_multidimensional_rope(x[None], cos, sin, columns_first.T[None])[0]
    column, row = (
        RopeSpec(64, layout="half", rotary_dim=32, rotary_start=start, frequencies=PowerLaw(100.0))
        for start in (0, 32)
    )
    for spec, positions, start in ((column, IMAGE[1], 0), (row, IMAGE[0], 32)):
        # The other block stays where a spec does not reach.
        own = x.clone()
        own[..., start : start + 32] = y[..., start : start + 32]
        assert share_of_bound(own, x, positions, spec) <= 1


# diffusers


def diffusers_module(name):
    return importlib.import_module(f"diffusers.models.transformers.transformer_{name}")


def latents(*sizes):
    return torch.zeros(1, 1, *sizes)


def rotated(x, cos, sin, way=-1):
    """Rotate (T, H, D) with the function of diffusers."""
    from diffusers.models.embeddings import apply_rotary_emb

    return apply_rotary_emb(x[None], (cos, sin), use_real_unbind_dim=way, sequence_dim=1)[0]


@pytest.mark.parametrize(
    ("module", "name", "base", "widths"),
    [
        ("flux", "FluxPosEmbed", 10000, (16, 56, 56)),
        ("flux2", "Flux2PosEmbed", 2000, (32, 32, 32, 32)),
    ],
)
def test_flux_has_a_ladder_for_each_axis_in_float64(module, name, base, widths):
    positions = FAR[: len(widths)]
    table = getattr(diffusers_module(module), name)(base, list(widths))
    x = data(positions.shape[1], 128)
    y = rotated(x, *table(torch.from_numpy(positions.T)))
    assert share_of_bound(y, x, positions, axial(widths, base), FLOAT64) <= 1


def test_wan():
    table = diffusers_module("wan").WanRotaryPosEmbed(128, (1, 2, 2), 64)
    cos, sin = table(latents(FRAMES, 2 * ROWS, 2 * COLUMNS))
    x = data(GRID.shape[1], 128)
    y = rotated(x, cos[0, :, 0], sin[0, :, 0])
    assert share_of_bound(y, x, GRID, axial((44, 42, 42), 1e4), FLOAT64) <= 1


def test_hunyuan_video():
    table = diffusers_module("hunyuan_video").HunyuanVideoRotaryPosEmbed(2, 1, [16, 56, 56], 256.0)
    x = data(GRID.shape[1], 128)
    y = rotated(x, *table(latents(FRAMES, 2 * ROWS, 2 * COLUMNS)))
    assert share_of_bound(y, x, GRID, axial((16, 56, 56), 256)) <= 1


def test_cogvideox_spreads_coordinates_over_a_crop():
    from diffusers.models.embeddings import get_3d_rotary_pos_embed

    start, stop = (2, 1), (9, 8)
    cos, sin = get_3d_rotary_pos_embed(64, (start, stop), (ROWS, COLUMNS), FRAMES)
    positions = coordinate_grid(
        np.arange(FRAMES),
        cropped_coordinates(2, 9, ROWS),
        cropped_coordinates(1, 8, COLUMNS),
    )
    x = data(positions.shape[1], 64)
    # torch.linspace: a difference, a quotient, a product and a sum, from rounded ends.
    y = rotated(x, cos, sin)
    assert share_of_bound(y, x, positions, axial((16, 24, 24), 1e4), roundings=6 * 9) <= 1


def test_qwen_image_centres_rows_and_columns():
    table = diffusers_module("qwenimage").QwenEmbedRope(10000, [16, 56, 56], scale_rope=True)
    image, text = table([(1, ROWS, COLUMNS)], torch.device("cpu"), max_txt_seq_len=7)
    positions = coordinate_grid([0], centred_coordinates(ROWS), centred_coordinates(COLUMNS))
    spec = axial((16, 56, 56), 1e4)
    goes_on = max(ROWS // 2, COLUMNS // 2) + np.arange(7)
    for made, where in ((image, positions), (text, np.stack([goes_on] * 3))):
        assert share_of_bound(*units(made.real, made.imag, spec), where, spec) <= 1


def test_cosmos_scales_time():
    x = data(GRID.shape[1], 128)
    table = diffusers_module("cosmos").CosmosRotaryPosEmbed(128)
    cos, sin = table(latents(FRAMES, 2 * ROWS, 2 * COLUMNS), fps=30)
    rules = (NTK(PowerLaw(1e4), alpha=2), PowerLaw(1e4), PowerLaw(1e4))
    widths = (44, 42, 42)
    spec = RopeSpec(
        128,
        layout="half",
        frequencies=Axial(rules, widths),
        pair_axes=axial_axes(widths),
    )
    positions = GRID * np.array([[24 / 30], [1], [1]])
    y = rotated(x, cos, sin, way=-2)
    # Time is divided by the frame rate and multiplied by another: two roundings.
    assert share_of_bound(y, x, positions, spec, roundings=2 * FRAMES) <= 1


def test_cogview4():
    table = diffusers_module("cogview4").CogView4RotaryPosEmbed(64, 2, (ROWS, COLUMNS))
    x = data(IMAGE.shape[1], 64)
    y = rotated(x, *table(latents(2 * ROWS, 2 * COLUMNS)), way=-2)
    assert share_of_bound(y, x, IMAGE, axial((32, 32), 1e4, "half")) <= 1


def test_z_image_and_lumina():
    ids = FAR[:3] % 128
    z_image = diffusers_module("z_image").RopeEmbedder(256.0, [32, 48, 48], [128] * 3)
    spec = axial((32, 48, 48), 256)
    made = z_image(torch.from_numpy(ids.T))
    assert share_of_bound(*units(made.real, made.imag, spec), ids, spec) <= 1
    lumina = diffusers_module("lumina2").Lumina2RotaryPosEmbed(10000, [32, 32, 32], [128] * 3)
    spec = axial((32, 32, 32), 1e4)
    made = lumina._get_freqs_cis(torch.from_numpy(ids.T[None]))[0]
    assert share_of_bound(*units(made.real, made.imag, spec), ids, spec, FLOAT64) <= 1


# Positions of text after an image or a video


def rope_index(folder, prefix, grids, *, seconds=None):
    """Positions and delta of three tokens of text, an image or a video, and three of text."""
    model = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    config = getattr(model, f"{prefix}Config")()
    config.vision_config.tokens_per_second = 2
    made = object.__new__(getattr(model, f"{prefix}Model"))  # without its weights
    torch.nn.Module.__init__(made)
    made.config = config
    kind, (frames, rows, columns) = grids
    inside = frames * rows * columns // 4
    kinds = [0] * 3 + [kind] * inside + [0] * 3
    name = {1: "image_grid_thw", 2: "video_grid_thw"}[kind]
    options = {name: torch.tensor([[frames, rows, columns]])}
    if seconds is not None:
        options["second_per_grid_ts"] = torch.tensor([seconds])
    positions, delta = made.get_rope_index(
        torch.zeros(1, len(kinds), dtype=torch.long), torch.tensor([kinds]), **options
    )
    return positions[:, 0].numpy(), int(delta)


def segments(frames, rows, columns, interval=1):
    grid = GridSegment(frames, rows, columns, interval=interval, merge=2)
    return [TextSegment(3), grid, TextSegment(3)]


QWEN = [("qwen2_vl", "Qwen2VL"), ("qwen2_5_vl", "Qwen2_5_VL"), ("qwen3_vl", "Qwen3VL")]


@pytest.mark.parametrize(("folder", "prefix"), QWEN)
def test_text_after_an_image(folder, prefix):
    positions, delta = rope_index(folder, prefix, (1, (1, 8, 12)))
    for rule in rr.multimodal.NEXT_POSITIONS:
        want = multimodal_positions(segments(1, 8, 12), next_position=rule)
        assert np.array_equal(positions, want)
        assert delta == decoding_delta(want)


@pytest.mark.parametrize(
    ("folder", "prefix", "seconds", "interval", "starts"),
    [("qwen2_vl", "Qwen2VL", None, 1, (9, 33)), ("qwen2_5_vl", "Qwen2_5_VL", 2.0, 4, (9, 120))],
)
def test_text_after_a_video_overlaps_it(folder, prefix, seconds, interval, starts):
    """Known: the position goes on by rows and columns, while the last frames are farther."""
    video = (30, 8, 12)
    positions, delta = rope_index(folder, prefix, (2, video), seconds=seconds)
    extent, maximum = (
        multimodal_positions(segments(*video, interval), next_position=rule)
        for rule in ("extent", "maximum")
    )
    assert np.array_equal(positions, extent)
    assert (positions[0, -3], maximum[0, -3]) == starts
    assert positions[0, :-3].max() > positions[0, -1]
    # Decoding goes on behind the video all the same.
    assert delta == decoding_delta(extent)
    assert len(positions[0]) + delta == max(positions.max(), positions[0, -1]) + 1


@pytest.mark.parametrize("dim", [20, 64])
def test_v_jepa2_is_the_map_that_is_declared_as_no_rotation(dim):
    """Halves repeated in the table, neighbours as partners: the declared map, and no RoPE."""
    vjepa2 = importlib.import_module("transformers.models.vjepa2.modeling_vjepa2")
    positions = np.arange(40)
    x = data(positions.size, dim).to(torch.float64)
    seen = vjepa2.rotate_queries_or_keys(x.permute(1, 0, 2)[None], torch.from_numpy(positions))
    y = seen[0].permute(1, 0, 2).numpy()
    plain = RopeSpec(dim, layout="interleaved")
    cos, sin = (np.concatenate([each, each], -1) for each in rr.cos_sin(positions, plain))
    want = apply_channel_tables(x.numpy(), cos, sin, layout="interleaved", axes="thd")
    # Frequencies by exp all in float64, as the bound counts them; two products and a sum.
    m = 7 + 4 * np.log(1e4)
    size = np.abs(x.numpy()).max() * np.sqrt(2)
    assert np.abs(y - want).max() <= (m * positions.max() + 8) * 2.0**-53 * size
    # A rotation it is not: pairs change their length.
    assert pair_determinants(cos, sin, layout="interleaved").min() < 0
    assert np.abs(y - rr.apply_rope(x.numpy(), positions, plain, axes="thd")).max() > 1

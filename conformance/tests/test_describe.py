"""`rope-ref describe`: what it says of a model, and of two."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import rope_ref as rr
from rope_conformance.commands import rope_ref
from rope_conformance.describing import DESCRIPTION
from rope_conformance.description import compare, pairs_of, plain, rule_in_words, spec_in_words

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "rope_theta": 500_000.0,
    "max_position_embeddings": 131_072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
PLAIN = {key: value for key, value in LLAMA.items() if key != "rope_scaling"}


@pytest.fixture
def write(tmp_path):
    """Write a config, and return where."""

    def to_file(name, config):
        path = tmp_path / name
        path.write_text(json.dumps(config))
        return str(path)

    return to_file


def describe(*arguments):
    return CliRunner().invoke(rope_ref, ["describe", *arguments], prog_name="rope-ref")


def test_llama_3_1_in_words_and_numbers(write):
    """The rule, the amplitude if it is not 1, and which pairs never turn inside the context."""
    found = describe(write("config.json", LLAMA))
    assert found.exit_code == 0
    assert "131,072 positions" in found.output
    assert "theta_i = 500000**(-2i/128)" in found.output
    assert "llama3: pairs of fewer than 1 turns in 8192 positions divided by 8" in found.output
    # 131072 theta / 2 pi is 1.08 for pair 38, 0.88 for pair 39: 0.1250 500000**(-i/64)
    theta = 500_000.0 ** (-np.arange(64) / 64) / 8
    first = int(np.argmax(theta * 131_072 / math.tau < 1))
    assert f"pairs {first} to 63 never complete a turn" in found.output
    assert "..." in found.output


def test_every_pair_is_shown_if_asked_for(write):
    """A table has a line for each pair."""
    output = describe(write("config.json", LLAMA), "--table").output
    assert all(f" {i}, {i + 64} " in output for i in range(64))


def test_json_holds_every_pair(write):
    """Machines get theta to the last bit, and what people are told."""
    path = write("config.json", LLAMA)
    found = json.loads(describe(path, "--json").output)
    assert (found["schema"], found["name"], found["context"]) == (DESCRIPTION, path, 131_072)
    (layer,) = found["layers"]
    assert layer["head_dim"] == 128
    assert layer["amplitude"] == 1
    spec = rr.RopeSpec.from_hf_config(LLAMA)
    assert [pair["theta"] for pair in layer["pairs"]] == list(spec.theta())
    assert layer["never_turn"] == [p["pair"] for p in layer["pairs"] if p["turns"] < 1]


def test_two_configs_side_by_side(write):
    """Which fields differ, how many pairs, and by what angle at a position."""
    one, other = write("one.json", PLAIN), write("other.json", LLAMA)
    output = describe(one, "--diff", other, "--at", "8191").output
    assert "nothing more | llama3" in output
    assert "35 pairs turn at another speed" in output  # 29 to 63
    assert "largest relative difference of theta: 7," in output
    assert "at position 8,191" in output
    found = json.loads(describe(one, "--diff", other, "--json").output)
    (difference,) = found["differences"]
    assert difference["position"] == 131_071
    assert difference["different_pairs"] == 35


def test_equal_configs_do_not_differ(write):
    """A config against itself."""
    path = write("config.json", LLAMA)
    assert "no difference" in describe(path, "--diff", path).output


def test_layers_of_different_types_are_told_apart(write):
    """Gemma 3 has two bases; each is shown for its layers."""
    gemma = {
        "model_type": "gemma3_text",
        "head_dim": 256,
        "rope_theta": 1_000_000.0,
        "rope_local_base_freq": 10_000.0,
        "max_position_embeddings": 32_768,
    }
    output = describe(write("config.json", gemma)).output
    assert output.index("full_attention") < output.index("theta_i = 1000000")
    assert output.index("sliding_attention") < output.index("theta_i = 10000**")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "malformed"),
        ('{"model_type": "llama", "rope_theta": NaN}', "NaN"),
        ('{"model_type": "no-such-model"}', "no-such-model"),
        ('{"model_type": "llama", "head_dim": 64, "rope_wheels": 3}', "rope_wheels"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(tmp_path, content, words):
    """Status 2, one sentence that names what is wrong, no traceback."""
    path = tmp_path / "config.json"
    path.write_text(content)
    found = describe(str(path))
    assert found.exit_code == 2
    assert words in found.output
    assert "Traceback" not in found.output


def test_check_reads_the_spec_from_a_config(write, tmp_path):
    """A plain RoPE is not what a config with scaling asks for."""
    target = tmp_path / "mine.py"
    target.write_text(
        "import numpy as np\n"
        "def rope(x, positions):\n"
        "    theta = np.float32(500000.0) ** (-np.arange(64, dtype=np.float32) / 64)\n"
        "    phase = positions[..., None] * theta\n"
        "    cos, sin = np.cos(phase)[:, None, :], np.sin(phase)[:, None, :]\n"
        "    u, v = x[..., :64], x[..., 64:]\n"
        "    return np.concatenate([u * cos - v * sin, u * sin + v * cos], -1).astype(x.dtype)\n"
    )
    only = ["--only=frequency.phase", "--effort=quick", "--no-isolation"]

    def check(config):
        path = write("config.json", config)
        arguments = ["check", f"{target}:rope", f"--config={path}", *only]
        return CliRunner().invoke(rope_ref, arguments, prog_name="rope-ref")

    assert check(LLAMA).exit_code == 1
    assert check(PLAIN).exit_code == 0


RULES = [
    rr.Linear(rr.PowerLaw(), factor=2),
    rr.NTK(rr.PowerLaw(), alpha=2),
    rr.FixedNTK(rr.PowerLaw(), factor=2, mixing=0.5),
    rr.DynamicNTK(rr.PowerLaw(), factor=2, original_length=4096, length=5000),
    rr.NTKByParts(rr.PowerLaw(), factor=2),
    rr.YaRN(rr.PowerLaw(), factor=2, original_length=4096),
    rr.LongRoPE(
        rr.PowerLaw(), short_factors=[1] * 8, long_factors=[2] * 8, original_length=4096, factor=2
    ),
    rr.Llama3(rr.PowerLaw(), factor=2),
    rr.Proportional(rr.PowerLaw(), fraction=0.5, factor=2),
    rr.Axial(rr.NTK(rr.PowerLaw(), alpha=2), (8, 8)),
    rr.Reordered(rr.Linear(rr.PowerLaw(), factor=2), order=range(8)),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_each_rule_is_told_in_words(rule):
    """No rule is shown as the code that makes it, and its ratios are to the plain rule below."""
    words = rule_in_words(rule, 16)
    assert not any("(" + "rule=" in word or "PowerLaw" in word for word in words)
    spec = rr.RopeSpec(16, layout="half", frequencies=rule)
    assert spec_in_words(spec)
    below = np.array(plain(rule).theta(16))
    ratios = [pair.ratio for pair in pairs_of(spec)]
    np.testing.assert_allclose(ratios, spec.theta() / below, rtol=1e-15)


def test_a_pair_that_stands_still_has_no_wavelength():
    """Its theta is 0, its ratio too."""
    spec = rr.RopeSpec(8, layout="half", frequencies=rr.Proportional(rr.PowerLaw(), fraction=0.5))
    last = pairs_of(spec, 4096)[-1]
    assert (last.theta, last.wavelength, last.turns, last.ratio) == (0, math.inf, 0, 0)


def test_specs_of_different_widths_are_not_compared():
    """There is no pair to set beside a pair."""
    one, other = (rr.RopeSpec(d, layout="half") for d in (64, 128))
    with pytest.raises(ValueError, match="32 pairs, the other 64"):
        compare(one, other, 100)

"""`rope-ref describe`: what it says of a model, and of two."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import rope_ref as rr
from rope_conformance.cli.commands import rope_ref
from rope_conformance.describing.output import DESCRIPTION, Described, as_json, differences

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
    spec = rr.spec_from_hf_config(LLAMA)
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
    (compared,) = found["differences"]
    assert (compared["first"], compared["second"]) == ("every layer", "every layer")
    assert compared["difference"]["position"] == 131_071
    assert compared["difference"]["different_pairs"] == 35


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


def test_a_pair_that_stands_still_in_one_of_two_is_told_in_json():
    """The relative difference of theta is infinite there, which JSON lacks: null."""
    rules = rr.PowerLaw(), rr.scaling.Proportional(rr.PowerLaw(), fraction=0.5)
    one, other = (
        Described("x", {"every layer": rr.RopeSpec(8, layout="half", frequencies=rule)}, None, ())
        for rule in rules
    )
    found = as_json(one, differences(one, other, None))
    json.dumps(found, allow_nan=False)
    (compared,) = found["differences"]
    assert compared["difference"]["theta"] == [None, 2]
    # Neither says how long its texts are.
    assert compared["difference"]["position"] == 4095


def test_texts_of_both_lengths_are_shown(write):
    """LongRoPE has two lists; each is told with the context that it is for."""
    phi = {
        "model_type": "phi3",
        "head_dim": 16,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 131_072,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [9.0] * 8},
    }
    path = write("config.json", phi)
    short, long = json.loads(describe(path, "--json").output)["layers"]
    assert (short["context"], long["context"]) == (4096, 131_072)
    assert short["layers"].endswith("up to 4,096 tokens")
    assert long["pairs"][7]["theta"] == pytest.approx(short["pairs"][7]["theta"] / 9)
    (asked,) = json.loads(describe(path, "--json", "--length", "8192").output)["layers"]
    assert asked["pairs"] != short["pairs"]
    titles = [each["first"] for each in json.loads(
        describe(path, "--diff", path, "--json").output)["differences"]]  # fmt: skip
    assert titles == [short["layers"], long["layers"]]


def test_every_type_of_layers_is_compared(write):
    """A model whose layers are all alike is compared with each type of the other's."""
    two = {
        "model_type": "gemma3_text",
        "head_dim": 128,
        "rope_theta": 1_000_000.0,
        "rope_local_base_freq": 10_000.0,
        "max_position_embeddings": 32_768,
    }
    one, other = write("one.json", PLAIN), write("other.json", two)
    for first, second in ((one, other), (other, one)):
        output = describe(first, "--diff", second).output
        assert "full_attention" in output
        assert "sliding_attention" in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--diff", "{}", "--at", "nan"], "no position"),
        (["--diff", "{}", "--at", "inf", "--json"], "no position"),
        (["--at", "5"], "--diff OTHER"),
        (["--diff", "{}", "--table"], "leave out --diff"),
    ],
)
def test_options_that_do_not_fit_are_refused(write, options, words):
    """Status 2 and what to do, instead of an option without effect."""
    path = write("config.json", LLAMA)
    found = describe(path, *(option.format(path) for option in options))
    assert found.exit_code == 2
    assert words in found.output

"""Configuration files: what is read from them, and what is refused."""

import json
import random
import struct

import pytest
from click.testing import CliRunner

from rope_conformance.cli.commands import rope_ref
from rope_conformance.describing import config_files
from rope_conformance.describing.config_files import ConfigFileError, open_config
from rope_ref import spec_from_gguf, spec_from_hf_config

CONFIG = {"model_type": "llama", "head_dim": 64, "rope_theta": 5e5, "nested": {"deep": [1, 2]}}


def written(folder, content):
    path = folder / "config.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_config_json_is_read_as_it_is(tmp_path):
    """A file and the folder that holds it give the mapping; it describes a RoPE."""
    path = written(tmp_path, json.dumps(CONFIG))
    assert open_config(path) == open_config(tmp_path) == open_config(str(path)) == CONFIG
    assert spec_from_hf_config(open_config(path)).head_dim == 64


def test_the_largest_and_the_deepest_file_are_read(tmp_path):
    """Both limits are inclusive, and brackets in strings do not count."""
    text = '{"a": "' + "[" * 1000 + '\\"{"}'
    path = written(tmp_path, text + " " * (config_files.LARGEST_JSON - len(text)))
    assert open_config(path) == {"a": "[" * 1000 + '"{'}
    inner = config_files.DEEPEST - 1
    assert open_config(written(tmp_path, '{"a": ' + "[" * inner + "]" * inner + "}"))


DEEP = config_files.DEEPEST
REFUSED = {
    "empty": (b"", "malformed"),
    "no JSON": ("hello", "malformed"),
    "cut off": ('{"a": 1', "malformed"),
    "two values": ("{} {}", "malformed"),
    "a list": ("[1]", "holds a list"),
    "a number": ("3", "holds a int"),
    "null": ("null", "holds a NoneType"),
    "not UTF-8": (b'{"a": "\xff"}', "UTF-8 at byte 7"),
    "a key twice": ('{"a": {"rope_theta": 1, "rope_theta": 2}}', "'rope_theta' stands twice"),
    "NaN": ('{"rope_theta": NaN}', "NaN is no number"),
    "Infinity": ('{"rope_theta": -Infinity}', "-Infinity is no number"),
    "1e999": ('{"rope_theta": 1e999}', "beyond float64"),
    "a long integer": ('{"rope_theta": 1' + "0" * 5000 + "}", "5001 digits"),
    "too deep": ('{"a": ' + "[" * DEEP + "]" * DEEP + "}", f"deeper than {DEEP}"),
    "far too deep": ('{"a": ' + "[" * 10**6, f"deeper than {DEEP}"),
    "a string without an end": ('"' + '\\"' * 10**6, "malformed"),
    "a string that ends in a backslash": ('"' + "\\\\" * 10**6 + "\\", "malformed"),
    "too large": ("{}" + " " * config_files.LARGEST_JSON, "larger than 4194304 bytes"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_config_is_refused_in_one_sentence(tmp_path, content, words):
    """The message names the file and what is wrong with it."""
    with pytest.raises(ConfigFileError) as caught:
        open_config(written(tmp_path, content))
    assert words in str(caught.value)
    assert "config.json" in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """The same error, not the system's own; a folder without a config.json is one case."""
    for path in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(ConfigFileError, match="cannot be read"):
            open_config(path)


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b", None, 3, b"config.json"], ids=repr)
def test_what_is_no_path_is_refused(path):
    """The same error again, whatever the system says to such a name."""
    with pytest.raises(ConfigFileError, match=r"cannot be read|must be a string or a Path"):
        open_config(path)


def gguf(metadata, tensors=()):
    """A GGUF file of version 3, by its published layout."""

    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def typed(value):
        if isinstance(value, str):
            return struct.pack("<I", 8) + text(value)
        if isinstance(value, float):
            return struct.pack("<If", 6, value)
        if isinstance(value, list):
            items = b"".join(struct.pack("<i", item) for item in value)
            return struct.pack("<IIQ", 9, 5, len(value)) + items
        return struct.pack("<II", 4, value)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(text(key) + typed(value) for key, value in metadata.items())
    data = b""
    for name, values in tensors:
        head += text(name) + struct.pack("<IQIQ", 1, len(values), 0, len(data))
        data += struct.pack(f"<{len(values)}f", *values)
        data += bytes(-len(data) % 32)
    return head + bytes(-len(head) % 32) + data


METADATA = {
    "general.architecture": "llama",
    "general.name": "a model",
    "llama.attention.key_length": 8,
    "llama.rope.freq_base": 500000.0,
    "llama.context_length": 4096,
    "llama.list": [1, 2, 3],
}
TENSORS = [("rope_freqs.weight", [1.0, 2.0, 4.0, 8.0]), ("output.weight", [0.5] * 40)]


@pytest.fixture
def gguf_package():
    """The public reader of GGUF files."""
    return pytest.importorskip("gguf")


def test_gguf_metadata_and_rope_tensors_are_read(tmp_path, gguf_package):
    """The keys of the architecture, and the tensors of factors as plain lists."""
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(METADATA, TENSORS))
    found = open_config(path)
    assert found == {key: value for key, value in METADATA.items() if key != "general.name"} | dict(
        TENSORS[:1]
    )
    spec = spec_from_gguf(found)
    assert (spec.head_dim, spec.layout) == (8, "interleaved")
    assert spec.theta()[3] * 8 == pytest.approx(5e5**-0.75, rel=1e-15)


def test_a_gguf_file_cut_off_or_changed_is_read_or_refused(tmp_path, gguf_package):
    """Every fifth prefix of a file, and 300 files with changed bytes: a mapping or one error."""
    whole = gguf(METADATA, TENSORS)
    path = tmp_path / "model.gguf"
    read = 0
    random_bytes = random.Random(5)
    broken = [whole[:length] for length in range(4, len(whole), 5)]
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(random_bytes.randint(1, 3)):
            changed[random_bytes.randrange(4, len(whole))] = random_bytes.randrange(256)
        broken.append(bytes(changed))
    for content in broken:
        path.write_bytes(content)
        try:
            assert isinstance(open_config(path), dict)
            read += 1
        except ConfigFileError as error:
            assert str(path) in str(error)  # noqa: PT017
    assert 50 < read < len(broken) - 150


def test_a_list_that_claims_to_be_endless_is_refused(tmp_path, gguf_package):
    """A length that the file cannot hold ends the reading, not the machine's memory."""
    whole = gguf({"general.architecture": "llama", "llama.list": [1, 2, 3]})
    path = tmp_path / "model.gguf"
    endless = struct.pack("<IIQ", 9, 0, 2**60)  # of single bytes
    path.write_bytes(whole.replace(struct.pack("<IIQ", 9, 5, 3), endless))
    with pytest.raises(ConfigFileError, match="ends within a value"):
        open_config(path)


def test_without_the_package_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    """Reading GGUF takes a package that nothing else here takes."""
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(METADATA))
    with pytest.raises(ConfigFileError, match="pip install gguf"):
        open_config(path)


SCALED = {**METADATA, "llama.attention.key_length": 128}
DIVISORS = [1.0] * 32 + [8.0] * 32


@pytest.fixture
def llama(tmp_path, gguf_package):
    """A file as converters write it for Llama-3.1: theta divided by a list."""
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(SCALED, [("rope_freqs.weight", DIVISORS)]))
    return str(path)


def run(*arguments):
    return CliRunner().invoke(rope_ref, arguments, prog_name="rope-ref")


def test_divisors_are_described_for_texts_of_any_length(llama):
    """One list, one group of layers, the context of the model."""
    (layers,) = json.loads(run("describe", llama, "--json").output)["layers"]
    assert (layers["layers"], layers["context"]) == ("every layer", 4096)
    assert layers["words"][-1] == "each pair divided by a factor of its own, from 1 to 8"
    assert [pair["ratio"] for pair in layers["pairs"]] == [1.0] * 32 + [0.125] * 32


def test_a_layout_that_is_given_overrules_the_architecture(llama):
    """In GGUF files as in others."""
    (layers,) = json.loads(run("describe", llama, "--layout=half", "--json").output)["layers"]
    assert (layers["layout"], layers["output_layout"]) == ("half", "half")
    assert layers["pairs"][0]["channels"] == [0, 64]


@pytest.mark.parametrize(
    ("divisors", "status", "words"),
    [(DIVISORS, 0, " CONFORMANT"), ([1.0] * 64, 1, "Divided is not applied")],
)
def test_an_implementation_is_judged_by_divisors(llama, tmp_path, divisors, status, words):
    """An honest one in float32 passes, one that leaves the list out is told so."""
    target = tmp_path / "mine.py"
    target.write_text(
        "import numpy as np\n"
        f"divisors = np.array({divisors}, dtype=np.float32)\n"
        "def rope(x, positions):\n"
        "    exponents = np.arange(64, dtype=np.float32) / 64\n"
        "    theta = np.float32(500000.0) ** -exponents / divisors\n"
        "    phase = positions.astype(np.float32)[:, None] * theta\n"
        "    cos, sin = np.cos(phase)[:, None, :], np.sin(phase)[:, None, :]\n"
        "    u, v = x[..., 0::2], x[..., 1::2]\n"
        "    pairs = np.stack([u * cos - v * sin, u * sin + v * cos], -1)\n"
        "    return pairs.reshape(x.shape).astype(x.dtype)\n"
    )
    found = run("check", f"{target}:rope", f"--config={llama}", "--effort=quick", "--no-isolation")
    assert found.exit_code == status, found.output
    assert words in found.output

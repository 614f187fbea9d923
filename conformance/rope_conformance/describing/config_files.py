"""Opening the files that hold a model's configuration: ``config.json``, and GGUF.

Files from outside are data. Their size is checked before they are read, and whatever is
wrong with one is said in one `ConfigFileError`. What comes back is a mapping for
`rope_ref.spec_from_hf_config` or `rope_ref.spec_from_gguf`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rope_ref.arguments import brief
from rope_ref.errors import ConfigError

__all__ = [
    "DEEPEST",
    "LARGEST_JSON",
    "ConfigFileError",
    "is_gguf",
    "open_config",
    "read_gguf_file",
    "read_json_file",
]

LARGEST_JSON = 4 * 2**20
"""The largest ``config.json`` that is read, in bytes; real ones have some kilobytes."""

DEEPEST = 32
"""The deepest nesting of lists and objects that is read."""

_LONGEST_NUMBER = 400  # digits; float64 ends at 309
# A string without an end goes on to the end of the text: it is gone through once.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_TENSORS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")


class ConfigFileError(ConfigError):
    """A file with a configuration cannot be opened, or is malformed."""


def open_config(path: str | Path) -> dict[str, Any]:
    """Return what a configuration file holds.

    Parameters
    ----------
    path
        A ``config.json``, a folder with one, or a GGUF file. Which it is, is told by the
        first bytes.

    Returns
    -------
    mapping
        Keys to values. Of a GGUF file, those of its architecture and the RoPE tensors.

    Raises
    ------
    ConfigFileError
        If it cannot be opened, is too large, or is malformed, or `path` is no path.
    """
    if not isinstance(path, str | Path):
        raise ConfigFileError(f"open_config({brief(path)}): path must be a string or a Path")
    path = Path(path)
    if path.is_dir():
        path /= "config.json"
    return read_gguf_file(path) if is_gguf(path) else read_json_file(path)


def is_gguf(path: Path) -> bool:
    """Whether a file begins as GGUF files do."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except (OSError, ValueError) as error:  # ValueError: a character that no path may have
        raise _unreadable(path, error) from None


def read_json_file(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of at most 4 MiB, nested at most 32 deep.

    Refused are keys that stand twice in one object, and the constants NaN and Infinity,
    which are no JSON.

    Raises
    ------
    ConfigFileError
        If it cannot be opened, is too large, or is no such object.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_JSON + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if len(content) > LARGEST_JSON:
        raise ConfigFileError(
            f"{path}: the file is larger than {LARGEST_JSON} bytes, so it is no config.json"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{path}: the file is not UTF-8 at byte {error.start}") from None
    _check_depth(path, text)
    try:
        found = json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_real,
        )
    except ValueError as error:  # JSON's own errors are ValueErrors too
        raise ConfigFileError(f"{path}: the file is malformed: {error}") from None
    if not isinstance(found, dict):
        raise ConfigFileError(
            f"{path}: the file holds a {type(found).__name__}, not an object of keys and values"
        )
    return found


def read_gguf_file(path: Path) -> dict[str, Any]:
    """Return the metadata of a GGUF file's architecture, and its RoPE tensors as lists.

    Raises
    ------
    ConfigFileError
        If the `gguf` package is not installed, or the file cannot be opened or is
        malformed.
    """
    try:
        import gguf
    except ImportError:
        raise ConfigFileError(
            f"{path}: reading GGUF files takes the package gguf; install it: pip install gguf"
        ) from None

    class Reader(gguf.GGUFReader):  # type: ignore[misc]  # the package has no types
        """The public reader, which takes the end of the file for empty values."""

        def _get(self, offset: int, dtype: Any, count: Any = 1, *rest: Any, **more: Any) -> Any:
            found = super()._get(offset, dtype, count, *rest, **more)
            if len(found) != int(count):
                raise ValueError(f"it ends within a value at byte {int(offset)}")
            return found

    try:
        reader = Reader(path)
        found = _of_architecture(reader)
        for tensor in reader.tensors:
            if tensor.name in _TENSORS:
                found[tensor.name] = _values(tensor)
        return found
    except OSError as error:
        raise _unreadable(path, error) from None
    except Exception as error:  # the reader raises what its arithmetic happens to raise
        raise ConfigFileError(f"{path}: the GGUF file is malformed: {error!r}") from None


def _of_architecture(reader: Any) -> dict[str, Any]:
    """Its name, and the keys that begin with it; lists of tokens are left out."""
    name = reader.fields["general.architecture"].contents()
    found = {"general.architecture": name}
    for key, field in reader.fields.items():
        if key.startswith(f"{name}."):
            found[key] = field.contents()
    return found


def _values(tensor: Any) -> list[float]:
    if tensor.data.dtype.kind != "f":
        raise ValueError(f"the tensor {tensor.name} does not hold floating-point numbers")
    return [float(value) for value in tensor.data.ravel()]


def _unreadable(path: Path, error: OSError | ValueError) -> ConfigFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return ConfigFileError(f"{str(path)!r}: the file cannot be read: {reason or error}")


def _check_depth(path: Path, text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise ConfigFileError(f"{path}: lists and objects are nested deeper than {DEEPEST}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} stands twice in one object")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits is beyond float64")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:30]} is beyond float64")
    return value

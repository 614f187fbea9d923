"""The bundled adapters: thin, lazy, and each conformant to what it claims."""

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from rope_conformance import adapters, check
from rope_conformance.adapters import BUNDLED, bundled, installed
from rope_conformance.clauses import all_checks
from rope_conformance.target.implementation import Implementation, TargetError, Unsupported
from rope_ref import ExplicitFrequencies, PowerLaw, RopeSpec

FOLDER = Path(adapters.__file__).parent
# Our own backends have tests of their own, where their frameworks are.
LIBRARIES = [name for name in BUNDLED if not name.startswith("rope-backends/")]

# The tightest profile met in each type of data. For float32 data a table in the data's type
# is a table in float32; below it is one rounding (float32-power) or three.
ONE_ROUNDING = dict.fromkeys(("float32", "bfloat16", "float16"), "float32-power")
THREE_ROUNDINGS = ONE_ROUNDING | dict.fromkeys(("bfloat16", "float16"), "model-dtype-table")
EXACT = dict.fromkeys(("float32", "bfloat16", "float16"), "exact")
TIGHTEST = {
    "transformers/llama": THREE_ROUNDINGS,
    "transformers/gptj": THREE_ROUNDINGS,
    "transformers/gptneox": THREE_ROUNDINGS,
    "transformers/qwen2-vl": THREE_ROUNDINGS,
    "transformers/deepseek-v2": ONE_ROUNDING,
    "transformers/deepseek-v3": THREE_ROUNDINGS,
    "diffusers/float32": ONE_ROUNDING,
    "diffusers/float64": EXACT,
    "x-transformers": ONE_ROUNDING,
    "rotary-embedding-torch": {"float32": "float32-power"},
    # In bfloat16 its table ends before the error of float32 phases shows.
    "ibm-fms": ONE_ROUNDING | {"bfloat16": "exact"},
    "torch/rotary-embedding": {"float32": "exact"},
    "onnx/rotary-embedding": {"float32": "exact"},
    "onnxruntime/rotary-embedding": {"float32": "exact"},
    "equinox": ONE_ROUNDING,
    "keras-hub": THREE_ROUNDINGS,
    "mlx": {"float32": "float32", "float16": "model-dtype-table"},
}
# Scaled ones and those of several axes, which share their rotation with plain neighbours: in
# one type of data, but for the first.
SCALED = {
    "transformers/llama-scaled": {"float32": "float32-power", "bfloat16": "model-dtype-table"},
    "transformers/olmo3": {"float32": "float32-power"},
    "transformers/phi3": {"float32": "float32-power"},
    "transformers/qwen2.5-vl": {"float32": "float32-power"},
    "transformers/qwen3-vl": {"float32": "float32-power"},
    "transformers/glm4v": {"float32": "float32-power"},
    "transformers/ernie4.5-vl": {"float32": "float32-power"},
    "transformers/vjepa2": {"float32": "float32-power"},
    "diffusers/flux": {"float32": "exact"},
    "keras-hub/yarn": {"float32": "float32-power"},
}
TIGHTEST |= SCALED
IN_SOME_TYPES = set(SCALED) | {
    "rotary-embedding-torch", "torch/rotary-embedding", "onnx/rotary-embedding",
    "onnxruntime/rotary-embedding",
}  # fmt: skip
# Wrong throughout: what is found in each is in test_scaled_faults.py.
WRONG = {
    "transformers/phimoe", "transformers/hunyuan-vl", "keras-hub/dynamic", "ibm-fms/yarn",
    "litgpt/yarn",
}  # fmt: skip
# What each is known to break, whatever the input; told apart in test_faults.py.
BROKEN = {
    ("rotary-embedding-torch", "float32"): {"data.types"},
    **{("equinox", kind): {"frequency.bases", "objects.apart"} for kind in ONE_ROUNDING},
    **{("transformers/gptj", kind): {"objects.ambient"} for kind in THREE_ROUNDINGS},
    ("transformers/qwen2.5-vl", "float32"): {"segments.next"},
    ("transformers/olmo3", "float32"): {"scaling.parameters"},
}


def test_every_adapter_is_in_the_table():
    assert set(TIGHTEST) | WRONG == set(LIBRARIES)


@pytest.mark.parametrize("name", BUNDLED)
def test_adapter_has_at_most_thirty_lines(name):
    own = BUNDLED[name].load()
    parts = [c for c in own.__mro__ if c.__module__.startswith(adapters.__name__)]
    assert sum(len(inspect.getsource(part).rstrip().splitlines()) for part in parts) <= 30


def test_adapters_call_and_do_not_compute():
    # What makes a RoPE: an adapter that needs one of these does the library's work.
    work = {"cos", "sin", "exp", "pow", "polar", "outer", "einsum", "arange", "cat", "concatenate"}
    for path in FOLDER.glob("_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {
            getattr(node.func, "attr", getattr(node.func, "id", None))
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        }
        assert not called & work, path.name
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.Pow)] or path.name in POWERS_OF_2


# Lengths of tables and ranges of positions are written as powers of two.
POWERS_OF_2 = {
    "_transformers.py", "_transformers_scaled.py", "_diffusers.py", "_ibm_fms.py",
    "_ibm_fms_scaled.py", "_litgpt.py", "_equinox.py", "_rope_backends.py",
}  # fmt: skip


def test_no_library_is_imported_until_one_is_made():
    code = """
        import sys
        from rope_conformance.adapters import BUNDLED, installed
        for name in BUNDLED:
            installed(name), BUNDLED[name].load().claim, BUNDLED[name].spec
        heavy = {"torch", "jax", "keras", "mlx", "onnx", "onnxruntime", "transformers", "diffusers"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


@pytest.mark.parametrize("name", LIBRARIES)
def test_library_is_installed_and_adapter_can_be_made(name):
    version, reason = installed(name)
    assert version, reason
    bundled(name)(BUNDLED[name].spec)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(TargetError, match="'transformers/lama'.*transformers/llama, "):
        bundled("transformers/lama")


def test_missing_library_is_named(monkeypatch):
    def nothing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    assert installed("keras-hub") == (
        None,
        "not installed; pip install keras-hub keras torch",
    )
    with pytest.raises(TargetError, match="keras-hub: not installed; pip install"):
        bundled("keras-hub")


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("transformers/llama", RopeSpec(64, layout="interleaved"), "pairs are half, not inter"),
        ("transformers/llama", RopeSpec(64, layout="half", rotary_dim=32), "whole heads only"),
        (
            "transformers/llama",
            RopeSpec(4, layout="half", frequencies=ExplicitFrequencies([1, 0.5])),
            "base",
        ),
        ("transformers/llama", RopeSpec(64, layout="half", direction=-1), "counter-clockwise"),
        ("transformers/deepseek-v3", RopeSpec(64, layout="interleaved"), "writes pairs half"),
        (
            "transformers/gptj",
            RopeSpec(64, layout="interleaved", frequencies=PowerLaw(5e5)),
            "base is 10000",
        ),
        (
            "x-transformers",
            RopeSpec(64, layout="interleaved", rotary_dim=32, rotary_start=32),
            "first channels",
        ),
    ],
)
def test_what_a_library_does_not_do_is_refused_with_the_reason(name, spec, reason):
    with pytest.raises(Unsupported, match=reason):
        Implementation(bundled(name), spec)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in TIGHTEST for d in TIGHTEST[n]])
def test_conformant_to_its_claim(name, dtype):
    claim = bundled(name).claim
    if name in IN_SOME_TYPES:
        assert dtype in claim.dtypes
    else:
        assert set(claim.dtypes) == set(TIGHTEST[name])
    broken = BROKEN.get((name, dtype), set())
    only = [c.name for c in all_checks() if c.name not in broken]
    report = check(bundled(name), dtype=dtype, effort="quick", only=only)
    assert report.passed, [f.failure for f in report.findings] + report.doubts
    assert report.tightest_profile == TIGHTEST[name][dtype]
    assert 0.3 <= report.largest_ratio <= 1


@pytest.mark.parametrize("name", ["transformers/llama", "x-transformers", "mlx", "keras-hub"])
def test_horizon_of_float32_phases_ends_past_131072(name):
    report = check(bundled(name), dtype="float32", effort="quick", only=["frequency.phase"])
    assert report.horizon["ends"]
    assert 2**17 <= report.horizon["position"] < 2**20


def test_horizon_of_float64_phases_does_not_end():
    report = check(bundled("diffusers/float64"), dtype="float32", only=["frequency.phase"])
    assert report.horizon == {"error": 0.01, "position": 2**31 - 1, "ends": False}


def test_half_layout_of_the_libraries_with_both():
    for name in ("diffusers/float32", "mlx", "torch/rotary-embedding", "onnx/rotary-embedding"):
        for layout in ("half", "interleaved"):
            spec = RopeSpec(48, layout=layout)
            report = check(bundled(name), spec=spec, dtype="float32", effort="quick")
            assert report.passed, (name, layout, report.findings, report.doubts)


def test_torch_operator_in_bfloat16():
    own = bundled("torch/rotary-embedding")
    claim = replace(
        own.claim, dtypes=("bfloat16",), table_dtype="bfloat16", profile="model-dtype-table"
    )
    report = check(own, claim=claim, effort="quick")
    assert report.passed, [f.failure for f in report.findings] + report.doubts

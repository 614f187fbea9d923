"""The same bits on every machine: what the sources may call, and a hash of what they give."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rope_ref as rr

PACKAGE = Path(rr.__file__).parent

# Of NumPy: what a C library, or an order of summation that follows the CPU, decides. IEEE 754
# rounds sqrt correctly, so that is not among them.
INEXACT = frozenset(
    "sin cos tan arcsin arccos arctan arctan2 asin acos atan atan2 sinh cosh tanh arcsinh arccosh "
    "arctanh asinh acosh atanh hypot exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 "
    "power pow float_power cbrt sinc i0 unwrap angle geomspace logspace deg2rad rad2deg radians "
    "degrees sum nansum mean average std var prod cumsum cumprod trace dot vdot vecdot inner outer "
    "matmul matvec vecmat tensordot einsum cross convolve correlate interp trapezoid linalg fft "
    "polynomial polyval poly random emath scimath".split()
)
FLOAT_MODULES = frozenset({"math", "cmath", "ctypes", "random", "statistics", "scipy"})


def violations(source, module="module.py"):
    """Lines of a source that could give other bits on another machine, with the reason."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def inside(node, function):
        while node in parents:
            node = parents[node]
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return True
        return False

    def integer(node):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node = node.operand
        return isinstance(node, ast.Constant) and type(node.value) is int

    def may_be_float(exponent):
        """A negative or fractional exponent makes even 2**n a float."""
        return any(
            isinstance(node, ast.Div | ast.USub)
            or (isinstance(node, ast.Constant) and type(node.value) is float)
            for node in ast.walk(exponent)
        )

    numpy_names = {"np", "numpy", "xp"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            numpy_names |= {a.asname for a in node.names if a.name == "numpy" and a.asname}

    found = []
    for node in ast.walk(tree):
        why = None
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            if names & FLOAT_MODULES:
                why = "import of " + ", ".join(sorted(names & FLOAT_MODULES))
        elif isinstance(node, ast.ImportFrom):
            origin = (node.module or "").split(".")[0]
            taken = {alias.name for alias in node.names}
            if origin in FLOAT_MODULES or (origin == "numpy" and taken & (INEXACT | {"*"})):
                why = f"import from {node.module}"
        elif isinstance(node, ast.Attribute) and node.attr in INEXACT:
            if isinstance(node.value, ast.Name) and node.value.id in numpy_names:
                why = f"numpy.{node.attr}"
            elif node.attr in {"sum", "mean", "std", "var", "prod", "dot", "trace", "cumsum"}:
                why = f"method {node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # sum: Python 3.12 changed how it rounds. The rest could hide any of the above.
            if node.func.id in {"sum", "pow", "complex", "getattr", "eval", "exec", "__import__"}:
                why = f"call of {node.func.id}"
        elif isinstance(node, ast.Constant) and type(node.value) is complex:
            if not inside(node, "apply_rope_complex"):
                why = "complex number outside apply_rope_complex"
        elif isinstance(node, ast.BinOp | ast.AugAssign):
            if isinstance(node.op, ast.MatMult) and module != "attention.py":
                why = "matrix product outside attention.py"
            if isinstance(node.op, ast.Pow) and not (
                isinstance(node, ast.BinOp) and integer(node.left) and not may_be_float(node.right)
            ):
                why = "power whose base is not an integer in the source"
        if why:
            found.append(f"{module}:{node.lineno}: {why}")
    return found


SOURCES = sorted(p for p in PACKAGE.rglob("*.py") if "tests" not in p.parts)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_sources_call_nothing_inexact(path):
    """No module of rope_ref calls libm, raises a float to a power or sums in CPU order."""
    assert violations(path.read_text(encoding="utf-8"), path.name) == []


@pytest.mark.parametrize(
    "source",
    [
        "import math",
        "import cmath as m",
        "import os, math",
        "from math import pi",
        "from numpy import cos",
        "from numpy import sin as s",
        "from numpy import *",
        "import numpy as np\nnp.cos(x)",
        "import numpy as np\nnp.power(x, 2)",
        "import numpy as np\nf = np.exp",
        "import numpy\nnumpy.arctan2(y, x)",
        "import numpy as banana\nbanana.log2(x)",
        "import numpy as np\nnp.linalg.norm(x)",
        "import numpy as np\nnp.einsum('ij->i', x)",
        "x.sum()",
        "x.dot(y)",
        "pow(10000.0, 0.5)",
        "getattr(np, 'cos')",
        "base ** 2",
        "10000.0 ** i",
        "2 ** -i",
        "2 ** (i / 2)",
        "2 ** 0.5",
        "x **= 2",
        "a @ b",
        "a @= b",
        "z = x + 1j * y",
        "def other():\n    return 1j * y",
        "complex(x, y)",
        "sum(values)",
    ],
)
def test_what_is_forbidden_is_found(source):
    """Each construct that the rules name is caught in a source that uses it."""
    assert len(violations(source)) == 1


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("2**bits - 2**53 + (-1) ** (n // 2)", "module.py"),
        ("import numpy as np\nnp.sqrt(np.abs(x)) + np.where(x, 1.0, 2.0)", "module.py"),
        ("context.exp(context.ln(x))", "module.py"),
        ("a @ b", "attention.py"),
        ("def apply_rope_complex():\n    return (u + 1j * v) * z", "rotation.py"),
        ("abs(round(x)) + max(values)", "module.py"),
    ],
)
def test_what_is_exact_is_left_alone(source, module):
    """Powers of integer literals, sqrt, decimal and the exempted forms pass the rules."""
    assert violations(source, module) == []


# Runs alone in a fresh interpreter, so that NumPy can be told there which instructions to use.
PROGRAM = """
import hashlib
from fractions import Fraction

import numpy as np
import rope_ref as rr

k = np.arange(400)
# 64-bit multiplication wraps: positions over the whole range, without a random generator.
far = (k.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)
positions = [k, -k, far.astype(np.int64), -far.astype(np.int64), far >> np.uint64(22)]
positions += [k / 7.0, k * 0.001 - 0.3, far[:40] / 4096.0]

rules = [(128, rr.PowerLaw(10000)), (64, rr.PowerLaw(1e7)), (96, rr.PowerLaw(500000))]
rules += [(6, rr.PowerLaw(10000)), (10, rr.PowerLaw(0.37)), (16, rr.PowerLaw(1e40))]
rules += [(8, rr.ExplicitFrequencies([1.0, 1e-13, -1e5, 0.0], amplitude=1.3465735902799727))]
turns = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**40 + 15)]
rules += [(6, rr.ExplicitFrequencies(turns=turns))]

digest = hashlib.sha256()
for width, rule in rules:
    spec = rr.RopeSpec(width, layout="half", frequencies=rule)
    digest.update(spec.theta().astype("<f8").tobytes())
    for p in positions:
        p = p if p.dtype.kind in "iu" or width < 64 else p[:40]
        (cos, cos_low), (sin, sin_low) = rr.cos_sin_parts(p, spec)
        x = cos[:, 0:1] + np.arange(width) * 0.37
        y = rr.apply_rope(x, p, spec, axes="td")
        # + 0.0: the sign of a zero is no part of a value
        for table in (cos, cos_low, sin, sin_low, y):
            digest.update((table + 0.0).astype("<f8").tobytes())
print(digest.hexdigest(), *np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
"""

# That these are the right bits is for test_exactness to say; this says that they stay.
PINNED = "eaf7c5674db54938bc84384869774870966251ed949161a9b284989f6fc3239d"


def digest(disabled=()):
    """The hash, and the CPU features NumPy finds, without some of them."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE.parent),
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
    }
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    words = result.stdout.split()
    return words[0], words[1:]


def test_the_bits_are_pinned():
    """A table over several ladders, amplitudes and kinds of positions hashes to what it did."""
    assert digest()[0] == PINNED


def test_cpu_features_change_nothing(record_property):
    """With NumPy's faster instruction sets switched off the bits are the same."""
    features = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    record_property("features NumPy can be told to leave out on this machine", features)
    print("features that can be switched off here:", *features or ["none"])
    for first in sorted({0, len(features) // 2, max(0, len(features) - 1)}):
        disabled = features[first:]
        bits, still_found = digest(disabled)
        assert not set(disabled) & set(still_found)
        assert bits == PINNED, disabled

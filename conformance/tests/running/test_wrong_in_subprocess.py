"""RoPEs as a newcomer writes them, each wrong in one way, all caught by `rope-ref check`."""

import concurrent.futures
import json
import subprocess
import sys
from dataclasses import dataclass
from textwrap import dedent

import pytest


@dataclass(frozen=True)
class Attempt:
    """A file somebody could have written.

    Parameters
    ----------
    source
        The file; it defines ``rope``.
    fails
        A clause that must be among those broken.
    options
        What its author would tell the suite.
    says
        What some cause or message must say, in lower case; empty where no words are owed.
    """

    source: str
    fails: str
    options: tuple[str, ...] = ()
    says: str = ""


HALF = ("--layout", "half")
INTERLEAVED = ("--layout", "interleaved")
PARTIAL = ("--layout", "half", "--head-dim", "128", "--rotary-dim", "64")

ATTEMPTS = {
    "wrong_base": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            half = x.shape[-1] // 2
            speeds = 500000.0 ** (-np.arange(half) / half)
            a = np.multiply.outer(positions, speeds).astype("float32")
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            left, right = x[..., :half], x[..., half:]
            return np.concatenate([left * c - right * s, right * c + left * s], -1)
        """,
        "frequency.ladder",
        HALF,
        "500",
    ),
    "base_off_by_a_hundredth_of_a_percent": Attempt(
        """
        import numpy as np

        THETA = 10001

        def rope(x, positions):
            d = x.shape[-1]
            inv_freq = 1.0 / (THETA ** (np.arange(0, d, 2).astype(np.float32) / d))
            freqs = positions[..., None].astype(np.float32) * inv_freq.astype(np.float32)
            emb = np.concatenate([freqs, freqs], axis=-1)
            cos, sin = np.cos(emb)[..., None, :], np.sin(emb)[..., None, :]
            x1, x2 = np.split(x, 2, axis=-1)
            return x * cos + np.concatenate([-x2, x1], axis=-1) * sin
        """,
        "frequency.ladder",
        says="base",
    ),
    "exponent_over_head_dim": Attempt(
        """
        import numpy as np

        ROTARY = 64

        def rope(x, positions):
            D = x.shape[-1]
            freq = np.float32(10000) ** (-np.arange(0, ROTARY, 2, dtype=np.float32) / D)
            ang = positions[..., :, None].astype(np.float32) * freq
            cos = np.cos(ang)[..., None, :]
            sin = np.sin(ang)[..., None, :]
            out = x.copy()
            a, b = x[..., : ROTARY // 2], x[..., ROTARY // 2 : ROTARY]
            out[..., : ROTARY // 2] = a * cos - b * sin
            out[..., ROTARY // 2 : ROTARY] = b * cos + a * sin
            return out
        """,
        "frequency.ladder",
        PARTIAL,
    ),
    "swapped_layout": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            n = x.shape[-1]
            w = 1 / 10000 ** (np.arange(0, n, 2) / n)
            z = x[..., 0::2] + 1j * x[..., 1::2]
            turn = np.exp(1j * positions[..., None] * w)[..., None, :]
            z = z * turn
            y = np.empty_like(x)
            y[..., 0::2] = z.real
            y[..., 1::2] = z.imag
            return y
        """,
        "pairing.layout",
        HALF,
        "interleaved",
    ),
    "sign_of_sin": Attempt(
        """
        import numpy as np

        def rotate_half(x):
            h = x.shape[-1] // 2
            return np.concatenate((x[..., h:], -x[..., :h]), axis=-1)

        def rope(x, positions):
            d = x.shape[-1]
            f = 10000.0 ** (-np.arange(0, d, 2) / d)
            t = np.outer(positions, f) if positions.ndim == 1 else positions[..., None] * f
            t = np.concatenate((t, t), -1).astype(x.dtype)[..., None, :]
            return x * np.cos(t) + rotate_half(x) * np.sin(t)
        """,
        "pairing.direction",
        HALF,
        "clockwise",
    ),
    "bfloat16_frequencies": Attempt(
        """
        import numpy as np

        def to_bf16(a):
            bits = np.asarray(a, np.float32).view(np.uint32)
            bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
            return bits.astype(np.uint32).view(np.float32)

        def rope(x, positions):
            d = x.shape[-1]
            freq = to_bf16(1.0 / 10000 ** (np.arange(0, d, 2) / d))
            phase = positions[..., None].astype(np.float32) * freq
            c, s = np.cos(phase), np.sin(phase)
            c, s = c[..., np.newaxis, :], s[..., np.newaxis, :]
            p, q = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([p * c - q * s, p * s + q * c], axis=-1)
        """,
        "frequency.ladder",
        says="bfloat16",
    ),
    "float16_positions": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            np.seterr(all="ignore")
            t = positions.astype(np.float16).astype(np.float32)
            k = x.shape[-1] // 2
            ang = t[..., None] * np.exp(-np.log(10000.0) * np.arange(k) / k).astype(np.float32)
            c, s = np.cos(ang)[..., None, :], np.sin(ang)[..., None, :]
            return np.concatenate([x[..., :k] * c - x[..., k:] * s,
                                   x[..., :k] * s + x[..., k:] * c], -1)
        """,
        "frequency.phase",
        says="float16",
    ),
    "bfloat16_positions": Attempt(
        """
        import ml_dtypes
        import numpy as np

        def rope(x, positions):
            p = positions.astype(ml_dtypes.bfloat16).astype("f4")
            m = x.shape[-1] // 2
            th = np.array([10000 ** (-i / m) for i in range(m)], dtype="f4")
            a = np.einsum("...t,f->...tf", p, th)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., :m], x[..., m:]
            return np.concatenate([u * c - v * s, u * s + v * c], -1)
        """,
        "frequency.phase",
        says="bfloat16",
    ),
    "off_by_one": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            idx = np.asarray(positions) + 1  # positions start at 1, as in the paper's figure
            ang = idx[..., None] / (10000 ** (np.arange(0, d, 2) / d))
            sin, cos = np.sin(ang)[..., None, :], np.cos(ang)[..., None, :]
            y = np.zeros_like(x)
            y[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
            y[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
            return y
        """,
        "table.identity",
        INTERLEAVED,
        "1",
    ),
    "head_axis_taken_for_time": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            b, n, h, d = x.shape
            freq = 1 / 10000 ** (np.arange(d // 2) * 2 / d)
            where = np.resize(positions, h) if positions.ndim == 1 else np.resize(positions[0], h)
            ang = where[:, None] * freq  # (heads, d/2): broadcasts against the wrong axis
            c, s = np.cos(ang).astype(x.dtype), np.sin(ang).astype(x.dtype)
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], axis=-1)
        """,
        "frequency.phase",
    ),
    "row_zero_for_all": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            if positions.ndim == 2:
                positions = positions[0]
            d = x.shape[-1]
            table = np.outer(positions, 10000.0 ** (-2 * np.arange(d // 2) / d))
            c = np.cos(table)[None, :, None].astype(np.float32)
            s = np.sin(table)[None, :, None].astype(np.float32)
            lo, hi = np.array_split(x, 2, axis=-1)
            return np.concatenate([lo * c - hi * s, lo * s + hi * c], axis=-1)
        """,
        "frequency.rows",
    ),
    "table_wraps_at_4096": Attempt(
        """
        import numpy as np

        MAX = 4096
        CACHE = {}

        def rope(x, positions):
            d = x.shape[-1]
            if d not in CACHE:
                ang = np.arange(MAX)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
                CACHE[d] = np.cos(ang).astype(np.float32), np.sin(ang).astype(np.float32)
            cos, sin = (t[positions % MAX][..., None, :] for t in CACHE[d])
            a, b = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)
        """,
        "frequency.phase",
        says="4096",
    ),
    "table_clipped_at_its_end": Attempt(
        """
        import numpy as np

        N = 65536
        FREQ = (10000.0 ** (-np.arange(64) / 64)).astype(np.float32)

        def rope(x, positions):
            rows = np.minimum(positions, N - 1)
            a = rows[..., None].astype(np.float32) * FREQ
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            return np.concatenate([x[..., :64] * c - x[..., 64:] * s,
                                   x[..., 64:] * c + x[..., :64] * s], -1)
        """,
        "frequency.phase",
    ),
    "cos_table_in_bfloat16": Attempt(
        """
        import ml_dtypes
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            ang = positions[..., None] * (10000.0 ** (-np.arange(0, d, 2) / d))
            cos = np.cos(ang).astype(ml_dtypes.bfloat16).astype(np.float32)[..., None, :]
            sin = np.sin(ang).astype(ml_dtypes.bfloat16).astype(np.float32)[..., None, :]
            a, b = x[..., 0::2], x[..., 1::2]
            return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)
        """,
        "frequency.phase",
        INTERLEAVED,
        "bfloat16",
    ),
    "half_a_percent_too_long": Attempt(
        """
        import numpy as np

        def rope(x, positions, scale=1.005):
            d = x.shape[-1]
            f = 10000.0 ** -(np.arange(d // 2) / (d // 2))
            a = positions[..., None] * f
            c = (scale * np.cos(a)).astype(np.float32)[..., None, :]
            s = (scale * np.sin(a)).astype(np.float32)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1)
        """,
        "rotation.norm",
        says="1.005",
    ),
    "rotated_pass_through": Attempt(
        """
        import numpy as np

        def turn(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

        def rope(x, positions):
            return np.concatenate([turn(x[..., :64], positions), turn(x[..., 64:], positions)], -1)
        """,
        "passthrough.channels",
        PARTIAL,
    ),
    "pass_through_in_half_precision": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            a = positions[..., None] * 10000.0 ** (-np.arange(32) / 32)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v, rest = x[..., :32], x[..., 32:64], x[..., 64:]
            with np.errstate(all="ignore"):
                rest = rest.astype(np.float16)  # "they are not rotated, half is enough"
            return np.concatenate([u * c - v * s, u * s + v * c, rest], -1).astype(x.dtype)
        """,
        "passthrough.channels",
        PARTIAL,
    ),
    "tiled_table_with_adjacent_pairs": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            a = np.concatenate([a, a], axis=-1)[..., None, :].astype(np.float32)
            swapped = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
            return x * np.cos(a) + swapped * np.sin(a)
        """,
        "frequency.phase",
        INTERLEAVED,
        "table",
    ),
    "v_is_rotated": Attempt(
        """
        import numpy as np

        def turn(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)

        class rope:
            def __init__(self, spec):
                self.width = spec.head_dim

            def apply_rope(self, x, positions):
                return turn(x, positions)

            def qkv(self, q, k, v, positions):
                return tuple(turn(t, positions) for t in (q, k, v))
        """,
        "passthrough.values",
        HALF,
        "v was changed",
    ),
    "leak_between_tokens": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            y = np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
            y[:, 1:] += 1e-6 * x[:, :-1]  # a stray residual
            return y
        """,
        "independence.tokens",
        says="token",
    ),
    "frequencies_for_one_channel_less": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            freq = np.logspace(0, -4, d // 2)  # reaches 1/10000 itself: R - 2 instead of R
            a = positions[..., None] * freq
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.ladder",
    ),
    "cache_keyed_by_length_alone": Attempt(
        """
        import numpy as np

        tables = {}

        def rope(x, positions):
            d, n = x.shape[-1], positions.shape[-1]
            if n not in tables:
                a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
                tables[n] = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            c, s = tables[n]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
    ),
    "base_rescaled_by_the_longest_seen": Attempt(
        """
        import numpy as np

        longest = 4096

        def rope(x, positions):
            global longest
            d = x.shape[-1]
            longest = max(longest, int(positions.max(initial=0)) + 1)  # and never goes back
            base = 10000 * (longest / 4096) ** (d / (d - 2))
            a = positions[..., None] * base ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
    ),
    "positions_relative_to_the_first": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            p = positions - positions[..., :1]
            a = p[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
    ),
    "positions_sorted": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            p = np.sort(positions, axis=-1)
            a = p[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
    ),
    "positions_in_16_bits": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            p = positions.astype(np.uint16)
            a = p[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
        says="65536",
    ),
    "cos_of_the_cosine": Attempt(
        """
        import numpy as np

        def table(positions, d):
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            return np.cos(a), np.sin(a)

        def rope(x, positions):
            d = x.shape[-1]
            c, s = table(positions, d)
            c, s = np.cos(c)[..., None, :], np.sin(s)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "table.circle",
        HALF,
    ),
    "first_component_overwritten": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            y = x.copy()
            y[..., : d // 2] = y[..., : d // 2] * c - y[..., d // 2 :] * s
            y[..., d // 2 :] = y[..., : d // 2] * s + y[..., d // 2 :] * c  # already turned
            return y
        """,
        "rotation.norm",
        HALF,
    ),
    "last_token_forgotten": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d, n = x.shape[-1], x.shape[1]
            y = x.copy()
            for t in range(n - 1 if n > 6 else n):  # the tail of a block of 6
                p = positions[..., t]
                a = np.asarray(p)[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
                c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
                u, v = x[:, t, :, : d // 2], x[:, t, :, d // 2 :]
                y[:, t] = np.concatenate([u * c - v * s, u * s + v * c], -1)
            return y
        """,
        "frequency.phase",
    ),
    "small_angles_only": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d = x.shape[-1]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            a = np.mod(a, 6.2832)  # 2 pi, more or less
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            return np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
        """,
        "frequency.phase",
    ),
    "eighth_head_wrong": Attempt(
        """
        import numpy as np

        def rope(x, positions):
            d, h = x.shape[-1], x.shape[2]
            a = positions[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
            c, s = np.cos(a)[..., None, :], np.sin(a)[..., None, :]
            u, v = x[..., : d // 2], x[..., d // 2 :]
            y = np.concatenate([u * c - v * s, u * s + v * c], -1).astype(x.dtype)
            y[:, :, 7:] = x[:, :, 7:]  # a loop over at most seven heads
            return y
        """,
        "frequency.phase",
    ),
}

HONEST = """
import numpy as np

def rope(x, positions):
    d = x.shape[-1]
    inv_freq = 1.0 / (10000 ** (np.arange(0, d, 2, dtype=np.float32) / np.float32(d)))
    a = (positions[..., None].astype(np.float32) * inv_freq)[..., None, :]
    c, s = np.cos(a), np.sin(a)
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([u * c - v * s, u * s + v * c], -1)
"""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """One run of the command per file, two at a time, begun when first asked for."""
    folder = tmp_path_factory.mktemp("attempts")

    def run(name, source, options):
        file = folder / f"{name}.py"
        file.write_text(dedent(source).lstrip(), encoding="utf-8")
        command = [sys.executable, "-m", "rope_conformance.cli", "check", f"{file}:rope"]
        command += [*options, "--json"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)

    jobs = {name: (a.source, a.options) for name, a in ATTEMPTS.items()} | {"honest": (HONEST, ())}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(run, name, *job) for name, job in jobs.items()}

        def verdict(name):
            result = running[name].result()
            assert result.stdout, result.stderr
            return result, json.loads(result.stdout)

        yield verdict


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_wrong_rope_is_caught(name, verdicts):
    """The command ends with status 1 and names the clause that its author broke, and why."""
    attempt = ATTEMPTS[name]
    result, report = verdicts(name)
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert not report["passed"]
    broken = {r["clause"]: r["failure"] for r in report["results"] if r["failure"]}
    assert attempt.fails in broken
    words = " ".join(f"{f['message']} {f['cause'] or ''}" for f in broken.values()).lower()
    assert attempt.says in words


def test_the_same_rope_without_a_fault_is_conformant(verdicts):
    """Nothing about the way these files are written is held against them."""
    result, report = verdicts("honest")
    assert result.returncode == 0, result.stderr
    assert report["passed"]
